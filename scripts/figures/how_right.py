#!/usr/bin/env python3
"""How right predictions were, case by case: the figures and the table of docs/validation.md.

Draws every epoch and collective that was both predicted and measured (validation_points), the errors by kind of question
(validation_errors), and how many cases judge each question in each place (validation_untested). Prints the table. The
cases are those of scripts/validation_figures without --all.

usage: how_right.py [--strobe FILE] [--out DIR]
"""

import argparse
import csv
import importlib.machinery
import importlib.util
import math
import pathlib
import statistics
import sys
import tempfile

from strobe_figures import looks

ROOT = pathlib.Path(__file__).resolve().parents[2]
FACTOR = 1.25
PLACES = ("processors of\none machine", "hosts joined\nby links", "one GPU", "GPUs of\na node", "GPUs of\nseveral nodes",
          "a paper's\ncluster")
COLOURS = (looks.BLUE, looks.SKY, "black", looks.GREEN, looks.ORANGE, looks.PURPLE, looks.VERMILION)


def load_sources():
    """scripts/validation_figures as a module."""
    path = str(ROOT / "scripts" / "validation_figures")
    loader = importlib.machinery.SourceFileLoader("validation_figures", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("validation_figures", loader))
    loader.exec_module(module)
    return module


def rows_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of_gpus(source, program, scratch):
    """(pairs of each GPU by its own description, pairs by the other's)."""
    own, other = [], []
    for where, (cluster, _) in source.GPUS.items():
        for judged, (_, day) in source.GPUS.items():
            report = source.document(program, scratch / f"{where}-{judged}", "validation",
                                     ["--measured", str(source.MEASURED / day / "validation.csv"), "--set", "device=cuda",
                                      "--set", "repeat=1", "--filter", "r1#", "--cluster", cluster])
            (own if where == judged else other).extend(
                (case["measured"]["epoch_seconds"], case["predicted"]["epoch_seconds"]) for case in report["cases"]
                if case["judged"])
    return own, other


def collect(program):
    """({kind: [(measured, predicted)]}, {question: cases by place})."""
    source = load_sources()
    kept = [source.Kept(path) for path in sorted(source.MEASURED.glob("*/validation.csv"))
            if not path.parent.name.startswith("nvidia")]
    cases = [case for one in kept for case in one.cases]
    hosts = rows_of(source.HOSTS)
    programs = [row for row in rows_of(source.MEASURED / "xeon-2core-2026-11-30-programs" / "programs.csv")
                if row["recording"] == "2" and row["half"] == "held out"]
    peaks = [row for _, day in source.GPUS.values() for row in rows_of(source.MEASURED / day / "validation.csv")
             if " r1" in row["strategy"] and row["memory_error"]]
    with tempfile.TemporaryDirectory(prefix="strobe-how-right-") as folder:
        scratch = pathlib.Path(folder)
        own, other = of_gpus(source, program, scratch)
        tables = source.document(program, scratch / "c", "collectives", ["--published", "collectives"])["tables"]
        paper = source.document(program, scratch / "p", "published", ["--published", "esdg"])
    sums = [row for table in tables for row in table["rows"] if not row["used"]]
    printed = [(value["printed"], value["software"]) for one in paper["papers"] for value in one["values"]
               if value["quantity"] == "epoch_seconds" and value["software_error"] is not None]
    kinds = {"epochs on calibrated processors": [(case["measured_seconds"], case["predicted_seconds"]) for case in cases],
             "epochs of hosts, other networks": [(float(row["measured_seconds"]), float(row["predicted_seconds"])) for row in hosts],
             "epochs of PyTorch programs, held out": [(float(row["measured_seconds"]), float(row["predicted_seconds"]))
                                                      for row in programs],
             "epochs on one GPU, its own file": own,
             "epochs on one GPU, another's file": other,
             "collectives of GPUs": [(row["measured_seconds"], row["predicted_seconds"]) for row in sums],
             "epochs that ESDG printed": printed}
    total = paper["overall"]
    networks = {(row["hosts"], row["rate"]) for row in hosts}
    inside = sum(row["ranks"] <= 8 for row in sums)
    judged = {"bytes sent": (sum("bytes_equal" in case for case in cases), sum(row["bytes_equal"] != "" for row in hosts), 0, 0, 0,
                             total["volume_error"]["count"]),
              "peak memory, or what fits": (sum("false_fit" in case for case in cases), 0, len(peaks), 0, 0,
                                            total["software_memory_verdicts"]["of"]),
              "time of an epoch": (len(cases) + len(programs), len(hosts), len(own), 0, 0, len(printed)),
              "the fastest strategy": (sum(one.picks()[1] for one in kept), len(networks), 0, 0, 0, total["software_winners"]["of"]),
              "time of a collective": (0, 0, 0, inside, len(sums) - inside, 0),
              "time to a metric": (0,) * 6, "start-up, and the bill": (0,) * 6}
    return kinds, judged


def summary_of(pairs):
    """(share of cases within FACTOR, mean absolute error, typical factor)."""
    ratios = [predicted / measured for measured, predicted in pairs]
    return (sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios) / len(ratios), statistics.fmean(abs(ratio - 1) for ratio in ratios),
            math.exp(statistics.fmean(abs(math.log(ratio)) for ratio in ratios)))


def table(kinds):
    lines = ["| what was predicted | cases | within a factor of 1.25 | mean error | typical factor |", "|---|---|---|---|---|"]
    for kind, pairs in kinds.items():
        share, error, factor = summary_of(pairs)
        lines.append(f"| {kind} | {len(pairs)} | {100 * share:.0f} % | {100 * error:.1f} % | {factor:.2f} |")
    return "\n".join(lines)


def draw_points(kinds, plt):
    figure, axes = plt.subplots(figsize=(6.0, 5.2))
    axes.set_xscale("log")
    axes.set_yscale("log")
    values = [value for pairs in kinds.values() for pair in pairs for value in pair]
    ends = [min(values) / 2, max(values) * 2]
    for factor, style in ((1, "-"), (FACTOR, "--"), (1 / FACTOR, "--")):
        axes.plot(ends, [factor * end for end in ends], style, color=looks.GREY, linewidth=0.9, zorder=0)
    for (kind, pairs), colour, mark in zip(kinds.items(), COLOURS, looks.MARKERS):
        axes.plot(*zip(*pairs), mark, color=colour, markersize=3.5, alpha=0.7, markeredgewidth=0, label=f"{kind} ({len(pairs)})")
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    looks.readable_log(axes.xaxis)
    looks.readable_log(axes.yaxis)
    axes.set_xlabel("measured or printed [s]")
    axes.set_ylabel("predicted [s]")
    axes.legend(loc="upper left", fontsize=8)
    axes.set_title(f"{len(values) // 2} cases; dashed: a factor of {FACTOR}", loc="left")
    return figure


def draw_errors(kinds, plt):
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    axes.set_xscale("log")
    for edge in (1 / FACTOR, 1, FACTOR):
        axes.axvline(edge, color=looks.GREY, linestyle="-" if edge == 1 else "--", linewidth=0.9, zorder=0)
    for place, ((_, pairs), colour) in enumerate(zip(kinds.items(), COLOURS)):
        ratios = sorted(predicted / measured for measured, predicted in pairs)
        spread = [place + 0.5 * ((number * 0.618034) % 1 - 0.5) for number in range(len(ratios))]
        axes.plot(ratios, spread, "o", color=colour, markersize=3, alpha=0.5, markeredgewidth=0)
        axes.plot([statistics.median(ratios)], [place], "|", color="black", markersize=16, markeredgewidth=1.6)
    axes.set_yticks(range(len(kinds)), [f"{kind} ({len(pairs)})" for kind, pairs in kinds.items()])
    axes.invert_yaxis()
    axes.set_xticks([0.2, 0.5, 0.8, 1, 1.25, 2, 5], ["0.2", "0.5", "0.8", "1", "1.25", "2", "5"])
    axes.minorticks_off()
    axes.set_xlabel("predicted over measured; bar: median; dashed: a factor of 1.25")
    return figure


def draw_untested(judged, plt):
    figure, axes = plt.subplots(figsize=(7.0, 3.2))
    axes.grid(False)
    axes.set_xlim(-0.5, len(PLACES) - 0.5)
    axes.set_ylim(len(judged) - 0.5, -0.5)
    for row, counts in enumerate(judged.values()):
        for column, count in enumerate(counts):
            axes.add_patch(plt.Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, color=looks.BLUE if count else looks.LIGHT_GREY,
                                         alpha=0.75 if count else 0.5, linewidth=0))
            axes.text(column, row, f"{count}" if count else "never", ha="center", va="center",
                      color="white" if count else "#555555", fontsize=9)
    axes.set_xticks(range(len(PLACES)), PLACES, fontsize=8)
    axes.set_yticks(range(len(judged)), judged)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--strobe", metavar="FILE", default=str(ROOT / "build" / "strobe"), help="program (default: build/strobe)")
    parser.add_argument("--out", metavar="DIR", help="folder for the figures (default: only print the table)")
    options = parser.parse_args()
    kinds, judged = collect(options.strobe)
    print(table(kinds))
    if options.out is None:
        return 0
    return max(looks.write_figure(name, options.out, lambda what=what: what, draw, ("png",)) for name, what, draw in
               (("validation_points", kinds, draw_points), ("validation_errors", kinds, draw_errors),
                ("validation_untested", judged, draw_untested)))


if __name__ == "__main__":
    sys.exit(main())
