"""Parts of event models of PyTorch: `events_from_torch` writes them to files that the program trains."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from strobe.captured import Check, NotCaptured, NotEqual, _copy, _model, _write_safetensors
from strobe.program import Path

if TYPE_CHECKING:
    import torch


class CapturedEventModel:
    """tgn-attn with captured parts, which serves as `model=`: `path` has `model.json` and `weights.safetensors`."""

    def __init__(self, path: Path, options: dict[str, Any], check: Check | None) -> None:
        self.path, self.options, self.check = pathlib.Path(path).absolute(), options, check

    def part(self) -> dict[str, Any]:
        """The model as a suite has it."""
        return {"name": "tgn-attn", **self.options, "path": str(self.path)}

    def __repr__(self) -> str:
        if self.check is None:
            return f"CapturedEventModel({str(self.path)!r}), not compared with PyTorch"
        return (f"CapturedEventModel({str(self.path)!r}), as PyTorch over {self.check.steps} batches: loss differs by "
                f"{self.check.loss:.1g}, weights by {self.check.gradients:.1g}")


def events_from_torch(path: Path, *, memory: int, time: int, edge_features: int = 0,
                      message: torch.nn.Module | None = None, updater: torch.nn.Module | None = None,
                      time_encoder: torch.nn.Module | None = None, check: bool = True, tolerance: float = 1e-5,
                      **options: Any) -> CapturedEventModel:
    """Captures parts of an event model and writes them to the folder `path`. The program then trains without Python.

    `memory`, `time` and `edge_features` are widths W, T and E. Parts that are not given are those of tgn-attn, and
    `options` are its options. The modules are called with B rows:

    - message(memory [B, W], other_memory [B, W], edge_features [B, E], time_encoding [B, T]), result [B, M]
    - updater(message [B, M], memory [B, W]), result [B, W], such as torch.nn.GRUCell(M, W)
    - time_encoder(seconds [B, 1]), result [B, T]: the cosine of a linear layer

    With `check`, the program and PyTorch train on a few random events and compare loss and weights. Raises NotCaptured,
    which names operations that Strobe lacks, and NotEqual where a difference is above `tolerance`.
    """
    given = {"message": message, "updater": updater, "time_encoder": time_encoder}
    modules = {name: _copy(module) for name, module in given.items() if module is not None}
    if not modules:
        raise ValueError("no part is given: name message=, updater= or time_encoder=")
    widths = {"memory": memory, "time": time, "edge_features": edge_features}
    model, weights = _parts(modules, widths)
    folder = pathlib.Path(path)
    folder.parent.mkdir(parents=True, exist_ok=True)
    captured = CapturedEventModel(folder, {"memory": memory, "time": time, **options}, None)
    # A model that is there already stays until the new one has passed the check.
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as unchecked:
        new = pathlib.Path(unchecked)
        (new / "model.json").write_text(json.dumps(model, indent=1), encoding="utf-8")
        _write_safetensors(new / "weights.safetensors", weights)
        if check:
            from strobe._event_check import compare

            captured.check = compare(modules, model, weights, new)
            if not np.max([captured.check.loss, captured.check.gradients]) <= tolerance:
                raise NotEqual(f"{captured!r}; allowed is {tolerance:g}")
        folder.mkdir(exist_ok=True)
        for file in new.iterdir():
            os.replace(file, folder / file.name)
    return captured


def _parts(modules: dict[str, torch.nn.Module],
           widths: dict[str, int]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The parts as model.json has them, and their weights [rows, columns]."""
    memory, time, edge = widths["memory"], widths["time"], widths["edge_features"]
    parts, weights, passed = {}, {}, 2 * memory + edge + time
    if "time_encoder" in modules:
        weights.update(_time_weights(modules["time_encoder"], time))
    if "message" in modules:
        inputs = {"memory": memory, "other_memory": memory, "edge_features": edge, "time_encoding": time}
        parts["message"], passed = _capture(modules["message"], "message", inputs, weights)
    if "updater" in modules:
        # The built-in message has the features after the time encoding.
        parts["updater"], result = _capture(modules["updater"], "updater", {"message": passed, "memory": memory},
                                            weights)
        if result != memory:
            raise ValueError(f"the updater returns {result} columns, and memory has {memory}")
    return {"format": "strobe.captured", "version": 1, **widths, "parts": parts}, weights


def _capture(module: torch.nn.Module, part: str, inputs: dict[str, int],
             weights: dict[str, np.ndarray]) -> tuple[dict[str, Any], int]:
    """A part as model.json has it, and the width of its result. Its weights are added to `weights`."""
    import torch

    import strobe._capture_operations  # noqa: F401  registers what operations mean
    from strobe import _capture

    rows = 11
    record = _capture.Recorder({}, rows)
    draw = torch.Generator().manual_seed(5)
    values = [torch.randn(rows, width, generator=draw, dtype=torch.float64) for width in inputs.values()]
    for value, (name, width) in zip(values, inputs.items(), strict=True):
        if width > 0:
            record.stands_for(value, _capture.Cells(name, width))
    named = {f"{part}.{name}": parameter for name, parameter in module.named_parameters()}
    for name, parameter in named.items():
        record.stands_for(parameter, _capture.Weight(name))
        record.weights[name] = {}
    with torch.no_grad(), record:
        result = module(*values)
    if record.missing:
        raise NotCaptured([f"{part}: {one}" for one in record.missing])
    if not isinstance(result, torch.Tensor) or result.dim() != 2 or result.shape[0] != rows:
        raise ValueError(f"the part {part} returns no tensor of {rows} rows when it is called with {rows} rows")
    try:
        end = record.named(record.meaning(result))
    except _capture.NoCounterpart as error:
        raise NotCaptured([f"{part}: the result: {error}"]) from None
    model, values_of_part = _model(record, {}, [end], named, 0)
    weights.update(values_of_part)
    read = {end}.union(*(operation["of"] for operation in model["operations"]))
    chosen = [{"name": name, "width": width} for name, width in inputs.items() if name in read]
    if not chosen:
        raise ValueError(f"the part {part} reads none of {', '.join(inputs)}")
    return {"inputs": chosen, "weights": model["weights"], "operations": model["operations"],
            "output": model["output"]}, int(result.shape[1])


def _time_weights(module: torch.nn.Module, width: int) -> dict[str, np.ndarray]:
    """Frequencies and phases of cos(t w + b), where a time encoder starts."""
    import torch

    seconds = torch.linspace(0, 50, 23, dtype=torch.float64).reshape(-1, 1)
    found = [one.detach().reshape(-1) for one in module.parameters()]
    if len(found) != 2 or any(len(one) != width for one in found):
        raise NotCaptured([f"time_encoder: it has not {width} frequencies and {width} phases"])
    with torch.no_grad():
        result = module(seconds)
    for frequency, phase in (found, found[::-1]):
        expected = torch.cos(seconds * frequency + phase)
        if result.numel() == expected.numel() and torch.allclose(result.reshape(expected.shape), expected):
            return {"memory.frequency": frequency.numpy().reshape(1, -1), "memory.phase": phase.numpy().reshape(1, -1)}
    raise NotCaptured(["time_encoder: it is not the cosine of a linear layer of the time"])
