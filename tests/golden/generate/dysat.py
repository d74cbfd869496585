"""DySAT (Sankar et al., WSDM'20). Structural: per head f = x W, logits LeakyReLU_0.2(left . f_i + right . f_j) over the
pattern of A + I (times the normalised entry with logits=weighted), softmax, ELU, heads side by side. Temporal: learned
positions added, query, key and value projections, causal scaled dot-product attention per head, then relu(o W + b) + o.
Dropout multiplies the coefficients after either softmax."""

import torch
from torch.nn import functional

from common import laplacian
from dropout import edge_factor, past_factor

DEFAULTS = {"hidden": 6, "structural_heads": 2, "temporal_heads": 2, "positions": 512, "scale": "sqrt_d", "logits": "pattern",
            "structural_dropout": 0, "temporal_dropout": 0}


def shapes(features, options):
    o = {**DEFAULTS, **options}
    h = o["hidden"]
    return {"structural.weight": (features, h), "structural.left": (1, h), "structural.right": (1, h),
            "temporal.positions": (o["positions"], h), "temporal.query_key_value": (h, 3 * h),
            "temporal.dense.weight": (h, h), "temporal.dense.bias": (1, h)}, h


def structural(step, a, x, weights, o, exists):
    """One step: a [N, N] normalised A + I, x [N, F]; zero where a cell does not exist."""
    vertices, total = torch.nonzero(exists)[:, 0], len(x)
    result = torch.zeros(total, o["hidden"])
    if len(vertices):
        result[vertices] = attend(step * total, vertices, a[vertices][:, vertices], x[vertices], weights, o)
    return result


def attend(first_cell, vertices, a, x, weights, o):
    """The structural attention of the step's vertices that exist."""
    outputs = []
    heads = zip(*(weights[f"structural.{name}"].chunk(o["structural_heads"], dim=1) for name in ("weight", "left", "right")))
    for head, (weight, left, right) in enumerate(heads):
        f = x @ weight
        logits = (f @ left.T) + (f @ right.T).T
        if o["logits"] == "weighted":
            logits = logits * a
        logits = functional.leaky_relu(logits, 0.2).masked_fill(a == 0, float("-inf"))
        kept = torch.ones_like(a)
        if o["structural_dropout"]:
            kept = torch.tensor([[edge_factor(first_cell + int(v), int(u), head, o["structural_dropout"]) for u in vertices]
                                 for v in vertices])
        outputs.append(functional.elu((torch.softmax(logits, dim=1) * kept) @ f))
    return torch.cat(outputs, dim=1)


def temporal(x, weights, o, cells):
    """x [T, N, H]. A cell at step t attends to its own sequence up to t. Positions are numbers of steps."""
    steps, width = len(x), o["hidden"] // o["temporal_heads"]
    x = x + weights["temporal.positions"][:steps, None, :]
    query, key, value = (x @ weights["temporal.query_key_value"]).chunk(3, dim=2)
    hidden = cells.reach(steps).permute(2, 0, 1) == 0
    hidden = hidden & ~torch.eye(steps, dtype=torch.bool)  # missing cells attend to themselves, without effect
    scale = (width if o["scale"] == "sqrt_d" else steps) ** 0.5
    outputs = []
    for head, (q, k, v) in enumerate(zip(*(part.split(width, dim=2) for part in (query, key, value)))):
        scores = torch.einsum("tnd,snd->nts", q, k) / scale
        weight = torch.softmax(scores.masked_fill(hidden, float("-inf")), dim=2)
        if o["temporal_dropout"]:
            vertices = x.shape[1]
            weight = weight * torch.tensor([[[past_factor(t * vertices + n, s, head, o["temporal_dropout"])
                                              for s in range(steps)] for t in range(steps)] for n in range(vertices)])
        outputs.append(torch.einsum("nts,snd->tnd", weight, v))
    attended = torch.cat(outputs, dim=2)
    return torch.relu(attended @ weights["temporal.dense.weight"] + weights["temporal.dense.bias"]) + attended


def embed(adjacency, features, weights, options, cells):
    o = {**DEFAULTS, **options}
    a = laplacian(adjacency, cells)
    x = [structural(t, a[t], features[t], weights, o, cells.exists[t]) for t in range(len(a))]
    return temporal(torch.stack(x), weights, o, cells)
