#!/usr/bin/env python3
"""Bytes that ranks send in one epoch, by purpose, and the epoch's time, per strategy (after ESDG, SC'21, Table 2).

Where epochs hold different work, both are per unit of work."""

import sys

from strobe_figures import epochs, looks
from strobe_figures import rows as r

COLOURS = {"redistribute": looks.BLUE, "halo": looks.VERMILION, "state": looks.GREEN, "memory": looks.PURPLE, "sampling": looks.GREY,
           "gradient": looks.ORANGE, "parameters": looks.SKY, "other": looks.LIGHT_GREY}


def bars_of(panel, rows):
    """[(strategy label, row)] ordered by rank count, then strategy; refuses two rows for one bar."""
    bars = r.by_key(panel, lambda row: (row["ranks"], r.label(row, "strategy", rows)), "bar")
    strategies = r.in_order(name for _, name in bars)
    return sorted(((ranks, name, row) for (ranks, name), row in bars.items()),
                  key=lambda bar: (bar[0], strategies.index(bar[1])))


def draw_bytes(axes, bars, purposes, per):
    factor, unit = r.byte_unit([row["sent_bytes"]["total"] for _, _, row in bars])
    for position, (_, _, row) in enumerate(bars):
        begin = 0.0
        for purpose in purposes:
            width = row["sent_bytes"].get(purpose, 0) * factor
            axes.barh(position, width, 0.8, left=begin, color=COLOURS.get(purpose, looks.GREY), edgecolor="white", linewidth=0.4)
            begin += width
    axes.set_xlim(0, 1.06 * max(row["sent_bytes"]["total"] for _, _, row in bars) * factor or 1)
    axes.set_xlabel(f"sent {epochs.within(per)} [{unit}]")


def draw_seconds(axes, bars, per):
    factor, unit = r.time_unit([row["epoch_seconds"]["median"] for _, _, row in bars])
    for position, (_, _, row) in enumerate(bars):
        median, (low, high) = row["epoch_seconds"]["median"], r.interval_of(row)
        ends = [[max(0, median - low) * factor], [max(0, high - median) * factor]] if low is not None else None
        axes.barh(position, median * factor, 0.8, color=looks.SKY, edgecolor="white", linewidth=0.4, xerr=ends, capsize=2,
                  hatch="////" if r.is_extrapolated(row) else None, error_kw={"elinewidth": 0.8})
    tops = [r.interval_of(row)[1] or row["epoch_seconds"]["median"] for _, _, row in bars]
    axes.set_xlim(0, 1.06 * max(tops) * factor)
    axes.set_xlabel(f"median {epochs.time_per(per)} [{unit}]")


def draw(rows, plt):
    purposes = [purpose for purpose in COLOURS if any(row["sent_bytes"].get(purpose) for row in rows)]
    keys = r.in_order((r.group_label(row, rows), row["time_source"]) for row in rows)
    panels, units = {}, {}
    for key in keys:
        panel, units[key] = epochs.alike([row for row in rows if (r.group_label(row, rows), row["time_source"]) == key])
        panels[key] = bars_of(panel, rows)
    names = {key: [f"{name}, {looks.ranks_text(ranks)}" for ranks, name, _ in bars] for key, bars in panels.items()}
    heights = [looks.height_of_bars(names[key]) for key in keys for _ in range(2)]
    figure, axes = looks.panels(plt.subplots, 2 * len(keys), columns=2, size=(4.8, 3.4), heights=heights)
    for k, (key, bars) in enumerate(panels.items()):
        draw_bytes(axes[2 * k], bars, purposes, units[key])
        draw_seconds(axes[2 * k + 1], bars, units[key])
        for place in axes[2 * k:2 * k + 2]:
            looks.names_of_bars(place, names[key])
        looks.title(axes[2 * k], f"{key[0]}: {r.source_label([row for _, _, row in bars])}")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[purpose], label=purpose) for purpose in purposes]
    if r.bars_label(rows):
        handles.append(plt.Line2D([], [], color="black", marker="|", markersize=8, linestyle="", label=r.bars_label(rows)))
    if any(r.is_extrapolated(row) for row in rows):
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=looks.GREY, hatch="////", label="hatched: extrapolated"))
    looks.legend_below(figure, handles)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "volume", ["sent_bytes", "epoch_seconds"], __doc__, scales=False))
