#!/usr/bin/env python3
"""The guide of several comparisons: which parallelism is at the metric first, by data and by where it trains.

Reads files comparison.csv, which comparison.py writes, and prints a table in Markdown: of each parallelism the soonest
case, in milliseconds, with its strategy where a parallelism has several, and its model.
docs/studies/2026-11-30_parallelisms_predicted.md holds the table that this prints for the files of
results/measured/comparisons. Lines compare within themselves: each has its own data and metric.
"""

import argparse
import sys

from strobe_figures import parallelisms as p
from strobe_figures import rows as r

NEEDED = ("workload", "where", "parallelism", "strategy", "model", "ranks", "until", "seconds_to_metric", "updates")
KINDS = [kind for kind in p.KINDS if kind != "one rank"]
PLAIN = ("snapshot", "vertex", "chunk")


def read(path):
    """Lines of a comparison.csv that were asked for a metric. Raises Refused where it is none."""
    lines = r.read_csv(path, NEEDED, "not a comparison.csv of scripts/figures/comparison.py")
    return [line for line in lines if line["until"]]


def seconds(line):
    return float(line["seconds_to_metric"])


def soonest(lines):
    """The line of each parallelism that reaches the metric first."""
    best = {}
    for line in lines:
        kind = line["parallelism"]
        if line["seconds_to_metric"] and (kind not in best or seconds(line) < seconds(best[kind])):
            best[kind] = line
    return best


def cell(line, first):
    """Milliseconds, strategy and model of the soonest case of a parallelism."""
    milliseconds = 1e3 * seconds(line)
    time = f"{milliseconds:.3g}" if milliseconds < 999.5 else f"{milliseconds:.0f}"
    way = "" if line["strategy"] in PLAIN else f"{line['strategy']}, "
    return f"{'**' + time + '**' if line is first else time} ({way}{line['model']})"


def guide(lines):
    """A line of the table for each data set and place, in the order of the files."""
    text = []
    for place in r.in_order((line["workload"], line["until"], line["where"]) for line in lines):
        here = [line for line in lines if (line["workload"], line["until"], line["where"]) == place]
        best = {kind: line for kind, line in soonest(here).items() if kind in KINDS}
        asked = {line["parallelism"] for line in here}
        order = sorted(best.values(), key=seconds)
        if not order:
            continue
        cells = [cell(best[kind], order[0]) if kind in best else "not reached" if kind in asked else "" for kind in KINDS]
        ahead = f"{seconds(order[1]) / seconds(order[0]):.3g}" if len(order) > 1 else ""
        text.append([place[0], place[1], place[2]] + cells + [order[0]["parallelism"], ahead])
    head = ["data", "until", "where"] + [f"{kind}, ms" for kind in KINDS] + ["first", "times before the next"]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head)] + text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--predicted", action="store_true", help="leave out what was measured on the machine itself")
    parser.add_argument("files", metavar="COMPARISON_CSV", nargs="+", help="files that comparison.py wrote")
    options = parser.parse_args()
    try:
        lines = [line for path in options.files for line in read(path)
                 if not (options.predicted and line["where"] == "here")]
        if not any(line["seconds_to_metric"] for line in lines):
            raise r.Refused("no case was at its metric, so there is nothing to guide by; a suite's 'until' says which")
    except r.Refused as refusal:
        print(f"comparison_guide: {refusal}", file=sys.stderr)
        return 2
    print(guide(lines))
    return 0


if __name__ == "__main__":
    sys.exit(r.ending(main))
