#!/usr/bin/env python3
"""How uneven a dynamic graph is in space and time: the cumulative distributions of the edges of a step and of the
lengths of vertex sequences (DGC, SIGMOD'23, Fig. 3), of one workload or of several.

usage: strobe inspect W --presence seen,active --json > W.json; scripts/figures/sequences.py W.json ... --out DIR
       strobe inspect W --presence seen,active --figure F.png does both for one
"""

import argparse
import os
import sys

from strobe_figures import looks
from strobe_figures import rows as r


def read_facts(path):
    """An inspection's report with presences. Raises Refused when the file is something else."""
    facts = r.read_json(path)
    if not isinstance(facts, dict) or "edges_per_step" not in facts or not facts.get("presence"):
        raise r.Refused(f"{path}: lacks 'presence', which strobe inspect --presence seen,lifetime,active --json writes")
    if not any(found["sequences"] for found in facts["presence"].values()):
        raise r.Refused(f"{path}: no cell exists, so there is nothing to draw")
    return facts


def edges_of_steps(facts):
    """([edges], [share of steps at or below]), without steps of no edge, which the first share counts in."""
    sizes = sorted(facts["edges_per_step"])
    points = [(size, (i + 1) / len(sizes)) for i, size in enumerate(sizes) if size > 0]
    return [size for size, _ in points], [share for _, share in points]


def lengths_of_sequences(lengths):
    """([steps], [share of sequences at or below])."""
    seen, values, shares = 0, [], []
    for length, count in lengths["counts"]:
        seen += count
        values.append(length)
        shares.append(seen / lengths["count"])
    return values, shares


def stairs(axes, values, shares, colour, line, label):
    """A cumulative distribution; its last stair reaches as far as its largest value."""
    axes.step([values[0]] + values, [0] + shares, where="post", color=colour, linestyle=line, linewidth=1.4, label=label)


def names_of(documents):
    """The workload of each, a file by its name alone, with those parameters that differ among documents of one workload."""
    names = []
    for facts in documents:
        own = facts.get("parameters") or {}
        others = [other.get("parameters") or {} for other in documents if other.get("workload") == facts.get("workload")]
        told = [f"{key}={int(value) if isinstance(value, float) and value.is_integer() else value}"
                for key, value in own.items() if any(other.get(key) != value for other in others)]
        names.append(", ".join([os.path.basename(str(facts.get("workload")))] + told))
    return names


def draw(documents, plt):
    figure, (left, right) = looks.panels(plt.subplots, 2, columns=2, size=(4.5, 3.6))
    several = len(documents) > 1
    names = names_of(documents)
    for number, (name, facts) in enumerate(zip(names, documents)):
        own = looks.COLOURS[number % len(looks.COLOURS)]
        sizes, shares = edges_of_steps(facts)
        if sizes:
            stairs(left, sizes, shares, own, looks.DASHES[number % len(looks.DASHES)] if several else "-", name)
        for place, (kind, found) in enumerate(facts["presence"].items()):
            if not found["sequences"]:
                continue
            colour = own if several else looks.COLOURS[place % len(looks.COLOURS)]
            words = f"{kind}: {found['cells']:,} cells, {found['sequences']:,} sequences"
            stairs(right, *lengths_of_sequences(found["sequence_length"]), colour, looks.DASHES[place % len(looks.DASHES)],
                   f"{name}, {words}" if several else words)
    for axes, title, what in ((left, "Edges of a step", "steps"), (right, "Lengths of sequences, in steps", "sequences")):
        axes.set_xscale("log")
        looks.readable_log(axes.xaxis)
        axes.set_ylim(0, 1.02)
        axes.set_ylabel(f"share of {what} at or below")
        axes.set_title(title, loc="left")
    handles, labels = right.get_legend_handles_labels()
    if several and max(map(len, names)) <= 16:  # the legend below has the same colours
        left.legend(loc="upper left", fontsize=8)
    if not several:
        looks.headline(figure, f"{documents[0].get('workload')}: {documents[0]['vertices']:,} vertices, "
                               f"{documents[0]['steps']:,} steps")
    looks.legend_below(figure, handles, labels)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("documents", metavar="FACTS.json", nargs="+", help="output of strobe inspect --presence all --json")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--name", default="sequences", help="name of the figures (default: sequences)")
    options = parser.parse_args()
    return looks.write_figure(options.name, options.out, lambda: [read_facts(path) for path in options.documents], draw)


if __name__ == "__main__":
    sys.exit(r.ending(main))
