"""T-GCN (DGC, SIGMOD'23, section 7.1; Zhao et al.): gates r, z, n read graph convolutions C of the features, relu between
their layers; r, z = sigmoid(C V + H U + b), n = tanh(C V + (r H) U + b), H' = z H + (1 - z) n, H = 0 where a
vertex's sequence begins.
conv=xh: r, u = sigmoid(A~ [x, H] W_g + b_g), c = tanh(A~ [x, r H] W_c + b_c), H' = u H + (1 - u) c."""

import torch

from common import laplacian

DEFAULTS = {"hidden": 6, "gcn_layers": 2, "gates": "own", "conv": "x"}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    h, blocks = o["hidden"], 3 if o["gates"] == "own" else 1
    if o["conv"] == "xh":
        return {"gate.weight": (features + h, 2 * h), "gate.bias": (1, 2 * h),
                "candidate.weight": (features + h, h), "candidate.bias": (1, h)}, h
    all_shapes = {"layer1.gcn.weight": (features, blocks * h), "layer1.gcn.bias": (1, blocks * h)}
    for l in range(2, o["gcn_layers"] + 1):
        all_shapes[f"layer{l}.gcn.weight"] = (blocks * h, h)
        all_shapes[f"layer{l}.gcn.bias"] = (blocks, h)
    all_shapes.update({"gru.input_weight": (3 * h, h), "gru.hidden_weight": (3 * h, h), "gru.bias": (3, h)})
    return all_shapes, h


def convolutions(a, x, weights, block, o):
    """The convolution that gate `block` reads, at all steps."""
    h = o["hidden"]
    columns = slice(block * h, (block + 1) * h)
    y = a @ x @ weights["layer1.gcn.weight"][:, columns] + weights["layer1.gcn.bias"][:, columns]
    for l in range(2, o["gcn_layers"] + 1):
        y = a @ torch.relu(y) @ weights[f"layer{l}.gcn.weight"][columns] + weights[f"layer{l}.gcn.bias"][block]
    return y


def joint(a, features, weights, h, cells):
    """Features and state convolved together."""
    state, outputs = torch.zeros(features.shape[1], h), []
    for t in range(len(a)):
        state = state.masked_fill(cells.starts(t), 0.0)
        read = a[t] @ torch.cat([features[t], state], dim=1)
        r, u = torch.sigmoid(read @ weights["gate.weight"] + weights["gate.bias"]).chunk(2, dim=1)
        read = a[t] @ torch.cat([features[t], r * state], dim=1)
        c = torch.tanh(read @ weights["candidate.weight"] + weights["candidate.bias"])
        state = u * state + (1 - u) * c
        outputs.append(state)
    return torch.stack(outputs)


def embed(adjacency, features, weights, options, cells):
    o = {**DEFAULTS, **options}
    a, h = laplacian(adjacency, cells), o["hidden"]
    if o["conv"] == "xh":
        return joint(a, features, weights, h, cells)
    read = [convolutions(a, features, weights, gate if o["gates"] == "own" else 0, o) for gate in range(3)]
    v, u, b = (weights[f"gru.{name}"].split(size) for name, size in (("input_weight", h), ("hidden_weight", h), ("bias", 1)))
    state, outputs = torch.zeros(features.shape[1], h), []
    for t in range(len(a)):
        state = state.masked_fill(cells.starts(t), 0.0)
        r = torch.sigmoid(read[0][t] @ v[0] + state @ u[0] + b[0])
        z = torch.sigmoid(read[1][t] @ v[1] + state @ u[1] + b[1])
        n = torch.tanh(read[2][t] @ v[2] + (r * state) @ u[2] + b[2])
        state = z * state + (1 - z) * n
        outputs.append(state)
    return torch.stack(outputs)
