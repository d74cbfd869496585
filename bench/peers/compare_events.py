#!/usr/bin/env python3
"""Trains tgn-attn in Strobe and in PyTorch (event_training.py) on the same stream interleaved (A B C A B C ...) and
prints the ratios.

    bench/peers/compare_events.py build/strobe [--memory 16,100] [--events 60000] [--batch 600] [--rounds 3]
                                  [--threads 2] [--json FILE]

An epoch of Strobe and a sweep of each PyTorch form go through the same events from empty memory in the same batches,
with one negative, ten neighbours, cross-entropy, Adam, float32 and time codes as wide as memory. Strobe trains on the
first 98 % of the events, since it keeps some to evaluate, and counts these. Ratios are of medians over rounds, of wall
time and of processor time of all threads, against the FASTEST PyTorch form; processor time is what two programs can be
compared by on a machine with other work, where threads wait for one another. Exit status: 0 measured, 1 Strobe failed,
2 wrong request, 5 PyTorch is not installed (apt: python3-torch, or pip: torch).
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import event_training
import fast_settings

TRAINED = 0.98
MEASURED = 2  # epochs of a run of Strobe, after two others


def parse():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binary", help="path of strobe")
    options.add_argument("--memory", default="16,100")
    for name, default in (("events", 60000), ("batch", 600), ("rounds", 3), ("threads", os.cpu_count())):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--json", help="also write the numbers to this file")
    arguments = options.parse_args()
    if not os.access(arguments.binary, os.X_OK):
        options.error(f"{arguments.binary} is not a program; build target strobe first")
    try:
        arguments.memory = [int(width) for width in arguments.memory.split(",")]
    except ValueError:
        options.error("--memory takes widths with commas between them")
    if min(arguments.memory) < 2 or any(width % event_training.HEADS for width in arguments.memory):
        options.error(f"--memory must be multiples of {event_training.HEADS}")
    if min(arguments.events, arguments.batch, arguments.rounds, arguments.threads) < 1:
        options.error("numbers must be at least 1")
    return arguments


def write_stream(stream, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("source,target,time\n")
        for source, target, moment in zip(*stream):
            file.write(f"{source},{target},{int(moment)}\n")


def processor_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


class Strobe:
    """`strobe run` on the stream that lies in `folder`."""

    def __init__(self, arguments, width, folder):
        self.folder, self.runs = folder, 0
        self.command = [os.path.abspath(arguments.binary), "run", "--workload", os.path.join(folder, "stream.csv"),
                        "--model", f"tgn-attn:memory={width},time={width}",
                        "--strategy", f"sequential:batch={arguments.batch}",
                        "--task", f"future-links:split={TRAINED * 100:.0f}/1/1", "--threads", str(arguments.threads)]

    def run(self, epochs):
        """Wall seconds of the measured epochs, and processor seconds of the whole program."""
        out = os.path.join(self.folder, f"run{self.runs}")
        self.runs += 1
        before = processor_seconds(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*self.command, "--warmup", "1", "--epochs", str(epochs), "--out", out],
                              capture_output=True, text=True, check=False, env=fast_settings.environment_without())
        if done.returncode != 0:
            sys.exit(f"strobe failed:\n{done.stdout}{done.stderr}")
        with open(os.path.join(out, "samples.jsonl"), encoding="utf-8") as file:
            samples = [json.loads(line) for line in file]
        wall = [sample["epoch_seconds"] for sample in samples if not sample["warmup"]]
        return wall, processor_seconds(resource.RUSAGE_CHILDREN) - before

    def epoch(self):
        """Wall and processor seconds of an epoch. Reading and evaluation are in both runs, and in neither result."""
        _, less = self.run(1)
        wall, more = self.run(1 + MEASURED)
        return statistics.median(wall[1:]), (more - less) / MEASURED


def sweep(form, events):
    """The same of PyTorch; event_training.py evaluates nothing."""
    begun, before = time.perf_counter(), processor_seconds(resource.RUSAGE_SELF)
    form.sweep(events)
    return time.perf_counter() - begun, processor_seconds(resource.RUSAGE_SELF) - before


def compare(arguments, width, stream):
    forms = event_training.make_forms(width, stream, arguments.batch)
    trained = {"strobe": int(arguments.events * TRAINED), **{name: arguments.events for name in forms}}
    measured = {name: [] for name in trained}
    with tempfile.TemporaryDirectory(prefix="strobe-events-") as folder:
        write_stream(stream, os.path.join(folder, "stream.csv"))
        strobe = Strobe(arguments, width, folder)
        for _ in range(arguments.rounds):
            measured["strobe"].append(strobe.epoch())
            for name, form in forms.items():
                measured[name].append(sweep(form, arguments.events))
    return report(arguments, width, trained, measured)


def report(arguments, width, trained, measured):
    row = {"memory": width, "batch": arguments.batch, "threads": arguments.threads, "seconds": measured, "events": trained}
    print(f"memory {width}, batch {arguments.batch}, {arguments.threads} threads, rounds {arguments.rounds}:")
    for part, what in enumerate(("wall", "processor")):
        rates = {name: trained[name] / statistics.median(one[part] for one in values)
                 for name, values in measured.items()}
        fastest = max((name for name in rates if name != "strobe"), key=rates.get)
        ratio = rates["strobe"] / rates[fastest]
        described = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
        print(f"  events per second of {what} time: {described}; Strobe is {ratio:.2f} times as fast as {fastest}")
        row[what] = {"events_per_second": rates, "fastest": fastest, "ratio": ratio}
    return row


def main():
    arguments = parse()
    rate = event_training.prepare(arguments.threads)
    if rate is None:
        return 5
    stream = event_training.make_stream(arguments.events)
    rows = [compare(arguments, width, stream) for width in arguments.memory]
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"gflops": rate, "torch": event_training.torch.__version__, "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
