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
_SCALED = "it reads values that were multiplied by a row of weights; Strobe can only add up their columns"
_OWN = (os.path.dirname(torch.__file__), os.path.dirname(__file__), f"{os.sep}torch_geometric")


def matrices(edge_index: np.ndarray, weight: np.ndarray, vertices: int) -> dict[str, np.ndarray]:
    """The matrices that Strobe prepares of a graph's edges, by the name in the file. Row v lists the sources of v."""
    a = np.zeros((vertices, vertices))
    np.add.at(a, (edge_index[1], edge_index[0]), weight)
    scale = 1 / np.sqrt(1 + a.sum(1))

    def symmetric(degrees: np.ndarray) -> np.ndarray:
        root = np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees != 0)
        result: np.ndarray = root[:, None] * a * root[None, :]
        return result

    def walk(of: np.ndarray) -> np.ndarray:
        sums = of.sum(1, keepdims=True)
        result: np.ndarray = np.divide(of, sums, out=np.zeros_like(of), where=sums != 0)
        return result

    return {"laplacian": scale[:, None] * (a + np.eye(vertices)) * scale[None, :], "sum": a, "mean": walk(a),
            "out_mean": walk(a.T), "mean_transposed": walk(a).T, "out_mean_transposed": walk(a.T).T,
            "symmetric": symmetric(a.sum(1)), "out_symmetric": symmetric(a.sum(0))}


class Traced:
    """The meaning of a tensor that depends on vertices or weights."""


def edge_lists(edge_index: np.ndarray, vertices: int) -> list[tuple[str, np.ndarray]]:
    """The lists of edges that a module may make: those given, or with a loop at each vertex, in usual orders."""
    loops = np.tile(np.arange(vertices), (2, 1))
    found = []
    for name, edges in (("given", edge_index), ("loops", np.concatenate([edge_index, loops], 1)),
                        ("loops", np.concatenate([loops, edge_index], 1))):
        for order in (np.arange(edges.shape[1]), np.lexsort(edges), np.lexsort(edges[::-1])):
            found.append((name, edges[:, order]))
    return found


@dataclasses.dataclass
class Cells(Traced):
    """matrix times the value `name` of vertices; no matrix: the value itself."""

    name: str
    width: int
    matrix: Any = None


@dataclasses.dataclass
class Weight(Traced):
    """A weight of the module, or a value made of weights. `turned`: the transpose of the stored matrix."""

    name: str
    turned: bool = False


@dataclasses.dataclass(frozen=True)
class Scaled(Traced):
    """A value of vertices times a row of weights, value by value, which may only be added up."""

    cells: Any
    row: str


@dataclasses.dataclass(frozen=True)
class End:
    """The value `name` of vertices at one side, "source" or "target", of edges that are "given" or with "loops"."""

    name: str
    side: str
    edges: str


class Edges:
    """A value that depends on the edges alone."""


class Unknown(Traced):
    """The result of an operation without a counterpart."""


class Stale(Traced):
    """A value that was changed in place, in part."""


class NoCounterpart(Exception):
    """An operation cannot be expressed."""


def _place() -> str:
    """The innermost line of code that is neither PyTorch's nor Strobe's."""
    for frame in reversed(traceback.extract_stack()):
        if not any(part in frame.filename for part in _OWN):
            return f"{frame.filename}:{frame.lineno}"
    return "?"


def _without_noise(number: float) -> float:
    """The number, or one of few digits that differs from it by rounding only."""
    short = round(number, 9)
    return short if abs(number - short) < 1e-13 else number


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
EDGE_HANDLERS: dict[Any, Handler] = {}  # of operations on a part of an attention
aten = torch.ops.aten


def handles(*names: str, edges: bool = False) -> Callable[[Handler], Handler]:
    """Registers a function for ATen operations: of all overloads, or of NAME.OVERLOAD."""

    def register(function: Handler) -> Handler:
        for name in names:
            packet, _, overload = name.partition(".")
            found = getattr(aten, packet, None)
            for each in ([overload] if overload else (found.overloads() if found is not None else [])):
                (EDGE_HANDLERS if edges else HANDLERS)[getattr(found, each)] = function
        return function

    return register


class Recorder(TorchDispatchMode):  # type: ignore[misc, no-untyped-call, unused-ignore]
    """The operations of one call. `tensors` has, by identity, what each tensor stands for. Event models lack edges."""

    def __init__(self, vertices: int, edge_index: np.ndarray | None = None, weight: np.ndarray | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.vertices = vertices
        self.matrices = {} if edge_index is None or weight is None else matrices(edge_index, weight, vertices)
        self.edge_lists = [] if edge_index is None else edge_lists(edge_index, vertices)
        self.late: set[str] = set()  # values that depend on a state
        self.behind: dict[str, set[str]] = {}  # the matrices that went into a value
        self.attended = ""  # the matrix whose entries attention reads
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
        if not self.late.isdisjoint(of):
            self.late.add(name)
        self.behind[name] = set().union(*(self.behind.get(one, set()) for one in of))
        if "matrix" in more:
            self.behind[name].add(self.used[more["matrix"]])
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
            raise NoCounterpart(_STALE if isinstance(value, Stale) else _SCALED if isinstance(value, Scaled)
                                else "it mixes values of vertices with others")
        terms = self.terms(value)
        if terms is None:
            raise NoCounterpart("its aggregation is none of " + ", ".join(self.matrices))
        p, q, known = terms
        product = self._product(known, value.name) if q else ""
        if p and q:
            return self.emit("combine", [value.name, product], p=p, q=q)
        if (p or q) == 1:
            return product or value.name
        return self.emit("affine", [product or value.name], p=p or q, q=0.0)

    def terms(self, value: Cells) -> tuple[float, float, str] | None:
        """p, q and K such that the value's matrix is p I + q K, with one of the known matrices K."""
        if value.matrix is None:
            return 1.0, 0.0, ""
        matrix, identity = value.matrix.detach().numpy(), np.eye(self.vertices)
        if matrix.shape != identity.shape:
            return None
        for name, known in [("", np.zeros_like(identity)), *self.matrices.items()]:
            sides = np.stack([identity.ravel(), known.ravel()], axis=1)
            p, q = (_without_noise(float(one)) for one in np.linalg.lstsq(sides, matrix.ravel(), rcond=None)[0])
            if (p or q) and np.allclose(matrix, p * identity + q * known, rtol=1e-6, atol=1e-8):
                return p, q, name
        return None

    def settled(self, value: Cells) -> Cells:
        """The value without its matrix, where Strobe prepares that one."""
        return value if self.terms(value) is None else Cells(self.named(value), value.width)

    def factored(self, value: Any, factor: float) -> tuple[Any, float]:
        """The value and its factor, the number before its matrix taken into the factor."""
        terms = self.terms(value) if isinstance(value, Cells) else None
        if terms is None or (terms[0] and terms[1]):
            return value, factor
        p, q, known = terms
        return Cells(self._product(known, value.name) if q else value.name, value.width), factor * (p or q)

    def with_bias(self, name: str, bias: str) -> str | None:
        """The value `name` plus a row that becomes the bias of a matrix product in it; None where there is none."""
        made = self._made(name)
        if made is None:
            return None
        if made["kind"] == "dense" and len(made["of"]) == 2 and "activation" not in made:
            return self.emit("dense", [*made["of"], bias])
        for i, factor in enumerate(("p", "q")):
            if made["kind"] == "combine" and made[factor] == 1:
                term = self.with_bias(made["of"][i], bias)
                if term is not None:
                    of = [term if i == j else one for j, one in enumerate(made["of"])]
                    return self.emit("combine", of, p=made["p"], q=made["q"])
        return None

    def end(self, value: Any) -> End | None:
        """The end of the edges at which a value lies; None where it lies elsewhere."""
        if not isinstance(value, Cells) or value.matrix is None or value.matrix.shape[0] == self.vertices:
            return None
        matrix = value.matrix.detach().numpy()
        rows, factor = np.abs(matrix).argmax(1), float(matrix[0][np.abs(matrix[0]).argmax()])
        if not np.array_equal(matrix, factor * np.eye(self.vertices)[rows]):
            return None
        for name, (sources, targets) in self.edge_lists:
            for side, ends in (("source", sources), ("target", targets)):
                if np.array_equal(ends, rows):
                    scaled = value.name if factor == 1 else self.emit("affine", [value.name], p=factor, q=0.0)
                    return End(scaled, side, name)
        return None

    def targets(self, rows: torch.Tensor) -> str:
        """The list of edges whose targets `rows` has, the same in all columns; "" if there is none."""
        flat = rows.reshape(rows.shape[0], -1)
        if not bool((flat == flat[:, :1]).all()):
            return ""
        return next((name for name, (_, ends) in self.edge_lists if np.array_equal(ends, flat[:, 0].numpy())), "")

    def row(self, weight: Weight, tensor: torch.Tensor) -> str:
        """The weight as one row. One of three dimensions, [1, heads, columns], is stored as a row."""
        if tensor.dim() == 3 and weight.name in self.weights:
            self.weights[weight.name]["is_row"] = True
        name = self.named(weight)
        if tensor.dim() != 2 or tensor.shape[0] == 1:
            return name
        parts = [self.emit("rows", [name], first=i, count=1) for i in range(tensor.shape[0])]
        return self.emit("concat", parts)

    def heads(self, name: str, count: int, width: int) -> list[str]:
        """The blocks of columns of the heads."""
        if count == 1:
            return [name]
        return [self.emit("columns", [name], first=i * width, count=width) for i in range(count)]

    def number_of(self, matrix: str) -> int:
        if matrix not in self.used:
            self.used.append(matrix)
        return self.used.index(matrix)

    def join_patterns(self) -> None:
        """Lets attention read the matrix of means, where the model has it: it has the entries of `sum`."""
        if self.attended == "sum" and "mean" in self.used:
            for operation in self.operations:
                if "attention" in operation["kind"]:
                    operation["matrix"] = self.used.index("mean")

    def _product(self, matrix: str, of: str) -> str:
        number = self.number_of(matrix)
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
        if any(isinstance(one, Traced) for one in meanings):
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
            of_edges = any(not isinstance(one, (Cells, Weight, Stale, Edges)) for one in meanings if one is not None)
            handlers = EDGE_HANDLERS if of_edges else HANDLERS
            if func not in handlers:
                scaled = any(isinstance(one, Scaled) for one in meanings)
                raise NoCounterpart("" if func not in HANDLERS else _SCALED if scaled
                                    else "it reads a part of an attention")
            self.current = str(func)
            if any(isinstance(one, Stale) for one in meanings):
                raise NoCounterpart(_STALE)
            sums = "scatter" in self.current or "index_add" in self.current
            if not sums and any(not isinstance(self.meaning(one), Traced) for one in written):
                raise NoCounterpart("it changes a constant in place")
            handlers[func](self, args, kwargs, result)
            for tensor in written:
                for other in self._aliases(tensor):
                    same = _layout(other) == _layout(tensor)
                    self.stands_for(other, self.meaning(tensor) if same else Stale())
        except NoCounterpart as error:
            self.missing.append(f"{func} at {_place()}" + (f": {error}" if str(error) else ""))
            self._all(result, Unknown())
