#!/usr/bin/env python3
"""Epoch time against rank count per strategy, on logarithmic axes: measured (solid) and predicted (dashed)."""

import sys

from shared import rows as r

COLOURS = [r.BLUE, r.VERMILION, r.GREEN, r.ORANGE, r.PURPLE, r.SKY, "#000000"]
MARKERS = "osD^vPX"
STYLES = {"wall": ("-", "full"), "virtual": ("--", "none")}


def line_of(rows):
    """Rank counts, medians, distances to the 95 % interval (0 where there is none); refuses two rows for one point."""
    points = {}
    for row in rows:
        if row["ranks"] in points:
            raise r.Refused(f"{row['case_id']} and {points[row['ranks']]['case_id']} would share one point")
        points[row["ranks"]] = row
    ranks = sorted(points)
    times = [points[n]["epoch_seconds"] for n in ranks]
    lows = [t["median"] - t["ci95_low"] if t["ci95_low"] is not None else 0 for t in times]
    highs = [t["ci95_high"] - t["median"] if t["ci95_high"] is not None else 0 for t in times]
    return ranks, [t["median"] for t in times], [lows, highs]


def draw_ideal(axes, lines):
    """A guide of slope -1 from the fastest of the points with the fewest ranks: what perfect scaling would give."""
    points = [(n, t) for ranks, seconds in lines for n, t in zip(ranks, seconds)]
    if len({n for n, _ in points}) > 1:
        first, last = min(points), max(n for n, _ in points)
        ideal = [first[1], first[1] * first[0] / last]
        axes.plot([first[0], last], ideal, ":", color="#B0B0B0", linewidth=1.2, zorder=1)


def draw_panel(axes, panel, rows, strategies):
    for source, (style, fill) in STYLES.items():
        lines = []
        for i, strategy in enumerate(strategies):
            line = [row for row in panel
                    if row["time_source"] == source and r.label(row, "strategy", rows) == strategy]
            if not line:
                continue
            ranks, seconds, interval = line_of(line)
            colour = COLOURS[i % len(COLOURS)]
            axes.errorbar(ranks, seconds, yerr=interval, linestyle=style, color=colour, fillstyle=fill, capsize=2,
                          marker=MARKERS[i % len(MARKERS)], markersize=5, linewidth=1.4, elinewidth=0.9)
            lines.append((ranks, seconds))
        draw_ideal(axes, lines)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({row["ranks"] for row in panel})
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    axes.set_xlabel("ranks")
    axes.set_ylabel("median epoch time [s]")


def draw(rows, plt):
    from matplotlib.lines import Line2D
    strategies = r.in_order(r.label(row, "strategy", rows) for row in rows)
    groups = r.in_order(r.group_label(row, rows) for row in rows)
    columns = min(3, len(groups))
    lines = -(-len(groups) // columns)
    figure, grid = plt.subplots(lines, columns, squeeze=False, figsize=(4.3 * columns, 3.4 * lines),
                                gridspec_kw={"hspace": 0.45, "wspace": 0.3})
    for i, axes in enumerate(grid.flat):
        if i >= len(groups):
            axes.set_axis_off()
            continue
        panel = [row for row in rows if r.group_label(row, rows) == groups[i]]
        draw_panel(axes, panel, rows, strategies)
        axes.set_title(groups[i], loc="left")
    handles = [Line2D([], [], color=COLOURS[i % len(COLOURS)], marker=MARKERS[i % len(MARKERS)], markersize=5,
                      label=name) for i, name in enumerate(strategies)]
    for source, (style, fill) in STYLES.items():
        of_source = [row for row in rows if row["time_source"] == source]
        if of_source:
            handles.append(Line2D([], [], color="#505050", linestyle=style, marker="o", fillstyle=fill, markersize=5,
                                  label=r.source_label(of_source)))
    handles.append(Line2D([], [], color="#B0B0B0", linestyle=":", label="ideal"))
    figure.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02 / lines), ncol=min(4, len(handles)))
    return figure


if __name__ == "__main__":
    sys.exit(r.main(draw, "scaling", ["epoch_seconds"], __doc__))
