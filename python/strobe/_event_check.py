"""Trains tgn-attn with parts of PyTorch on a few random events, in the program and in PyTorch (`events_from_torch`).

The form in PyTorch follows docs/reference/event_models.md with default options and one head. Its task is the classes of
events, which needs no random negatives.
"""
from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any

import numpy as np
import torch

from strobe.captured import Check, NotEqual, _write_safetensors, read_safetensors
from strobe.program import checked
from strobe.workloads import Workload

_VERTICES, _EVENTS, _TRAINED, _BATCH, _NEIGHBOURS, _RATE = 9, 40, 24, 8, 3, 0.5


class _Events:
    """Random events, one a second."""

    def __init__(self, seed: int, features: int) -> None:
        draw = np.random.default_rng(seed)
        self.source = draw.integers(0, _VERTICES, _EVENTS)
        self.target = (self.source + draw.integers(1, _VERTICES, _EVENTS)) % _VERTICES
        self.source[:_VERTICES], self.target[:_VERTICES] = range(_VERTICES), np.roll(range(_VERTICES), 1)
        self.time = np.arange(_EVENTS)
        self.features = draw.integers(-8, 9, (_EVENTS, features)) / 8
        self.labels = draw.integers(0, 2, _EVENTS)

    def workload(self, folder: pathlib.Path) -> Workload:
        features = self.features if self.features.shape[1] else None
        return Workload.from_events(self.source, self.target, self.time, features=features, labels=self.labels,
                                    path=folder / "events.strobe")

    def neighbours(self, vertex: int, time: int) -> list[tuple[int, int]]:
        """The other end and the event of the vertex' latest events before `time`."""
        earlier = [e for e in range(_EVENTS) if self.time[e] < time and vertex in (self.source[e], self.target[e])]
        return [(int(self.source[e] + self.target[e]) - vertex, e) for e in earlier[-_NEIGHBOURS:]]


class _Model:
    """One batch after the other. `own` has the weights of the parts that are the program's."""

    def __init__(self, modules: dict[str, torch.nn.Module], own: dict[str, torch.Tensor], events: _Events,
                 memory: int) -> None:
        self.modules, self.own, self.events, self.width = modules, own, events, memory
        self.memory = torch.zeros(_VERTICES, memory, dtype=torch.float64)
        self.updated = [0.0] * _VERTICES
        self.mails: dict[int, tuple[torch.Tensor, torch.Tensor, int]] = {}

    def code(self, layer: str, seconds: torch.Tensor) -> torch.Tensor:
        return torch.cos(seconds[:, None] * self.own[f"{layer}.frequency"] + self.own[f"{layer}.phase"])

    def updates(self, vertices: list[int]) -> tuple[torch.Tensor, list[float]]:
        """Memory and the time of its update, after the waiting mails."""
        mailed = [v for v in vertices if v in self.mails]
        rows, times = {v: self.memory[v] for v in vertices}, {v: self.updated[v] for v in vertices}
        if mailed:
            own, other, event = zip(*(self.mails[v] for v in mailed), strict=True)
            code = self.code("memory", torch.tensor([self.events.time[e] - self.updated[v]
                                                     for v, e in zip(mailed, event, strict=True)]).double())
            message = self.message(torch.stack(own), torch.stack(other),
                                   torch.tensor(self.events.features[list(event)]), code)
            changed = self.updater(message, self.memory[mailed])
            rows.update(zip(mailed, changed, strict=True))
            times.update({v: float(self.events.time[e]) for v, e in zip(mailed, event, strict=True)})
        return torch.stack([rows[v] for v in vertices]), [times[v] for v in vertices]

    def message(self, own: torch.Tensor, other: torch.Tensor, features: torch.Tensor,
                code: torch.Tensor) -> torch.Tensor:
        if "message" in self.modules:
            result: torch.Tensor = self.modules["message"](own, other, features, code)
            return result
        return torch.cat([own, other, code, features], 1)

    def updater(self, message: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        if "updater" in self.modules:
            result: torch.Tensor = self.modules["updater"](message, memory)
            return result
        gi = message @ self.own["memory.weight_x"] + self.own["memory.bias_x"]
        gh = memory @ self.own["memory.weight_h"] + self.own["memory.bias_h"]
        (ri, zi, ni), (rh, zh, nh) = gi.chunk(3, 1), gh.chunk(3, 1)
        z = torch.sigmoid(zi + zh)
        return (1 - z) * torch.tanh(ni + torch.sigmoid(ri + rh) * nh) + z * memory

    def embed(self, roots: list[tuple[int, int]]) -> torch.Tensor:
        """The embeddings of vertices at times, from their latest neighbours."""
        now = self.code("attention", torch.zeros(1, dtype=torch.float64))
        read = []
        for vertex, time in roots:
            slots = self.events.neighbours(vertex, time)
            memory, times = self.updates([vertex, *(other for other, _ in slots)])
            codes = self.code("attention", time - torch.tensor(times[1:], dtype=torch.float64))
            read.append((memory, codes, torch.tensor(self.events.features[[e for _, e in slots]])))
        if "embedding" not in self.modules:
            return torch.stack([self.attend(memory[:1], now, memory[1:], *more) for memory, *more in read])
        filled = [torch.stack([torch.nn.functional.pad(one, (0, 0, 0, _NEIGHBOURS - len(one))) for one in of])
                  for of in zip(*((memory[1:], *more) for memory, *more in read), strict=True)]
        padding = torch.stack([torch.arange(_NEIGHBOURS) >= len(codes) for _, codes, _ in read])
        result: torch.Tensor = self.modules["embedding"](torch.cat([memory[:1] for memory, *_ in read]),
                                                         now.expand(len(roots), -1), *filled, padding)
        return result

    def attend(self, root: torch.Tensor, now: torch.Tensor, memory: torch.Tensor, codes: torch.Tensor,
               features: torch.Tensor) -> torch.Tensor:
        """Attention of a root over its neighbours; 0 without."""
        if len(memory) == 0:
            return torch.zeros(self.width, dtype=torch.float64)
        w = {name: self.own[f"attention.{name}"] for name in ("query", "query_bias", "vertex", "time", "bias")}
        query = torch.cat([root, now], 1) @ w["query"] + w["query_bias"]
        both = memory @ w["vertex"] + codes @ w["time"] + w["bias"]
        if "attention.edge" in self.own:
            both = both + features @ self.own["attention.edge"]
        keys, values = both.chunk(2, 1)
        return (torch.softmax(query @ keys.T / len(codes) ** 0.5, 1) @ values)[0]

    def loss(self, first: int) -> torch.Tensor:
        batch = range(first, first + _BATCH)
        ends = [(int(self.events.source[e]), int(self.events.target[e])) for e in batch]
        rows = self.embed([(vertex, e) for e, pair in zip(batch, ends, strict=True) for vertex in pair])
        w = {name: self.own[f"classifier.{name}"] for name in ("hidden", "hidden_bias", "output", "output_bias")}
        logits = torch.relu(rows.reshape(_BATCH, -1) @ w["hidden"] + w["hidden_bias"]) @ w["output"] + w["output_bias"]
        return torch.nn.functional.cross_entropy(logits, torch.tensor(self.events.labels[first:first + _BATCH]))

    def write(self, first: int) -> None:
        """Memory of the batch's ends, and their last mails."""
        batch = range(first, first + _BATCH)
        ends = [(int(self.events.source[e]), int(self.events.target[e])) for e in batch]
        written = sorted({vertex for pair in ends for vertex in pair})
        with torch.no_grad():
            memory, times = self.updates(written)
        self.memory = self.memory.clone()
        self.memory[written] = memory
        for vertex, time in zip(written, times, strict=True):
            self.updated[vertex] = time
        for e, (u, v) in zip(batch, ends, strict=True):
            self.mails[u], self.mails[v] = (self.memory[u], self.memory[v], e), (self.memory[v], self.memory[u], e)


def _own_weights(modules: dict[str, torch.nn.Module], model: dict[str, Any],
                 weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights of the program's own parts and of the task, random where the model's file has none."""
    memory, time, edge = model["memory"], model["time"], model["edge_features"]
    message = 2 * memory + time + edge
    if "message" in modules:
        rows = [torch.zeros(1, width, dtype=torch.float64) for width in (memory, memory, edge, time)]
        message = modules["message"](*rows).shape[1]
    shapes = {"memory.frequency": (1, time), "memory.phase": (1, time)}
    if "updater" not in model["parts"]:
        shapes.update({"memory.weight_x": (message, 3 * memory), "memory.weight_h": (memory, 3 * memory),
                       "memory.bias_x": (1, 3 * memory), "memory.bias_h": (1, 3 * memory)})
    shapes.update({"attention.frequency": (1, time), "attention.phase": (1, time)})
    width = memory
    if "embedding" in modules:
        like = [torch.zeros(*shape, dtype=torch.float64)
                for shape in ((2, memory), (2, time), (2, 3, memory), (2, 3, time), (2, 3, edge))]
        width = modules["embedding"](*like, torch.zeros(2, 3, dtype=torch.bool)).shape[1]
    else:
        shapes.update({"attention.query": (memory + time, memory), "attention.query_bias": (1, memory),
                       "attention.vertex": (memory, 2 * memory), "attention.time": (time, 2 * memory),
                       "attention.bias": (1, 2 * memory), **({"attention.edge": (edge, 2 * memory)} if edge else {})})
    shapes.update({"classifier.hidden": (2 * width, width), "classifier.hidden_bias": (1, width),
                   "classifier.output": (width, 2), "classifier.output_bias": (1, 2)})
    draw = np.random.default_rng(11)
    return {name: weights.get(name, draw.uniform(-0.5, 0.5, shape)) for name, shape in shapes.items()}


def _trained_by_program(model: dict[str, Any], start: dict[str, np.ndarray], events: _Events,
                        folder: pathlib.Path) -> tuple[float, dict[str, np.ndarray]]:
    """Loss and weights after one epoch."""
    with tempfile.TemporaryDirectory() as scratch:
        files = pathlib.Path(scratch)
        _write_safetensors(files / "start.safetensors", start)
        request = {"name": "check", "cases": [{
            "workload": events.workload(files).part(),
            "model": {"name": "tgn-attn", "memory": model["memory"], "time": model["time"], "heads": 1,
                      "neighbours": _NEIGHBOURS, "path": str(folder.absolute())},
            "task": {"name": "event-classification", "classes": 2, "split": "60/20/20"},
            "strategy": {"name": "sequential", "batch": _BATCH, "learning_rate_scaling": "none"},
            "optimizer": {"name": "sgd", "rate": _RATE}, "precision": "fp64", "epochs": 1, "warmup": 0}]}
        (files / "check.json").write_text(json.dumps(request), encoding="utf-8")
        checked(["run", str(files / "check.json"), f"--load-model={files / 'start.safetensors'}",
                 f"--save-model={files / 'end.safetensors'}", f"--out={files / 'run'}"])
        row = json.loads((files / "run" / "summary.json").read_text(encoding="utf-8"))["rows"][0]
        if row["status"] != "ok":
            raise NotEqual(f"the program did not train the captured parts: {row['reason']}")
        return np.nan if row["loss"][0] is None else row["loss"][0], read_safetensors(files / "end.safetensors")


def compare(modules: dict[str, torch.nn.Module], model: dict[str, Any], weights: dict[str, np.ndarray],
            folder: pathlib.Path) -> Check:
    """One epoch of gradient descent in fp64, by the program from the files in `folder` and by PyTorch."""
    events = _Events(3, model["edge_features"])
    own = _own_weights(modules, model, weights)
    start = {**weights, **own}
    trained, end = _trained_by_program(model, start, events, folder)
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in own.items()}
    reference = _Model(modules, leaves, events, model["memory"])
    parameters = {**leaves, **{f"{part}.{name}": one for part, module in modules.items() if part != "time_encoder"
                               for name, one in module.named_parameters()}}
    before = {name: one.detach().clone() for name, one in parameters.items()}
    losses = []
    for first in range(0, _TRAINED, _BATCH):
        loss = reference.loss(first)
        moves = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        reference.write(first)
        losses.append(float(loss.detach()))
        with torch.no_grad():
            for one, move in zip(parameters.values(), moves, strict=True):
                if move is not None:
                    one -= _RATE * move
    moved = {name: (one.detach() - before[name]).numpy() for name, one in parameters.items()}
    with torch.no_grad():
        for name, one in parameters.items():
            one.copy_(before[name])
    turned = {one["name"] for part in model["parts"].values() for one in part["weights"] if one.get("transposed")}
    largest = np.max([np.abs(value).max() for value in moved.values()])
    apart = []
    for name, value in start.items():
        expected = moved[name].T if name in turned else moved[name]
        apart.append(np.abs(end[name] - value - expected.reshape(value.shape)).max() / largest)
    expected_loss = float(np.mean(losses))
    return Check(_TRAINED // _BATCH, abs(trained - expected_loss) / abs(expected_loss), float(np.max(apart)))

