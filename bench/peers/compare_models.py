#!/usr/bin/env python3
"""Runs Strobe's model epochs and the same models in PyTorch interleaved (A B A B ...) and prints the ratios.

    bench/peers/compare_models.py build/bench/strobe_bench [--models cd-gcn,t-gcn] [--shapes narrow,wide] [--rounds 5]

Ratios are medians over rounds. Exit status: 0 measured, 2 wrong request, 5 PyTorch or SciPy is not installed (apt:
python3-torch python3-scipy, or pip: torch scipy).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="path of strobe_bench")
    parser.add_argument("--models", default="cd-gcn,t-gcn,mpnn-lstm")
    parser.add_argument("--shapes", default="narrow,wide")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="also write the numbers to this file")
    arguments = parser.parse_args()
    if not os.access(arguments.binary, os.X_OK):
        parser.error(f"{arguments.binary} is not a program; build target strobe_bench first")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def strobe_epoch(binary, model, shape):
    """Seconds per epoch of one short run, with its fractions of the machine's limits."""
    command = [binary, f"--benchmark_filter=^model/{model}/{shape}/", "--benchmark_format=json",
               "--benchmark_min_time=0.5"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    (row,) = report["benchmarks"]
    if row.get("error_occurred"):
        sys.exit(f"{model}/{shape}: {row['error_message']}")
    limits = {k: report["context"][k] for k in ("threads", "read_bandwidth_GBps", "peak_fp32_GFLOPps")}
    return row["real_time"] * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[row["time_unit"]], row, limits


def timed(peer):
    begin = time.perf_counter()
    peer.epoch()
    return time.perf_counter() - begin


def main():
    arguments = parse()
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
            peer.epoch()
            strobe, torch_seconds = [], []
            for _ in range(arguments.rounds):
                seconds, row, limits = strobe_epoch(arguments.binary, model, shape_name)
                strobe.append(seconds)
                torch_seconds.append(timed(peer))
            rows.append(report(model, shape_name, strobe, torch_seconds, row, limits))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": tmgcn.versions(), "rows": rows}, file, indent=1)
    return 0


def report(model, shape, strobe, torch_seconds, row, limits):
    a, b = statistics.median(strobe), statistics.median(torch_seconds)
    print(f"{model:10} {shape:6} Strobe {a * 1e3:8.1f} ms (min {min(strobe) * 1e3:.1f}), PyTorch {b * 1e3:8.1f} ms "
          f"(min {min(torch_seconds) * 1e3:.1f}), ratio {b / a:.2f}; Strobe reaches {row['of_peak']:.3f} of "
          f"{limits['peak_fp32_GFLOPps']} GFLOP/s and {row['of_read_bandwidth']:.3f} of {limits['read_bandwidth_GBps']} GB/s")
    return {"model": model, "shape": shape, "strobe": strobe, "pytorch": torch_seconds, "limits": limits}


if __name__ == "__main__":
    sys.exit(main())
