#!/usr/bin/env python3
"""Training that does not wait where timelines pass to another rank, without ranks and messages. Whole steps belong to
owners: runs of steps, or step t to t mod ranks. Where the owner changes, the recurrence goes on from zero, or from the
state that this cell's predecessor had in the previous epoch, a constant (zero in the first epoch).
usage: states.py            writes tests/golden/CASE.safetensors for every case of states_cases.json
       states.py --check    computes them again and compares with the committed files (relative 1e-12)"""

import torch

import cd_gcn
import common
import t_gcn
from generate import write_or_check


def owners(steps, ranks, deal):
    if deal == "cyclic":
        return [t % ranks for t in range(steps)]
    sizes = [steps // ranks + (r < steps % ranks) for r in range(ranks)]
    return [r for r, size in enumerate(sizes) for _ in range(size)]


class Cuts:
    """The state before each step of one recurrence; `after` keeps the states of this epoch for the next."""

    def __init__(self, owner, kind):
        self.owner, self.kind, self.before, self.after = owner, kind, {}, {}

    def enter(self, t, state):
        if t == 0 or self.owner[t] == self.owner[t - 1]:
            return state
        if self.kind == "previous_epoch" and t - 1 in self.before:
            return self.before[t - 1]
        return tuple(torch.zeros_like(part) for part in state)

    def leave(self, t, state):
        self.after[t] = tuple(part.detach().clone() for part in state)

    def end_epoch(self):
        self.before, self.after = self.after, {}


def embed_t_gcn(a, x, weights, options, cuts):
    o = {**t_gcn.DEFAULTS, **options}
    h = o["hidden"]
    read = [t_gcn.convolutions(a, x, weights, gate, o) for gate in range(3)]
    v, u, b = (weights[f"gru.{name}"].split(size)
               for name, size in (("input_weight", h), ("hidden_weight", h), ("bias", 1)))
    state, outputs = torch.zeros(x.shape[1], h), []
    for t in range(len(a)):
        (state,) = cuts[0].enter(t, (state,))
        r = torch.sigmoid(read[0][t] @ v[0] + state @ u[0] + b[0])
        z = torch.sigmoid(read[1][t] @ v[1] + state @ u[1] + b[1])
        n = torch.tanh(read[2][t] @ v[2] + (r * state) @ u[2] + b[2])
        state = z * state + (1 - z) * n
        cuts[0].leave(t, (state,))
        outputs.append(state)
    return torch.stack(outputs)


def embed_cd_gcn(a, x, weights, options, cuts):
    for layer in (1, 2):
        w = {name: weights[f"layer{layer}.{name}"]
             for name in ("gcn.weight", "lstm.input_weight", "lstm.hidden_weight", "lstm.bias")}
        aggregated = a @ x
        y = torch.relu(torch.cat([aggregated, aggregated @ w["gcn.weight"]], dim=2))
        width = len(w["lstm.hidden_weight"])
        state, outputs = (torch.zeros(x.shape[1], width),) * 2, []
        for t in range(len(a)):
            state = torch.lstm_cell(y[t], cuts[layer - 1].enter(t, state), w["lstm.input_weight"].T,
                                    w["lstm.hidden_weight"].T, w["lstm.bias"][0], torch.zeros(4 * width))
            cuts[layer - 1].leave(t, state)
            outputs.append(state[0])
        x = torch.stack(outputs)
    return x


MODELS = {"t-gcn": (t_gcn, embed_t_gcn, 1), "cd-gcn": (cd_gcn, embed_cd_gcn, 2)}


def compute(case):
    graph = common.Graph()
    cells = common.Cells(graph.runs, "all")
    task = common.LinkPrediction(cells)
    module, embed, recurrences = MODELS[case["model"]["name"]]
    options = {key: value for key, value in case["model"].items() if key != "name"}
    shapes, width = module.shapes(graph.features.shape[2], options)
    weights = common.draw_weights({**shapes, **task.shapes(width)}, case["seed"])
    tensors = {f"weight.{name}": value.detach().clone() for name, value in weights.items()}
    adjacency, features = graph.first(task.steps)
    a = common.laplacian(adjacency, cells.first(task.steps))
    strategy = case["strategy"]
    owner = owners(task.steps, case["ranks"], strategy.get("deal"))
    cuts = [Cuts(owner, strategy["states"]) for _ in range(recurrences)]
    optimizer, losses = torch.optim.SGD(weights.values(), lr=case["rate"]), []
    for _ in range(case["epochs"]):
        optimizer.zero_grad()
        loss = task.loss(embed(a, features, weights, options, cuts), weights)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        for cut in cuts:
            cut.end_epoch()
    tensors["loss"] = torch.tensor(losses).reshape(-1, 1)
    return {**tensors, **{f"after.{name}": value.detach().clone() for name, value in weights.items()}}


if __name__ == "__main__":
    write_or_check(__doc__, "states_cases.json", compute)
