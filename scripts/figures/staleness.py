#!/usr/bin/env python3
"""Draws what rows that are not sent again save and cost, by policy (after DGC, SIGMOD'23, Tables 2 and 3).

One column for each graph and model. Above: bytes of rows and time of an epoch, and time to a loss, as shares of the run that
sends all rows. Below: how the test metric changes, in points. Each seed is compared with the exact run of that seed. Bars
are 95 % intervals of the mean over seeds (Student's t). Crosses are what DGC's Table 3 prints for the model, one for each
data set. Also prints the numbers as a table in Markdown, and another of all bytes and of the phases of an epoch.

The loss to reach is the exact run's of the same seed after three quarters of its epochs. A seed whose stale run never
gets there counts with the time of all its epochs.
"""

import argparse
import pathlib
import statistics
import sys

from strobe_figures import looks
from strobe_figures import rows as r
from strobe_figures.means import interval, with_half

PUBLISHED = pathlib.Path(__file__).resolve().parents[2] / "results/published/dgc.json"
QUANTITIES = {"bytes": ("bytes of rows", looks.BLUE), "seconds": ("epoch", looks.ORANGE), "until": ("time to a loss", looks.GREEN)}
POLICIES = ("static 0.1", "static 0.3", "static 0.5", "static 0.7", "static 0.9", "adaptive")
PRINTED = {"static 0.3": "0.3D", "static 0.5": "0.5D", "static 0.7": "0.7D", "adaptive": "adaptive"}  # in Table 3


def policy(row):
    """"exact", "static 0.3", "adaptive"."""
    strategy = row["strategy"]
    kind = strategy.get("stale", "none")
    return "exact" if kind == "none" else f"static {strategy['stale_theta']:g}" if kind == "static" else kind


def later_share(row):
    """Bytes of stale exchanges in an epoch after the first, as a share of the bytes that an exact run sends in them."""
    return statistics.fmean(row["sent_share"][1:])


def epochs_until(row, target):
    """Epochs until the training loss is at the target, and whether it was."""
    at = next((epoch for epoch, value in enumerate(row["loss"]) if value is not None and value <= target), None)
    return (len(row["loss"]), False) if at is None else (at + 1, True)


def compared(row, exact, name):
    """Returns the gain and the price of the row against the exact run of its seed: shares of bytes, epoch and time to the loss, the
    change of the test metric in points, and whether the loss was reached."""
    target = exact["loss"][3 * len(exact["loss"]) // 4 - 1]
    epochs, reached = epochs_until(row, target)
    seconds, own = row["epoch_seconds"]["mean"], exact["epoch_seconds"]["mean"]
    return {"bytes": later_share(row), "seconds": seconds / own,
            "until": epochs * seconds / (epochs_until(exact, target)[0] * own), "reached": reached,
            "change": 100 * (row["metrics"][name][-1] - exact["metrics"][name][-1])}


def columns_of(rows, name):
    """{(workload, model): {policy: {quantity: values over seeds}}}, and under "exact" the test metric of each seed."""
    exact = r.by_key([row for row in rows if policy(row) == "exact"], lambda row: (*place(row, rows), row["seed"]), "exact run")
    found = {}
    for row in rows:
        column = found.setdefault(place(row, rows), {})
        if policy(row) == "exact":
            column.setdefault("exact", []).append(row["metrics"][name][-1])
            continue
        key = (*place(row, rows), row["seed"])
        if key not in exact:
            raise r.Refused(f"{row['case_id']}: no run of its seed sends all rows (stale=none)")
        for quantity, value in compared(row, exact[key], name).items():
            column.setdefault(policy(row), {}).setdefault(quantity, []).append(value)
    return found


def by_place(rows):
    """{(workload, model): rows}."""
    found = {}
    for row in rows:
        found.setdefault(place(row, rows), []).append(row)
    return found


def place(row, rows):
    return r.label(row, "workload", rows), r.label(row, "model", rows)


def printed(model):
    """{policy: [(share of bytes, change of accuracy in points) of each data set]} in DGC's Table 3."""
    table = next(one for one in r.read_json(PUBLISHED)["experiments"] if one["id"] == "dgc.table3")
    found = {}
    for row in table["rows"]:
        values = row["values"]
        if row["labels"]["model"].lower() != model.split(" (")[0]:
            continue
        for name, theirs in PRINTED.items():
            pair = (1 - values[f"Comm {theirs}"] / 100, 100 * (values[f"Acc {theirs}"] - values["Acc w/o stale"]))
            found.setdefault(name, []).append(pair)
    return found


def draw_column(upper, lower, key, column, metric):
    """One graph and model."""
    names = [name for name in POLICIES if name in column]
    for number, (quantity, (_, colour)) in enumerate(QUANTITIES.items()):
        ends = [interval(column[name][quantity]) for name in names]
        upper.errorbar([at + 0.16 * (number - 1) for at in range(len(names))], [mean for mean, _ in ends],
                       yerr=[half for _, half in ends], color=colour, marker=looks.MARKERS[number], capsize=2, linewidth=1.1)
    ends = [interval(column[name]["change"]) for name in names]
    lower.errorbar(range(len(names)), [mean for mean, _ in ends], yerr=[half for _, half in ends], color="#000000",
                   marker="o", capsize=3, linewidth=1.1)
    deviation = 100 * statistics.stdev(column["exact"]) if len(column["exact"]) > 1 else 0.0
    lower.axhspan(-deviation, deviation, color=looks.LIGHT_GREY, alpha=0.6, linewidth=0)
    theirs = printed(key[1])
    for at, name in enumerate(names):
        for share, change in theirs.get(name, []):
            upper.plot([at + 0.3], [share], "x", color=looks.GREY, markersize=5)
            lower.plot([at + 0.3], [change], "x", color=looks.GREY, markersize=5)
    for axes, level in ((upper, 1.0), (lower, 0.0)):
        axes.axhline(level, color="#404040", linewidth=0.8)
        axes.set_xticks(range(len(names)), [name.replace("static ", "") for name in names])
        axes.grid(axis="x", visible=False)
        axes.set_xlabel("threshold, share of the largest distance")
    upper.set_ylim(bottom=0)
    upper.set_ylabel("share of the exact run")
    lower.set_ylabel(f"change of test {metric} [points]")
    looks.title(upper, ", ".join(key))


def draw(rows, options, plt):
    found = columns_of(rows, options.metric)
    figure, axes = looks.panels(plt.subplots, 2 * len(found), columns=len(found), size=(3.5, 2.9))
    for at, (key, column) in enumerate(found.items()):
        draw_column(axes[at], axes[len(found) + at], key, column, options.metric)
    handles = [plt.Line2D([], [], color=colour, marker=looks.MARKERS[number])
               for number, (_, colour) in enumerate(QUANTITIES.values())]
    handles += [plt.Line2D([], [], color="#000000", marker="o"), plt.Rectangle((0, 0), 1, 1, color=looks.LIGHT_GREY),
                plt.Line2D([], [], color=looks.GREY, marker="x", linestyle="")]
    labels = [label for label, _ in QUANTITIES.values()]
    labels += [f"test {options.metric}", "standard deviation of the exact runs over seeds", "DGC, Table 3 (accuracy)"]
    looks.legend_below(figure, handles, labels)
    print(table(found, options.metric))
    if any(policy(row) == "adaptive" for row in rows):
        print("\n" + phases(rows, "adaptive"))
    return figure


def cell(values, scale=1.0, digits=1):
    mean, half = interval(values)
    return with_half(scale * mean, scale * half, f".{digits}f").replace(" ", "")


def table(found, metric):
    """The numbers: bytes and times in % of the exact run, changes in points."""
    head = ["graph, model", "policy", "bytes %", "epoch %", "time to loss %", "not reached", f"test {metric}, points"]
    lines = [head, ["---"] * len(head)]
    for key, column in found.items():
        lines.append([", ".join(key), "exact", "100", "100", "100", "0", cell(column["exact"], digits=3)])
        for name in (name for name in POLICIES if name in column):
            own = column[name]
            lines.append(["", name] + [cell(own[quantity], 100) for quantity in QUANTITIES] +
                         [f"{own['reached'].count(False)} of {len(own['reached'])}", cell(own["change"], 1, 2)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def phases(rows, name):
    """A table for the exact runs and policy `name`: bytes of all purposes after the first epoch, and the phases of an epoch in
    microseconds, means over seeds."""
    head = ["graph, model", "policy", "all bytes %", *r.PHASES]
    lines = [head, ["---"] * len(head)]
    for key, some in by_place(rows).items():
        exact = {row["seed"]: row["sent_bytes"]["total"] for row in some if policy(row) == "exact"}
        for one in ("exact", name):
            own = [row for row in some if policy(row) == one]
            share = [statistics.fmean(row["sent_bytes_by_epoch"][1:]) / exact[row["seed"]] for row in own] if one == name else [1]
            times = [statistics.fmean(row["phase_seconds"].get(phase) or 0 for row in own) for phase in r.PHASES]
            lines.append([", ".join(key), one, f"{100 * statistics.fmean(share):.1f}", *(f"{1e6 * time:.0f}" for time in times)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("run", metavar="RUN_DIR", help="run directory of dgc/thresholds, or its summary.json")
    parser.add_argument("--metric", default="ap", help="the test metric (default: ap)")
    parser.add_argument("--name", default="staleness", help="name of the figure (default: staleness)")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figure (default: here)")
    options = parser.parse_args()
    return looks.write_figure(options.name, options.out, lambda: r.read_rows(options.run, ["epoch_seconds", "metrics", "loss"]),
                              lambda rows, plt: draw(rows, options, plt), ("png",))


if __name__ == "__main__":
    sys.exit(r.ending(main))
