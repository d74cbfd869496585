#!/usr/bin/env python3
"""Events that node memory captures with several batch sizes, by vertices from most to fewest events (DistTGL, Fig. 8).

usage: strobe inspect W --captured-events 300,600,1200 --csv F.csv; scripts/figures/captured_events.py F.csv --out DIR
"""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

PREFIX = "captured_"


def read_captured(path):
    """{column: numbers}. Raises Refused when the file is something else."""
    lacks = "lacks what strobe inspect --captured-events --csv writes, or vertices that have events"
    lines = r.read_csv(path, ("position", "vertex", "events"), lacks)
    if not any(name.startswith(PREFIX) for name in lines[0]):
        raise r.Refused(f"{path}: {lacks}")
    return {name: [int(line[name]) for line in lines] for name in lines[0]}


def groups_of(count):
    """(first, one past the last) of groups of neighbouring positions. Each group is about a tenth as long as all before
    it, because single vertices jump up and down, and thousands of them would hide each other."""
    groups, first = [], 0
    while first < count:
        groups.append((first, min(count, first + max(1, first // 10))))
        first = groups[-1][1]
    return groups


def means(values, groups):
    return [sum(values[first:last]) / (last - first) for first, last in groups]


def draw(columns, plt):
    groups = groups_of(len(columns["position"]))
    positions = means(columns["position"], groups)
    figure, axes = plt.subplots(figsize=(5.3, 3.8))
    axes.plot(positions, means(columns["events"], groups), color="black", linewidth=1.6, label="all events")
    names = [name for name in columns if name.startswith(PREFIX)]
    for number, name in enumerate(names):
        missing = 1 - sum(columns[name]) / sum(columns["events"])
        axes.plot(positions, means(columns[name], groups), color=looks.COLOURS[number % len(looks.COLOURS)],
                  linewidth=1.2, label=f"batch {name[len(PREFIX):]}: {100 * missing:.0f} % missing")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("vertices, of most events first; means of neighbours")
    axes.set_ylabel("events captured in node memory")
    axes.legend(loc="lower left", fontsize=8)
    looks.title(axes, "Of several events of a vertex in a batch its memory captures one", 10)
    return figure


if __name__ == "__main__":
    sys.exit(looks.document_main(draw, read_captured, "captured_events",
                             ("F.csv", "output of strobe inspect --captured-events --csv"), __doc__))
