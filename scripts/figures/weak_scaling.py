#!/usr/bin/env python3
"""Edges (or cells, or events) per second against ranks while the graph grows with them, over one rank's (after ESDG, SC'21, Fig. 7)."""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

STYLES = {"wall": ("-", "full"), "virtual": ("--", "none")}


def key_of(row, rows):
    """The key of one line. The workload counts by its name alone, because its size changes along the line."""
    return row["workload"]["name"], r.label(row, "model", rows), r.label(row, "strategy", rows), row["time_source"]


def distances(row, rate):
    """From the rate to the ends of its bar: as a rate, the interval of the epoch is turned round."""
    times, (low, high) = row.get("epoch_seconds"), r.interval_of(row) if row.get("epoch_seconds") else (None, None)
    if low is None or low <= 0:
        return 0, 0
    return max(0, rate - rate * times["median"] / high), max(0, rate * times["median"] / low - rate)


def draw_line(axes, line, style):
    unit = r.unit_of(line)
    for one, next_one in zip(line, line[1:]):
        if one["ranks"] == next_one["ranks"]:
            raise r.Refused(f"{one['case_id']} and {next_one['case_id']} would share one point")
    line_style, fill = STYLES[line[0]["time_source"]]
    rates = [row["throughput"][unit] / line[0]["throughput"][unit] for row in line]
    axes.errorbar([row["ranks"] for row in line], rates, yerr=list(zip(*map(distances, line, rates))), linestyle=line_style,
                  color=style[0], marker=looks.MARKERS[style[1]], fillstyle=fill, markersize=5, elinewidth=0.8, capsize=2)
    looks.ring_extrapolated(axes, [(row["ranks"], y) for row, y in zip(line, rates) if r.is_extrapolated(row)])


def refuse_equal_graphs(key, line):
    """A graph that is the same at every number of ranks is no weak scaling."""
    graphs = {str(sorted(row["workload"].items())) for row in line}
    if len({row["ranks"] for row in line}) > 1 and len(graphs) == 1:
        raise r.Refused(f"{key[0]}, {key[1]}, {key[2]}: the graph is the same at every number of ranks, and weak scaling "
                        "needs graphs that grow with them; the figure `scaling` draws such rows")


def draw(rows, plt):
    figure, (axes,) = looks.panels(plt.subplots, 1, size=(5.6, 4.2))
    keys = r.in_order(key_of(row, rows) for row in rows)
    # The strategy's colour, and a mark for each workload, model and clock of it.
    styles = looks.styles_of(((key[2],) + key for key in keys), len(looks.MARKERS))
    handles, labels = [], []
    for key, style in zip(keys, styles.values()):
        line = sorted((row for row in rows if key_of(row, rows) == key), key=lambda row: row["ranks"])
        draw_line(axes, line, style)
        refuse_equal_graphs(key, line)
        handles.append(plt.Line2D([], [], color=style[0], marker=looks.MARKERS[style[1]], markersize=5,
                                  linestyle=STYLES[key[3]][0], fillstyle=STYLES[key[3]][1]))
        labels.append(f"{key[0]}, {key[1]}, {key[2]}: {r.source_label(line)}")
    counts = sorted({row["ranks"] for row in rows})
    if len(counts) > 1:
        handles += axes.plot(counts, [n / counts[0] for n in counts], ":", color="#B0B0B0", zorder=1)
        labels.append("ideal")
    axes.set_xscale("log", base=2)
    if (looks.LAYOUT["scale"] or "log") == "log":
        axes.set_yscale("log", base=2)
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    looks.readable_log(axes.yaxis)
    axes.set_xlabel("ranks (the graph grows with them)")
    units = " or ".join(unit.split("_")[0] for unit in r.UNITS if any(r.unit_of([row]) == unit for row in rows))
    axes.set_ylabel(f"{units} per second over the fewest ranks'")
    if r.bars_label(rows):
        handles.append(plt.Line2D([], [], color=looks.GREY, marker="|", markersize=8, linestyle=""))
        labels.append(r.bars_label(rows))
    more = looks.extra_handles(plt.Line2D, any(r.is_extrapolated(row) for row in rows), False)
    looks.legend_below(figure, handles + more, labels + [handle.get_label() for handle in more])
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "weak_scaling", ["throughput"], __doc__))
