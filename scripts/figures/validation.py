#!/usr/bin/env python3
"""Predicted against measured epochs of a validation, with the predictions' 90 % bands, one marker a strategy.

usage: scripts/figures/validation.py DIR/validation.json --out DIR
       strobe validate ... --figure F.png does both
"""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

MARKERS = looks.MARKERS


def read_report(path):
    """The JSON of strobe validate. Raises Refused when the file is something else."""
    report = r.read_json(path)
    if not isinstance(report, dict) or "cases" not in report or "overall" not in report:
        raise r.Refused(f"{path}: lacks 'cases' and 'overall', which strobe validate writes")
    return report


def strategy_of(case):
    """The strategy without its rank count, which its label ends in."""
    return case["strategy"].rsplit(" ", 1)[0]


def group_of(case):
    return case["group"].split("/")[0]


def draw_points(axes, cases):
    """The strategy's colour and fill, as in all figures, and a marker for each group."""
    strategies = looks.styles_of(((strategy_of(case),) for case in cases), len(looks.FILLS))
    groups = r.in_order(group_of(case) for case in cases)
    for case in cases:
        measured, predicted = case["measured"]["epoch_seconds"], case["predicted"]["epoch_seconds"]
        colour, fill = strategies[(strategy_of(case),)]
        if case["band90"]:
            low, high = case["band90"]["low_seconds"], case["band90"]["high_seconds"]
            axes.plot([measured, measured], [low, high], color=colour, alpha=0.35, linewidth=1.2, zorder=1)
        axes.plot(measured, predicted, MARKERS[groups.index(group_of(case)) % len(MARKERS)], color=colour, markersize=5,
                  fillstyle=looks.FILLS[fill], markeredgecolor=colour, markeredgewidth=0.6, zorder=3)
    return strategies, groups


def draw_limits(axes, cases):
    """The diagonal and the band of 20 % about it, over all points and their bands."""
    values = [case[side]["epoch_seconds"] for case in cases for side in ("measured", "predicted")]
    values += [case["band90"][end] for case in cases if case["band90"] for end in ("low_seconds", "high_seconds")]
    ends = [min(values) / 1.5, max(values) * 1.5]
    axes.plot(ends, ends, color=looks.GREY, linewidth=0.9, zorder=0)
    axes.fill_between(ends, [0.8 * e for e in ends], [1.2 * e for e in ends], color=looks.LIGHT_GREY, alpha=0.5,
                      linewidth=0, zorder=0)
    axes.set_xlim(ends)
    axes.set_ylim(ends)


def add_legend(axes, strategies, groups):
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], color=colour, marker="o", fillstyle=looks.FILLS[fill], linestyle="", markersize=5,
                      label=looks.short(name, 48)) for (name,), (colour, fill) in strategies.items()]
    handles += [Line2D([], [], color=looks.GREY, marker=MARKERS[i % len(MARKERS)], linestyle="", markersize=5,
                       label=looks.short(name, 48)) for i, name in enumerate(groups)]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0))


def draw(report, plt):
    cases = [case for case in report["cases"] if case["judged"]]
    if not cases:
        raise r.Refused("nothing to draw: no case ran both for real and simulated")
    figure, axes = plt.subplots(figsize=(5.4, 5.0))
    axes.set_xscale("log")
    axes.set_yscale("log")
    draw_limits(axes, cases)
    add_legend(axes, *draw_points(axes, cases))
    looks.readable_log(axes.xaxis)
    looks.readable_log(axes.yaxis)
    axes.set_xlabel("measured epoch [s]")
    axes.set_ylabel("predicted epoch [s]")
    errors = report["overall"]["epoch_error"]
    axes.set_title(f"{len(cases)} cases: error {100 * errors['mean_absolute']:.1f} % on average, "
                   f"{100 * errors['max_absolute']:.0f} % at most (grey: 20 %)", loc="left", fontsize=9)
    calibrated = "calibrated" if report["calibrated"] else "not calibrated"
    headline = f"Predicted on {report['cluster'].rsplit('/', 1)[-1]}, {calibrated}"
    figure.suptitle(looks.fit(headline, 4.2, 10, lines=2), x=0.125, ha="left", fontsize=10)
    return figure


if __name__ == "__main__":
    sys.exit(looks.document_main(draw, read_report, "validation",
                             ("VALIDATION.json", "the report that strobe validate writes"), __doc__))
