"""CD-GCN (ESDG, SC'21, section 5.1): per layer Y0 = A~ X, Y = relu([Y0 | Y0 W]), or [X | Y0 W] with concat=input; then
PyTorch's LSTM cell along each vertex's timeline, from zero where a sequence of
the vertex begins (gates in, forget, candidate, out)."""

import torch

from common import laplacian, lstm

DEFAULTS = {"hidden": 6, "output": 6, "layers": 2, "concat": "aggregated"}


def widths(features, o):
    """Input width and LSTM width of each layer."""
    return [(features if l == 0 else o["hidden"], o["output"] if l + 1 == o["layers"] else o["hidden"])
            for l in range(o["layers"])]


def shapes(features, options):
    o = {**DEFAULTS, **options}
    all_shapes = {}
    for l, (f, h) in enumerate(widths(features, o), 1):
        all_shapes[f"layer{l}.gcn.weight"] = (f, o["hidden"])
        all_shapes[f"layer{l}.lstm.input_weight"] = (f + o["hidden"], 4 * h)
        all_shapes[f"layer{l}.lstm.hidden_weight"] = (h, 4 * h)
        all_shapes[f"layer{l}.lstm.bias"] = (1, 4 * h)
    return all_shapes, o["output"]


def embed(adjacency, features, weights, options, cells):
    o = {**DEFAULTS, **options}
    a, x = laplacian(adjacency, cells), features
    starts = [cells.starts(t) for t in range(len(a))]
    for l in range(1, o["layers"] + 1):
        w = {name: weights[f"layer{l}.{name}"] for name in ("gcn.weight", "lstm.input_weight", "lstm.hidden_weight", "lstm.bias")}
        aggregated = a @ x
        left = x if o["concat"] == "input" else aggregated
        y = torch.relu(torch.cat([left, aggregated @ w["gcn.weight"]], dim=2))
        x = lstm(y, w["lstm.input_weight"], w["lstm.hidden_weight"], w["lstm.bias"], starts)
    return x
