"""TM-GCN (ESDG, SC'21, section 5.3): A and X smoothed by M, A normalised; H = relu(A~ X W1), M H, Z = act(A~ (M H) W2);
with two pairs the output is M-transformed too."""

import torch

from common import laplacian, m_transform

DEFAULTS = {"hidden": 6, "output": 6, "window": 5, "pairs": 1, "last_activation": "relu"}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    return {"layer1.weight": (features, o["hidden"]), "layer2.weight": (o["hidden"], o["output"])}, o["output"]


def embed(adjacency, features, weights, options):
    o = {**DEFAULTS, **options}
    a = laplacian(m_transform(adjacency, o["window"]))
    x = m_transform(features, o["window"])
    hidden = m_transform(torch.relu(a @ x @ weights["layer1.weight"]), o["window"])
    z = a @ hidden @ weights["layer2.weight"]
    if o["last_activation"] == "relu":
        z = torch.relu(z)
    return m_transform(z, o["window"]) if o["pairs"] == 2 else z
