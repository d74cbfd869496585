"""TM-GCN (ESDG, SC'21, section 5.3): A and X smoothed by M, A normalised; H = relu(A~ X W1), M H, Z = act(A~ (M H) W2);
with two pairs the output is M-transformed too. The networks of TM-GCN's public code: linear, Z = A~ X W; selu,
Z = A~ selu(A~ X W1) W2."""

import torch

from common import fading_sum, laplacian, m_transform

DEFAULTS = {"hidden": 6, "output": 6, "window": 5, "pairs": 1, "last_activation": "relu", "network": "esdg",
            "m": "row_mean"}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    if o["network"] == "linear":
        return {"layer1.weight": (features, o["output"])}, o["output"]
    return {"layer1.weight": (features, o["hidden"]), "layer2.weight": (o["hidden"], o["output"])}, o["output"]


def embed(adjacency, features, weights, options, cells):
    o = {**DEFAULTS, **options}
    smooth = fading_sum if o["m"] == "inverse_distance" else m_transform
    a = laplacian(smooth(adjacency, o["window"], cells), cells)
    x = smooth(features, o["window"], cells)
    first = a @ x @ weights["layer1.weight"]
    if o["network"] == "linear":
        return first
    if o["network"] == "selu":
        return a @ torch.nn.functional.selu(first) @ weights["layer2.weight"]
    hidden = smooth(torch.relu(first), o["window"], cells)
    z = a @ hidden @ weights["layer2.weight"]
    if o["last_activation"] == "relu":
        z = torch.relu(z)
    return smooth(z, o["window"], cells) if o["pairs"] == 2 else z
