#!/usr/bin/env python3
"""Where an epoch's time goes: stacked phases of the mean epoch per strategy and rank count, one panel per workload
and clock. The number above a bar is the mean epoch; the table of a run shows the median."""

import sys

from shared import looks
from shared import rows as r

COLOURS = {"compute": r.BLUE, "communicate": r.VERMILION, "transfer": r.ORANGE, "sample": r.GREEN, "wait": r.GREY,
           "other": r.LIGHT_GREY}


def bars_of(rows, all_rows):
    """[(strategy label, [rows by rank count])] of one panel, refusing two rows for one bar."""
    bars = {}
    for row in rows:
        ranks = bars.setdefault(r.label(row, "strategy", all_rows), {})
        if row["ranks"] in ranks:
            raise r.Refused(f"{row['case_id']} and {ranks[row['ranks']]['case_id']} would share one bar")
        ranks[row["ranks"]] = row
    return [(name, [ranks[n] for n in sorted(ranks)]) for name, ranks in bars.items()]


def draw_panel(axes, rows, all_rows, phases):
    bars = bars_of(rows, all_rows)
    factor, unit = r.time_unit([sum(row["phase_seconds"].values()) for row in rows])
    position, ticks, tick_labels = 0.0, [], []
    for name, group in bars:
        first = position
        for row in group:
            bottom = 0.0
            for phase in phases:
                height = row["phase_seconds"][phase] * factor
                axes.bar(position, height, 0.82, bottom=bottom, color=COLOURS[phase], edgecolor="white", linewidth=0.4)
                bottom += height
            axes.annotate(f"{bottom:.3g}", (position, bottom), xytext=(0, 2), textcoords="offset points", ha="center",
                          fontsize=7, color="#404040")
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
    axes.set_ylim(0, 1.12 * max(sum(row["phase_seconds"].values()) for row in rows) * factor)
    axes.set_ylabel(f"mean epoch time [{unit}]")


def draw(rows, plt):
    phases = [phase for phase in COLOURS if any(row["phase_seconds"].get(phase) for row in rows)]
    groups = r.in_order(r.group_label(row, rows) for row in rows)
    sources = [source for source in ("wall", "virtual") if any(row["time_source"] == source for row in rows)]
    bars = {source: max(sum(r.group_label(row, rows) == group and row["time_source"] == source for row in rows)
                        for group in groups) for source in sources}
    widths = [max(3.2, 0.42 * bars[source] + 1.2) for source in sources]
    size = (sum(widths), 2.9 * len(groups) + 0.5)
    figure, grid = plt.subplots(len(groups), len(sources), squeeze=False, figsize=size,
                                gridspec_kw={"width_ratios": widths, "hspace": 0.62, "wspace": 0.28})
    for i, group in enumerate(groups):
        for j, source in enumerate(sources):
            panel = [row for row in rows if r.group_label(row, rows) == group and row["time_source"] == source]
            if not panel:
                grid[i][j].set_axis_off()
                continue
            draw_panel(grid[i][j], panel, rows, phases)
            looks.title(grid[i][j], f"{group}: {r.source_label(panel)}")
    for j, _ in enumerate(sources):
        # A label wider than its panel would be cut off.
        inches = grid[-1][j].get_position().width * figure.get_figwidth()
        grid[-1][j].set_xlabel(looks.fit("ranks, by strategy; above: the mean epoch", inches, 9), labelpad=32)
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[phase]) for phase in phases]
    above_titles = 0.88 + 0.42 / figure.get_figheight()
    figure.legend(handles, phases, loc="lower center", bbox_to_anchor=(0.5, above_titles), ncol=len(phases),
                  handlelength=1.0, handleheight=1.0)
    return figure


if __name__ == "__main__":
    sys.exit(r.main(draw, "phase_split", ["phase_seconds"], __doc__))
