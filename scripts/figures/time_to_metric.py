#!/usr/bin/env python3
"""Time to a metric at full size, as two factors: updates of the weights until the metric x seconds of one update.

Updates are measured with values at small sizes (rows with --until), at several batch sizes, sizes of the data, numbers of memory
copies and seeds. A law is fitted to them (strobe_figures/updates_law.py). Seconds of an update are predicted at full size (rows of
simulated clusters without --until). Prints the laws, how far they are extrapolated, both factors with 90 % intervals, and in what
share of the draws each case is first. With --leave-out it leaves the largest sizes out of the fit and compares them with the law
instead.

usage: time_to_metric.py RUN_DIR... [--leave-out N] [--draws N] [--seed N] [--name NAME] [--out DIR]
"""

import argparse
import math
import sys

import numpy as np

from strobe_figures import looks
from strobe_figures import rows as r
from strobe_figures import two_factors as t

FAR = 1.0  # decades beyond the measured sizes from which on the law is called far extrapolated


def table(head, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ends(values, scale=1.0):
    low, high = np.quantile(values, t.QUANTILES)
    return f"{number(scale * low)} to {number(scale * high)}"


def slope_text(fitted, name):
    """The exponent with its interval; a draw without the term has 0."""
    drawn = [law.slopes.get(name, 0.0) for law in fitted.draws]
    low, high = np.quantile(drawn, t.QUANTILES)
    return f"{fitted.law.slopes[name]:.2f} ({low:.2f} to {high:.2f})" if name in fitted.law.terms else "not kept"


def law_line(fitted):
    """The line of one law: what it was fitted to, its parameters and its residual."""
    law, runs = fitted.law, fitted.runs
    least = math.exp(law.values[0] + sum(slope * runs[name].max() for name, slope in law.slopes.items() if name == "size"))
    noise = "no batch of its own" if law.noise_batch is None else \
        f"{number(law.noise_batch)} ({ends([one.noise_batch for one in fitted.draws if one.with_batch])})"
    rivals = sorted(other.criterion - law.criterion for other in fitted.tried.values() if other is not law)
    sizes = np.exp([runs["size"].min(), runs["size"].max()])
    return [fitted.name, f"{number(sizes[0])} to {number(sizes[1])} {fitted.unit}", str(law.count),
            str(int(np.isinf(runs["high"]).sum())), number(least), noise, slope_text(fitted, "size"), slope_text(fitted, "copies"),
            f"{math.exp(law.deviation):.2f}", f"{rivals[0]:.1f}" if rivals else ""]


LAW_HEAD = ["law", "sizes in the fit", "runs", "never reached", "fewest updates at the largest size", "noise batch", "exponent of size",
            "of copies", "residual, times", "next law worse by (AICc)"]


def left_out_table(laws):
    """Left-out cells, and a sentence for each law."""
    lines, words = [], []
    for fitted in laws:
        cells = t.judged(fitted)
        for cell in cells:
            point = cell["point"]
            low, high = np.exp(cell["mean"])
            lines.append([fitted.name, f"{number(point['size'])} {fitted.unit}", number(point["batch"]), number(point["copies"]),
                          number(math.exp(cell["measured"])), number(math.exp(cell["predicted"])), f"{number(low)} to {number(high)}",
                          f"{math.exp(cell['predicted'] - cell['measured']):.2f}"])
        if cells:
            inside = sum(cell["mean"][0] <= cell["measured"] <= cell["mean"][1] for cell in cells)
            errors = sorted(abs(cell["predicted"] - cell["measured"]) for cell in cells)
            words.append(f"{fitted.name}: {inside} of {len(cells)} cells that were left out lie in the 90 % interval; predictions are "
                         f"off by a factor of {math.exp(errors[len(errors) // 2]):.2f} in the median, {math.exp(errors[-1]):.2f} at most.")
    head = ["law", "size", "batch", "copies", "measured", "predicted", "90 % interval", "predicted / measured"]
    return table(head, lines) + "\n\n" + "\n".join(words)


def product_line(one):
    times = f"{1e3 * one['seconds']:.3g}" + (f" ({1e3 * one['times'][0]:.3g} to {1e3 * one['times'][1]:.3g})" if one["banded"] else "")
    beyond = ", ".join(f"{t.WORDS[key]} {decades:.1f}" for key, decades in one["beyond"].items()) or "none"
    return [one["way"], one["row"]["model"]["name"], str(one["row"]["ranks"]), number(one["point"]["batch"]), times,
            f"{number(one['updates'])} ({ends(one['updates_draws'])})", f"{one['total']:.3g} ({ends(one['total_draws'])})",
            f"{100 * one['first']:.0f}", beyond]


PRODUCT_HEAD = ["strategy", "model", "ranks", "batch", "ms an update", "updates", "seconds to the metric", "first in % of draws",
                "decades beyond what was measured"]


def warnings_of(found):
    """Sentences on what the products rest on."""
    far = max((one["beyond"].get("size", 0.0) for one in found), default=0.0)
    words = []
    if far > FAR:
        words.append(f"warning: the full size is {far:.1f} decades beyond the largest that was measured; measure a larger one before you "
                     "rely on the updates.")
    if any(not one["banded"] for one in found):
        words.append("Times without a range have no 90 % band: the cluster is not calibrated for them. Then shares say how sure the updates are.")
    return words


def draw_law(axes, fitted, markers):
    """Updates over the batch by size, the law as lines; the sizes that it did not see have open marks and dashed lines."""
    by_batch = fitted.law.with_batch
    rows = fitted.rows + fitted.left_out
    graphs = r.in_order(map(t.workload_of, rows))
    for colour, graph in zip(looks.shades(len(graphs)), graphs):
        cells = t.cells_of([row for row in rows if t.workload_of(row) == graph])
        seen, lines = t.workload_of(cells[0][0]) in map(t.workload_of, fitted.rows), {}
        for group in cells:
            point = t.point_of_cell(group)
            own = t.updates_law.fit(t.runs_of(group), (), False)
            copies = round(point["copies"])
            axes.plot([point["batch" if by_batch else "size"]], [math.exp(own.values[0])], markers[copies], color=colour, markersize=5,
                      fillstyle="full" if seen else "none")
            lines.setdefault(copies, []).append(point)
        for points in lines.values() if by_batch else ():
            batches = np.geomspace(min(point["batch"] for point in points), max(point["batch"] for point in points), 30)
            axes.plot(batches, [math.exp(fitted.at({**points[0], "batch": batch})[0]) for batch in batches], color=colour, linewidth=1.1,
                      linestyle="-" if seen else "--")
    if not by_batch:
        sizes = [t.point_of(row)["size"] for row in rows]
        span = np.geomspace(min(sizes), max(sizes), 30)
        line = [math.exp(fitted.at({"batch": size, "size": size, "copies": 1, "epochs": 1})[0]) for size in span]
        axes.plot(span, line, color=looks.GREY, linewidth=1.1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(f"{fitted.unit} of an update" if by_batch else f"{fitted.unit} of an epoch, which is an update")
    axes.set_ylabel("updates to the metric")
    for axis in (axes.xaxis, axes.yaxis):
        looks.readable_log(axis)
    looks.title(axes, fitted.name)


def draw(answer, plt):
    laws, found = answer
    count = len(laws) + bool(found)
    figure, axes = looks.panels(plt.subplots, count, columns=count if count < 4 else 2, size=(3.5, 2.9))
    every = sorted({t.point_of(row)["copies"] for fitted in laws for row in fitted.rows + fitted.left_out})
    markers = {copies: looks.MARKERS[number % len(looks.MARKERS)] for number, copies in enumerate(every)}
    for place, fitted in zip(axes, laws):
        draw_law(place, fitted, markers)
    if found:
        place = axes[len(laws)]
        for at, one in enumerate(reversed(found)):
            low, high = np.quantile(one["total_draws"], t.QUANTILES)
            place.plot([low, high], [at, at], color=looks.GREY, linewidth=1.4)
            place.plot([one["total"]], [at], "o", color=looks.BLUE, markersize=4)
        place.set_yticks(range(len(found)), [f"{one['way']}, {one['row']['ranks']}" for one in reversed(found)], fontsize=6)
        place.set_xscale("log")
        place.set_xlabel("seconds to the metric, 90 % interval")
        looks.readable_log(place.xaxis)
        looks.title(place, "at full size: strategy, ranks")
    handles = [plt.Line2D([], [], color="#000000", marker=mark, linestyle="") for mark in markers.values()]
    handles += [plt.Line2D([], [], color="#000000")]
    words = [f"{copies} cop{'y' if copies == 1 else 'ies'} of memory" for copies in markers] + ["law; colours: sizes, dark is small"]
    if any(fitted.left_out for fitted in laws):
        handles += [plt.Line2D([], [], color="#000000", marker="o", fillstyle="none", linestyle="--")]
        words += ["size left out of the fit"]
    looks.legend_below(figure, handles, words)
    return figure


def show(laws, found):
    print(table(LAW_HEAD, [law_line(fitted) for fitted in laws]))
    if any(fitted.left_out for fitted in laws):
        print("\n" + left_out_table(laws))
    if found:
        print("\n" + table(PRODUCT_HEAD, [product_line(one) for one in found]))
        print("\n" + "\n".join(warnings_of(found)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directories of small sizes with a target, and of the full size")
    parser.add_argument("--leave-out", type=int, default=0, metavar="N", help="leave the N largest measured sizes out of the fit (default: 0)")
    parser.add_argument("--draws", type=int, default=400, metavar="N", help="draws of the bootstrap (default: 400)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draws (default: 1)")
    parser.add_argument("--name", default="time_to_metric", help="name of the figure (default: time_to_metric)")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figure (default: here)")
    options = parser.parse_args()

    def read():
        rows = r.read_rows(options.runs, ("epoch_work", "iterations", "epoch_seconds"))
        t.agree(rows)
        random = np.random.default_rng(options.seed)
        laws = t.laws_of(rows, options.leave_out, options.draws, random)
        found = [] if options.leave_out else t.products(rows, laws, options.draws, random)
        show(list(laws.values()), found)
        return list(laws.values()), found

    return looks.write_figure(options.name, options.out, read, draw, ("png",))


if __name__ == "__main__":
    sys.exit(r.ending(main))
