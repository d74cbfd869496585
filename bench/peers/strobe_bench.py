"""Shared by the scripts of this folder: their common options, and one short run of a benchmark of strobe_bench."""

import argparse
import json
import os
import subprocess
import sys

import fast_settings

MODELS = ("tm-gcn", "cd-gcn", "evolve-gcn-o", "evolve-gcn-h", "t-gcn", "dysat", "mpnn-lstm", "dcrnn")
SHAPES = ("narrow", "wide")
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def parser(description, rounds):
    """Options of every comparison; `rounds` is the default."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binary", help="path of strobe_bench")
    options.add_argument("--rounds", type=int, default=rounds)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--json", help="also write the numbers to this file")
    return options


def parsed(options):
    """The arguments, after the checks that every comparison needs; exits with status 2 on a wrong one."""
    arguments = options.parse_args()
    if not os.access(arguments.binary, os.X_OK):
        options.error(f"{arguments.binary} is not a program; build target strobe_bench first")
    if arguments.rounds < 1:
        options.error("--rounds must be at least 1")
    return arguments


class Failed(Exception):
    """The benchmark was there and could not be run."""


def report_of(binary, name, device=None):
    """One short run of the one benchmark whose name begins with `name`, on the CPU or on the device that is named: the
    report's context and the benchmark's row."""
    command = [binary, f"--benchmark_filter=^{name}/", "--benchmark_format=json", "--benchmark_min_time=0.5"]
    environment = fast_settings.environment_without()
    if device is not None:
        environment["STROBE_BENCH_DEVICE"] = device
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)
    (row,) = report["benchmarks"]
    if row.get("error_occurred"):
        raise Failed(f"{name}: {row['error_message']}")
    return report["context"], row


def seconds_of(row):
    """Seconds per epoch."""
    return row["real_time"] * SECONDS[row["time_unit"]]


def run(binary, name):
    """One short run on the CPU: seconds per epoch, the row of the report, and the machine's limits as the binary
    measured them."""
    try:
        context, row = report_of(binary, name)
    except Failed as error:
        sys.exit(str(error))
    limits = {k: context[k] for k in ("threads", "read_bandwidth_GBps", "peak_fp32_GFLOPps")}
    return seconds_of(row), row, limits
