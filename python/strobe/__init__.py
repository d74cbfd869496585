"""Strobe: which way of parallelising dynamic-graph neural network training is best, and what it costs.

import strobe
run = strobe.run(workload="ucsocial", strategy=["snapshot", "vertex"], ranks=[1, 2])
run.rows[["strategy", "ranks", "epoch_seconds", "loss", "mrr"]]   # pandas: one line a case
run.compare(by="strategy")                           # which is best, by how much, how sure
run.plot("scaling")                                  # a figure
strobe.plan("amazon", clusters=["p5-h100"], deadline="2h").table  # what to rent, by simulation

Times are seconds and sizes are bytes. Errors are exceptions with the program's message; all of them are StrobeError.
"""
from strobe.captured import CapturedModel, NotCaptured, NotEqual, from_torch
from strobe.commands import Answer, Calibration, Plan, Validation, calibrate, convert, inspect, names, plan, validate
from strobe.errors import (
    CaseFailed,
    Interrupted,
    InvalidRequest,
    NoProgram,
    NotARun,
    NotAvailable,
    NotComparable,
    StrobeError,
)
from strobe.events import CapturedEventModel, events_from_torch
from strobe.measuring import Program, measure
from strobe.program import program
from strobe.results import answers, compare, curves, read, samples
from strobe.running import cases, resume, run
from strobe.runs import Figure, Page, Run
from strobe.stating import Epoch, epoch, epochs
from strobe.traces import SoftwareProfile, software_profile
from strobe.weights import NotFitting, to_torch
from strobe.workloads import Workload

__all__ = [
    "Answer", "Calibration", "CapturedEventModel", "CapturedModel", "CaseFailed", "Epoch", "Figure", "Interrupted",
    "InvalidRequest", "NoProgram", "NotARun", "NotAvailable", "NotCaptured", "NotComparable", "NotEqual", "NotFitting",
    "Page", "Plan", "Program", "Run", "SoftwareProfile", "StrobeError", "Validation", "Workload", "answers",
    "calibrate", "cases", "compare", "convert", "curves", "epoch", "epochs", "events_from_torch", "from_torch",
    "inspect", "measure", "names", "plan", "program", "read", "resume", "run", "samples", "software_profile",
    "to_torch", "validate",
]
