"""The meaning of each ATen operation for values of edges, vertices and weights (`_capture`)."""
from __future__ import annotations

from typing import Any

import torch

from strobe._capture import Cells, Edges, NoCounterpart, Recorder, Weight, handles


def _shape_of(value: torch.Tensor) -> int:
    return int(value.shape[-1])


def _number(value: Any) -> float:
    """The number that a constant is everywhere."""
    if isinstance(value, (int, float)):
        return float(value)
    if value.numel() and bool((value == value.flatten()[0]).all()):
        return float(value.flatten()[0])
    raise NoCounterpart("it reads a constant that is not the same everywhere")


def _cells(r: Recorder, result: torch.Tensor, kind: str, of: list[Any], **more: Any) -> None:
    """The result of an operation on named values: a value of vertices, or of weights where it reads only these."""
    weights = all(isinstance(one, Weight) for one in of)
    name = r.emit(kind, [r.named(one) for one in of], **more)
    r.stands_for(result, Weight(name) if weights else Cells(name, _shape_of(result)))


@handles("add", "add_", "sub", "sub_", "rsub")
def _add(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a, b = r.meaning(args[0]), r.meaning(args[1])
    p, q = 1.0, float(kwargs.get("alpha", 1))
    op = r.current
    if "rsub" in op:
        p, q = -q, 1.0
    elif "sub" in op:
        q = -q
    if a is None and b is not None:
        (a, p), (b, q), args = (b, q), (a, p), (args[1], args[0])
    if isinstance(a, Cells) and isinstance(b, Cells) and a.name == b.name:
        identity = torch.eye(r.vertices, dtype=torch.float64)
        left, right = (identity if one.matrix is None else one.matrix for one in (a, b))
        r.stands_for(result, Cells(a.name, a.width, p * left + q * right))
    elif b is None:
        _cells(r, result, "affine", [a], p=p, q=q * _number(args[1]))
    elif isinstance(a, Weight) != isinstance(b, Weight):
        _add_row(r, result, (a, p, args[0]), (b, q, args[1]))
    elif args[0].shape != args[1].shape:
        raise NoCounterpart("it adds values of different shapes")
    else:
        _cells(r, result, "combine", [a, b], p=p, q=q)


def _add_row(r: Recorder, result: torch.Tensor, one: Any, other: Any) -> None:
    """A bias is part of the matrix product before it."""
    (cells, p, _), (weight, q, row) = (one, other) if isinstance(one[0], Cells) else (other, one)
    if not isinstance(cells, Cells) or p != 1 or q != 1 or row.numel() != _shape_of(result):
        raise NoCounterpart("it adds a weight to a value of vertices in a way that is no bias")
    made = r._made(r.named(cells))
    if made is None or made["kind"] != "dense" or len(made["of"]) != 2 or "activation" in made:
        raise NoCounterpart("it adds a bias where no matrix product comes before")
    r.stands_for(result, Cells(r.emit("dense", [*made["of"], r.named(weight)]), _shape_of(result)))


@handles("mul", "mul_", "div", "div_")
def _mul(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a, b, x, y = r.meaning(args[0]), r.meaning(args[1]), args[0], args[1]
    divides = "div" in r.current
    if not isinstance(a, (Cells, Weight)):
        if divides:
            raise NoCounterpart("it divides by a value of vertices")
        a, b, x, y = b, a, y, x
    if isinstance(b, Edges):
        if y.dim() == 2 and bool((y == y[:, :1]).all()):
            y = y[:, :1]
        if not isinstance(a, Cells) or (y.dim() > 1 and y.shape[-1] != 1) or y.numel() not in (1, x.shape[0]):
            raise NoCounterpart("it scales by a value of edges that is not one number for each row")
        scale = y.double().reshape(-1, 1)
        matrix = torch.eye(r.vertices, dtype=torch.float64) if a.matrix is None else a.matrix
        r.stands_for(result, Cells(a.name, a.width, matrix / scale if divides else matrix * scale))
    elif b is None:
        number = _number(y)
        number = 1 / number if divides else number
        if isinstance(a, Cells) and a.matrix is not None:
            r.stands_for(result, Cells(a.name, a.width, a.matrix * number))
        else:
            _cells(r, result, "affine", [a], p=number, q=0.0)
    elif divides or x.shape != y.shape:
        raise NoCounterpart("it multiplies values of different shapes, or divides by one of vertices or weights")
    else:
        _cells(r, result, "multiply", [a, b])


@handles("neg")
def _neg(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a = r.meaning(args[0])
    if isinstance(a, Cells) and a.matrix is not None:
        r.stands_for(result, Cells(a.name, a.width, -a.matrix))
    else:
        _cells(r, result, "affine", [a], p=-1.0, q=0.0)


@handles("sigmoid", "sigmoid_", "tanh", "tanh_")
def _curve(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    _cells(r, result, "sigmoid" if "sigmoid" in r.current else "tanh", [r.meaning(args[0])])


@handles("relu", "relu_", "leaky_relu", "leaky_relu_", "elu", "elu_")
def _relu(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    op = r.current
    kind, slope = ("leaky_relu", 0.0) if ".relu" in op else ("leaky_relu", 0.01) if "leaky" in op else ("elu", 1.0)
    if len(args) > 1:
        slope = float(args[1])
    if len(args) > 2 and tuple(args[2:]) not in ((1,), (1, 1)):
        raise NoCounterpart("it scales an ELU")
    if slope < 0:
        raise NoCounterpart("its slope is negative")
    name = r.named(r.meaning(args[0]))
    made = r._made(name)
    if slope == 0.0 and made is not None and made["kind"] == "dense" and "activation" not in made:
        r.stands_for(result, Cells(r.emit("dense", made["of"], activation="relu"), _shape_of(result)))
    else:
        _cells(r, result, kind, [r.meaning(args[0])], p=slope)


@handles("mm", "addmm", "_sparse_mm", "_sparse_addmm", "linear")
def _mm(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    op = r.current
    x, w, bias = (args[1], args[2], args[0]) if "addmm" in op else (args[0], args[1], None)
    left, right = r.meaning(x), r.meaning(w)
    if "linear" in op:
        bias = args[2] if len(args) > 2 else kwargs.get("bias")
        right = Weight(right.name, not right.turned) if isinstance(right, Weight) else right
    if isinstance(left, Edges) and isinstance(right, Cells) and bias is None:
        dense = x.to_dense() if x.layout != torch.strided else x
        before = torch.eye(r.vertices, dtype=torch.float64) if right.matrix is None else right.matrix
        r.stands_for(result, Cells(right.name, right.width, dense.double() @ before))
        return
    if not isinstance(left, (Cells, Weight)) or not isinstance(right, Weight):
        raise NoCounterpart("it multiplies by something that is no weight")
    of = [left, right]
    if bias is not None and float(kwargs.get("beta", 1)) == float(kwargs.get("alpha", 1)) == 1.0:
        if not isinstance(r.meaning(bias), Weight) or bias.numel() != _shape_of(result):
            raise NoCounterpart("it adds something to a product that is no bias")
        of.append(r.meaning(bias))
    elif bias is not None:
        raise NoCounterpart("it scales a product or its bias")
    _cells(r, result, "dense", of)


@handles("t", "transpose.int", "permute", "numpy_T")
def _turn(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a = r.meaning(args[0])
    if not isinstance(a, Weight) or args[0].dim() != 2:
        raise NoCounterpart("it transposes values of vertices")
    turned = result.shape != args[0].shape or len(args) == 1 or (list(args[1:]) in ([0, 1], [1, 0], [[1, 0]]))
    r.stands_for(result, Weight(a.name, a.turned != turned))


@handles("view", "_unsafe_view", "reshape", "expand", "squeeze", "unsqueeze", "clone", "detach", "alias", "contiguous",
         "_to_copy", "lift_fresh", "view_as", "dropout")
def _same(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a = r.meaning(args[0])
    if "dropout" in r.current and not (args[1] == 0 or args[2] is False):
        raise NoCounterpart("it drops at random")
    row = isinstance(a, Weight) and args[0].dim() > 0 and result.dim() > 0 and (
        args[0].numel() == _shape_of(args[0]) == _shape_of(result) == result.numel())
    if isinstance(a, Weight) and args[0].dim() == 1 and result.shape == (args[0].numel(), 1):
        a, row = Weight(a.name, not a.turned), True
    if result.shape != args[0].shape and not row:
        raise NoCounterpart(f"it makes {tuple(result.shape)} of {tuple(args[0].shape)}")
    r.stands_for(result, a)


@handles("cat", "concat")
def _cat(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    parts = [r.meaning(one) for one in args[0] if one.numel() > 0]
    dim = (args[1] if len(args) > 1 else kwargs.get("dim", 0)) % result.dim()
    if all(isinstance(one, Weight) for one in parts):
        _cells(r, result, "concat" if dim == result.dim() - 1 else "stack", parts)
    elif dim == 1 and all(isinstance(one, Cells) for one in parts):
        _cells(r, result, "concat", parts)
    else:
        raise NoCounterpart("it joins other values than columns of vertices")


def _part(r: Recorder, source: torch.Tensor, meaning: Any, dim: int, first: int, result: torch.Tensor) -> None:
    dim %= source.dim()
    count = int(result.shape[dim])
    if count == source.shape[dim]:
        r.stands_for(result, meaning)
    elif dim == source.dim() - 1:
        _cells(r, result, "columns", [meaning], first=first, count=count)
    elif isinstance(meaning, Weight):
        _cells(r, result, "rows", [meaning], first=first, count=count)
    else:
        raise NoCounterpart("it takes some vertices only")


@handles("split", "split_with_sizes", "chunk", "unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes")
def _split(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    first = 0
    for part in result:
        _part(r, args[0], r.meaning(args[0]), dim, first, part)
        first += int(part.shape[dim % args[0].dim()])


@handles("slice.Tensor", "narrow")
def _slice(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    if len(args) > 4 and args[4] != 1:
        raise NoCounterpart("it takes every second column")
    dim = args[1] if len(args) > 1 else 0
    start = (args[2] if len(args) > 2 else 0) or 0
    _part(r, args[0], r.meaning(args[0]), dim, start + (args[0].shape[dim] if start < 0 else 0), result)


@handles("index_select", "index.Tensor")
def _gather(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    rows, dim = (args[2], args[1]) if isinstance(args[1], int) else (args[1][0], 0)
    a = r.meaning(args[0])
    if not isinstance(a, Cells) or dim % 2 != 0 or not isinstance(r.meaning(rows), Edges):
        raise NoCounterpart("it gathers by something that is no end of an edge")
    matrix = torch.eye(r.vertices, dtype=torch.float64) if a.matrix is None else a.matrix
    r.stands_for(result, Cells(a.name, a.width, matrix[rows]))


@handles("scatter_add", "scatter_add_", "index_add", "index_add_")
def _scatter(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    base, dim, rows, source = args[:4]
    a = r.meaning(source)
    in_place = r.current.endswith("_.default")  # the sum is there already
    zero = r.on_zeros if in_place else _number(base) == 0
    if not zero or kwargs.get("alpha", 1) != 1:
        raise NoCounterpart("it adds to something other than zeros, or scales what it adds")
    if not (isinstance(a, Cells) and a.matrix is not None and dim % 2 == 0
            and r.meaning(base) is None and isinstance(r.meaning(rows), Edges)):
        raise NoCounterpart("it scatters something other than values of edges")
    if rows.dim() > 1 and not bool((rows == rows[:, :1]).all()):
        raise NoCounterpart("it scatters the columns of a row to different rows")
    rows = rows if rows.dim() == 1 else rows[:, 0]
    matrix = torch.zeros(result.shape[0], r.vertices, dtype=torch.float64).index_add(0, rows, a.matrix)
    r.stands_for(result, Cells(a.name, a.width, matrix))


@handles("native_layer_norm")
def _norm(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    x, shape, gain, shift, eps = args
    if list(shape) != [_shape_of(x)] or gain is None or shift is None or eps != 1e-5:
        raise NoCounterpart("it normalises other than by rows with gain, shift and 1e-5")
    _cells(r, result[0], "layer_norm", [r.meaning(x), r.meaning(gain), r.meaning(shift)])


@handles("new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like")
def _constant(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    """Only the shape is read, so the result is a constant."""
