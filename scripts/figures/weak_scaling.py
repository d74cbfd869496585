#!/usr/bin/env python3
"""Edges per second against ranks while the graph grows with them, over one rank's (after ESDG, SC'21, Fig. 7)."""

import sys

from shared import rows as r

COLOURS = [r.BLUE, r.VERMILION, r.GREEN, r.ORANGE, r.PURPLE, r.SKY]
STYLES = {"wall": ("-", "full"), "virtual": ("--", "none")}


def rate_of(row):
    """Non-zeros per second: the row's throughput of items."""
    rates = list(row["throughput"].values())
    if not rates or rates[0] is None:
        raise r.Refused(f"{row['case_id']} has no throughput")
    return rates[0]


def key_of(row, rows):
    """What one line is of; the workload by its name alone, because its size changes along the line."""
    return row["workload"]["name"], r.label(row, "model", rows), r.label(row, "strategy", rows), row["time_source"]


def draw(rows, plt):
    figure, (axes,) = r.panels(plt.subplots, 1, size=(5.2, 3.8))
    keys = r.in_order(key_of(row, rows) for row in rows)
    models = r.in_order(key[1] for key in keys)
    counts = sorted({row["ranks"] for row in rows})
    for workload, model, strategy, source in keys:
        line = sorted((row for row in rows if key_of(row, rows) == (workload, model, strategy, source)),
                      key=lambda row: row["ranks"])
        for one, next_one in zip(line, line[1:]):
            if one["ranks"] == next_one["ranks"]:
                raise r.Refused(f"{one['case_id']} and {next_one['case_id']} would share one point")
        style, fill = STYLES[source]
        axes.plot([row["ranks"] for row in line], [rate_of(row) / rate_of(line[0]) for row in line], style,
                  color=COLOURS[models.index(model) % len(COLOURS)], marker="o", fillstyle=fill, markersize=5,
                  label=f"{workload}, {model}, {strategy}: {r.source_label(line)}")
    if len(counts) > 1:
        axes.plot(counts, [n / counts[0] for n in counts], ":", color="#B0B0B0", label="ideal", zorder=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_xlabel("ranks (the graph grows with them)")
    axes.set_ylabel("edges per second over the fewest ranks'")
    axes.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    sys.exit(r.main(draw, "weak_scaling", ["throughput"], __doc__))
