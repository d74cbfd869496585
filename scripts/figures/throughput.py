#!/usr/bin/env python3
"""Events (or edges, or cells) per second against ranks, a bar for each, and its speed-up over the fewest ranks (after DistTGL, SC'23, Fig. 12(a))."""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

GROUPS_OF_RANKS = ("i", "j", "k", "batch")


def group_of(row, rows):
    """The key of one group of bars: workload, model, strategy and clock. A generated workload counts under the data set
    that it is like. The strategy's grouping of ranks may differ along the bars, because the best one does."""
    plain = [{"strategy": {key: value for key, value in other["strategy"].items() if key not in GROUPS_OF_RANKS}}
             for other in (row, *rows)]
    like = row["workload"].get("like", "none")
    return (row["workload"]["name"] if like == "none" else like, row["model"]["name"],
            r.label(plain[0], "strategy", plain), row["time_source"])


def name_of(group, groups):
    """The workload, and what else is not the same in all groups."""
    return ", ".join([group[0]] + [part for at, part in enumerate(group) if at > 0 and len({g[at] for g in groups}) > 1])


def rate_unit(rates):
    """(factor, prefix) that puts the largest rate between 1 and 1000."""
    for factor, prefix in ((1e-9, "billion "), (1e-6, "million "), (1e-3, "thousand ")):
        if max(rates) * factor >= 1:
            return factor, prefix
    return 1.0, ""


def ends_of(row, unit):
    """The rates at the ends of the epoch's interval; the rate itself where there is none."""
    rate, times = row["throughput"][unit], row.get("epoch_seconds")
    low, high = r.interval_of(row) if times else (None, None)
    return (rate, rate) if not low or low <= 0 else (rate * times["median"] / high, rate * times["median"] / low)


def draw_bar(axes, place, width, row, unit, factor, colour):
    rate, (low, high) = row["throughput"][unit], ends_of(row, unit)
    distances = [[max(0, rate - low) * factor], [max(0, high - rate) * factor]] if low < high else None
    axes.bar(place, factor * rate, width, color=colour, hatch="////" if r.is_extrapolated(row) else None,
             edgecolor="white", linewidth=0.2, yerr=distances, capsize=1.5, error_kw={"elinewidth": 0.7})


def draw(rows, plt):
    unit = r.unit_of(rows)
    group_by_case = {row["case_id"]: group_of(row, rows) for row in rows}
    groups = r.in_order(group_by_case.values())
    counts = sorted({row["ranks"] for row in rows})
    factor, prefix = rate_unit([row["throughput"][unit] for row in rows])
    figure, (axes,) = looks.panels(plt.subplots, 1, size=(min(14, max(5.6, 0.36 * len(groups) * (len(counts) + 1))), 4.0))
    width, shades = 0.86 / len(counts), looks.shades(len(counts))
    for at, group in enumerate(groups):
        own = (row for row in rows if group_by_case[row["case_id"]] == group)
        bars = dict(sorted(r.by_key(own, r.ranks_of, "bar").items()))
        first = next(iter(bars.values()))
        for ranks, row in bars.items():
            place = at + (counts.index(ranks) - (len(counts) - 1) / 2) * width
            draw_bar(axes, place, width, row, unit, factor, shades[counts.index(ranks)])
            looks.number_on_bar(axes, f"{row['throughput'][unit] / first['throughput'][unit]:.3g}", (place, factor * ends_of(row, unit)[1]), xytext=(0, 1),
                                ha="center", va="bottom", fontsize=looks.points(6))
    looks.set_scale(axes.yaxis, "log")
    looks.readable_log(axes.yaxis)
    looks.group_names(axes, range(len(groups)), [name_of(group, groups) for group in groups])
    axes.grid(False, axis="x")
    axes.set_ylabel(f"{prefix}{unit.split('_')[0]} per second")
    handles = [plt.Rectangle((0, 0), 1, 1, color=shade) for shade in shades]
    labels = [looks.ranks_text(count) for count in counts]
    if r.bars_label(rows):
        handles.append(plt.Line2D([], [], color="black", marker="|", markersize=8, linestyle=""))
        labels.append(r.bars_label(rows))
    if any(r.is_extrapolated(row) for row in rows):
        handles.append(plt.Rectangle((0, 0), 1, 1, facecolor="white", edgecolor=looks.GREY, hatch="////"))
        labels.append("hatched: extrapolated")
    looks.title(axes, f"{r.source_label(rows)}; numbers: over the group's fewest ranks")
    looks.legend_below(figure, handles, labels)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "throughput", ["throughput"], __doc__))
