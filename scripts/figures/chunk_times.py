#!/usr/bin/env python3
"""Draws times of chunks over their numbers of cells, and the learned predictions (DGC, SIGMOD'23, Fig. 7, 16).

Chunks of one number of cells, one workload and one width are drawn as a cumulative distribution of their times, whose
ends say how far chunks that counting takes for equal are apart; others as points by number of cells.

usage: strobe calibrate --chunks --fewest-cells 1000 --most-cells 1000 --dump-chunks F.csv
       chunk_times.py F.csv --out DIR
"""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

COLUMNS = ("workload", "hidden", "feature_copies", "cells", "edges", "structure_seconds", "time_seconds",
           "predicted_seconds")


def read_chunks(path):
    """{workload, hidden and features: [(cells, edges, seconds, predicted seconds)]}. Raises Refused."""
    chunks = {}
    for line in r.read_csv(path, COLUMNS, "lacks what strobe calibrate --chunks --dump-chunks writes"):
        name = f"{line['workload']}, {line['hidden']} wide"
        if line["feature_copies"] != "1":
            name += f", features x {line['feature_copies']}"
        seconds = float(line["structure_seconds"]) + float(line["time_seconds"])
        chunks.setdefault(name, []).append((float(line["cells"]), float(line["edges"]), seconds,
                                            float(line["predicted_seconds"])))
    return chunks


def of_one_size(chunks):
    return len({chunk[0] for some in chunks.values() for chunk in some}) == 1


def spread(some):
    """Largest over smallest time."""
    return max(chunk[2] for chunk in some) / min(chunk[2] for chunk in some)


def mean_error(chunks):
    """Eq. 8 over all chunks."""
    errors = [abs(chunk[3] / chunk[2] - 1) for some in chunks.values() for chunk in some]
    return sum(errors) / len(errors)


def draw_times(axes, chunks, factor, unit):
    one_size = of_one_size(chunks)
    for number, (name, some) in enumerate(chunks.items()):
        colour = looks.COLOURS[number % len(looks.COLOURS)]
        label = f"{name}: {len(some)} chunks"
        if one_size:
            times = sorted(chunk[2] * factor for chunk in some)
            axes.step([times[0]] + times, [i / len(times) for i in range(len(times) + 1)], where="post", color=colour,
                      linestyle=looks.DASHES[number // len(looks.COLOURS) % len(looks.DASHES)],
                      label=f"{label}, {spread(some):.2g} times apart")
        else:
            axes.plot([chunk[0] for chunk in some], [chunk[2] * factor for chunk in some], linestyle="", color=colour,
                      marker=looks.MARKERS[number % len(looks.MARKERS)], markersize=2.5, alpha=0.7, label=label)
            axes.set_yscale("log")
    axes.set_xscale("log")
    cells = next(iter(chunks.values()))[0][0]
    axes.set_title(f"Chunks of {cells:,.0f} cells" if one_size else "Chunks by size", loc="left")
    axes.set_xlabel(f"a chunk's time [{unit}]" if one_size else "cells of a chunk")
    axes.set_ylabel("share of chunks at or below" if one_size else f"a chunk's time [{unit}]")
    looks.readable_log(axes.xaxis)


def draw(chunks, plt):
    factor, unit = r.time_unit([chunk[2] for some in chunks.values() for chunk in some])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), gridspec_kw={"wspace": 0.28})
    draw_times(left, chunks, factor, unit)
    for number, some in enumerate(chunks.values()):
        right.plot([chunk[2] * factor for chunk in some], [chunk[3] * factor for chunk in some], linestyle="",
                   marker=looks.MARKERS[number % len(looks.MARKERS)], markersize=2.5, alpha=0.7,
                   color=looks.COLOURS[number % len(looks.COLOURS)])
    both = [chunk[i] * factor for some in chunks.values() for chunk in some for i in (2, 3) if chunk[i] > 0]
    right.plot([min(both), max(both)], [min(both), max(both)], color=looks.GREY, linewidth=0.9)
    right.set_xscale("log")
    right.set_yscale("log")
    for axis in (right.xaxis, right.yaxis):
        looks.readable_log(axis)
    right.set_xlabel(f"measured [{unit}]")
    right.set_ylabel(f"predicted [{unit}]")
    right.set_title(f"Learned workload: mean error {100 * mean_error(chunks):.1f} %", loc="left")
    looks.legend_below(figure, *left.get_legend_handles_labels())
    return figure


if __name__ == "__main__":
    sys.exit(looks.document_main(draw, read_chunks, "chunk_times",
                             ("F.csv", "output of strobe calibrate --chunks --dump-chunks"), __doc__))
