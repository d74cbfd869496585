"""Records one call of a PyTorch module as operations of Strobe.

The module is called on a small random graph. Every ATen operation passes `Recorder`. Values that depend on the edges
alone are computed and forgotten. A value of vertices is a matrix times a named value: gathering, scaling and scattering
along edges change the matrix. When another operation needs the value, the matrix is compared with those that Strobe
prepares. So it does not matter how a layer writes its aggregation, nor how many edges it adds. torch.export is not
used: layers that mask edges have shapes that depend on data.
"""
from __future__ import annotations

import dataclasses
import os
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

_STALE = "a part of it was changed in place"
_OWN = (os.path.dirname(torch.__file__), os.path.dirname(__file__), f"{os.sep}torch_geometric")


def matrices(edge_index: np.ndarray, weight: np.ndarray, vertices: int) -> dict[str, np.ndarray]:
    """The matrices that Strobe prepares of a graph's edges, by the name in the file. Row v lists the sources of v."""
    a = np.zeros((vertices, vertices))
    np.add.at(a, (edge_index[1], edge_index[0]), weight)
    scale = 1 / np.sqrt(1 + a.sum(1))

    def walk(of: np.ndarray) -> np.ndarray:
        sums = of.sum(1, keepdims=True)
        result: np.ndarray = np.divide(of, sums, out=np.zeros_like(of), where=sums != 0)
        return result

    return {"laplacian": scale[:, None] * (a + np.eye(vertices)) * scale[None, :], "sum": a, "mean": walk(a),
            "out_mean": walk(a.T), "mean_transposed": walk(a).T, "out_mean_transposed": walk(a.T).T}


@dataclasses.dataclass
class Cells:
    """matrix times the value `name` of vertices; no matrix: the value itself."""

    name: str
    width: int
    matrix: Any = None


@dataclasses.dataclass
class Weight:
    """A weight of the module, or a value made of weights. `turned`: the transpose of the stored matrix."""

    name: str
    turned: bool = False


class Edges:
    """A value that depends on the edges alone."""


class Unknown:
    """The result of an operation without a counterpart."""


class Stale:
    """A value that was changed in place, in part."""


class NoCounterpart(Exception):
    """An operation cannot be expressed."""


def _place() -> str:
    """The innermost line of code that is neither PyTorch's nor Strobe's."""
    for frame in reversed(traceback.extract_stack()):
        if not any(part in frame.filename for part in _OWN):
            return f"{frame.filename}:{frame.lineno}"
    return "?"


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.stride(), tensor.storage_offset()


def _places(tensor: torch.Tensor) -> set[int]:
    """The tensor's elements, by their place in its memory."""
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    return set(torch.arange(size).as_strided(*_layout(tensor)).flatten().tolist())


def _written(func: Any, args: Any, kwargs: Any) -> list[torch.Tensor]:
    """The tensors that an operation changes in place."""
    described = func._schema.arguments
    values = [args[i] if i < len(args) else kwargs.get(one.name) for i, one in enumerate(described)]
    return [value for one, value in zip(described, values, strict=True)
            if one.alias_info is not None and one.alias_info.is_write and isinstance(value, torch.Tensor)]


Handler = Callable[[Any, Any, Any, Any], None]
HANDLERS: dict[Any, Handler] = {}
aten = torch.ops.aten


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function for ATen operations: of all overloads, or of NAME.OVERLOAD."""

    def register(function: Handler) -> Handler:
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(aten, packet, None)
            for each in ([overload] if overload else (found.overloads() if found is not None else [])):
                HANDLERS[getattr(found, each)] = function
        return function

    return register


class Recorder(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """The operations of one call. `known` has, by identity, what each tensor stands for."""

    def __init__(self, known: dict[str, np.ndarray], vertices: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.matrices, self.vertices = known, vertices
        self.used: list[str] = []
        self.operations: list[dict[str, Any]] = []
        self.weights: dict[str, dict[str, Any]] = {}
        self.missing: list[str] = []
        self.current = ""
        self.on_zeros = False  # whether the operation changes, in place, a tensor of zeros
        self.tensors: dict[int, tuple[Any, Any]] = {}

    def stands_for(self, tensor: torch.Tensor, meaning: Any) -> None:
        self.tensors[id(tensor)] = (tensor, meaning)

    def meaning(self, value: Any) -> Any:
        """The meaning of a tensor; None for numbers and constants."""
        return self.tensors[id(value)][1] if id(value) in self.tensors else None

    def emit(self, kind: str, of: list[str], **more: Any) -> str:
        operation = {"kind": kind, "of": of, **more}
        for earlier in self.operations:
            if {key: value for key, value in earlier.items() if key != "name"} == operation:
                return str(earlier["name"])
        name = f"%{len(self.operations) + 1}"  # no weight has such a name
        self.operations.append({"name": name, **operation})
        return name

    def named(self, value: Any) -> str:
        """The name of a value of vertices or weights, after the operations that it still needs."""
        if isinstance(value, Weight):
            if value.name not in self.weights:
                return self.emit("transpose", [value.name]) if value.turned else value.name
            entry = self.weights[value.name]
            entry.setdefault("turned", value.turned)
            return value.name if entry["turned"] == value.turned else self.emit("transpose", [value.name])
        if not isinstance(value, Cells):
            raise NoCounterpart(_STALE if isinstance(value, Stale) else "it mixes values of vertices with others")
        if value.matrix is None:
            return value.name
        matrix = value.matrix.detach().numpy()
        if matrix.shape == (self.vertices, self.vertices) and np.allclose(matrix, np.eye(self.vertices), atol=1e-9):
            return value.name
        for name, known in self.matrices.items():
            if matrix.shape == known.shape and np.allclose(matrix, known, rtol=1e-6, atol=1e-9):
                return self._product(name, value.name)
        raise NoCounterpart("its aggregation is none of " + ", ".join(self.matrices))

    def _product(self, matrix: str, of: str) -> str:
        if matrix not in self.used:
            self.used.append(matrix)
        number = self.used.index(matrix)
        made = self._made(of)
        # A (x W) = (A x) W: the product of the features is then the same in every epoch.
        if made is not None and made["kind"] == "dense" and len(made["of"]) == 2 and "activation" not in made:
            product = self.emit("product", [made["of"][0]], matrix=number)
            return self.emit("dense", [product, made["of"][1]])
        return self.emit("product", [of], matrix=number)

    def _made(self, name: str) -> dict[str, Any] | None:
        return next((one for one in self.operations if one["name"] == name), None)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with self:
            parts = func.decompose(*args, **kwargs) if func not in HANDLERS else NotImplemented
        if parts is not NotImplemented:
            return parts
        written = _written(func, args, kwargs)
        self.on_zeros = all(not bool(tensor.any()) for tensor in written)
        result = func(*args, **kwargs)
        flat = torch.utils._pytree.tree_leaves((args, kwargs))
        meanings = [self.meaning(value) for value in flat if isinstance(value, torch.Tensor)]
        if any(isinstance(one, (Cells, Weight, Unknown, Stale)) for one in meanings):
            self._handle(func, args, kwargs, result, meanings, written)
        elif any(isinstance(one, Edges) for one in meanings):
            self._all(result, Edges())
        return result

    def _all(self, result: Any, meaning: Any) -> None:
        for tensor in torch.utils._pytree.tree_leaves(result):
            if isinstance(tensor, torch.Tensor):
                self.stands_for(tensor, meaning)

    def _aliases(self, tensor: torch.Tensor) -> list[torch.Tensor]:
        """The known tensors that share memory with `tensor`, so that an in-place change changes them too."""
        changed = _places(tensor)
        return [other for other, _ in self.tensors.values()
                if other is not tensor and other.layout == torch.strided
                and other.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
                and not changed.isdisjoint(_places(other))]

    def _handle(self, func: Any, args: Any, kwargs: Any, result: Any, meanings: list[Any],
                written: list[torch.Tensor]) -> None:
        try:
            if any(isinstance(one, Unknown) for one in meanings):
                self._all(result, Unknown())
                return
            if func not in HANDLERS:
                raise NoCounterpart("")
            self.current = str(func)
            if any(isinstance(one, Stale) for one in meanings):
                raise NoCounterpart(_STALE)
            sums = "scatter" in self.current or "index_add" in self.current
            if not sums and any(not isinstance(self.meaning(one), (Cells, Weight)) for one in written):
                raise NoCounterpart("it changes a constant in place")
            HANDLERS[func](self, args, kwargs, result)
            for tensor in written:
                for other in self._aliases(tensor):
                    same = _layout(other) == _layout(tensor)
                    self.stands_for(other, self.meaning(tensor) if same else Stale())
        except NoCounterpart as error:
            self.missing.append(f"{func} at {_place()}" + (f": {error}" if str(error) else ""))
            self._all(result, Unknown())
