"""Attention over edges for `_capture`: a softmax over the edges of each vertex, written with any operations.

A query at the target and a key at the source of an edge give its score. The largest score of a vertex, which authors
take off before the exponential, changes nothing and is followed by name. The sum of values weighted by the softmax is
one operation of Strobe.
"""
from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from strobe._capture import Cells, End, NoCounterpart, Recorder, Traced, Weight, handles


@dataclasses.dataclass(frozen=True)
class Score(Traced):
    """A number for every edge and head. `form`: which part of a softmax it is."""

    edges: str
    q: str
    k: str
    w: str | None
    added: bool
    p: float
    heads: int
    form: str = "score"  # score, exponential, coefficient


@dataclasses.dataclass(frozen=True)
class Pair(Traced):
    """q and k of the two ends, added or multiplied, column by column; an added one perhaps bent and weighed."""

    edges: str
    q: str
    k: str
    added: bool
    p: float = 1.0  # slope of an added pair, factor of a product
    bent: bool = False
    w: str | None = None


@dataclasses.dataclass(frozen=True)
class OfScores(Traced):
    """The largest score of each vertex, or the sum of its exponentials; perhaps gathered by the edges again."""

    form: str
    score: Score
    gathered: bool = False


@dataclasses.dataclass(frozen=True)
class Message(Traced):
    """The value of a source, times the coefficient of the edge."""

    score: Score
    value: str


def _tail(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape of a row, without ones at its end."""
    shape = tuple(tensor.shape[1:])
    while shape and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _other(r: Recorder, a: Any, b: Any) -> tuple[End, End] | None:
    """The target's and the source's end, where the two values are these."""
    ends = r.end(a), r.end(b)
    if ends[0] is None or ends[1] is None or ends[0].edges != ends[1].edges or ends[0].side == ends[1].side:
        return None
    return (ends[0], ends[1]) if ends[0].side == "target" else (ends[1], ends[0])


def pair(r: Recorder, args: Any, result: torch.Tensor, signs: tuple[float, float] | None) -> bool:
    """Whether the operands are the two ends of edges; then the result is their sum (signs) or product (no signs)."""
    a, b = r.meaning(args[0]), r.meaning(args[1])
    ends = _other(r, a, b)
    if ends is None or args[0].shape != args[1].shape:
        return False
    names = [end.name for end in ends]
    if signs is not None:
        order = signs if r.end(a) == ends[0] else signs[::-1]
        names = [r.emit("affine", [name], p=sign, q=0.0) if sign != 1 else name
                 for name, sign in zip(names, order, strict=True)]
    r.stands_for(result, Pair(ends[0].edges, names[0], names[1], signs is not None))
    return True


def joined(r: Recorder, parts: list[Any], tensors: list[torch.Tensor], result: torch.Tensor) -> bool:
    """Whether the parts are both ends of edges, side by side; a matrix product of these is a sum of two."""
    ends = [r.end(one) for one in parts]
    if len(ends) != 2 or _other(r, *parts) is None:
        return False
    r.stands_for(result, Joined(tuple(ends), tuple(int(one.shape[-1]) for one in tensors)))
    return True


@dataclasses.dataclass(frozen=True)
class Joined(Traced):
    """The two ends of edges, side by side."""

    ends: tuple[Any, ...]
    widths: tuple[int, ...]


def _score(meaning: Any, tensor: torch.Tensor) -> Score:
    """The value as one number for every edge and head."""
    if isinstance(meaning, Score) and meaning.form == "score":
        return meaning
    if isinstance(meaning, Pair) and meaning.added and meaning.w is None:
        return Score(meaning.edges, meaning.q, meaning.k, None, True, meaning.p, math.prod(_tail(tensor)))
    raise NoCounterpart("it is no score of attention that Strobe has")


@handles("add", "add_", "sub", "sub_", "clamp", "clamp_min", edges=True)
def _shift(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a, b = r.meaning(args[0]), r.meaning(args[1]) if len(args) > 1 else None
    if isinstance(a, OfScores) and a.form == "total" and b is None:
        least = args[1] if len(args) > 1 else kwargs.get("min")
        if isinstance(least, (int, float)) and 0 <= least <= 1e-6 and "sub" not in r.current:
            return r.stands_for(result, a)  # it guards against a division by zero
    if "sub" in r.current and isinstance(b, OfScores) and b.form == "largest" and b.gathered and (
            _score(a, args[0]) == b.score):
        return r.stands_for(result, b.score)
    raise NoCounterpart("attention has no such sum")


@handles("mul", "mul_", "div", "div_", edges=True)
def _scale(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    (a, x), (b, y) = ((r.meaning(one), one) for one in args[:2])
    divides = "div" in r.current
    if isinstance(a, Score) and a.form == "exponential" and divides:
        if isinstance(b, OfScores) and b.gathered and b.form == "total" and b.score == a:
            return r.stands_for(result, dataclasses.replace(a, form="coefficient"))
        raise NoCounterpart("it divides the exponentials of scores by something other than their sum")
    if divides and not isinstance(a, (Score, Pair)):
        raise NoCounterpart("it divides by a part of a softmax")
    if not isinstance(a, (Score, Pair)):
        (a, x), (b, y) = (b, y), (a, x)
    value = _value(r, a, b, x, y)
    if not isinstance(a, (Score, Pair)):
        raise NoCounterpart("attention has no such product")
    if b is None and (not isinstance(y, torch.Tensor) or y.numel() == 1):
        r.stands_for(result, _times(a, 1 / float(y) if divides else float(y)))
    elif isinstance(a, Pair) and a.added and a.w is None and isinstance(b, Weight) and not divides and (
            y.numel() == math.prod(result.shape[1:])):
        r.stands_for(result, dataclasses.replace(a, w=r.row(b, y)))
    elif value is not None and not divides:
        r.stands_for(result, value)
    else:
        raise NoCounterpart("attention has no such product")


def _value(r: Recorder, score: Any, b: Any, x: torch.Tensor, y: Any) -> Message | None:
    """b, of tensor y, times coefficients of tensor x; None unless b has a block of columns for each head."""
    end = r.end(b)
    if not isinstance(score, Score) or score.form != "coefficient" or end is None or end.side != "source":
        return None
    heads = _tail(x)
    fits = end.edges == score.edges and tuple(y.shape[1:])[:len(heads)] == heads and math.prod(heads) == score.heads
    return Message(score, end.name) if fits else None


def _times(a: Score | Pair, factor: float) -> Score | Pair:
    if not a.added and not (isinstance(a, Score) and a.form != "score"):
        return dataclasses.replace(a, p=a.p * factor)
    raise NoCounterpart("it scales a part of an attention other than products of queries and keys")


def add_up(r: Recorder, args: Any, result: torch.Tensor) -> None:
    """The scores of heads from the products, or the bent sums, of columns."""
    a, dims = r.meaning(args[0]), [one % args[0].dim() for one in args[1]]
    if not isinstance(a, Pair) or dims != [args[0].dim() - 1]:
        raise NoCounterpart("attention has no such sum")
    r.stands_for(result, Score(a.edges, a.q, a.k, a.w, a.added, a.p, math.prod(args[0].shape[1:-1])))


@handles("leaky_relu", "leaky_relu_", "relu", "relu_", edges=True)
def _bend(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a = r.meaning(args[0])
    slope = 0.0 if ".relu" in r.current else float(args[1]) if len(args) > 1 else 0.01
    if not isinstance(a, Pair) or not a.added or a.bent or a.w is not None:
        raise NoCounterpart("attention has no such score")
    r.stands_for(result, dataclasses.replace(a, p=slope, bent=True))


@handles("exp", "exp_", edges=True)
def _exponential(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    r.stands_for(result, dataclasses.replace(_score(r.meaning(args[0]), args[0]), form="exponential"))


@handles("max", "amax", edges=True)
def _largest(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    if len(args) > 1 or kwargs:
        raise NoCounterpart("attention has no such maximum")
    r.stands_for(result, OfScores("largest", _score(r.meaning(args[0]), args[0]), gathered=True))


@handles("scatter_reduce", "scatter_reduce_", edges=True)
def _largest_of_each(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    score = _score(r.meaning(args[3]), args[3])
    if args[4] != "amax" or args[1] % 2 != 0 or r.targets(args[2]) != score.edges:
        raise NoCounterpart("attention has no such reduction")
    r.stands_for(result, OfScores("largest", score))


@handles("scatter_add", "scatter_add_", "index_add", "index_add_", edges=True)
def _gathered_sum(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a = r.meaning(args[3])
    zero = r.on_zeros if r.current.endswith("_.default") else not bool(args[0].any())
    score = a if isinstance(a, Score) else a.score if isinstance(a, Message) else None
    if not zero or score is None or args[1] % 2 != 0 or r.targets(args[2]) != score.edges or (
            kwargs.get("alpha", 1) != 1):
        raise NoCounterpart("attention has no such sum over edges")
    if isinstance(a, Message):
        r.stands_for(result, Cells(_emit(r, a), int(result.shape[-1])))
    elif score.form == "exponential":
        r.stands_for(result, OfScores("total", score))
    else:
        raise NoCounterpart("it adds scores that are no softmax")


def _emit(r: Recorder, message: Message) -> str:
    score = message.score
    of = [score.q, score.k, message.value] + ([score.w] if score.w is not None else [])
    if any(name in r.late for name in of):
        raise NoCounterpart("this attention reads a state; only values of the present step can be attended to")
    name = "laplacian" if score.edges == "loops" else "sum"
    others = set().union(*(r.behind.get(one, set()) for one in of)) - {name, *(["mean"] if name == "sum" else [])}
    if others:
        raise NoCounterpart(f"it reads an aggregation by {min(others)!r}, and attention over these edges may only read "
                            f"those by {name!r}")
    if r.attended not in ("", name):
        raise NoCounterpart("this attention has other neighbours than the one before it (with or without self-loops)")
    r.attended = name
    return r.emit("added_attention" if score.added else "attention", of, matrix=r.number_of(name), heads=score.heads,
                  p=score.p)


@handles("index_select", "index.Tensor", edges=True)
def _by_edge(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    a = r.meaning(args[0])
    rows, dim = (args[2], args[1]) if isinstance(args[1], int) else (args[1][0], 0)
    if not isinstance(a, OfScores) or a.gathered or dim % 2 != 0 or r.targets(rows) != a.score.edges:
        raise NoCounterpart("attention has no such gathering")
    r.stands_for(result, dataclasses.replace(a, gathered=True))


@handles("view", "_unsafe_view", "reshape", "squeeze", "unsqueeze", "clone", "detach", "alias", "contiguous", "dropout",
         edges=True)
def _alike(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    if result.numel() != args[0].numel() or (result.dim() > 0 and result.shape[0] != args[0].shape[0]) or (
            "dropout" in r.current and not (args[1] == 0 or args[2] is False)):
        raise NoCounterpart("attention has no such view")
    r.stands_for(result, r.meaning(args[0]))


@handles("mm", "addmm", "linear", edges=True)
def _of_both(r: Recorder, args: Any, kwargs: Any, result: Any) -> None:
    x, w, bias = (args[1], args[2], args[0]) if "addmm" in r.current else (
        args[0], args[1], args[2] if len(args) > 2 else None)
    a, right = r.meaning(x), r.meaning(w)
    if isinstance(right, Weight) and "linear" in r.current:
        right = Weight(right.name, not right.turned)
    if not isinstance(right, Weight):
        raise NoCounterpart("attention has no such product")
    if isinstance(a, Pair) and a.added and a.w is None and result.shape[1] == 1 and bias is None:
        turned = r.named(Weight(right.name, not right.turned))
        return r.stands_for(result, Score(a.edges, a.q, a.k, turned, True, a.p, 1))
    if not isinstance(a, Joined):
        raise NoCounterpart("attention has no such product")
    names: dict[str, str] = {}
    first = 0
    for end, width in zip(a.ends, a.widths, strict=True):
        of = [end.name, r.emit("rows", [r.named(right)], first=first, count=width)]
        if bias is not None and not names:
            of.append(r.named(r.meaning(bias)))
        names[end.side] = r.emit("dense", of)
        first += width
    r.stands_for(result, Pair(a.ends[0].edges, names["target"], names["source"], True))
