"""The meaning of each ATen operation for values of edges, vertices and weights (`_capture`)."""
from __future__ import annotations

import math
from typing import Any

import torch

from strobe import _capture_attention as attention
from strobe._capture import Cells, Edges, NoCounterpart, Recorder, Scaled, Weight, handles


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
    """The result of an operation on named values: a value of vertices, or of weights where it reads only these.

    A function of values at the same end of edges is that function of the vertices, gathered afterwards.
    """
    weights = all(isinstance(one, Weight) for one in of)
    ends = [r.end(one) for one in of]
    sides = {(end.side, end.edges) if end is not None else None
             for one, end in zip(of, ends, strict=True) if isinstance(one, Cells)}
    matrix = None
    if len(sides) == 1 and None not in sides:
        matrix = (next(one.matrix for one in of if isinstance(one, Cells)) != 0).double()
        of = [one if end is None else Cells(end.name, one.width) for one, end in zip(of, ends, strict=True)]
    name = r.emit(kind, [r.named(one) for one in of], **more)
    r.stands_for(result, Weight(name) if weights else Cells(name, _shape_of(result), matrix))


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
        both = Cells(a.name, a.width, p * left + q * right)
        if attention.pair(r, args, result, (p, q)):
            return
        if r.terms(both) is not None or r.terms(a) is None or r.terms(b) is None:
            return r.stands_for(result, both)
    if b is None:
        _cells(r, result, "affine", [a], p=p, q=q * _number(args[1]))
    elif isinstance(a, Weight) != isinstance(b, Weight):
        _add_row(r, result, (a, p, args[0]), (b, q, args[1]))
    elif args[0].shape != args[1].shape:
        raise NoCounterpart("it adds values of different shapes")
    elif attention.pair(r, args, result, (p, q)):
        return
    else:
        (a, p), (b, q) = r.factored(a, p), r.factored(b, q)
        _cells(r, result, "combine", [a, b], p=p, q=q)


def _add_row(r: Recorder, result: torch.Tensor, one: Any, other: Any) -> None:
    """A bias is part of a matrix product before it, where there is one."""
    (cells, p, _), (weight, q, row) = (one, other) if isinstance(one[0], Cells) else (other, one)
    if not isinstance(cells, Cells) or p != 1 or q != 1 or row.numel() != _shape_of(result):
        raise NoCounterpart("it adds a weight to a value of vertices in a way that is no bias")
    name, bias = r.named(cells), r.named(weight)
    r.stands_for(result, Cells(r.with_bias(name, bias) or r.emit("add_row", [name, bias]), _shape_of(result)))


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
    elif isinstance(b, Weight) != isinstance(a, Weight) and not divides and x.shape != y.shape:
        (cells, row, weight) = (a, b, y) if isinstance(b, Weight) else (b, a, x)
        if weight.numel() != math.prod(result.shape[1:]) or (weight.dim() == result.dim() and weight.shape[0] != 1):
            raise NoCounterpart("it multiplies values of vertices by a weight that is no row")
        r.stands_for(result, Scaled(cells, r.row(row, weight)))
    elif attention.pair(r, args, result, None):
        return
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
        right = r.settled(right)
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


def _core(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape without ones before the last two dimensions."""
    return tuple(one for one in tensor.shape[:-2] if one != 1) + tuple(tensor.shape[-2:])


@handles("unbind.int", "select.int", "stack")
def _only(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    """The only matrix of a list of weights, or the list of one."""
    one = args[0][0] if isinstance(args[0], (list, tuple)) else args[0]
    part = result[0] if isinstance(result, (list, tuple)) else result
    a = r.meaning(one)
    if not isinstance(a, Weight) or part.numel() != one.numel() or _core(part) != _core(one):
        raise NoCounterpart("it takes or joins parts of values of vertices")
    r.stands_for(part, a)


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
    if isinstance(a, Weight) and _core(result) == _core(args[0]):
        return r.stands_for(result, a)
    rows_alike = isinstance(a, Cells) and result.dim() > 0 and result.numel() == args[0].numel() and (
        result.shape[0] == args[0].shape[0])
    if result.shape != args[0].shape and not row and not rows_alike:
        raise NoCounterpart(f"it makes {tuple(result.shape)} of {tuple(args[0].shape)}")
    r.stands_for(result, a)


@handles("cat", "concat")
def _cat(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    parts = [r.meaning(one) for one in args[0] if one.numel() > 0]
    dim = (args[1] if len(args) > 1 else kwargs.get("dim", 0)) % result.dim()
    if all(isinstance(one, Weight) for one in parts):
        _cells(r, result, "concat" if dim == result.dim() - 1 else "stack", parts)
    elif dim == 1 and all(isinstance(one, Cells) for one in parts):
        if attention.joined(r, parts, args[0], result):
            return
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
    a = r.settled(a)
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
    rows = rows.reshape(rows.shape[0], -1)
    if not bool((rows == rows[:, :1]).all()):
        raise NoCounterpart("it scatters the columns of a row to different rows")
    rows = rows[:, 0]
    matrix = torch.zeros(result.shape[0], r.vertices, dtype=torch.float64).index_add(0, rows, a.matrix)
    r.stands_for(result, Cells(a.name, a.width, matrix))


@handles("sum.dim_IntList", "mean.dim")
def _over_heads(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    """The sum or mean of the heads of values [N, heads, columns]."""
    a, x = r.meaning(args[0]), args[0]
    if not isinstance(a, Cells) or x.dim() != 3 or [one % 3 for one in args[1]] != [1]:
        raise NoCounterpart("it adds up columns")
    parts, count = r.heads(r.named(a), x.shape[1], x.shape[2]), x.shape[1]
    name = parts[0]
    for part in parts[1:]:
        name = r.emit("combine", [name, part], p=1.0, q=1.0)
    if "mean" in r.current and count > 1:
        name = r.emit("affine", [name], p=1 / count, q=0.0)
    r.stands_for(result, Cells(name, x.shape[2]))


@handles("sum.dim_IntList", edges=True)
def _scores(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    """The products of each head with a row of weights, added up."""
    a, x = r.meaning(args[0]), args[0]
    if not isinstance(a, Scaled):
        return attention.add_up(r, args, result)
    if [one % x.dim() for one in args[1]] != [x.dim() - 1]:
        raise NoCounterpart("it adds up heads")
    end = r.end(a.cells)
    name = end.name if end is not None else r.named(a.cells)
    heads, depth = math.prod(x.shape[1:-1]), x.shape[-1]
    parts = [r.emit("dense", [part, r.emit("transpose", [row])])
             for part, row in zip(r.heads(name, heads, depth), r.heads(a.row, heads, depth), strict=True)]
    matrix = None if end is None else (a.cells.matrix != 0).double()
    r.stands_for(result, Cells(parts[0] if heads == 1 else r.emit("concat", parts), heads, matrix))


@handles("native_layer_norm")
def _norm(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    x, shape, gain, shift, eps = args
    if list(shape) != [_shape_of(x)] or gain is None or shift is None or eps != 1e-5:
        raise NoCounterpart("it normalises other than by rows with gain, shift and 1e-5")
    _cells(r, result[0], "layer_norm", [r.meaning(x), r.meaning(gain), r.meaning(shift)])


_MAKERS = ("new_zeros", "new_ones", "new_full", "new_empty", "zeros_like", "ones_like", "full_like", "empty_like")


@handles(*_MAKERS)
@handles(*_MAKERS, edges=True)
def _constant(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    """Only the shape is read, so the result is a constant."""
