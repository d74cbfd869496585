"""Models of PyTorch: `from_torch` writes a module's operations and weights to files that the program trains."""
from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import pathlib
import struct
import tempfile
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from strobe.errors import StrobeError
from strobe.program import Path, checked
from strobe.workloads import Workload

if TYPE_CHECKING:
    import torch

_GRAPH = ("x", "edge_index", "edge_weight")
_TAKEN = ("head.", "optimizer.", "state.")  # names in model files of the task's weights and of checkpoints


class NotCaptured(StrobeError, ValueError):
    """Operations of the module have no counterpart in Strobe; `missing` names each, with its line of code."""

    def __init__(self, missing: list[str]) -> None:
        self.missing = list(dict.fromkeys(missing))
        super().__init__("no counterpart in Strobe:\n" + "\n".join(self.missing))


class NotEqual(StrobeError):
    """The captured model gives another loss, gradient or output than PyTorch."""


@dataclasses.dataclass
class _Start:
    """A state of weights in the example, which begins as the parameter `name`."""

    name: str


@dataclasses.dataclass
class Check:
    """The largest differences from PyTorch, relative to the largest value, over `steps` steps."""

    steps: int
    loss: float
    gradients: float


class CapturedModel:
    """A captured model, which serves as `model=`: `path` has `model.json` and `weights.safetensors`."""

    def __init__(self, path: Path, check: Check | None) -> None:
        self.path, self.check = pathlib.Path(path).absolute(), check

    def part(self) -> dict[str, Any]:
        """The model as a suite has it."""
        return {"name": "captured", "path": str(self.path)}

    def __repr__(self) -> str:
        if self.check is None:
            return f"CapturedModel({str(self.path)!r}), not compared with PyTorch"
        return (f"CapturedModel({str(self.path)!r}), as PyTorch over {self.check.steps} steps: loss differs by "
                f"{self.check.loss:.1g}, gradients by {self.check.gradients:.1g}")


def from_torch(module: torch.nn.Module, example: Mapping[str, Any], path: Path, *, check: bool = True,
               tolerance: float = 1e-5) -> CapturedModel:
    """Captures a snapshot model and writes it to the folder `path`. The program then trains it without Python.

    `example` has the keywords of one call: `x` [N, F], `edge_index` [2, E], perhaps `edge_weight` [E]. All others are
    the recurrent states, [N, width] each. A parameter of the module as a state is the first value of weights that
    evolve. The module returns the embedding [N, width], or a tuple of it and the states after the step. With one state
    and one result, the result is both.

    With `check`, the program and PyTorch run four steps of random graphs and compare loss and gradients. Raises
    NotCaptured, which names operations that Strobe lacks, and NotEqual where a difference is above `tolerance`.
    """
    named = {id(one): name for name, one in module.named_parameters()}
    example = {key: _Start(named[id(value)]) if id(value) in named else value for key, value in example.items()}
    module = _copy(module)
    model, weights = _capture(module, example)
    captured = CapturedModel(path, None)
    compare = functools.partial(_compare, module, example, model, weights)
    _write_checked(captured, model, weights, compare if check else None, tolerance)
    return captured


def _write_checked(captured: Any, model: dict[str, Any], weights: dict[str, np.ndarray],
                   compare: Callable[[pathlib.Path], Check] | None, tolerance: float) -> None:
    """Writes the files of `captured`. A model that is there already stays until the new one has passed the check."""
    folder: pathlib.Path = captured.path
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as unchecked:
        new = pathlib.Path(unchecked)
        (new / "model.json").write_text(json.dumps(model, indent=1), encoding="utf-8")
        _write_safetensors(new / "weights.safetensors", weights)
        if compare is not None:
            captured.check = compare(new)
            # Not Python's max, which may pass over a value that is no number.
            if not np.max([captured.check.loss, captured.check.gradients]) <= tolerance:
                raise NotEqual(f"{captured!r}; allowed is {tolerance:g}")
        folder.mkdir(exist_ok=True)
        for file in new.iterdir():
            os.replace(file, folder / file.name)


def _copy(module: torch.nn.Module) -> torch.nn.Module:
    import copy

    return copy.deepcopy(module).cpu().double().eval()


def _call(module: torch.nn.Module, x: Any, edge_index: Any, edge_weight: Any, states: dict[str, Any],
          example: Mapping[str, Any]) -> tuple[Any, list[Any]]:
    """The embedding and the states after one step."""
    more = {"edge_weight": edge_weight} if example.get("edge_weight") is not None else {}
    result = module(x=x, edge_index=edge_index, **more, **states)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    following = results if len(results) == len(states) == 1 else results[1:]
    if len(following) != len(states):
        raise ValueError(f"the module returns {len(following)} states after the embedding and reads {len(states)}")
    return results[0], following


def _states(example: Mapping[str, Any]) -> dict[str, int | _Start]:
    """Width of each recurrent state of vertices, or the first value of one of weights."""
    missing = [name for name in ("x", "edge_index") if name not in example]
    if missing:
        raise ValueError(f"the example has no {missing[0]}; it needs x [N, F] and edge_index [2, E]")
    return {name: value if isinstance(value, _Start) else int(value.shape[-1])
            for name, value in example.items() if name not in _GRAPH}


def _first_states(module: torch.nn.Module, example: Mapping[str, Any], vertices: int) -> dict[str, Any]:
    import torch

    return {name: module.get_parameter(state.name) if isinstance(state, _Start)
            else torch.zeros(vertices, state, dtype=torch.float64) for name, state in _states(example).items()}


class _RandomGraph:
    """Directed edges without loops and repeats, with weights where the module reads them."""

    def __init__(self, seed: int, vertices: int, example: Mapping[str, Any]) -> None:
        draw = np.random.default_rng(seed)
        pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v]
        chosen = draw.permutation(len(pairs))[: 3 * vertices]
        self.edges = np.array([pairs[i] for i in chosen]).T.copy()
        weighted = example.get("edge_weight") is not None
        self.weights = np.ones(len(chosen))
        if weighted:
            self.weights[:] = draw.integers(1, 9, len(chosen)) / 4
        self.x = draw.integers(-64, 65, (vertices, int(example["x"].shape[-1]))) / 64


def _capture(module: torch.nn.Module, example: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The model as model.json has it, and its weights [rows, columns]."""
    import torch

    import strobe._capture_operations  # noqa: F401  registers what operations mean
    from strobe import _capture

    vertices, widths = 11, _states(example)
    graph = _RandomGraph(5, vertices, example)
    record = _capture.Recorder(vertices, graph.edges, graph.weights)
    x, edges, weights = torch.tensor(graph.x), torch.tensor(graph.edges), torch.tensor(graph.weights)
    states = {name: one.detach().clone() for name, one in _first_states(module, example, vertices).items()}
    record.stands_for(x, _capture.Cells("x", x.shape[1]))
    record.stands_for(edges, _capture.Edges())
    record.stands_for(weights, _capture.Edges())
    for name, state in states.items():
        if isinstance(widths[name], _Start):
            record.stands_for(state, _capture.Weight(name))
            continue
        record.stands_for(state, _capture.Cells(name, state.shape[1]))
        record.late.add(name)
    named = dict(module.named_parameters())
    for name, parameter in named.items():
        if name in ("x", *widths) or name.startswith(_TAKEN):
            raise ValueError(f"the weight {name!r} has the name of another value in Strobe; rename it in the module")
        record.stands_for(parameter, _capture.Weight(name))
        is_start = any(isinstance(one, _Start) and one.name == name for one in widths.values())
        record.weights[name] = {"turned": False} if is_start else {}
    with torch.no_grad(), record:
        output, following = _call(module, x, edges, weights, states, example)
    if record.missing:
        raise NotCaptured(record.missing)
    try:
        ends = [record.named(record.meaning(one)) for one in (output, *following)]
    except _capture.NoCounterpart as error:
        raise NotCaptured([f"the result: {error}"]) from None
    record.join_patterns()
    return _model(record, widths, ends, named, x.shape[1])


def _model(record: Any, widths: dict[str, int | _Start], ends: list[str], named: dict[str, Any],
           features: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The recorded model, without operations that nothing reads."""
    starts = {name: one.name for name, one in widths.items() if isinstance(one, _Start)}
    needed, kept = {*ends, *starts.values()}, []
    for operation in reversed(record.operations):
        if operation["name"] in needed:
            needed.update(operation["of"])
            kept.append(operation)
    values, described = {}, []
    for name, parameter in named.items():
        if name not in needed:
            continue
        matrix = parameter.detach().double().numpy()
        _refuse_weight(name, parameter.requires_grad, matrix)
        if matrix.ndim != 2:
            is_row = matrix.ndim < 2 or "is_row" in record.weights[name]
            matrix = matrix.reshape((1, -1) if is_row else matrix.shape[1:])
        turned = record.weights[name].get("turned", False)
        values[name] = np.ascontiguousarray(matrix.T if turned else matrix)
        described.append({"name": name, "rows": values[name].shape[0], "columns": values[name].shape[1],
                          **({"transposed": True} if turned else {})})
    return {"format": "strobe.captured", "version": 1, "features": features, "matrices": record.used,
            "states": [{"name": name, **({"start": starts[name]} if name in starts else {"width": width})}
                       for name, width in widths.items()],
            "weights": described, "operations": kept[::-1], "output": ends[0], "next": ends[1:]}, values


def _refuse_weight(name: str, trained: bool, matrix: np.ndarray) -> None:
    reason = ("it is frozen (requires_grad=False), and Strobe trains every weight" if not trained
              else "it has more than two dimensions" if matrix.ndim > 2 and matrix.size != math.prod(matrix.shape[1:])
              else "it has a value that is no finite number" if not np.isfinite(matrix).all() else "")
    if reason:
        raise NotCaptured([f"the weight {name!r}: {reason}"])


def _write_safetensors(path: pathlib.Path, weights: Mapping[str, np.ndarray]) -> None:
    header, data = {}, b""
    for name, value in weights.items():
        part = np.ascontiguousarray(value, "<f8").tobytes()
        header[name] = {"dtype": "F64", "shape": list(value.shape), "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The F32 and F64 tensors of a safetensors file, by name."""
    content = pathlib.Path(path).read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    kinds = {"F32": "<f4", "F64": "<f8"}
    return {name: np.frombuffer(content[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]],
                                kinds[entry["dtype"]]).reshape(entry["shape"]) for name, entry in header.items()}


def _compare(module: torch.nn.Module, example: Mapping[str, Any], model: dict[str, Any],
             weights: dict[str, np.ndarray], folder: pathlib.Path) -> Check:
    """One step of gradient descent at rate 1 in fp64: the weights' change is the gradient."""
    steps, vertices = 4, 13
    graphs = [_RandomGraph(100 + t, vertices, example) for t in range(steps + 1)]
    draw = np.random.default_rng(7)
    targets = draw.integers(-64, 65, (steps + 1, vertices)) / 64
    width = _width(module, example)
    head = {"head.weight": draw.normal(size=(width, 1)), "head.bias": draw.normal(size=(1, 1))}
    with tempfile.TemporaryDirectory() as scratch:
        files = pathlib.Path(scratch)
        workload = Workload.from_steps([one.edges for one in graphs], [one.weights for one in graphs],
                                       np.array([one.x for one in graphs]), targets, path=files / "graph.strobe")
        _write_safetensors(files / "start.safetensors", {**weights, **head})
        request = {"name": "check", "cases": [{
            "workload": workload.part(), "model": {"name": "captured", "path": str(folder.absolute())},
            "task": {"name": "vertex-regression", "target": "workload", "train_share": steps / (steps + 1)},
            "optimizer": {"name": "sgd", "rate": 1.0}, "precision": "fp64", "epochs": 1, "warmup": 0}]}
        (files / "check.json").write_text(json.dumps(request), encoding="utf-8")
        checked(["run", str(files / "check.json"), f"--load-model={files / 'start.safetensors'}",
                 f"--save-model={files / 'end.safetensors'}", f"--out={files / 'run'}"])
        row = json.loads((files / "run" / "summary.json").read_text(encoding="utf-8"))["rows"][0]
        if row["status"] != "ok":
            raise NotEqual(f"the program did not train the captured model: {row['reason']}")
        end = read_safetensors(files / "end.safetensors")
    loss, gradients = _torch_loss(module, example, graphs[:steps], targets, head)
    start = {**weights, **head}
    turned = {one["name"] for one in model["weights"] if one.get("transposed")}
    apart = []
    largest = np.max([np.abs(value).max() for value in gradients.values()])
    for name, value in start.items():
        expected = gradients[name].reshape(value.shape[::-1] if name in turned else value.shape)
        expected = expected.T if name in turned else expected
        apart.append(np.abs(value - end[name] - expected).max() / largest)
    trained = np.nan if row["loss"][0] is None else row["loss"][0]
    return Check(steps, abs(trained - loss) / abs(loss), float(np.max(apart)))


def _width(module: torch.nn.Module, example: Mapping[str, Any]) -> int:
    import torch

    graph = _RandomGraph(1, 5, example)
    states = _first_states(module, example, 5)
    with torch.no_grad():
        output, _ = _call(module, torch.tensor(graph.x), torch.tensor(graph.edges), torch.tensor(graph.weights), states,
                          example)
    return int(output.shape[1])


def _torch_loss(module: torch.nn.Module, example: Mapping[str, Any], graphs: list[_RandomGraph], targets: np.ndarray,
                head: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """Mean squared error of all steps, and the gradient of every weight, by PyTorch."""
    import torch

    top = {name: torch.tensor(value, requires_grad=True) for name, value in head.items()}
    states = _first_states(module, example, len(targets[0]))
    module.zero_grad()
    parts = []
    for graph, target in zip(graphs, targets[:len(graphs)], strict=True):
        output, following = _call(module, torch.tensor(graph.x), torch.tensor(graph.edges),
                                  torch.tensor(graph.weights), states, example)
        states = dict(zip(states, following, strict=True))
        parts.append((output @ top["head.weight"] + top["head.bias"]).flatten() - torch.tensor(target))
    loss = torch.cat(parts).square().mean()
    loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
    gradients = {name: (torch.zeros_like(one) if one.grad is None else one.grad).numpy()
                 for name, one in [*module.named_parameters(), *top.items()]}
    return float(loss.detach()), gradients
