#!/usr/bin/env python3
"""A plan: cost against time of every point with its Pareto front, and where the best point's epoch goes as it scales.

usage: strobe plan ... --json > P.json; scripts/figures/plan.py P.json --out DIR
       strobe plan ... --figure F.png does both
"""

import json
import sys

from shared import rows as r

COLOURS = [r.BLUE, r.VERMILION, r.GREEN, r.ORANGE, r.PURPLE, r.SKY, "#000000"]
MARKERS = "osD^vPX*<>hd"
PARTS = (("compute", r.BLUE), ("launch-bound", r.SKY), ("communication", r.VERMILION), ("copies", r.ORANGE),
         ("waiting", r.PURPLE), ("other", r.LIGHT_GREY))


def read_plan(path):
    """The JSON of strobe plan. Raises Refused when the file is something else."""
    try:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
    except OSError as error:
        raise r.Refused(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise r.Refused(f"{path}: not JSON ({error})") from error
    if not isinstance(plan, dict) or "points" not in plan or "scaling" not in plan:
        raise r.Refused(f"{path}: lacks 'points' and 'scaling', which strobe plan --json writes")
    return plan


def draw_front(axes, plan):
    """Time on the horizontal axis; dollars on the vertical one, or memory when nothing has a price."""
    points = [p for p in plan["points"] if p["status"] == "ok"]
    priced = [p for p in points if p["dollars"] is not None]
    key, label = ("dollars", f"cost of the job [{plan['currency']}]") if priced else ("peak_bytes", "bytes per GPU")
    drawn = priced or points
    strategies = r.in_order(p["strategy"] for p in drawn)
    clusters = r.in_order(p["cluster"] for p in drawn)
    for point in sorted(drawn, key=lambda p: p["verdict"] == "kept"):
        kept = point["verdict"] == "kept"
        colour = COLOURS[strategies.index(point["strategy"]) % len(COLOURS)]
        axes.plot(point["job_seconds"], point[key], MARKERS[clusters.index(point["cluster"]) % len(MARKERS)],
                  color=colour, alpha=1.0 if kept else 0.25, markersize=7 if kept else 4,
                  markeredgecolor="black" if kept else "none", markeredgewidth=0.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if plan["deadline_seconds"] is not None:
        axes.axvline(plan["deadline_seconds"], color=r.GREY, linestyle="--", linewidth=0.9)
    if plan["budget"] is not None and priced:
        axes.axhline(plan["budget"], color=r.GREY, linestyle="--", linewidth=0.9)
    axes.set_xlabel(f"time of {plan['epochs_of_a_job']} epochs [s]")
    axes.set_ylabel(label)
    axes.set_title("Points; framed: the front" + ("" if len(drawn) == len(points) else ", unsold clusters left out"),
                   loc="left")
    add_legend(axes, strategies, clusters)


def add_legend(axes, strategies, clusters):
    from matplotlib.lines import Line2D
    handles = [Line2D([], [], color=COLOURS[i % len(COLOURS)], marker="o", linestyle="", markersize=5, label=name)
               for i, name in enumerate(strategies)]
    handles += [Line2D([], [], color=r.GREY, marker=MARKERS[i % len(MARKERS)], linestyle="", markersize=5, label=name)
                for i, name in enumerate(clusters)]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncol=3)


def parts_of(point):
    """Seconds of each part, in the order of PARTS."""
    launch = point["launch_bound_seconds"]
    return [point["compute_seconds"] - launch, launch, sum(point["exposed_communicate_seconds"].values()),
            point["exposed_transfer_seconds"], point["wait_seconds"], point["other_seconds"]]


def draw_scaling(axes, plan):
    points = [p for p in (plan["scaling"] or {"points": []})["points"] if p["status"] == "ok"]
    if not points:
        axes.set_axis_off()
        axes.text(0.02, 0.9, "no point is within the limits", fontsize=8, color="#606060", transform=axes.transAxes)
        return
    factor, unit = r.time_unit([p["epoch_seconds"] for p in points])
    bottoms = [0.0] * len(points)
    for number, (name, colour) in enumerate(PARTS):
        heights = [factor * parts_of(p)[number] for p in points]
        axes.bar(range(len(points)), heights, bottom=bottoms, color=colour, label=name, width=0.7)
        bottoms = [b + h for b, h in zip(bottoms, heights)]
    axes.set_xticks(range(len(points)), [f"{p['ranks']}\n{100 * p['efficiency']:.0f} %" for p in points])
    axes.set_xlabel("GPUs, and efficiency")
    axes.set_ylabel(f"epoch [{unit}]")
    axes.set_ylim(0, 1.35 * max(bottoms))  # room for the legend
    axes.set_title("Where the best point's epoch goes", loc="left")
    axes.legend(loc="upper right", ncol=2)


def draw(plan, plt):
    if not any(p["status"] == "ok" for p in plan["points"]):
        raise r.Refused("nothing to draw: no point could be simulated to its end")
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), gridspec_kw={"wspace": 0.28})
    draw_front(left, plan)
    draw_scaling(right, plan)
    notes = "uncalibrated" if any("uncalibrated" in note for note in plan["notes"]) else "calibrated"
    figure.suptitle(f"Predicted, {notes}; best: {plan['best']}", x=0.125, ha="left", fontsize=10)
    return figure


if __name__ == "__main__":
    sys.exit(r.document_main(draw, read_plan, "plan",
                             ("PLAN.json", "output of strobe plan --json"), __doc__))
