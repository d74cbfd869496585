#!/usr/bin/env python3
"""Draws the processor time to make, assign and fuse chunks, on a logarithmic axis (DGC, SIGMOD'23, Fig. 17).

Labels above the bars give their share of training.

usage: scripts/dgc_overhead --csv F.csv; scripts/figures/overhead.py F.csv --out DIR
"""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

PARTS = {"generation_seconds": ("chunk generation", looks.BLUE), "assignment_seconds": ("chunk assignment", looks.GREEN),
         "fusing_seconds": ("fusing", looks.ORANGE), "training_seconds": ("training", looks.GREY)}


def read_costs(path):
    """[{workload, model, and seconds of each part}]. Raises Refused."""
    lines = r.read_csv(path, ("workload", "model", *PARTS), "lacks what scripts/dgc_overhead --csv writes")
    return [{**line, **{part: float(line[part]) for part in PARTS}} for line in lines]


def share(line, part):
    """The part's share of training's time."""
    return line[part] / line["training_seconds"]


def draw(lines, plt):
    figure, axes = plt.subplots(figsize=(max(4.0, 1.15 * len(lines) + 1), 3.2))
    for place, line in enumerate(lines):
        for number, (part, (name, colour)) in enumerate(PARTS.items()):
            if line[part] <= 0:  # below what the clock of a process tells
                continue
            position = place + (number - 1.5) * 0.21
            axes.bar(position, line[part], 0.19, color=colour, label=name if place == 0 else None)
            above = f"{line[part]:.3g} s" if part == "training_seconds" else f"{100 * share(line, part):.2g} %"
            axes.annotate(above, (position, line[part]), xytext=(0, 2), textcoords="offset points", ha="center",
                          va="bottom", rotation=90, fontsize=6.5, color="#404040")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.15)
    names = [looks.short(line["workload"].replace(":", "\n"), 22) + "\n" + line["model"] for line in lines]
    axes.set_xticks(range(len(lines)), names, fontsize=7.5)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("processor time [s]")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour) for _, colour in PARTS.values()]
    looks.legend_below(figure, handles, [name for name, _ in PARTS.values()])
    return figure


if __name__ == "__main__":
    sys.exit(looks.document_main(draw, read_costs, "overhead", ("F.csv", "output of scripts/dgc_overhead --csv"), __doc__))
