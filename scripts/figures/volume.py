#!/usr/bin/env python3
"""Bytes that ranks send in one epoch, by purpose, and the epoch's time, per strategy (after ESDG, SC'21, Table 2)."""

import sys

from shared import looks
from shared import rows as r

COLOURS = {"redistribute": looks.BLUE, "halo": looks.VERMILION, "state": looks.GREEN, "memory": looks.PURPLE, "gradient": looks.ORANGE,
           "parameters": looks.SKY, "other": looks.LIGHT_GREY}


def bars_of(panel, rows):
    """[(strategy label, row)] ordered by rank count, then strategy; refuses two rows for one bar."""
    bars = r.by_key(panel, lambda row: (row["ranks"], r.label(row, "strategy", rows)), "bar")
    strategies = r.in_order(name for _, name in bars)
    return sorted(((ranks, name, row) for (ranks, name), row in bars.items()),
                  key=lambda bar: (bar[0], strategies.index(bar[1])))


def draw_bytes(axes, bars, purposes):
    factor, unit = r.byte_unit([row["sent_bytes"]["total"] for _, _, row in bars])
    for position, (_, _, row) in enumerate(bars):
        bottom = 0.0
        for purpose in purposes:
            height = row["sent_bytes"].get(purpose, 0) * factor
            axes.bar(position, height, 0.8, bottom=bottom, color=COLOURS.get(purpose, looks.GREY), edgecolor="white",
                     linewidth=0.4)
            bottom += height
    # Automatic margins stop at the edges of stacked bars.
    axes.set_ylim(0, 1.06 * max(row["sent_bytes"]["total"] for _, _, row in bars) * factor or 1)
    axes.set_ylabel(f"sent in an epoch [{unit}]")


def draw_seconds(axes, bars):
    factor, unit = r.time_unit([row["epoch_seconds"]["median"] for _, _, row in bars])
    for position, (_, _, row) in enumerate(bars):
        median, (low, high) = row["epoch_seconds"]["median"], r.interval_of(row)
        ends = [[max(0, median - low) * factor], [max(0, high - median) * factor]] if low is not None else None
        axes.bar(position, median * factor, 0.8, color=looks.SKY, edgecolor="white", linewidth=0.4, yerr=ends, capsize=2,
                 hatch="////" if r.is_extrapolated(row) else None, error_kw={"elinewidth": 0.8})
    tops = [r.interval_of(row)[1] or row["epoch_seconds"]["median"] for _, _, row in bars]
    axes.set_ylim(0, 1.06 * max(tops) * factor)
    axes.set_ylabel(f"median epoch time [{unit}]")


def draw(rows, plt):
    purposes = [purpose for purpose in COLOURS if any(row["sent_bytes"].get(purpose) for row in rows)]
    keys = r.in_order((r.group_label(row, rows), row["time_source"]) for row in rows)
    widest = max(sum((r.group_label(row, rows), row["time_source"]) == key for row in rows) for key in keys)
    figure, axes = looks.panels(plt.subplots, 2 * len(keys), columns=2, size=(max(4.3, 0.5 * widest), 3.4))
    for k, key in enumerate(keys):
        panel = [row for row in rows if (r.group_label(row, rows), row["time_source"]) == key]
        bars = bars_of(panel, rows)
        draw_bytes(axes[2 * k], bars, purposes)
        draw_seconds(axes[2 * k + 1], bars)
        for place in axes[2 * k:2 * k + 2]:
            place.set_xticks(range(len(bars)), [f"{looks.short(name, 40)}, {ranks}" for ranks, name, _ in bars], rotation=40,
                             ha="right", fontsize=7)
            place.grid(axis="x", visible=False)
        looks.title(axes[2 * k], f"{key[0]}: {r.source_label(panel)}")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[purpose], label=purpose) for purpose in purposes]
    if r.bars_label(rows):
        handles.append(plt.Line2D([], [], color="black", marker="|", markersize=8, linestyle="", label=r.bars_label(rows)))
    if any(r.is_extrapolated(row) for row in rows):
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=looks.GREY, hatch="////", label="hatched: extrapolated"))
    longest = max(len(looks.short(r.label(row, "strategy", rows), 40)) for row in rows)
    looks.legend_below(figure, handles, most=96, drop=0.35 + 0.05 * longest)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "volume", ["sent_bytes", "epoch_seconds"], __doc__))
