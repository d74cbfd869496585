#!/usr/bin/env python3
"""Makes the hybrid batches of bench/hybrid_batches.cpp with SciPy and with PyTorch Geometric, interleaved with Strobe (A B A
B ...), and prints the ratios.

    bench/peers/hybrid_batches.py build/bench/strobe_bench [--vertices 100000,1000000] [--rounds 3] [--threads 2]

All are given the same graph and targets. The peers hand over one matrix for both layers: the field's vertices, each step's
entries with columns re-encoded to the field, values, and the field's features. Strobe hands over what it trains on, which
is more: a matrix for each layer with rows for whole timelines, and which rows each layer takes of the one before. SciPy takes rows of CSR matrices and marks their columns in
a vector of flags; it must find the same vertices and entries as Strobe, or the script ends with status 1. PyTorch
Geometric's k_hop_subgraph looks at every edge of a step for each hop and also keeps edges among the outermost vertices.

Ratios are medians over rounds. Exit status: 0 measured, 1 results differ, 2 wrong request, 5 SciPy is not installed (apt:
python3-scipy). Without PyTorch Geometric (pip: torch torch_geometric) its columns are left out.
"""

import json
import statistics
import sys
import time

import strobe_bench

STEPS, WINDOW, BATCHES = 8, 4, 16


def mixed(i):
    """SplitMix64's numbers of the indices i."""
    z = i * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def make_step(vertices, t):
    """The matrix of step t: row v has v and up to 7 drawn vertices."""
    row = np.arange(vertices, dtype=np.uint64) + np.uint64(t * vertices)
    counts = (mixed(row * np.uint64(8)) % np.uint64(8)).astype(np.int64)
    rows = np.repeat(np.arange(vertices), counts)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    draws = mixed(np.repeat(row, counts) * np.uint64(8) + np.uint64(1) + place.astype(np.uint64))
    u = (draws >> np.uint64(11)).astype(np.float64) * 2.0**-53
    columns = (u * u * float(vertices)).astype(np.int64)
    keys = np.unique(np.concatenate([rows * vertices + columns, np.arange(vertices) * (vertices + 1)]))
    offsets = np.zeros(vertices + 1, dtype=np.int32)
    np.cumsum(np.bincount(keys // vertices, minlength=vertices), out=offsets[1:])
    values = np.ones(len(keys), dtype=np.float32)
    return scipy.sparse.csr_matrix((values, (keys % vertices).astype(np.int32), offsets), shape=(vertices, vertices))


def batches(vertices):
    """First step and targets of every batch."""
    number = np.arange(vertices, dtype=np.uint64) + np.uint64(vertices * (STEPS * 8 + 1))
    choice = mixed(number) % np.uint64(100)
    return [(b % (STEPS - WINDOW + 1), np.flatnonzero(choice == b)) for b in range(BATCHES)]


class ByRows:
    """SciPy: rows of CSR matrices, columns marked in a vector of flags."""

    def __init__(self, steps, features):
        self.steps, self.features = steps, features
        self.place = np.zeros(features.shape[1], dtype=np.int32)

    def with_columns(self, flags, matrix):
        """The vertices of `flags`; afterwards the columns of their rows are flagged too. Also those rows."""
        vertices = np.flatnonzero(flags)
        rows = matrix[vertices]
        flags[rows.indices] = True
        return vertices, rows

    def batch(self, first, targets, exact):
        later = [np.zeros(0, dtype=np.int64)] * 2  # rows that each layer's state reads at the next step
        parts, field = [None] * WINDOW, np.zeros(len(self.place), dtype=bool)
        for t in reversed(range(WINDOW)):
            flags = np.zeros(len(self.place), dtype=bool)
            flags[targets] = True
            for layer in (1, 0):
                flags[later[layer]] = True
                vertices, rows = self.with_columns(flags, self.steps[first + t])
                if exact:
                    later[layer] = vertices
            parts[t] = (vertices, rows)
            field |= flags
        field = np.flatnonzero(field)
        self.place[field] = np.arange(len(field), dtype=np.int32)
        cut = [(self.place[v], rows.indptr, self.place[rows.indices], rows.data) for v, rows in parts]
        features = self.features[first : first + WINDOW, field]
        return field, sum(len(part[2]) for part in cut), (cut, features)


class BySubgraph:
    """PyTorch Geometric: k_hop_subgraph of each step's edges."""

    def __init__(self, steps, features):
        self.edges = []
        for matrix in steps:
            rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
            self.edges.append(torch.from_numpy(np.stack([matrix.indices.astype(np.int64), rows])))
        self.values = [torch.from_numpy(matrix.data) for matrix in steps]
        self.features, self.vertices = torch.from_numpy(features), features.shape[1]
        self.place = torch.zeros(self.vertices, dtype=torch.int64)

    def hops(self, vertices, t, count):
        subset, edges, _, mask = k_hop_subgraph(vertices, count, self.edges[t], num_nodes=self.vertices)
        return subset, edges, self.values[t][mask]

    def batch(self, first, targets, exact):
        targets = torch.from_numpy(targets)
        later = [targets[:0]] * 2
        parts, fields = [None] * WINDOW, []
        for t in reversed(range(WINDOW)):
            if exact:
                subset = targets
                for layer in (1, 0):
                    later[layer] = torch.cat([subset, later[layer]]).unique()
                    subset, edges, values = self.hops(later[layer], first + t, 1)
            else:
                subset, edges, values = self.hops(targets, first + t, 2)
            parts[t] = (edges, values)
            fields.append(subset)
        field = torch.cat(fields).unique()
        self.place[field] = torch.arange(len(field))
        cut = [(self.place[edges], values) for edges, values in parts]
        return field.numpy(), sum(part[0].shape[1] for part in cut), (cut, self.features[first : first + WINDOW, field])


def measured(peer, wanted, exact):
    """Seconds a batch; means of the field's vertices and of entries."""
    peer.batch(*wanted[0], exact)
    begin, vertices, entries = time.perf_counter(), 0, 0
    for first, targets in wanted:
        field, count, _ = peer.batch(first, targets, exact)
        vertices += len(field) / len(wanted)
        entries += count / len(wanted)
    return (time.perf_counter() - begin) / len(wanted), vertices, entries


def compare(arguments, vertices, kind, peers, wanted):
    """One line of the table, and whether SciPy found what Strobe did."""
    exact = kind == "exact"
    seconds, ratios, same = {"strobe": []}, {name: [] for name in peers}, True
    for _ in range(arguments.rounds):
        _, row = strobe_bench.report_of(arguments.binary, f"hybrid_batch/{kind}/vertices:{vertices}")
        own = strobe_bench.seconds_of(row)
        seconds["strobe"].append(own)
        for name, peer in peers.items():
            other, field, entries = measured(peer, wanted, exact)
            seconds.setdefault(name, []).append(other)
            ratios[name].append(other / own)
            if name == "scipy":
                same = same and (round(field, 3), round(entries, 3)) == (round(row["field"], 3), round(row["entries"], 3))
    line = {"vertices": vertices, "frontier": kind, "field": row["field"], "entries": row["entries"], "same": same}
    line |= {f"{name}_ms": 1e3 * statistics.median(values) for name, values in seconds.items()}
    return line | {f"{name}_ratio": statistics.median(values) for name, values in ratios.items()}


def main():
    options = strobe_bench.parser(__doc__, rounds=3)
    options.add_argument("--vertices", default="100000")
    arguments = strobe_bench.parsed(options)
    if torch is not None:
        torch.set_num_threads(arguments.threads)
    lines = []
    for vertices in map(int, arguments.vertices.split(",")):
        steps = [make_step(vertices, t) for t in range(STEPS)]
        features = np.ones((STEPS, vertices, 2), dtype=np.float32)
        peers = {"scipy": ByRows(steps, features)}
        if torch is not None:
            peers["pyg"] = BySubgraph(steps, features)
        for kind in ("layers", "exact"):
            line = compare(arguments, vertices, kind, peers, batches(vertices))
            print("  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in line.items()))
            lines.append(line)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)
    return 0 if all(line["same"] for line in lines) else 1


try:
    import numpy as np
    import scipy.sparse
except ImportError as error:
    print(f"Peers not measured: {error}. Install python3-scipy.", file=sys.stderr)
    sys.exit(5)
try:
    import torch
    from torch_geometric.utils import k_hop_subgraph
except ImportError as error:
    print(f"PyTorch Geometric is left out: {error}.", file=sys.stderr)
    torch = None
sys.exit(main())
