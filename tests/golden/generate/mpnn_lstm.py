"""MPNN-LSTM (Panagopoulos et al., AAAI'21): X1 = norm(relu(A~ X W1 + b1)), X2 = norm(relu(A~ X1 W2 + b2)), batch
normalisation of each step over its vertices; [X1 | X2] into two stacked LSTMs along the timelines; embedding [H1 | H2 | X]
or H2. state=reset: the LSTMs restart from zero every `window` steps."""

import torch

from common import laplacian, lstm

DEFAULTS = {"hidden": 6, "output": "all", "state": "carried", "window": 1, "batch_norm": True}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    h, all_shapes = o["hidden"], {}
    for l in (1, 2):
        all_shapes[f"gcn{l}.weight"] = (features if l == 1 else h, h)
        all_shapes[f"gcn{l}.bias"] = (1, h)
        if o["batch_norm"]:
            all_shapes[f"norm{l}.gain"] = (1, h)
            all_shapes[f"norm{l}.shift"] = (1, h)
    for l in (1, 2):
        all_shapes[f"lstm{l}.input_weight"] = (2 * h if l == 1 else h, 4 * h)
        all_shapes[f"lstm{l}.hidden_weight"] = (h, 4 * h)
        all_shapes[f"lstm{l}.bias"] = (1, 4 * h)
    return all_shapes, 2 * h + features if o["output"] == "all" else h


def convolve(a, x, weights, l, o, cells):
    y = torch.relu(a @ x @ weights[f"gcn{l}.weight"] + weights[f"gcn{l}.bias"])
    if not o["batch_norm"]:
        return y
    gain, shift = weights[f"norm{l}.gain"][0], weights[f"norm{l}.shift"][0]
    return torch.stack([normalise(step, exists, gain, shift) for step, exists in zip(y, cells.exists)])


def normalise(step, exists, gain, shift):
    """Batch normalisation over the vertices that exist; zero elsewhere."""
    result, rows = torch.zeros_like(step), step[exists]
    if len(rows):
        apart = rows - rows.mean(0)
        result[exists] = gain * apart / ((apart**2).mean(0) + 1e-5).sqrt() + shift
    return result


def recur(x, weights, l, o, cells):
    """The LSTM over the sequences of vertices, or over each window on its own."""
    w = [weights[f"lstm{l}.{name}"] for name in ("input_weight", "hidden_weight", "bias")]
    length = len(x) if o["state"] == "carried" else o["window"]
    starts = torch.stack([cells.starts(t) for t in range(len(x))])
    return torch.cat([lstm(x[t : t + length], *w, starts[t : t + length]) for t in range(0, len(x), length)])


def embed(adjacency, features, weights, options, cells):
    o = {**DEFAULTS, **options}
    a = laplacian(adjacency, cells)
    first = convolve(a, features, weights, 1, o, cells)
    second = convolve(a, first, weights, 2, o, cells)
    h1 = recur(torch.cat([first, second], dim=2), weights, 1, o, cells)
    h2 = recur(h1, weights, 2, o, cells)
    return torch.cat([h1, h2, features], dim=2) if o["output"] == "all" else h2
