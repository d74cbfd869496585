"""EvolveGCN-H (AAAI'20 section 3.2): as EvolveGCN-O, but the cell reads a summary of the layer's input. The summary has
the k rows with the largest score X p / |p|, each times tanh of its score, transposed. Only vertices with an incoming
edge count (mask=linked: with an edge at either end; none: all that exist). Ties go to the smaller vertex. The last one
is repeated when there are fewer than k."""

import torch

import evolve_gcn_o

DEFAULTS = {**evolve_gcn_o.DEFAULTS, "cell": "gru", "gate": "tanh", "mask": "connected"}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    all_shapes, width = evolve_gcn_o.shapes(features, options, DEFAULTS)
    all_shapes["layer1.score"] = (features, 1)
    all_shapes["layer2.score"] = (o["hidden"], 1)
    return all_shapes, width


def summary(a, x, direction, k, o, exists):
    score = (x @ direction)[:, 0] / direction.norm()
    edges = (a - torch.diag(torch.diagonal(a))) != 0
    if o["mask"] == "linked":
        edges = edges | edges.T
    allowed = [v for v in range(len(x)) if bool(exists[v]) and (o["mask"] == "none" or bool(edges[v].any()))]
    if not allowed:
        return torch.zeros(x.shape[1], k)
    order = sorted(allowed, key=lambda v: (-float(score[v].detach()), v))
    chosen = [order[min(i, len(order) - 1)] for i in range(k)]
    rows = x[chosen]
    if o["gate"] == "tanh":
        rows = rows * torch.tanh(score[chosen])[:, None]
    return rows.T


def embed(adjacency, features, weights, options, cells):
    return evolve_gcn_o.embed(adjacency, features, weights, options, cells, DEFAULTS, summary)
