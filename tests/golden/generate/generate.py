#!/usr/bin/env python3
"""Golden fixtures from an independent PyTorch implementation of every model, in float64: weights, embeddings, loss and
gradients on graph.csv or on the case's own graph. A case of an optimiser holds the weights after several steps instead.
usage: generate.py            writes tests/golden/CASE.safetensors for every case of cases.json
       generate.py --check    computes them again and compares with the committed files (relative 1e-12)
Needs PyTorch; on Debian: apt-get install python3-torch."""

import importlib
import json
import sys

import torch

import common


def make_task(task, graph, cells):
    name, options = (task, {}) if isinstance(task, str) else (task["name"], task)
    if name == "golden-pairs":
        return common.LinkPrediction(cells)
    if name == "golden-weighted-pairs":
        return common.LinkPrediction(cells, weighted=True)
    if name == "vertex-regression":
        return common.DegreeRegression(graph, options.get("degree", "in"))
    raise ValueError(f"no golden task is called {name}")


class Network:
    """Model, task and start weights of a case."""

    def __init__(self, case):
        graph = common.Graph(case.get("orientation", "in"), case.get("graph", "graph.csv"))
        cells = common.Cells(graph.runs, case.get("presence", "all"))
        self.options = {key: value for key, value in case["model"].items() if key != "name"}
        self.model = importlib.import_module(case["model"]["name"].replace("-", "_"))
        self.task = make_task(case["task"], graph, cells)
        shapes, self.width = self.model.shapes(graph.features.shape[2], self.options)
        self.weights = common.draw_weights({**shapes, **self.task.shapes(self.width)}, case["seed"])
        self.adjacency, self.features = graph.first(self.task.steps)
        self.cells = cells.first(self.task.steps)

    def embed(self, dropping=True):
        options = {key: value for key, value in self.options.items() if dropping or not key.endswith("dropout")}
        z = self.model.embed(self.adjacency, self.features, self.weights, options, self.cells)
        return z.masked_fill(~self.cells.exists[:, :, None], 0.0)

    def loss(self):
        return self.task.loss(self.embed(), self.weights)


def train(network, optimizer, steps):
    """The weights after `steps` steps of the optimiser, which is given by its options under Strobe's names."""
    o = {key: value for key, value in optimizer.items() if key not in ("name", "rate")}
    if optimizer["name"] in ("adam", "adamw"):
        o = {"betas": (o.get("beta1", 0.9), o.get("beta2", 0.999)), "eps": o.get("epsilon", 1e-8),
             "weight_decay": o.get("weight_decay", 0.0)}
    kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer["name"]]
    steps_of = kind(network.weights.values(), lr=optimizer["rate"], **o)
    for _ in range(steps):
        steps_of.zero_grad()
        network.loss().backward()
        steps_of.step()
    return {f"after.{name}": value.detach().clone() for name, value in network.weights.items()}


def compute(case):
    """The tensors of one case."""
    network = Network(case)
    tensors = {f"weight.{name}": value.detach().clone() for name, value in network.weights.items()}
    if "optimizer" in case:
        return {**tensors, **train(network, case["optimizer"], case["steps"])}
    loss = network.loss()
    loss.backward()
    for name, value in network.weights.items():
        tensors[f"gradient.{name}"] = torch.zeros_like(value) if value.grad is None else value.grad
    tensors["embeddings"] = network.embed(dropping=False).reshape(-1, network.width)
    if "presence" in case:
        tensors["exists"] = network.cells.exists.double().reshape(-1, 1)
    tensors["loss"] = loss.reshape(1, 1)
    return tensors


def check_live(case, tensors):
    """Refuses tensors of zeros, which could hide faults. Only gradients that the case lists as `idle` must be zero."""
    for key, value in tensors.items():
        idle = key.startswith("gradient.") and key[len("gradient."):] in case.get("idle", [])
        if bool((value != 0).any()) == idle or not bool(value.isfinite().all()):
            raise SystemExit(f"{case['name']}: {key} is {'not zero' if idle else 'all zero or not finite'}")


def differences(name, tensors, path):
    stored, _ = common.read_safetensors(path)
    if stored.keys() != tensors.keys():
        return [f"{name}: other tensors are stored: {sorted(stored.keys() ^ tensors.keys())}"]
    wrong = []
    for key, value in tensors.items():
        apart = (stored[key] - value.detach()).abs().max() / value.detach().abs().max().clamp(min=1e-300)
        if not apart <= 1e-12:
            wrong.append(f"{name}: {key} differs by {float(apart):.3g} of its largest value")
    return wrong


def write_or_check(usage, file, compute_case):
    """Writes the fixture of each case of `file`. With --check it compares them with the committed ones instead."""
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        raise SystemExit(usage)
    wrong = []
    cases = json.loads((common.GOLDEN / file).read_text())["cases"]
    for case in cases:
        tensors = compute_case(case)
        path = common.GOLDEN / f"{case['name']}.safetensors"
        if check:
            wrong += differences(case["name"], tensors, path)
        else:
            made_from = {key: value for key, value in case.items() if key != "same"}
            common.write_safetensors(path, tensors, {"case": json.dumps(made_from)})
    print("\n".join(wrong) if wrong else f"{len(cases)} fixtures {'agree' if check else 'written'}")
    sys.exit(1 if wrong else 0)


def compute_live(case):
    tensors = compute(case)
    check_live(case, tensors)
    return tensors


if __name__ == "__main__":
    write_or_check(__doc__, "cases.json", compute_live)
