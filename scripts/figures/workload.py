#!/usr/bin/env python3
"""Draws a workload: edges and overlap per step, and the distributions of sizes, sequence lengths and degrees.

usage: strobe inspect W --json > W.json; scripts/figures/workload.py W.json --out DIR
       strobe inspect W --figure F.png does both
"""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

CUMULATIVE = "share of {} at or below"


def read_facts(path):
    """An inspection's report or a shape. Raises Refused when the file is neither."""
    facts = r.read_json(path)
    if not isinstance(facts, dict) or "edges_per_step" not in facts:
        raise r.Refused(f"{path}: lacks 'edges_per_step', which strobe inspect --json writes")
    return facts


def draw_steps(axes, facts):
    edges = facts["edges_per_step"]
    axes.fill_between(range(len(edges) + 1), edges + edges[-1:], step="post", color=looks.BLUE, alpha=0.85, linewidth=0)
    axes.set_xlabel("step")
    axes.set_ylabel("edges")
    axes.set_ylim(0, 1.05 * max(max(edges), 1))


def draw_overlap(axes, facts):
    known = [(t, share) for t, share in enumerate(facts["overlap_per_step"]) if share is not None]
    if not known:
        raise KeyError("overlap_per_step")
    axes.plot(*zip(*known), ".", markersize=3, color=looks.VERMILION)
    mean = facts.get("overlap_mean")
    if mean is not None:
        axes.axhline(mean, color=looks.GREY, linewidth=0.9)
        axes.set_title(f"Overlap, mean {mean:.3g}", loc="left")
    axes.set_xlabel("step")
    axes.set_ylabel("share kept from the step before")
    axes.set_ylim(0, min(1.02, max(0.01, 1.2 * max(share for _, share in known))))


def draw_active(axes, facts):
    active = facts["active_vertices_per_step"]
    axes.fill_between(range(len(active) + 1), active + active[-1:], step="post", color=looks.SKY, alpha=0.9, linewidth=0)
    axes.set_xlabel("step")
    axes.set_ylabel("vertices with an edge")
    axes.set_ylim(0, 1.05 * max(max(active), 1))


def draw_size_distribution(axes, facts):
    sizes = sorted(facts["edges_per_step"])
    shares = [(i + 1) / len(sizes) for i in range(len(sizes))]
    axes.step([0] + sizes, [0] + shares, where="post", color=looks.BLUE)
    axes.set_xlabel("edges of a step")
    axes.set_ylabel(CUMULATIVE.format("steps"))
    axes.set_ylim(0, 1.02)


def cumulative(histogram):
    """([value], [share of values at or below]) from the bins; a bin's values count as its mean."""
    total, seen, values, shares = histogram["count"], 0, [], []
    for _, count, bin_sum in histogram["bins"]:
        seen += count
        values.append(bin_sum / count)
        shares.append(seen / total)
    return values, shares


def draw_lengths(axes, facts):
    values, shares = cumulative(facts["sequence_length"])
    axes.step([0] + values, [0] + shares, where="post", color=looks.GREEN)
    axes.set_xlabel("steps in which a vertex has an edge")
    axes.set_ylabel(CUMULATIVE.format("vertices"))
    axes.set_ylim(0, 1.02)


def draw_degrees(axes, facts):
    drawn = False
    for key, other, label, colour, line in (("in_degree", "vertex_in_degree", "in", looks.PURPLE, "o-"),
                                            ("out_degree", "vertex_out_degree", "out", looks.ORANGE, "s--")):
        histogram = facts.get(key) or facts.get(other)
        if not histogram or histogram["max"] == 0:
            continue
        values, shares = cumulative(histogram)
        points = [(v, 1 - s) for v, s in zip(values, [0] + shares[:-1]) if v > 0]
        axes.plot(*zip(*points), line, markersize=2.5, linewidth=0.9, color=colour, label=label)
        drawn = True
    if not drawn:
        raise KeyError("in_degree")
    axes.set_xscale("log")
    axes.set_yscale("log")
    looks.readable_log(axes.xaxis)
    looks.readable_log(axes.yaxis)
    axes.set_xlabel("degree over all steps")
    axes.set_ylabel("share of vertices at or above")
    axes.legend(loc="lower left")


PANELS = (("Edges per step", draw_steps, "edges_per_step"), ("Overlap", draw_overlap, "overlap_per_step"),
          ("Active vertices per step", draw_active, "active_vertices_per_step"),
          ("Step sizes", draw_size_distribution, "edges_per_step"),
          ("Sequence lengths", draw_lengths, "sequence_length"),
          ("Degrees", draw_degrees, "vertex_in_degree"))


def headline(facts):
    def count(key):
        return "unknown" if facts.get(key) is None else f"{facts[key]:,}"
    name = facts.get("workload") or facts.get("name")
    words = [f"{name}: {count('vertices')} vertices, {count('steps')} steps, {count('edges')} edges"]
    if facts.get("ids"):
        words.append(f"ids {facts['ids']}")
    if facts.get("merged_events") is not None:
        words.append(f"{facts['merged_events']:,} events merged")
    return "; ".join(words)


def draw(facts, plt):
    figure, grid = plt.subplots(2, 3, figsize=(11, 6), gridspec_kw={"hspace": 0.42, "wspace": 0.34})
    drawn = 0
    for axes, (title, panel, key) in zip(grid.flat, PANELS):
        axes.set_title(title, loc="left")
        try:
            panel(axes, facts)
            drawn += 1
        except (KeyError, TypeError):  # a shape may know nothing of it
            unknown = facts.get("unknown", {})
            axes.set_axis_off()
            reason = unknown.get(key, unknown.get("*", "the file does not say"))
            axes.text(0.02, 0.9, f"not known: {reason}", wrap=True, fontsize=8, color="#606060", va="top",
                      transform=axes.transAxes)
    if drawn == 0:
        raise r.Refused(f"nothing to draw: {facts.get('name')} holds sums only")
    figure.suptitle(looks.fit(headline(facts), 8.6, 10, lines=2), x=0.125, ha="left", fontsize=10)
    return figure


if __name__ == "__main__":
    sys.exit(looks.document_main(draw, read_facts, "workload",
                             ("FACTS.json", "output of strobe inspect --json, or a shape; - is standard input"), __doc__))
