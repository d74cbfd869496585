"""Parts of event models of PyTorch: `events_from_torch` writes them to files that the program trains."""
from __future__ import annotations

import functools
import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np

from strobe.captured import Check, NotCaptured, _copy, _model, _write_checked
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
                      time_encoder: torch.nn.Module | None = None, embedding: torch.nn.Module | None = None,
                      check: bool = True, tolerance: float = 1e-5, **options: Any) -> CapturedEventModel:
    """Captures parts of an event model and writes them to the folder `path`. The program then trains without Python.

    `memory`, `time` and `edge_features` are widths W, T and E. Parts that are not given are those of tgn-attn, and
    `options` are its options. The modules are called with B rows:

    - message(memory [B, W], other_memory [B, W], edge_features [B, E], time_encoding [B, T]), result [B, M]
    - updater(message [B, M], memory [B, W]), result [B, W], such as torch.nn.GRUCell(M, W)
    - time_encoder(seconds [B, 1]), result [B, T]: the cosine of a linear layer
    - embedding(memory [B, W], time_encoding of no time [B, T], memory of K neighbours [B, K, W], their time_encodings
      [B, K, T], edge_features [B, K, E], padding [B, K], which is True where there is no neighbour), result [B, F]

    With `check`, the program and PyTorch train on a few random events and compare loss and weights. Raises NotCaptured,
    which names operations that Strobe lacks, and NotEqual where a difference is above `tolerance`.
    """
    given = {"message": message, "updater": updater, "time_encoder": time_encoder, "embedding": embedding}
    _refuse_shared(given)
    modules = {name: _copy(module) for name, module in given.items() if module is not None}
    if not modules:
        raise ValueError("no part is given: name message=, updater=, time_encoder= or embedding=")
    widths = {"memory": memory, "time": time, "edge_features": edge_features}
    model, weights = _parts(modules, widths)
    captured = CapturedEventModel(path, {"memory": memory, "time": time, **options}, None)
    compare = None
    if check:
        from strobe import _event_check

        compare = functools.partial(_event_check.compare, modules, model, weights)
    _write_checked(captured, model, weights, compare, tolerance)
    return captured


def _refuse_shared(given: dict[str, torch.nn.Module | None]) -> None:
    """Raises NotCaptured where two parts have one weight. Strobe would train two weights."""
    owners: dict[int, str] = {}
    for part, module in given.items():
        for name, parameter in [] if module is None else module.named_parameters():
            owner = owners.setdefault(id(parameter), part)
            if owner != part:
                raise NotCaptured([f"{part}: its weight {name!r} is a weight of {owner} too; give each part its own"])


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
    if "embedding" in modules:
        parts["embedding"] = _capture_embedding(modules["embedding"], widths, weights)
    return {"format": "strobe.captured", "version": 1, **widths, "parts": parts}, weights


def _capture(module: torch.nn.Module, part: str, inputs: dict[str, int],
             weights: dict[str, np.ndarray]) -> tuple[dict[str, Any], int]:
    """A part as model.json has it, and the width of its result. Its weights are added to `weights`."""
    import torch

    import strobe._capture_operations  # noqa: F401  registers what operations mean
    from strobe import _capture

    rows = 11
    record = _capture.Recorder(rows)
    values = [_random(rows, width) for width in inputs.values()]
    for value, (name, width) in zip(values, inputs.items(), strict=True):
        if width > 0:
            record.stands_for(value, _capture.Cells(name, width))
    result = _call(module, part, values, record)
    if record.missing:
        raise NotCaptured([f"{part}: {one}" for one in record.missing])
    if not isinstance(result, torch.Tensor) or result.dim() != 2 or result.shape[0] != rows:
        raise ValueError(f"the part {part} returns no tensor of {rows} rows when it is called with {rows} rows")
    try:
        end = record.named(record.meaning(result))
    except _capture.NoCounterpart as error:
        raise NotCaptured([f"{part}: the result: {error}"]) from None
    return _described(module, part, record, end, [{"name": name, "width": width} for name, width in inputs.items()],
                      weights), int(result.shape[1])


def _capture_embedding(module: torch.nn.Module, widths: dict[str, int],
                       weights: dict[str, np.ndarray]) -> dict[str, Any]:
    """The embedding as model.json has it. Its weights are added to `weights`."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    import strobe._capture_operations
    import strobe._capture_slot_operations  # noqa: F401  both register what operations mean
    from strobe import _capture, _capture_slots

    roots, each = 5, 3
    padding = torch.arange(each).flip(0) < torch.tensor([0, 1, 2, 3, 0])[:, None]
    record = _capture_slots.SlotRecorder(padding)
    memory, time, edge = widths["memory"], widths["time"], widths["edge_features"]
    inputs = {"memory": (roots, memory), "root_time": (roots, time), "neighbours": (roots, each, memory),
              "neighbour_times": (roots, each, time), "edge_features": (roots, each, edge)}
    values = [_random(*shape) for shape in inputs.values()]
    for value, name in zip(values, inputs, strict=True):
        if value.numel() > 0:
            record.lay(value, name, value.dim() == 3)
    with sdpa_kernel(SDPBackend.MATH):
        result = _call(module, "embedding", [*values, padding], record)
    if record.missing:
        raise NotCaptured([f"embedding: {one}" for one in record.missing])
    try:
        end = record.result_name(result)
    except _capture.NoCounterpart as error:
        raise NotCaptured([f"embedding: {error}"]) from None
    described = [{"name": name, "width": shape[-1], **({"of": "neighbours"} if len(shape) == 3 else {})}
                 for name, shape in inputs.items()]
    return _described(module, "embedding", record, end, described, weights)


def _random(*shape: int) -> torch.Tensor:
    import torch

    return torch.randn(*shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def _parameters(module: torch.nn.Module, part: str) -> dict[str, torch.nn.Parameter]:
    return {f"{part}.{name}": parameter for name, parameter in module.named_parameters()}


def _call(module: torch.nn.Module, part: str, values: list[torch.Tensor], record: Any) -> Any:
    """The result of a part, whose operations `record` has then."""
    import torch

    from strobe import _capture

    for name, parameter in _parameters(module, part).items():
        record.stands_for(parameter, _capture.Weight(name))
        record.weights[name] = {}
    with torch.no_grad(), record:
        return module(*values)


def _described(module: torch.nn.Module, part: str, record: Any, end: str, inputs: list[dict[str, Any]],
               weights: dict[str, np.ndarray]) -> dict[str, Any]:
    """The part as model.json has it, with the inputs that it reads. Its weights are added to `weights`."""
    model, of_part = _model(record, {}, [end], _parameters(module, part), 0)
    weights.update(of_part)
    read = {end}.union(*(operation["of"] for operation in model["operations"]))
    chosen = [one for one in inputs if one["name"] in read]
    if not chosen:
        raise ValueError(f"the part {part} reads none of {', '.join(one['name'] for one in inputs)}")
    return {"inputs": chosen, "weights": model["weights"], "operations": model["operations"],
            "output": model["output"]}


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
            return {f"{layer}.{name}": one.numpy().reshape(1, -1) for layer in ("memory", "attention")
                    for name, one in (("frequency", frequency), ("phase", phase))}
    raise NotCaptured(["time_encoder: it is not the cosine of a linear layer of the time"])
