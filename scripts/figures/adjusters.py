#!/usr/bin/env python3
"""Who should choose the size of batches? Runs of suites/dynahb/adjusters.json: what each adjuster gains in time, and what
it costs in quality (after DynaHB, VLDB'24, Table 8).

Every case has the same seeds; a seed is a graph, weights and batches. All are compared at one time, the end of the
shortest run. Left: the time until a metric, over that of the first fixed size (adjuster none) of the same seed. Right: the
metric at that time, minus that of the first fixed size. Points are means over seeds, with the 95 % interval of Student's
t. The table that is printed has the same numbers, and in how many seeds a case is the best of the adjusters.

usage: adjusters.py RUN_DIR [--metric accuracy] [--goal X] [--out DIR]
"""

import argparse
import json
import os
import statistics
import sys

from strobe_figures import looks
from strobe_figures import rows as r
from strobe_figures.means import interval, with_half

WATCHES = ("marginal", "dqn", "bandit", "best_fixed")


def name_of(row):
    """The adjuster of a row, with the loss that it watches where that is not its own; or its fixed size."""
    strategy = row["strategy"]
    if strategy["adjuster"] == "none":
        return f"{strategy['vertices']} x {strategy['snapshots']}"
    fixed = strategy.get("watch") == "fixed" and strategy["adjuster"] in WATCHES
    return strategy["adjuster"] + (", fixed batch" if fixed else "")


def is_fixed(row):
    return row["strategy"]["adjuster"] == "none"


def ends_of_epochs(run):
    """By case, the second at which each epoch ended: epochs added up, each with its slowest rank."""
    slowest = {}
    with open(os.path.join(run, "samples.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            sample = json.loads(line)
            key = (sample["case_id"], sample["epoch"])
            if sample["repetition"] == 0:
                slowest[key] = max(slowest.get(key, 0.0), sample["epoch_seconds"])
    ends = {}
    for case, epoch in sorted(slowest):
        ends.setdefault(case, []).append(slowest[case, epoch] + (ends[case][-1] if ends.get(case) else 0.0))
    return ends


def curve_of(row, ends, metric):
    """(second, value) of every evaluation."""
    values = row["metrics"].get(metric)
    if values is None:
        raise r.Refused(f"{row['case_id']} has no metric {metric}; it has {', '.join(sorted(row['metrics']))}")
    return [(second, value) for second, value in zip(ends[row["case_id"]], values) if value is not None]


def value_at(curve, second):
    """The value at a time, on a straight line between two evaluations. At 0 nothing is known: the first one holds."""
    before = curve[0]
    for after in curve:
        if after[0] >= second:
            if after[0] == before[0]:
                return after[1]
            return before[1] + (after[1] - before[1]) * (second - before[0]) / (after[0] - before[0])
        before = after
    return before[1]


def second_of(curve, goal, last):
    """The first time at which the value is the goal, on a straight line between two evaluations; `last` if it never is."""
    before = None
    for after in curve:
        if after[0] > last and before is not None and value_at(curve, last) < goal:
            return last
        if after[1] >= goal:
            if before is None:
                return min(after[0], last)
            return min(last, before[0] + (after[0] - before[0]) * (goal - before[1]) / (after[1] - before[1]))
        before = after
    return last


def outcomes_of(runs, options):
    """({name: {seed: (second of the goal, metric at the end, whether the goal was reached)}}, names of fixed sizes, the
    goal, the last second)."""
    curves, fixed = {}, []
    for run in runs:
        ends = ends_of_epochs(run)
        for row in r.read_rows(run, ["epoch_seconds"]):
            curves.setdefault(name_of(row), {})[row["seed"]] = curve_of(row, ends, options.metric)
            if is_fixed(row) and name_of(row) not in fixed:
                fixed.append(name_of(row))
    if not fixed:
        raise r.Refused("no row has adjuster=none, against which the others are judged")
    seeds = set(curves[fixed[0]])
    short = [name for name, by_seed in curves.items() if set(by_seed) != seeds]
    if short:
        raise r.Refused(f"seeds differ between {fixed[0]} and {short[0]}; run all seeds of both")
    last = min(curve[-1][0] for by_seed in curves.values() for curve in by_seed.values())
    goal = options.goal
    if goal is None:  # reached by half of the seeds of the first fixed size at four fifths of the time
        goal = statistics.median(value_at(curve, 0.8 * last) for curve in curves[fixed[0]].values())
    found = {}
    for name, by_seed in curves.items():
        found[name] = {seed: (second_of(curve, goal, last), value_at(curve, last), second_of(curve, goal, last) < last)
                       for seed, curve in sorted(by_seed.items())}
    return found, fixed, goal, last


def compared(found, fixed):
    """[(name, (ratio of times, half), (difference of metrics, half), mean metric, reached, first, seeds)], adjusters first,
    best metric first. `first`: seeds in which an adjuster, or the first fixed size, ends best of these."""
    base = found[fixed[0]]
    rivals = [name for name in found if name not in fixed[1:]]
    lines = []
    for name, by_seed in found.items():
        times = interval([by_seed[seed][0] / base[seed][0] for seed in base])
        gains = interval([by_seed[seed][1] - base[seed][1] for seed in base])
        first = sum(by_seed[seed][1] == max(found[other][seed][1] for other in rivals) for seed in base) if name in rivals else None
        lines.append((name, times, gains, statistics.fmean(by_seed[seed][1] for seed in base),
                      sum(by_seed[seed][2] for seed in base), first, len(base)))
    return sorted(lines, key=lambda line: (line[0] in fixed, -line[3]))


def print_table(lines, fixed, goal, last, metric, found):
    seeds = lines[0][-1]
    print(f"{metric} after {1000 * last:.0f} ms, and the time to {goal:.3f} over that of {fixed[0]}; {seeds} seeds, 95 % intervals\n")
    print(f"| | {metric} | minus that of {fixed[0]} | time over that of {fixed[0]} | reached | first |\n|---|---|---|---|---|---|")
    for name, times, gains, mean, reached, first, _ in lines:
        own = name == fixed[0]
        print(f"| {name} | {mean:.3f} | {'' if own else with_half(*gains, '+.3f')} | "
              f"{'' if own else with_half(*times, '.2f')} | {reached} | {'' if first is None else first} |")
    best = [max(found[name][seed][1] for name in fixed) for seed in found[fixed[0]]]
    base = [found[fixed[0]][seed][1] for seed in found[fixed[0]]]
    of_best = interval([one - other for one, other in zip(best, base)])
    of_any = interval([statistics.fmean(found[name][seed][1] for name in fixed) - other
                       for seed, other in zip(found[fixed[0]], base)])
    print(f"| best fixed size of each seed, in hindsight | {statistics.fmean(best):.3f} | {with_half(*of_best, '+.3f')} | | | |")
    print(f"| a fixed size by chance | {statistics.fmean(base) + of_any[0]:.3f} | {with_half(*of_any, '+.3f')} | | | |")


def draw(what, plt):
    lines, fixed, goal, last, metric = what
    figure, axes = looks.panels(plt.subplots, 2, columns=2, size=(4.6, 0.6 + 0.26 * len(lines)))
    for panel, part, edge in ((axes[0], 1, 1.0), (axes[1], 2, 0.0)):
        panel.axvline(edge, color=looks.GREY, linewidth=0.8)
        for place, line in enumerate(lines):
            mean, half = line[part]
            colour = looks.GREY if line[0] in fixed else looks.BLUE
            panel.errorbar([mean], [place], xerr=[[half], [half]], fmt="o", color=colour, capsize=2, markersize=4)
        panel.set_yticks(range(len(lines)), [line[0] for line in lines])
        panel.set_ylim(len(lines) - 0.4, -0.6)
        panel.locator_params(axis="x", nbins=5)
    axes[0].set_xlabel(f"time to {metric} {goal:.2f}, over that of {fixed[0]}")
    axes[1].set_xlabel(f"{metric} after {1000 * last:.0f} ms, minus that of {fixed[0]}")
    looks.title(axes[0], "what is gained in time (left is better)")
    looks.title(axes[1], "what it costs in quality (right is better)")
    dot = [plt.Line2D([], [], color=colour, marker="o", linestyle="", markersize=4) for colour in (looks.BLUE, looks.GREY)]
    looks.legend_below(figure, dot, ["an adjuster chooses sizes", "the size is fixed"])
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directory with samples.jsonl")
    parser.add_argument("--metric", default="accuracy", help="metric of the rows, of which more is better (default: accuracy)")
    parser.add_argument("--goal", type=float, help="value to reach (default: what half of the seeds reach at four fifths of the time)")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figure (default: here)")
    parser.add_argument("--format", default="png,svg", help="png, svg, pdf, several with commas (default: png,svg)")
    options = parser.parse_args()

    def read():
        found, fixed, goal, last = outcomes_of(options.runs, options)
        lines = compared(found, fixed)
        print_table(lines, fixed, goal, last, options.metric, found)
        return lines, fixed, goal, last, options.metric
    return looks.write_figure("adjusters", options.out, read, draw, options.format.split(","))


if __name__ == "__main__":
    sys.exit(main())
