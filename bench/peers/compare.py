#!/usr/bin/env python3
"""Runs Strobe's epoch benchmark and the PyTorch forms of it interleaved (A B C A B C ...) and prints the ratios.

    bench/peers/compare.py build/bench/strobe_bench [--rounds 10] [--skip-idiomatic] [--json FILE]

Ratios are medians over rounds against the FASTEST PyTorch form. Exit status: 0 measured, 2 wrong request, 5 PyTorch or
SciPy is not installed (apt: python3-torch python3-scipy, or pip: torch scipy).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="path of strobe_bench")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--skip-idiomatic", action="store_true", help="leave out the slow form")
    parser.add_argument("--json", help="also write the numbers to this file")
    arguments = parser.parse_args()
    if not os.access(arguments.binary, os.X_OK):
        parser.error(f"{arguments.binary} is not a program; build target strobe_bench first")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def strobe_epoch(binary):
    """Seconds per epoch of one short run of the binary, and the machine's limits as it measured them."""
    command = [binary, "--benchmark_filter=^epoch/best/", "--benchmark_format=json", "--benchmark_min_time=0.5"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(result.stdout)
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    (row,) = report["benchmarks"]
    limits = {k: report["context"][k] for k in ("threads", "read_bandwidth_GBps", "peak_fp32_GFLOPps")}
    return row["real_time"] * unit[row["time_unit"]], limits


def agree(forms):
    """The forms compute the same gradients; a comparison of different work would mean nothing."""
    import torch

    gradients = [form.epoch() for form in forms.values()]
    for other in gradients[1:]:
        for a, b in zip(gradients[0], other):
            if not torch.allclose(a, b, rtol=1e-3, atol=1e-3 * float(a.abs().max())):
                sys.exit("the PyTorch forms do not compute the same gradients")


def main():
    arguments = parse()
    try:
        import tmgcn
    except ImportError as error:
        print(f"PyTorch peer not measured: {error}. Install python3-torch and python3-scipy.", file=sys.stderr)
        return 5
    import torch

    torch.set_num_threads(arguments.threads)
    blocks, inputs = tmgcn.make_graph(), tmgcn.make_inputs()
    forms = {"pytorch fastest": tmgcn.Fastest(blocks, inputs, arguments.threads)}
    if not arguments.skip_idiomatic:
        forms["pytorch idiomatic"] = tmgcn.Idiomatic(blocks, inputs)
    agree(forms)
    seconds = {name: [] for name in ["strobe", *forms]}
    for _ in range(arguments.rounds):
        epoch, limits = strobe_epoch(arguments.binary)
        seconds["strobe"].append(epoch)
        for name, form in forms.items():
            seconds[name].append(tmgcn.timed(form))
    report(arguments, seconds, limits, tmgcn.versions(), sum(b.nnz for b in blocks))
    return 0


def report(arguments, seconds, limits, versions, nonzeros):
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    fastest = min((name for name in medians if name != "strobe"), key=medians.get)
    print("versions: " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    print(f"machine: {arguments.threads} threads, read bandwidth {limits['read_bandwidth_GBps']} GB/s, "
          f"peak fp32 {limits['peak_fp32_GFLOPps']} GFLOP/s; non-zeros {nonzeros}; rounds {arguments.rounds}, interleaved")
    for name, median in medians.items():
        low, high = min(seconds[name]), max(seconds[name])
        print(f"{name:18} median {median * 1e3:9.2f} ms   min {low * 1e3:9.2f}   max {high * 1e3:9.2f}   "
              f"time / fastest PyTorch {median / medians[fastest]:.3f}")
    print(f"Strobe is {medians[fastest] / medians['strobe']:.2f} times as fast as the fastest PyTorch form ({fastest})")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": versions, "machine": limits, "seconds": seconds, "medians": medians}, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
