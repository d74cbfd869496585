#!/usr/bin/env python3
"""Runs Strobe's epoch benchmark and the PyTorch forms of it interleaved (A B C A B C ...) and prints the ratios.

    bench/peers/compare.py build/bench/strobe_bench [--rounds 10] [--skip-idiomatic] [--json FILE]

Ratios are medians over rounds against the FASTEST PyTorch form. Exit status: 0 measured, 2 wrong request, 5 PyTorch or
SciPy is not installed (apt: python3-torch python3-scipy, or pip: torch scipy).
"""

import json
import statistics
import sys

import fast_settings
import strobe_bench


def parse():
    options = strobe_bench.parser(__doc__, rounds=10)
    options.add_argument("--skip-idiomatic", action="store_true", help="leave out the slow form")
    return strobe_bench.parsed(options)


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
    fast_settings.apply()
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
        epoch, _, limits = strobe_bench.run(arguments.binary, "epoch/best")
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
