#!/usr/bin/env python3
"""Who is better with which memory, vertex by vertex, those of most events first (after DistTGL, SC'23, Fig. 5).

Reads two files of `strobe run --dump-ranks` of the same events, and draws of each source the share of its events whose
destination ranks first in one run minus that share in the other.
"""

import argparse
import csv
import sys
from collections import defaultdict

from strobe_figures import looks
from strobe_figures import rows as r

COLUMNS = ["event", "part", "source", "destination", "candidates", "rank"]


def read_ranks(path):
    """The events as (event, source, destination), and of each source [events, those whose destination ranks first]."""
    events, sources = [], defaultdict(lambda: [0, 0])
    with open(path, newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        if (table.fieldnames or [])[:len(COLUMNS)] != COLUMNS:
            raise r.Refused(f"{path}: not a file of strobe run --dump-ranks, which has the columns {','.join(COLUMNS)}")
        for row in table:
            events.append((row["event"], row["source"], row["destination"]))
            sources[row["source"]][0] += 1
            sources[row["source"]][1] += float(row["rank"]) < 2
    return events, sources


def read_both(first, second):
    """(judged events, accuracy in the first run, in the second) of each source, most events first."""
    events, a = read_ranks(first)
    others, b = read_ranks(second)
    if events != others:
        raise r.Refused(f"{first} and {second} are not of the same events")
    if not events:
        raise r.Refused(f"{first}: no event was judged, so there is nothing to draw")
    order = sorted(a, key=lambda source: (-a[source][0], source))
    return [(a[source][0], a[source][1] / a[source][0], b[source][1] / b[source][0]) for source in order]


def summary(sources):
    """How many sources gain, lose, and the mean gain of the half with more events and of the half with fewer."""
    gains = [a - b for _, a, b in sources]
    half = (len(gains) + 1) // 2
    halves = [sum(part) / len(part) if part else 0.0 for part in (gains[:half], gains[half:])]
    return sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains), *halves


def draw(sources, names, plt):
    figure, axes = plt.subplots(figsize=(5.8, 3.4))
    gains = [a - b for _, a, b in sources]
    axes.bar(range(len(gains)), gains, width=1.0, color=[looks.BLUE if gain >= 0 else looks.VERMILION for gain in gains])
    axes.set_xlabel("sources, those of most judged events first")
    axes.set_ylabel("share of first ranks:\n" + f"{names[0]} minus {names[1]}")
    better, worse, many, few = summary(sources)
    looks.title(axes, f"{better} sources better with {names[0]}, {worse} with {names[1]}; mean of the half with more "
                      f"events {many:+.3f}, with fewer {few:+.3f}")
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("first", metavar="A.csv", help="output of strobe run --dump-ranks")
    parser.add_argument("second", metavar="B.csv", help="the same of another run on the same events")
    parser.add_argument("--names", nargs=2, default=["A", "B"], metavar="NAME", help="what to call them")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    options = parser.parse_args()
    return looks.write_figure("by_degree", options.out, lambda: read_both(options.first, options.second),
                          lambda sources, plt: draw(sources, options.names, plt))


if __name__ == "__main__":
    sys.exit(r.ending(main))
