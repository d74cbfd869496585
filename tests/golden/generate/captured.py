"""The example of the captured model: c = relu(A~ x W + b); r, u = sigmoid([c, H] W_g + b_g); n = tanh([c, r H] W_c + b_c);
H' = u H + (1 - u) n, H = 0 where a vertex's sequence begins."""

import torch

from common import laplacian

WIDTH = 6


def shapes(features, options):
    h = WIDTH
    return {"conv.weight": (features, h), "conv.bias": (1, h), "gates.weight": (2 * h, 2 * h), "gates.bias": (1, 2 * h),
            "candidate.weight": (2 * h, h), "candidate.bias": (1, h)}, h


def embed(adjacency, features, weights, options, cells):
    convolved = torch.relu(laplacian(adjacency, cells) @ features @ weights["conv.weight"] + weights["conv.bias"])
    state, outputs = torch.zeros(features.shape[1], WIDTH), []
    for t, c in enumerate(convolved):
        state = state.masked_fill(cells.starts(t), 0.0)
        r, u = torch.sigmoid(torch.cat([c, state], dim=1) @ weights["gates.weight"] + weights["gates.bias"]).chunk(2, dim=1)
        n = torch.tanh(torch.cat([c, r * state], dim=1) @ weights["candidate.weight"] + weights["candidate.bias"])
        state = u * state + (1 - u) * n
        outputs.append(state)
    return torch.stack(outputs)
