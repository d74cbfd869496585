#!/usr/bin/env python3
"""Draws the effect of a setting on accuracy and on the updates needed for it (after DistTGL, SC'23, Fig. 2(a) and 10).

Each row gives the test metric at the epoch of the best validation metric (without validation samples, the last epoch),
and the number of weight updates until then. Both are drawn over a setting, with one line for each value of another.
"""

import argparse
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


def points_of(rows, x, group):
    """By group, (x, metric, updates) in order of x; and the metric's name."""
    lines, names = {}, set()
    for row in rows:
        name, value, epoch, _ = best(row)
        names.add(name)
        key = setting(row, group) if group else 0
        lines.setdefault(key, []).append((setting(row, x), value, epoch * row["iterations"]))
    if len(names) > 1:
        raise r.Refused(f"rows of several tasks: {', '.join(sorted(names))}")
    return {key: sorted(points) for key, points in sorted(lines.items())}, names.pop()


def draw(rows, options, plt):
    lines, name = points_of(rows, options.x, options.group)
    figure, axes = looks.panels(plt.subplots, 2, columns=2)
    for number, (key, points) in enumerate(lines.items()):
        for at, column in ((0, 1), (1, 2)):
            axes[at].plot([point[0] for point in points], [point[column] for point in points],
                          marker=looks.MARKERS[number % len(looks.MARKERS)], label=f"{options.group} = {key}",
                          color=looks.COLOURS[number % len(looks.COLOURS)])
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
