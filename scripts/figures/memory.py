#!/usr/bin/env python3
"""Peak memory of the fullest rank, and the epoch's time, against the number of checkpoint blocks (after ESDG, SC'21)."""

import sys

from strobe_figures import looks
from strobe_figures import rows as r


def blocks_of(row):
    """The number of blocks; rows that left it to the memory limit say so in their label, not on the axis."""
    text = str(row.get("settings", {}).get("nb", "1"))
    if not text.isdigit():
        raise r.Refused(f"{row['case_id']}: nb is {text}; give numbers to draw memory against them")
    return int(text)


def peak_of(row):
    return max(row["peak_bytes"]["device"] + row["peak_bytes"]["host"], default=0)


def key_of(row, rows):
    """The strategy, and its ranks where they differ."""
    name = r.label(row, "strategy", rows)
    return (name, row["ranks"]) if len({other["ranks"] for other in rows}) > 1 else (name,)


def draw_line(axes, line, style, value, moved, interval=None):
    """`moved`: factor of the horizontal places, so that intervals do not overlap."""
    points = r.by_key(line, blocks_of, "point")
    counts = sorted(points)
    middles = [value(points[n]) for n in counts]
    ends = list(zip(*([max(0, end) for end in interval(points[n])] for n in counts))) if interval else None
    places = [n * moved for n in counts]
    axes.errorbar(places, middles, yerr=ends, color=style[0], marker=looks.MARKERS[style[1]], markersize=5, linewidth=1.4,
                  elinewidth=0.8, capsize=2)
    looks.ring_extrapolated(axes, [(x, y) for x, n, y in zip(places, counts, middles) if r.is_extrapolated(points[n])])


def distances(row, factor):
    """From the median epoch to the ends of its interval; 0 where there is none."""
    median, ends = row["epoch_seconds"]["median"], r.interval_of(row)
    return ((median - ends[0]) * factor, (ends[1] - median) * factor) if ends[0] is not None else (0, 0)


def finish(axes, panel, label):
    """Axes of a panel with all of its lines: limits that are set before freeze where the lines of then end."""
    counts = sorted({blocks_of(row) for row in panel})
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    tops = [value for line in axes.lines for value in line.get_ydata()]
    tops += [end[1] for bars in axes.collections for segment in bars.get_segments() for end in segment]
    looks.set_scale(axes.yaxis, "linear")
    if axes.get_yscale() == "linear":
        axes.set_ylim(0, 1.06 * max(tops) or 1)
    looks.readable_log(axes.yaxis)
    axes.set_xlabel("blocks of the timeline (nb)")
    axes.set_ylabel(label)


def draw(rows, plt):
    without = ("nb",)
    keys = r.in_order((r.group_label(row, rows, without), row["time_source"]) for row in rows)
    figure, axes = looks.panels(plt.subplots, 2 * len(keys), columns=2)
    styles = looks.styles_of((key_of(row, rows) for row in rows), len(looks.MARKERS))
    for k, key in enumerate(keys):
        panel = [row for row in rows if (r.group_label(row, rows, without), row["time_source"]) == key]
        factor, unit = r.byte_unit([peak_of(row) for row in panel])
        seconds, time_unit = r.time_unit([row["epoch_seconds"]["median"] for row in panel])
        keys_here = r.in_order(key_of(row, rows) for row in panel)
        for number, line_key in enumerate(keys_here):
            moved = looks.aside(number, len(keys_here))
            line = [row for row in panel if key_of(row, rows) == line_key]
            draw_line(axes[2 * k], line, styles[line_key], lambda row: peak_of(row) * factor, moved)
            draw_line(axes[2 * k + 1], line, styles[line_key], lambda row: row["epoch_seconds"]["median"] * seconds,
                      moved, lambda row: distances(row, seconds))
        finish(axes[2 * k], panel, f"peak of the fullest rank [{unit}]")
        finish(axes[2 * k + 1], panel, f"median epoch time [{time_unit}]")
        looks.title(axes[2 * k], f"{key[0]}: {r.source_label(panel)}")
    handles = [plt.Line2D([], [], color=colour, marker=looks.MARKERS[mark], markersize=5)
               for colour, mark in styles.values()]
    labels = [", ".join([name, *map(looks.ranks_text, ranks)]) for name, *ranks in styles]
    if r.bars_label(rows):
        handles.append(plt.Line2D([], [], color=looks.GREY, marker="|", markersize=8, linestyle=""))
        labels.append("epoch time, " + r.bars_label(rows))
    more = looks.extra_handles(plt.Line2D, any(r.is_extrapolated(row) for row in rows), False)
    looks.legend_below(figure, handles + more, labels + [handle.get_label() for handle in more])
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "memory", ["peak_bytes", "epoch_seconds"], __doc__))
