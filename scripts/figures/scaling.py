#!/usr/bin/env python3
"""Epoch time against rank count per strategy, on logarithmic axes: measured (solid) and predicted (dashed).

Where epochs hold different work, times are per unit of work."""

import sys

from strobe_figures import epochs, looks
from strobe_figures import rows as r

STYLES = {"wall": ("-", "full"), "virtual": ("--", "none")}


def spread_of(row):
    """Distances from the median to the ends of its bar."""
    median, (low, high) = row["epoch_seconds"]["median"], r.interval_of(row)
    return max(0, median - low) if low is not None else 0, max(0, high - median) if high is not None else 0


def left_out_of(panel, rows, strategy, source):
    """Rank counts at which the strategy could not run, from skipped rows that otherwise belong to the panel."""
    like = r.group_label(panel[0], rows)
    found = [row for row in r.LEFT_OUT if row.get("time_source") == source and row.get("status") == "skipped"]
    return [row["ranks"] for row in found
            if r.label(row, "strategy", rows) == strategy and r.group_label({**panel[0], **row, "seed": panel[0].get("seed")}, rows) == like]


def line_of(rows, factor):
    """Rank counts, medians and their bars, in units of 1 / factor seconds; refuses two rows for one point."""
    points = r.by_key(rows, r.ranks_of, "point")
    ranks = sorted(points)
    bars = [[factor * end for end in spread_of(points[n])] for n in ranks]
    return ranks, [factor * points[n]["epoch_seconds"]["median"] for n in ranks], list(zip(*bars))


def draw_ideal(axes, lines):
    """A guide of slope -1 from the fastest of the points with the fewest ranks: what perfect scaling would give."""
    points = [(n, t) for ranks, seconds in lines for n, t in zip(ranks, seconds)]
    if len({n for n, _ in points}) > 1:
        first, last = min(points), max(n for n, _ in points)
        ideal = [first[1], first[1] * first[0] / last]
        axes.plot([first[0], last], ideal, ":", color="#B0B0B0", linewidth=1.2, zorder=1)


def draw_panel(axes, panel, rows, styles, per="epoch"):
    factor, unit = r.time_unit([row["epoch_seconds"]["median"] for row in panel])
    for source, (line_style, fill) in STYLES.items():
        lines = []
        for number, ((strategy,), (colour, mark)) in enumerate(styles.items()):
            line = [row for row in panel
                    if row["time_source"] == source and r.label(row, "strategy", rows) == strategy]
            if not line:
                continue
            ranks, times, bars = line_of(line, factor)
            places = [n * looks.aside(number, len(styles)) for n in ranks]
            axes.errorbar(places, times, yerr=bars, linestyle=line_style, color=colour, fillstyle=fill, capsize=2,
                          marker=looks.MARKERS[mark], markersize=5, linewidth=1.4, elinewidth=0.9)
            lines.append((ranks, times))
            extrapolated = {row["ranks"] for row in line if r.is_extrapolated(row)}
            looks.ring_extrapolated(axes, [(x, t) for x, n, t in zip(places, ranks, times) if n in extrapolated])
        draw_ideal(axes, lines)
    axes.set_xscale("log", base=2)
    looks.set_scale(axes.yaxis, "log")
    ticks = {row["ranks"] for row in panel}
    for number, ((strategy,), (colour, _)) in enumerate(styles.items()):
        for source in STYLES:
            for ranks in left_out_of(panel, rows, strategy, source):
                looks.cross_left_out(axes, ranks, colour, number)
                ticks.add(ranks)
    ticks = sorted(ticks)
    axes.set_xticks(ticks, [str(n) for n in ticks])
    axes.minorticks_off()
    looks.readable_log(axes.yaxis)
    axes.set_xlabel("ranks")
    axes.set_ylabel(f"median {epochs.time_per(per)} [{unit}]")


def legend_of(figure, rows, styles, line_of_legend):
    handles = [line_of_legend([], [], color=colour, marker=looks.MARKERS[mark], markersize=5, label=strategy)
               for (strategy,), (colour, mark) in styles.items()]
    for source, (line_style, fill) in STYLES.items():
        of_source = [row for row in rows if row["time_source"] == source]
        if not of_source:
            continue
        label = r.source_label(of_source)
        bars = r.bars_label(of_source)
        label += f", {bars}" if bars else ""
        handles.append(line_of_legend([], [], color=looks.GREY, linestyle=line_style, marker="o", fillstyle=fill,
                                      markersize=5, label=label))
    handles.append(line_of_legend([], [], color="#B0B0B0", linestyle=":", label="ideal"))
    handles += looks.extra_handles(line_of_legend, any(r.is_extrapolated(row) for row in rows),
                                   any(row.get("status") == "skipped" for row in r.LEFT_OUT))
    looks.legend_below(figure, handles)


def draw(rows, plt):
    styles = looks.styles_of(((r.label(row, "strategy", rows),) for row in rows), len(looks.MARKERS))
    groups = r.in_order(r.group_label(row, rows) for row in rows)
    figure, axes = looks.panels(plt.subplots, len(groups))
    for place, group in zip(axes, groups):
        panel, per = epochs.alike([row for row in rows if r.group_label(row, rows) == group])
        draw_panel(place, panel, rows, styles, per)
        looks.title(place, group)
    legend_of(figure, rows, styles, plt.Line2D)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "scaling", ["epoch_seconds"], __doc__))
