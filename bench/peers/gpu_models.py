#!/usr/bin/env python3
"""Epochs of every model in PyTorch on a GPU (forward, and backward from a given gradient of the embeddings), and
Strobe's `model/NAME/SHAPE` benchmarks in the same run.

    bench/peers/gpu_models.py [--models cd-gcn,t-gcn] [--shapes narrow,wide] [--epochs 20] [--rounds 3] [--json FILE]
                              [--strobe-device cuda] [build/bench/strobe_bench]

For every model and shape: first the gradients on the device are compared with those of the same form on the CPU, on a
small graph. Then the epoch is timed between device events after three of warm-up, eagerly and as a replayed CUDA graph
where the form can be captured, and the faster is taken. With the path of strobe_bench, rounds of both sides alternate, and
the ratio is that of the medians over rounds. The forms are those of recurrent_models.py and evolve_dysat.py.

`--device cpu` (no graphs, time of the clock), `--vertices` and `--steps` are for checking this script.

Exit status: 0 measured; 1 gradients disagree or a model failed, its row says why and the next goes on; 2 wrong
arguments; 5 PyTorch, SciPy or the device is missing.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys

import strobe_bench


def names(options, text, known, what):
    """The names of a list with commas, each once."""
    wanted = list(dict.fromkeys(text.split(",")))
    for name in wanted:
        if name not in known:
            options.error(f"no {what} '{name}'; known: {', '.join(known)}")
    return wanted


def parse():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binary", nargs="?", metavar="STROBE_BENCH", help="path of strobe_bench; without, PyTorch alone")
    options.add_argument("--device", default="cuda", help="cuda, cuda:N or cpu")
    options.add_argument("--strobe-device", default="cuda", help="STROBE_BENCH_DEVICE, as cuda or cuda-graphs")
    options.add_argument("--models", default=",".join(strobe_bench.MODELS))
    options.add_argument("--shapes", default=",".join(strobe_bench.SHAPES))
    options.add_argument("--epochs", type=int, default=20, help="per round")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=os.cpu_count(), help="of the CPU's side of the check")
    options.add_argument("--vertices", type=int, help="instead of the shape's, at least 64")
    options.add_argument("--steps", type=int, help="instead of the shape's")
    options.add_argument("--json", help="also write the numbers to this file, after every row")
    arguments = options.parse_args()
    arguments.models = names(options, arguments.models, strobe_bench.MODELS, "PyTorch form of model")
    arguments.shapes = names(options, arguments.shapes, strobe_bench.SHAPES, "shape")
    check(options, arguments)
    return arguments


def check(options, arguments):
    """Ends with status 2 on a wrong argument."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", arguments.device):
        options.error(f"no device '{arguments.device}'; known: cuda, cuda:N, cpu")
    # The wide evolve-gcn-h takes the best 64 vertices of each step.
    for name, least in {"epochs": 1, "rounds": 1, "threads": 1, "vertices": 64, "steps": 1}.items():
        value = getattr(arguments, name)
        if value is not None and value < least:
            options.error(f"--{name} must be at least {least}")
    if arguments.binary and not (os.path.isfile(arguments.binary) and os.access(arguments.binary, os.X_OK)):
        options.error(f"{arguments.binary} is not a program; build target strobe_bench first")
    if arguments.binary and (arguments.vertices or arguments.steps):
        options.error("strobe_bench has its own graphs: --vertices and --steps do not go with it")
    if arguments.json and (os.path.isdir(arguments.json) or not os.access(os.path.dirname(arguments.json) or ".", os.W_OK)):
        options.error(f"--json: {arguments.json} cannot be written")


def write(arguments, versions, rows):
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": versions, "strobe_device": arguments.strobe_device if arguments.binary else None,
                       "epochs": arguments.epochs, "rounds": arguments.rounds, "rows": rows}, file, indent=1)


def strobe_seconds(arguments, name):
    """Seconds of Strobe's epoch; RuntimeError with the reason where there are none."""
    try:
        _, row = strobe_bench.report_of(arguments.binary, name, arguments.strobe_device)
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stderr or "").splitlines() if line.strip()]
        raise RuntimeError(f"Strobe: exit status {error.returncode}: {said[-1] if said else 'no message'}") from error
    except strobe_bench.Failed as error:
        raise RuntimeError(f"Strobe: {error}") from error
    except (ValueError, KeyError, OSError) as error:
        raise RuntimeError(f"Strobe: no report of {name}: {error}") from error
    return strobe_bench.seconds_of(row)


def measured(arguments, row, peer):
    """Fills the row with the times of both sides."""
    import on_device

    form, row["pytorch"] = on_device.fastest(peer, arguments.device, arguments.epochs)
    torch_rounds, strobe_rounds = [], []
    for _ in range(arguments.rounds):
        torch_rounds.append(statistics.median(on_device.seconds_of(form, arguments.device, arguments.epochs)))
        row["pytorch"].update(rounds_s=torch_rounds, median_s=statistics.median(torch_rounds))
        if arguments.binary:
            on_device.release()
            strobe_rounds.append(strobe_seconds(arguments, f"model/{row['model']}/{row['shape']}"))
    if arguments.binary:
        row["strobe"] = {"rounds_s": strobe_rounds, "median_s": statistics.median(strobe_rounds)}
        row["ratio"] = row["pytorch"]["median_s"] / row["strobe"]["median_s"]


def row_of(arguments, model, shape_name, shape, forms):
    import on_device

    row = {"model": model, "shape": shape_name}
    try:
        wrong = on_device.check(model, shape, arguments.threads, arguments.device)
        if wrong:
            row["failed"] = f"gradients on the device disagree with the CPU's: {wrong}"
        else:
            measured(arguments, row, forms.make(model))
    except (RuntimeError, MemoryError) as error:  # among them: out of device memory
        row["failed"] = str(error) if str(error).startswith("Strobe: ") else on_device.first_cause(error)
    on_device.release()
    return row


def line_of(row):
    parts = []
    if "strobe" in row:
        parts.append(f"Strobe {1e3 * row['strobe']['median_s']:.3f} ms")
    if "median_s" in row.get("pytorch", {}):
        p = row["pytorch"]
        graph = f"graph {1e3 * p['graph_s']:.3f} ms" if "graph_s" in p else f"no graph: {p['no_graph']}"
        parts.append(f"PyTorch {1e3 * p['median_s']:.3f} ms ({p['form']}; eager {1e3 * p['eager_s']:.3f} ms, {graph})")
    if "ratio" in row:
        parts.append(f"ratio {row['ratio']:.2f}")
    if "failed" in row:
        parts.append(f"FAILED: {row['failed']}")
    return f"{row['model']:12} {row['shape']:6} " + ", ".join(parts)


def main():
    arguments = parse()
    try:
        import on_device
        import recurrent_models
    except ImportError as error:
        print(f"PyTorch not measured: {error}. Install torch and scipy.", file=sys.stderr)
        return 5
    reason = on_device.missing(arguments.device)
    if reason:
        print(f"PyTorch not measured: {reason}", file=sys.stderr)
        return 5
    on_device.prepare(arguments.device, arguments.threads)
    versions, rows = on_device.versions(arguments.device), []
    print("versions: " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    own = {k: v for k, v in (("vertices", arguments.vertices), ("steps", arguments.steps)) if v}
    for name in arguments.shapes:
        shape = {**recurrent_models.SHAPES[name], **own}
        forms = on_device.Forms(shape, arguments.threads, arguments.device)
        for model in arguments.models:
            rows.append(row_of(arguments, model, name, shape, forms))
            print(line_of(rows[-1]), flush=True)
            write(arguments, versions, rows)
    return 1 if any("failed" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
