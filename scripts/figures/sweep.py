#!/usr/bin/env python3
"""Draws the effect of a setting on accuracy and on the updates needed for it (after DistTGL, SC'23, Fig. 2(a) and 10).

Each row gives the test metric at the epoch of the best validation metric (without validation samples, the last epoch),
and the number of weight updates until then. Both are drawn over a setting, with one line for each value of another. Rows
that differ in their seed alone are one point: the mean, with one standard deviation to each side.
"""

import argparse
import statistics
import sys

from strobe_figures import looks
from strobe_figures import rows as r

METRICS = ("mrr", "f1_micro", "accuracy", "auc", "mse")


def setting(row, path):
    """The number that `path` names: "ranks", "strategy.batch", "global_batch"."""
    value = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise r.Refused(f"{row['case_id']}: {path} is no number")
    return value


def best(row):
    """(name of the metric, its test value at the best validation epoch, that epoch from 1, epochs of the row)."""
    name = next((name for name in METRICS if row["metrics"].get(name)), None)
    if name is None:
        raise r.Refused(f"{row['case_id']}: has none of the metrics {', '.join(METRICS)}")
    test, sign = row["metrics"][name], -1 if name == "mse" else 1
    judged = row["metrics"].get("validation_" + name) or [None] * (len(test) - 1) + [0.0]
    known = [epoch for epoch, value in enumerate(judged) if value is not None and test[epoch] is not None]
    if not known:
        raise r.Refused(f"{row['case_id']}: no epoch was evaluated")
    epoch = max(known, key=lambda at: sign * judged[at])
    return name, test[epoch], epoch + 1, len(test)


def over_seeds(values):
    """The mean, and the standard deviation where there are several."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def points_of(rows, x, group):
    """By group, (x, metric, updates) in order of x, the two with their mean and deviation over seeds; and the metric's
    name. Raises Refused where rows that differ in more than the seed would share one point."""
    pooled = rows if "seed" in (x, group) else r.over_seeds(rows)
    placed = r.by_key(pooled, lambda row: (setting(row, group) if group else 0, setting(row, x)), "point")
    lines, names = {}, set()
    for (key, place), row in sorted(placed.items(), key=lambda one: one[0]):
        found = [best(one) for one in r.pooled(row)]
        names.update(name for name, _, _, _ in found)
        updates = [epoch * one["iterations"] for (_, _, epoch, _), one in zip(found, r.pooled(row))]
        lines.setdefault(key, []).append((place, over_seeds([value for _, value, _, _ in found]), over_seeds(updates)))
    if len(names) > 1:
        raise r.Refused(f"rows of several tasks: {', '.join(sorted(names))}")
    return lines, names.pop()


def draw(rows, options, plt):
    lines, name = points_of(rows, options.x, options.group)
    figure, axes = looks.panels(plt.subplots, 2, columns=2)
    for number, ((key, points), colour) in enumerate(zip(lines.items(), looks.shades(len(lines)))):
        for at, column in ((0, 1), (1, 2)):
            axes[at].errorbar([point[0] for point in points], [point[column][0] for point in points],
                              yerr=[point[column][1] for point in points], capsize=2, elinewidth=0.9,
                              marker=looks.MARKERS[number % len(looks.MARKERS)], label=f"{options.group} = {key}", color=colour)
    for axis in axes[:2]:
        axis.set_xscale("log", base=2)
        axis.set_xlabel(options.x)
    axes[0].set_ylabel(f"test {name} at the best validation epoch")
    axes[1].set_ylabel("updates of the weights until then")
    axes[1].set_yscale("log")
    if options.group:
        axes[0].legend(fontsize=8)
    looks.title(axes[0], f"{r.group_label(rows[0], rows[:1])}: {r.source_label(rows)}")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("run", metavar="RUN_DIR", help="run directory, or its summary.json")
    parser.add_argument("--x", required=True, metavar="KEY", help="a number of the rows: ranks, strategy.k, global_batch")
    parser.add_argument("--group", default="", metavar="KEY", help="another one: a line for each of its values")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    options = parser.parse_args()
    return looks.write_figure("sweep", options.out, lambda: r.read_rows(options.run, ["epoch_seconds"]),
                          lambda rows, plt: draw(rows, options, plt))


if __name__ == "__main__":
    sys.exit(r.ending(main))
