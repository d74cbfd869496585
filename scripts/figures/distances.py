#!/usr/bin/env python3
"""How far embeddings move from one epoch to the next: the cumulative distribution of L2 distances between each cell's
embeddings after two epochs (DGC, SIGMOD'23, Fig. 11).

usage: strobe run ... --epochs 10 --dump-embeddings A.npy; strobe run ... --epochs 11 --dump-embeddings B.npy
       distances.py NAME=A.npy,B.npy ... --out DIR
Quantiles of what is drawn go to NAME.csv. Cells that do not exist are NaN in both files and left out.
"""

import argparse
import os
import sys

from strobe_figures import looks
from strobe_figures import rows as r

QUANTILES = [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0]


def read_pair(text):
    """(name, sorted distances) of NAME=A.npy,B.npy. Raises Refused."""
    import numpy as np
    name, equals, files = text.partition("=")
    paths = files.split(",")
    if not equals or len(paths) != 2:
        raise r.Refused(f"{text}: expected NAME=A.npy,B.npy")
    arrays = []
    for path in paths:
        try:
            arrays.append(np.load(path).astype(np.float64))
        except OSError as error:
            raise r.Refused(f"{path}: {error.strerror or error}") from error
        except ValueError as error:
            raise r.Refused(f"{path}: not an array of numbers ({error})") from error
    first, second = arrays
    if first.shape != second.shape or first.ndim != 3:
        raise r.Refused(f"{text}: shapes {first.shape} and {second.shape}; both must be [steps, vertices, features], "
                        "as strobe run --dump-embeddings writes them")
    exists = ~(np.isnan(first).all(axis=2) & np.isnan(second).all(axis=2))
    distances = np.sort(np.linalg.norm(second - first, axis=2)[exists])
    if not len(distances) or not np.isfinite(distances).all():
        raise r.Refused(f"{text}: no cell has an embedding, or one is no number")
    return name, distances


def quantile(distances, share):
    """The least distance that at least this share of cells is at or below."""
    return float(distances[max(0, min(len(distances) - 1, -int(-share * len(distances) // 1) - 1))])


def table(pairs):
    return [["share"] + [name for name, _ in pairs]] + [[share] + [quantile(d, share) for _, d in pairs]
                                                         for share in QUANTILES]


def draw(pairs, plt):
    figure, axes = plt.subplots(figsize=(5.2, 3.4))
    for number, (name, distances) in enumerate(pairs):
        places = range(0, len(distances), max(1, len(distances) // 2000))
        axes.step([distances[i] for i in places] + [distances[-1]],
                  [(i + 1) / len(distances) for i in places] + [1.0], where="post",
                  color=looks.COLOURS[number % len(looks.COLOURS)], linestyle=looks.DASHES[number % len(looks.DASHES)],
                  label=f"{name}: {len(distances):,} cells, half below {quantile(distances, 0.5):.2g}")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=0)
    axes.set_xlabel("L2 distance between a cell's embeddings behind two epochs")
    axes.set_ylabel("share of cells at or below")
    looks.legend_below(figure, *axes.get_legend_handles_labels())
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("pairs", metavar="NAME=A.npy,B.npy", nargs="+", help="embeddings behind two epochs")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--name", default="distances", help="name of the files (default: distances)")
    options = parser.parse_args()
    pairs = []

    def read():
        pairs.extend(read_pair(pair) for pair in options.pairs)
        return pairs

    status = looks.write_figure(options.name, options.out, read, draw)
    return status or r.write_table(os.path.join(options.out, options.name + ".csv"), table(pairs))


if __name__ == "__main__":
    sys.exit(r.ending(main))
