#!/usr/bin/env python3
"""Where an epoch's time goes: stacked phases of the mean epoch per strategy and rank count, one panel per workload
and clock. The mark and the number above it are the median epoch, as tables show it, with its interval."""

import sys

from shared import looks
from shared import rows as r


def bars_of(rows, all_rows):
    """[(strategy label, [rows by rank count])] of one panel, refusing two rows for one bar."""
    bars = r.by_key(rows, lambda row: (r.label(row, "strategy", all_rows), row["ranks"]), "bar")
    names = r.in_order(name for name, _ in bars)
    return [(name, [bars[key] for key in sorted(key for key in bars if key[0] == name)]) for name in names]


def top_of(row):
    """The top of the bar and its mark, in seconds."""
    high = r.interval_of(row)[1]
    return max(sum(row["phase_seconds"].values()), row["epoch_seconds"]["median"], high or 0)


def draw_bar(axes, position, row, phases, factor):
    """The phases one above the other, hatched where the prediction is extrapolated, and the median with its interval."""
    bottom, hatch = 0.0, "////" if r.is_extrapolated(row) else None
    for phase in phases:
        height = row["phase_seconds"][phase] * factor
        axes.bar(position, height, 0.82, bottom=bottom, color=looks.PHASES[phase], edgecolor="white", linewidth=0.4, hatch=hatch)
        bottom += height
    median, (low, high) = row["epoch_seconds"]["median"], r.interval_of(row)
    ends = [[max(0, median - low) * factor], [max(0, high - median) * factor]] if low is not None else None
    axes.errorbar([position], [median * factor], yerr=ends, fmt="_", color="black", markersize=6, capsize=2, elinewidth=0.8)
    axes.annotate(f"{median * factor:.3g}", (position, top_of(row) * factor), xytext=(0, 2), textcoords="offset points",
                  ha="center", fontsize=6 if looks.in_column() else 7, color="#404040")


def draw_panel(axes, rows, all_rows, phases):
    bars = bars_of(rows, all_rows)
    factor, unit = r.time_unit([sum(row["phase_seconds"].values()) for row in rows])
    position, ticks, tick_labels = 0.0, [], []
    for name, group in bars:
        first = position
        for row in group:
            draw_bar(axes, position, row, phases, factor)
            ticks.append(position)
            tick_labels.append(str(row["ranks"]))
            position += 1
        axes.annotate(looks.short(name, 40).replace(" (", "\n("), ((first + position - 1) / 2, 0), xycoords=("data", "axes fraction"),
                      xytext=(0, -17), textcoords="offset points", ha="center", va="top", fontsize=8)
        position += 0.7
    axes.set_xticks(ticks, tick_labels, fontsize=8)
    axes.tick_params(axis="x", length=0, pad=2)
    axes.grid(axis="x", visible=False)
    axes.margins(x=0.03)
    # Room for the labels above the bars; automatic margins stop at the edges of stacked bars.
    axes.set_ylim(0, 1.12 * max(top_of(row) for row in rows) * factor)
    axes.set_ylabel(f"epoch time [{unit}]")


def grid_of(rows, groups, sources, plt):
    """The figure, and its axes by (group, clock). In a paper's column the clocks are below each other."""
    bars = {source: max(sum(r.group_label(row, rows) == group and row["time_source"] == source for row in rows)
                        for group in groups) for source in sources}
    keys = [(group, source) for group in groups for source in sources]
    there = [key for key in keys if any((r.group_label(row, rows), row["time_source"]) == key for row in rows)]
    if looks.in_column() or len(there) < len(keys):  # a grid would have holes
        inches = looks.COLUMN_INCHES if looks.in_column() else max(3.2, 0.42 * max(bars.values()) + 1.2)
        figure, grid = plt.subplots(len(there), 1, squeeze=False, figsize=(inches, 2.6 * len(there) + 0.4),
                                    gridspec_kw={"hspace": 0.7})
        keys = there
    else:
        widths = [max(3.2, 0.42 * bars[source] + 1.2) for source in sources]
        figure, grid = plt.subplots(len(groups), len(sources), squeeze=False,
                                    figsize=(sum(widths), 2.9 * len(groups) + 0.5),
                                    gridspec_kw={"width_ratios": widths, "hspace": 0.62, "wspace": 0.28})
    return figure, dict(zip(keys, grid.flat))


def handles_of(rows, phases, plt):
    handles = [plt.Rectangle((0, 0), 1, 1, color=looks.PHASES[phase], label=phase) for phase in phases]
    bars = r.bars_label(rows)
    handles.append(plt.Line2D([], [], color="black", marker="_", linestyle="", label="median" + (f", {bars}" if bars else "")))
    if any(r.is_extrapolated(row) for row in rows):
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=looks.GREY, hatch="////", label="extrapolated"))
    return handles


def draw(rows, plt):
    phases = [phase for phase in looks.PHASES if any(row["phase_seconds"].get(phase) for row in rows)]
    groups = r.in_order(r.group_label(row, rows) for row in rows)
    sources = [source for source in ("wall", "virtual") if any(row["time_source"] == source for row in rows)]
    figure, axes = grid_of(rows, groups, sources, plt)
    for (group, source), place in axes.items():
        panel = [row for row in rows if r.group_label(row, rows) == group and row["time_source"] == source]
        draw_panel(place, panel, rows, phases)
        looks.title(place, f"{group}: {r.source_label(panel)}")
        # A label wider than its panel would be cut off.
        inches = place.get_position().width * figure.get_figwidth()
        if group == groups[-1]:
            place.set_xlabel(looks.fit("ranks, by strategy; bars: mean epoch", inches, 9), labelpad=32)
    looks.legend_below(figure, handles_of(rows, phases, plt), most=96, drop=0.95)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "phase_split", ["phase_seconds", "epoch_seconds"], __doc__))
