#!/usr/bin/env python3
"""Where an epoch's time goes: stacked phases of the mean epoch per strategy and rank count, one panel per workload
and clock. The mark and the number next to it are the median epoch, as tables show it, with its interval. Where epochs
hold different work, all of it is per unit of work."""

import sys

from strobe_figures import epochs, looks
from strobe_figures import rows as r


def bars_of(rows, all_rows):
    """[(strategy label, [rows by rank count])] of one panel, refusing two rows for one bar."""
    bars = r.by_key(rows, lambda row: (r.label(row, "strategy", all_rows), row["ranks"]), "bar")
    names = r.in_order(name for name, _ in bars)
    return [(name, [bars[key] for key in sorted(key for key in bars if key[0] == name)]) for name in names]


def top_of(row):
    """The end of the bar and its mark, in seconds."""
    return max(sum(row["phase_seconds"].values()), row["epoch_seconds"]["median"], r.interval_of(row)[1] or 0)


def draw_bars(axes, groups, phases, per="epoch"):
    """Horizontal bars, each group's together: groups = [[(name, row)]]. The phases follow one another, hatched where the
    prediction is extrapolated, and the median with its interval."""
    rows = [row for group in groups for _, row in group]
    factor, unit = r.time_unit([top_of(row) for row in rows])
    place, places = 0.0, []
    for group in groups:
        for _, row in group:
            median, (low, high) = row["epoch_seconds"]["median"], r.interval_of(row)
            ends = [[max(0, median - low) * factor], [max(0, high - median) * factor]] if low is not None else None
            axes.errorbar([median * factor], [place], xerr=ends, fmt="|", color="black", markersize=6, capsize=2, elinewidth=0.8)
            looks.number_on_bar(axes, f"{median * factor:.3g}", (top_of(row) * factor, place), xytext=(3, 0), va="center",
                                fontsize=looks.points(7))
            places.append(place)
            place += 1
        place += 0.5
    for hatch in (None, "////"):
        some = [(at, row) for at, row in zip(places, rows) if r.is_extrapolated(row) == bool(hatch)]
        begins = [0.0] * len(some)
        for phase in phases if some else ():
            widths = [(row["phase_seconds"].get(phase) or 0) * factor for _, row in some]
            axes.barh([at for at, _ in some], widths, 0.78, left=begins, color=looks.PHASES[phase], edgecolor="white", linewidth=0.4,
                      hatch=hatch)
            begins = [begin + width for begin, width in zip(begins, widths)]
    looks.names_of_bars(axes, [name for group in groups for name, _ in group], places)
    axes.set_xlim(0, 1.2 * max(top_of(row) for row in rows) * factor)
    axes.set_xlabel(f"{epochs.time_per(per)} [{unit}]")


def handles_of(rows, phases, plt):
    handles = [plt.Rectangle((0, 0), 1, 1, color=looks.PHASES[phase], label=phase) for phase in phases]
    bars = r.bars_label(rows)
    handles.append(plt.Line2D([], [], color="black", marker="|", linestyle="", label="median" + (f", {bars}" if bars else "")))
    if any(r.is_extrapolated(row) for row in rows):
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=looks.GREY, hatch="////", label="extrapolated"))
    return handles


def phases_of(rows):
    return [phase for phase in looks.PHASES if any(row["phase_seconds"].get(phase) for row in rows)]


def draw(rows, plt):
    phases = phases_of(rows)
    keys = sorted(r.in_order((r.group_label(row, rows), row["time_source"]) for row in rows), key=lambda key: key[1] != "wall")
    drawn = []
    for key in keys:
        panel, per = epochs.alike([row for row in rows if (r.group_label(row, rows), row["time_source"]) == key])
        groups = [[(f"{name}, {looks.ranks_text(row['ranks'])}", row) for row in own] for name, own in bars_of(panel, rows)]
        drawn.append((f"{key[0]}: {r.source_label(panel)}", groups, per))
    heights = [looks.height_of_bars([name for group in groups for name, _ in group], len(groups) - 1) for _, groups, _ in drawn]
    figure, axes = looks.panels(plt.subplots, len(drawn), columns=2, size=(5.4, 3.0), heights=heights)
    for place, (name, groups, per) in zip(axes, drawn):
        draw_bars(place, groups, phases, per)
        looks.title(place, name)
    looks.legend_below(figure, handles_of(rows, phases, plt))
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "phase_split", ["phase_seconds", "epoch_seconds"], __doc__, scales=False))
