#!/usr/bin/env python3
"""A plan: cost against time of every point with its Pareto front, and where the best point's epoch goes as it scales.

usage: strobe plan ... --json > P.json; scripts/figures/plan.py P.json --out DIR
       strobe plan ... --figure F.png does both
"""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

PARTS = (("compute", looks.BLUE), ("launch-bound", looks.SKY), ("communication", looks.VERMILION), ("copies", looks.ORANGE),
         ("waiting", looks.PURPLE), ("other", looks.LIGHT_GREY))


def read_plan(path):
    """The JSON of strobe plan. Raises Refused when the file is something else."""
    plan = r.read_json(path)
    if not isinstance(plan, dict) or "points" not in plan or "scaling" not in plan:
        raise r.Refused(f"{path}: lacks 'points' and 'scaling', which strobe plan --json writes")
    return plan


def fronts_of(plan):
    """[(currency, points)]: costs in two currencies do not compare, so each has axes of its own; [(None, points)] when
    nothing has a price."""
    points = [p for p in plan["points"] if p["status"] == "ok"]
    currencies = sorted({p["currency"] or "" for p in points if p["dollars"] is not None})
    return [(currency, [p for p in points if p["dollars"] is not None and (p["currency"] or "") == currency])
            for currency in currencies] or [(None, points)]


def looks_of(plan):
    """The colour and fill of each strategy and the marker of each cluster, over all points."""
    points = [p for p in plan["points"] if p["status"] == "ok"]
    strategies = looks.styles_of(((p["strategy"],) for p in points), len(looks.FILLS))
    clusters = r.in_order(p["cluster"] for p in points)
    return strategies, {name: looks.MARKERS[i % len(looks.MARKERS)] for i, name in enumerate(clusters)}


def job_band(plan, point):
    """The ends of the 90 % band of the job's time, with a certain start-up time; None where the point has no band."""
    band = point.get("epoch_seconds_band90")
    start = point.get("start_up_seconds", plan.get("start_up_seconds", 0))
    if not band or not point["epoch_seconds"]:
        return None
    epochs = (point["job_seconds"] - start) / point["epoch_seconds"]
    return start + band["low"] * epochs, start + band["high"] * epochs


def colour_of(point, strategies):
    return strategies[(point["strategy"],)][0]


def draw_limits(axes, plan, currency):
    """Deadline and budget, each with its name."""
    if plan["deadline_seconds"] is not None:
        axes.axvline(plan["deadline_seconds"], color=looks.GREY, linestyle="--", linewidth=0.9)
        axes.annotate("deadline", (plan["deadline_seconds"], 0.02), xycoords=("data", "axes fraction"), rotation=90,
                      xytext=(-2, 0), textcoords="offset points", ha="right", va="bottom", fontsize=7, color="#606060")
    if plan["budget"] is not None and currency is not None and currency == plan["currency"]:
        axes.axhline(plan["budget"], color=looks.GREY, linestyle="--", linewidth=0.9)
        axes.annotate("budget", (0.01, plan["budget"]), xycoords=("axes fraction", "data"), xytext=(0, 2),
                      textcoords="offset points", ha="left", va="bottom", fontsize=7, color="#606060")


def draw_front(axes, plan, currency, points, strategies, clusters):
    """Time on the horizontal axis; cost on the vertical one, or memory when nothing has a price."""
    key, label = ("peak_bytes", "bytes per GPU") if currency is None else ("dollars", f"cost of the job [{currency}]")
    for point in sorted(points, key=lambda p: p["verdict"] == "kept"):
        kept = point["verdict"] == "kept"
        band = job_band(plan, point)
        if band and kept:
            axes.plot(band, [point[key]] * 2, "-", color=colour_of(point, strategies), linewidth=2.2, alpha=0.35)
        if kept and r.is_extrapolated(point):
            looks.ring_extrapolated(axes, [(point["job_seconds"], point[key])])
        colour, fill = strategies[(point["strategy"],)]
        axes.plot(point["job_seconds"], point[key], clusters[point["cluster"]], color=colour,
                  fillstyle=looks.FILLS[fill], alpha=1.0 if kept else 0.25, markersize=7 if kept else 4,
                  markeredgecolor="black" if kept else "none", markeredgewidth=0.6)
    axes.set_xscale("log")
    axes.set_yscale("log")
    draw_limits(axes, plan, currency)
    looks.readable_log(axes.xaxis)
    looks.readable_log(axes.yaxis)
    axes.set_xlabel(f"time of {plan['epochs_of_a_job']} epochs [s]")
    axes.set_ylabel(label)


def add_legend(figure, plan, strategies, clusters, mark):
    """`mark` makes a handle: matplotlib's Line2D."""
    handles = [mark([], [], color=colour, marker="o", fillstyle=looks.FILLS[fill], linestyle="", markersize=5, label=name)
               for (name,), (colour, fill) in strategies.items()]
    handles += [mark([], [], color=looks.GREY, marker=marker, linestyle="", markersize=5, label=name)
                for name, marker in clusters.items()]
    front = [p for p in plan["points"] if p["verdict"] == "kept"]
    if any(job_band(plan, p) for p in front):
        handles.append(mark([], [], color=looks.GREY, linewidth=2.2, alpha=0.5, label="90 % band of the front"))
    scaled = (plan["scaling"] or {"points": []})["points"]
    beyond = any(r.is_extrapolated(p) for p in front) or any(p["extrapolated"] for p in scaled)
    handles += looks.extra_handles(mark, beyond, False)
    looks.legend_below(figure, handles, most=48)


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
        bars = axes.bar(range(len(points)), heights, bottom=bottoms, color=colour, label=name, width=0.7)
        for bar, point in zip(bars, points):
            bar.set_hatch("////" if point["extrapolated"] else None)
        bottoms = [b + h for b, h in zip(bottoms, heights)]
    axes.set_xticks(range(len(points)), [f"{p['ranks']}\n{100 * p['efficiency']:.0f} %" for p in points])
    axes.set_xlabel("GPUs, and efficiency" + ("; hatched: extrapolated" if any(p["extrapolated"] for p in points) else ""))
    axes.set_ylabel(f"epoch [{unit}]")
    axes.set_ylim(0, 1.35 * max(bottoms))  # room for the legend
    axes.set_title("Where the best point's epoch goes", loc="left")
    axes.legend(loc="upper right", ncol=2, fontsize=8)


def draw(plan, plt):
    if not any(p["status"] == "ok" for p in plan["points"]):
        raise r.Refused("nothing to draw: no point could be simulated to its end")
    fronts, count = fronts_of(plan), sum(p["status"] == "ok" for p in plan["points"])
    figure, axes = looks.panels(plt.subplots, len(fronts) + 1, columns=len(fronts) + 1, size=(5.3, 4.2))
    strategies, clusters = looks_of(plan)
    drawn = sum(len(points) for _, points in fronts)
    for place, (currency, points) in zip(axes, fronts):
        draw_front(place, plan, currency, points, strategies, clusters)
        words = "Points; framed: the front" + ("" if drawn == count else ", unsold clusters left out")
        looks.title(place, words + (f"; priced in {currency}" if len(fronts) > 1 else ""), 10)
    draw_scaling(axes[-1], plan)
    add_legend(figure, plan, strategies, clusters, plt.Line2D)
    notes = "uncalibrated" if any("uncalibrated" in note for note in plan["notes"]) else "calibrated"
    best = next((p for p in plan["points"] if p["id"] == plan["best"]), None)
    what = ", ".join(str(plan["request"][key]) for key in ("workload", "model") if key in plan.get("request", {}))
    headline = f"{what}: predicted, {notes}" if what else f"Predicted, {notes}"
    if best:
        headline += f"; best: {best['strategy']} on {looks.ranks_text(best['ranks']).replace('rank', 'GPU')} of {best['cluster']}"
    looks.headline(figure, headline)
    return figure


if __name__ == "__main__":
    sys.exit(looks.document_main(draw, read_plan, "plan",
                             ("PLAN.json", "output of strobe plan --json"), __doc__))
