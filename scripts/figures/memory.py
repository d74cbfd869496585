#!/usr/bin/env python3
"""Peak memory of the fullest rank, and the epoch's time, against the number of checkpoint blocks (after ESDG, SC'21)."""

import sys

from shared import rows as r

COLOURS = [r.BLUE, r.VERMILION, r.GREEN, r.ORANGE, r.PURPLE, r.SKY]
MARKERS = "osD^vP"


def blocks_of(row):
    """The number of blocks; rows that left it to the memory limit say so in their label, not on the axis."""
    text = str(row.get("settings", {}).get("nb", "1"))
    if not text.isdigit():
        raise r.Refused(f"{row['case_id']}: nb is {text}; give numbers to draw memory against them")
    return int(text)


def peak_of(row):
    return max(row["peak_bytes"]["device"] + row["peak_bytes"]["host"], default=0)


def draw_line(axes, line, index, value, label):
    points = {}
    for row in line:
        if blocks_of(row) in points:
            raise r.Refused(f"{row['case_id']} and {points[blocks_of(row)]['case_id']} would share one point")
        points[blocks_of(row)] = row
    axes.plot(sorted(points), [value(points[n]) for n in sorted(points)], color=COLOURS[index % len(COLOURS)],
              marker=MARKERS[index % len(MARKERS)], markersize=5, linewidth=1.4, label=label)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(points), [str(n) for n in sorted(points)])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("blocks of the timeline (nb)")


def draw(rows, plt):
    without = ("nb",)
    keys = r.in_order((r.group_label(row, rows, without), row["time_source"]) for row in rows)
    figure, axes = r.panels(plt.subplots, 2 * len(keys), columns=2)
    for k, key in enumerate(keys):
        panel = [row for row in rows if (r.group_label(row, rows, without), row["time_source"]) == key]
        factor, unit = r.byte_unit([peak_of(row) for row in panel])
        seconds, time_unit = r.time_unit([row["epoch_seconds"]["median"] for row in panel])
        lines = r.in_order((r.label(row, "strategy", rows), row["ranks"]) for row in panel)
        for i, (strategy, ranks) in enumerate(lines):
            line = [row for row in panel if (r.label(row, "strategy", rows), row["ranks"]) == (strategy, ranks)]
            label = f"{strategy}, {ranks} ranks"
            draw_line(axes[2 * k], line, i, lambda row: peak_of(row) * factor, label)
            draw_line(axes[2 * k + 1], line, i, lambda row: row["epoch_seconds"]["median"] * seconds, label)
        axes[2 * k].set_ylabel(f"peak of the fullest rank [{unit}]")
        axes[2 * k + 1].set_ylabel(f"median epoch time [{time_unit}]")
        axes[2 * k].set_title(f"{key[0]}: {r.source_label(panel)}", loc="left")
        axes[2 * k].legend(fontsize=7)
    return figure


if __name__ == "__main__":
    sys.exit(r.main(draw, "memory", ["peak_bytes", "epoch_seconds"], __doc__))
