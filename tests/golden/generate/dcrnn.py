"""DCRNN (Li et al., ICLR'18): D(z) = [z | S z | S^2 z ...] over the walks S = D_O^-1 W along the edges and D_I^-1 W^T
against them; r, u = sigmoid([D(x) | D(h)] W_g + b_g), c = tanh([D(x) | D(r h)] W_c + b_c), h' = u h + (1 - u) c, h_0 = 0.
terms=chebyshev: z_k = 2 S z_(k-1) - z_(k-2); carried: the second walk begins with z_(K-1) of the first, and with
supports=transposed S is transposed: both as in liyaguang/DCRNN. state=none: h = 0 in front of every step."""

import torch

DEFAULTS = {"hidden": 6, "layers": 1, "hops": 2, "directions": "both", "terms": "powers", "state": "carried",
            "supports": "walks"}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    h, all_shapes = o["hidden"], {}
    terms = 1 + o["hops"] * (2 if o["directions"] == "both" else 1)
    for l in range(1, o["layers"] + 1):
        rows = terms * ((features if l == 1 else h) + h)
        all_shapes[f"layer{l}.gate.weight"] = (rows, 2 * h)
        all_shapes[f"layer{l}.gate.bias"] = (1, 2 * h)
        all_shapes[f"layer{l}.candidate.weight"] = (rows, h)
        all_shapes[f"layer{l}.candidate.bias"] = (1, h)
    return all_shapes, h


def walk(a):
    """Rows scaled to sum 1; a row without entries stays zero."""
    degree = a.sum(1, keepdim=True)
    return torch.where(degree > 0, a / degree.clamp(min=1e-300), torch.zeros_like(a))


def diffuse(walks, z, o):
    parts, begin = [z], z
    for s in walks:
        chain = [begin]
        for hop in range(o["hops"]):
            new = s @ chain[-1]
            if o["terms"] != "powers" and hop > 0:
                new = 2 * new - chain[-2]
            chain.append(new)
        parts += chain[1:]
        if o["terms"] == "carried":
            begin = chain[-2]
    return torch.cat(parts, dim=1)


def embed(adjacency, features, weights, options, cells):
    o = {**DEFAULTS, **options}
    x, adjacency = features, cells.both_ends(adjacency)
    for l in range(1, o["layers"] + 1):
        w = {name: weights[f"layer{l}.{name}"] for name in ("gate.weight", "gate.bias", "candidate.weight", "candidate.bias")}
        h, outputs = torch.zeros(x.shape[1], o["hidden"]), []
        for t in range(len(x)):
            walks = [walk(adjacency[t].T)] * (o["directions"] != "in") + [walk(adjacency[t])] * (o["directions"] != "out")
            if o["supports"] == "transposed":
                walks = [s.T for s in walks]
            of_x = diffuse(walks, x[t], o)
            h = torch.zeros(x.shape[1], o["hidden"]) if o["state"] == "none" else h.masked_fill(cells.starts(t), 0.0)
            gates = torch.sigmoid(torch.cat([of_x, diffuse(walks, h, o)], dim=1) @ w["gate.weight"] + w["gate.bias"])
            r, u = gates.chunk(2, dim=1)
            c = torch.tanh(torch.cat([of_x, diffuse(walks, r * h, o)], dim=1) @ w["candidate.weight"] + w["candidate.bias"])
            h = u * h + (1 - u) * c
            outputs.append(h)
        x = torch.stack(outputs)
    return x
