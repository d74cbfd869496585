#!/usr/bin/env python3
"""Runs Strobe's model epochs and the same models in PyTorch interleaved (A B A B ...) and prints the ratios.

    bench/peers/compare_models.py build/bench/strobe_bench [--models cd-gcn,t-gcn] [--shapes narrow,wide] [--rounds 5]

Ratios are medians over rounds. Exit status: 0 measured, 2 wrong request, 5 PyTorch or SciPy is not installed (apt:
python3-torch python3-scipy, or pip: torch scipy).
"""

import json
import statistics
import sys
import time

import fast_settings
import strobe_bench


def parse():
    options = strobe_bench.parser(__doc__, rounds=5)
    options.add_argument("--models", default=",".join(strobe_bench.MODELS))
    options.add_argument("--shapes", default=",".join(strobe_bench.SHAPES))
    return strobe_bench.parsed(options)


def timed(peer):
    begin = time.perf_counter()
    peer.epoch()
    return time.perf_counter() - begin


def main():
    arguments = parse()
    fast_settings.apply()
    try:
        import evolve_dysat
        import recurrent_models
        import tmgcn
    except ImportError as error:
        print(f"PyTorch peer not measured: {error}. Install python3-torch and python3-scipy.", file=sys.stderr)
        return 5
    import torch

    torch.set_num_threads(arguments.threads)
    known = (*recurrent_models.MODELS, *evolve_dysat.MODELS)
    unknown = [m for m in arguments.models.split(",") if m not in known]
    if unknown:
        print(f"no PyTorch form of {unknown[0]}; known: {', '.join(known)}", file=sys.stderr)
        return 2
    print("versions: " + ", ".join(f"{k} {v}" for k, v in tmgcn.versions().items()))
    rows = []
    for shape_name in arguments.shapes.split(","):
        shape = recurrent_models.SHAPES[shape_name]
        matrix = recurrent_models.make_matrix(shape["vertices"], shape["steps"], shape["density"])
        product = recurrent_models.Product(matrix, arguments.threads)
        for model in arguments.models.split(","):
            if model in evolve_dysat.MODELS:
                peer = evolve_dysat.make(model, shape_name, arguments.threads)
            else:
                peer = recurrent_models.MODELS[model](shape, product)
            rows.append(compare(arguments, model, shape_name, peer))
    print(f"products: {tmgcn.versions()['products']}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": tmgcn.versions(), "rows": rows}, file, indent=1)
    return 0


def compare(arguments, model, shape, peer):
    peer.epoch()
    strobe, torch_seconds = [], []
    for _ in range(arguments.rounds):
        seconds, row, limits = strobe_bench.run(arguments.binary, f"model/{model}/{shape}")
        strobe.append(seconds)
        torch_seconds.append(timed(peer))
    return report(model, shape, strobe, torch_seconds, row, limits)


def ratio_limits(a, b, row):
    """The ratio that Strobe's FLOPs and compulsory bytes, a seconds now, would have against b seconds at the machine's
    measured rates: one after the other, and at the same time."""
    parts = row["of_peak"], row["of_read_bandwidth"]
    return b / (a * sum(parts)), b / (a * max(parts))


def report(model, shape, strobe, torch_seconds, row, limits):
    a, b = statistics.median(strobe), statistics.median(torch_seconds)
    in_turn, at_once = ratio_limits(a, b, row)
    print(f"{model:10} {shape:6} Strobe {a * 1e3:8.1f} ms (min {min(strobe) * 1e3:.1f}), PyTorch {b * 1e3:8.1f} ms "
          f"(min {min(torch_seconds) * 1e3:.1f}), ratio {b / a:.2f}; Strobe reaches {row['of_peak']:.3f} of "
          f"{limits['peak_fp32_GFLOPps']} GFLOP/s and {row['of_read_bandwidth']:.3f} of "
          f"{limits['read_bandwidth_GBps']} GB/s; at these limits the ratio would be {in_turn:.1f} to {at_once:.1f}")
    return {"model": model, "shape": shape, "strobe": strobe, "pytorch": torch_seconds, "limits": limits,
            "ratio_at_limits": [in_turn, at_once]}


if __name__ == "__main__":
    sys.exit(main())
