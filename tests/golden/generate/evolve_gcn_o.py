"""EvolveGCN-O (AAAI'20 section 3.2; ESDG, SC'21, section 5.2): Y_t = relu(A~_t X_t W_t), W_t = cell(W_{t-1}), the cell a
matrix LSTM or the public code's matrix GRU, with input and hidden state both the weights of the step before. A smoothed
by edge life, then normalised. Gates are stacked by rows: in, forget, candidate, out; or update, reset, candidate."""

import torch

from common import edge_life, laplacian

DEFAULTS = {"hidden": 6, "output": 6, "edge_life": 5, "cell": "lstm", "backpropagation": "full", "last_activation": "relu"}


def shapes(features, options, defaults=DEFAULTS):
    o = {**defaults, **options}
    gates = 4 if o["cell"] == "lstm" else 3
    all_shapes = {}
    for layer, (f, g) in enumerate([(features, o["hidden"]), (o["hidden"], o["output"])], 1):
        prefix = f"layer{layer}."
        all_shapes[prefix + "weight"] = (f, g)
        all_shapes[prefix + "evolve.weight_x"] = (gates * f, f)
        all_shapes[prefix + "evolve.weight_h"] = (gates * f, f)
        all_shapes[prefix + "evolve.bias"] = (gates * f, g)
    return all_shapes, o["output"]


class Cell:
    """The recurrence of one layer's weights."""

    def __init__(self, weights, prefix, kind):
        self.kind = kind
        self.from_x, self.from_h = weights[prefix + "evolve.weight_x"], weights[prefix + "evolve.weight_h"]
        self.bias, self.memory = weights[prefix + "evolve.bias"], 0.0

    def gates(self, x, h):
        count = len(self.from_x) // len(h)
        return [a @ x + b @ h + c
                for a, b, c in zip(self.from_x.chunk(count), self.from_h.chunk(count), self.bias.chunk(count))]

    def step(self, x, h):
        if self.kind == "lstm":
            enter, forget, candidate, leave = self.gates(x, h)
            self.memory = forget.sigmoid() * self.memory + enter.sigmoid() * candidate.tanh()
            return leave.sigmoid() * torch.tanh(self.memory)
        update, reset, _ = self.gates(x, h)
        update, reset = update.sigmoid(), reset.sigmoid()
        candidate = self.gates(x, reset * h)[2].tanh()
        return (1 - update) * h + update * candidate

    def forget_gradient(self):
        if self.kind == "lstm":
            self.memory = self.memory.detach()


def embed(adjacency, features, weights, options, cells, defaults=DEFAULTS, summary=None):
    o = {**defaults, **options}
    a, x = laplacian(edge_life(adjacency, o["edge_life"]), cells), features
    for prefix in ("layer1.", "layer2."):
        w, cell, outputs = weights[prefix + "weight"], Cell(weights, prefix, o["cell"]), []
        for t in range(len(a)):
            score = weights.get(prefix + "score")
            w = cell.step(w if summary is None else summary(a[t], x[t], score, w.shape[1], o, cells.exists[t]), w)
            outputs.append(a[t] @ x[t] @ w)
            if o["backpropagation"] == "detached":
                w = w.detach()
                cell.forget_gradient()
        x = torch.stack(outputs)
        if prefix == "layer1." or o["last_activation"] == "relu":
            x = torch.relu(x)
    return x
