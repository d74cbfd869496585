"""The meaning of each ATen operation for values of roots and slots (`_capture_slots`)."""
from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from strobe._capture import NoCounterpart, Weight
from strobe._capture_slots import Forbidding, Laid, Padding, SlotRecorder, handles, number_of


@handles("view", "_unsafe_view", "reshape", "expand", "squeeze", "unsqueeze", "permute", "transpose", "t", "select",
         "slice", "split", "split_with_sizes", "chunk", "unbind", "repeat", "narrow")
def _move(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    known = r.meaning(args[0])
    name = func.overloadpacket.__name__
    moved = known.address.reshape(result.shape) if "view" in name else func(known.address, *args[1:], **kwargs)
    pairs = zip(result, moved, strict=True) if isinstance(result, (tuple, list)) else [(result, moved)]
    for part, address in pairs:
        moved = dataclasses.replace(known, address=address)
        r.stands_for(part, r.some_columns(moved) if isinstance(moved, Laid) else moved)


@handles("clone", "detach", "alias", "contiguous", "lift_fresh", "_to_copy", "dropout", "nan_to_num")
def _same(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    if "dropout" in str(func) and not (args[1] == 0 or args[2] is False):
        raise NoCounterpart("it drops at random")
    known = r.meaning(args[0])
    if isinstance(known, Padding) and result.dtype != torch.bool:
        raise NoCounterpart("it computes with a mask")
    r.stands_for(result, known)


@handles("sigmoid", "tanh", "relu", "leaky_relu", "elu", "neg")
def _curve(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    laid, kind = r.laid(args[0]), func.overloadpacket.__name__.removesuffix("_")
    more = {}
    if kind in ("relu", "leaky_relu", "elu"):
        more["p"] = 0.0 if kind == "relu" else float(args[1]) if len(args) > 1 else 1.0 if kind == "elu" else 0.01
        if more["p"] < 0 or tuple(args[2:]) not in ((), (1,), (1, 1)):
            raise NoCounterpart("its slope is negative, or it is scaled")
    if kind == "neg":
        kind, more = "affine", {"p": -1.0, "q": 0.0}
    name = r.emit("leaky_relu" if kind == "relu" else kind, [laid.name], **more)
    r.stands_for(result, dataclasses.replace(laid, name=name))


@handles("add", "sub", "rsub")
def _add(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    a, b, p, q = args[0], args[1], 1.0, float(kwargs.get("alpha", 1))
    if "sub" in str(func):
        p, q = (-q, 1.0) if "rsub" in str(func) else (1.0, -q)
    if not isinstance(r.meaning(a), Laid):
        a, b, p, q = b, a, q, p
    laid, other = r.laid(a, "masked"), r.meaning(b)
    if isinstance(other, Forbidding) and p == q == 1:
        r.stands_for(result, _masked(r, laid, other.address))
    elif isinstance(other, Weight) and p == q == 1 and not laid.state:
        r.whole_rows(laid)
        if b.numel() != laid.width:
            raise NoCounterpart("it adds a weight that is no bias")
        bias = r.named(other)
        name = r.with_bias(laid.name, bias) or r.emit("add_row", [laid.name, bias])
        r.stands_for(result, dataclasses.replace(laid, name=name))
    elif isinstance(other, Laid) and not laid.state:
        one, two = r.together(laid, r.laid(b))
        if one.width != two.width or not torch.equal(one.address, two.address):
            raise NoCounterpart("it adds columns to others")
        r.stands_for(result, dataclasses.replace(one, name=r.emit("combine", [one.name, two.name], p=p, q=q)))
    elif other is None and (number := number_of(b)) is not None:
        r.stands_for(result, dataclasses.replace(laid, name=r.emit("affine", [laid.name], p=p, q=q * number)))
    else:
        raise NoCounterpart("it adds other values")


@handles("mul", "div")
def _mul(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    a, b = args[0], args[1]
    divides = "div" in str(func)
    if not isinstance(r.meaning(a), Laid) and not divides:
        a, b = b, a
    number = number_of(b) if r.meaning(b) is None else None
    if number is not None:
        laid = r.laid(a, "masked")
        if divides:
            number = 1 / number
        if laid.state and number <= 0:
            raise NoCounterpart("it turns the sign of masked scores")
        r.stands_for(result, dataclasses.replace(laid, name=r.emit("affine", [laid.name], p=number, q=0.0)))
    elif divides:
        raise NoCounterpart("it divides by a value")
    else:
        r.stands_for(result, r.product(r.laid(a, "softmax"), r.laid(b, "softmax")))


@handles("sum")
def _sum(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    dims = args[1] if len(args) > 1 else None
    laid = r.laid(args[0], "weighted")
    if not isinstance(dims, (list, tuple)) or len(dims) != 1:
        raise NoCounterpart("it sums over several axes")
    keep = bool(args[2]) if len(args) > 2 else bool(kwargs.get("keepdim", False))
    r.stands_for(result, r.sum(laid, dims[0] % laid.address.dim(), keep))


@handles("bmm", "baddbmm")
def _bmm(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Products of all pairs, then their sum."""
    a, b = (r.laid(one, "softmax") for one in args[-2:])
    a = dataclasses.replace(a, address=a.address.unsqueeze(3))
    b = dataclasses.replace(b, address=b.address.unsqueeze(1))
    laid = r.sum(r.product(a, b), 2, False)
    if len(args) == 3:
        below = r.meaning(args[0])
        if not isinstance(below, Forbidding) or float(kwargs.get("beta", 1)) != 1 or float(kwargs.get("alpha", 1)) != 1:
            raise NoCounterpart("it adds something that is no mask")
        laid = _masked(r, laid, below.address)
    r.stands_for(result, laid)


@handles("linear", "mm", "addmm")
def _linear(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    name = func.overloadpacket.__name__
    x, w, bias = (args[1], args[2], args[0]) if name == "addmm" else (args[0], args[1], None)
    weight = r.meaning(w)
    if name == "linear":
        bias = args[2] if len(args) > 2 else kwargs.get("bias")
        weight = Weight(weight.name, not weight.turned) if isinstance(weight, Weight) else weight
    laid = r.laid(x)
    if not isinstance(weight, Weight) or (bias is not None and not isinstance(r.meaning(bias), Weight)):
        raise NoCounterpart("it multiplies by something that is no weight, or adds something that is no bias")
    if kwargs.get("beta", 1) != 1 or kwargs.get("alpha", 1) != 1:
        raise NoCounterpart("it scales a product or its bias")
    rows, width = r.whole_rows(laid), int(result.shape[-1])
    of = [laid.name, r.named(weight), *([r.named(r.meaning(bias))] if bias is not None else [])]
    r.stands_for(result, Laid(r.emit("dense", of), width, laid.slots, rows[..., None] * width + torch.arange(width)))


@handles("cat", "concat")
def _cat(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    parts = [r.laid(one) for one in args[0] if one.numel() > 0]
    dim = (args[1] if len(args) > 1 else kwargs.get("dim", 0)) % result.dim()
    if dim != result.dim() - 1:
        raise NoCounterpart("it joins other values than columns")
    rows = next((r.whole_rows(one) for one in parts if one.slots), None)
    if rows is not None:
        parts = [one if one.slots else r.spread(one, rows[..., None].expand_as(one.address)) for one in parts]
    else:
        rows = r.whole_rows(parts[0])
    if any(not torch.equal(r.whole_rows(one), rows) for one in parts):
        raise NoCounterpart("it joins columns of different rows")
    width = sum(one.width for one in parts)
    name = parts[0].name if len(parts) == 1 else r.emit("concat", [one.name for one in parts])
    r.stands_for(result, Laid(name, width, parts[0].slots, rows[..., None] * width + torch.arange(width)))


@handles("zeros_like", "ones_like", "full_like", "empty_like", "new_zeros", "new_ones", "new_full", "new_empty")
def _constant(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Only the shape is read, so the result is a constant."""


@handles("native_layer_norm")
def _norm(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    x, shape, gain, shift, eps = args
    laid = r.laid(x)
    r.whole_rows(laid)
    if list(shape) != [laid.width] or gain is None or shift is None or eps != 1e-5:
        raise NoCounterpart("it normalises other than by rows with gain, shift and 1e-5")
    name = r.emit("layer_norm", [laid.name, r.named(r.meaning(gain)), r.named(r.meaning(shift))])
    r.stands_for(result[0], dataclasses.replace(laid, name=name))


@handles("_softmax", "_safe_softmax", "softmax")
def _softmax(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    laid = r.laid(args[0], "masked")
    if laid.state != "masked":
        raise NoCounterpart("the mask is not applied before the softmax")
    dim = args[1] % laid.address.dim()
    line = [1] * laid.address.dim()
    line[dim] = laid.address.shape[dim]
    steps = torch.arange(line[dim]).reshape(line) * laid.width
    if line[dim] != r.each or not torch.equal(laid.address, laid.address.narrow(dim, 0, 1) + steps):
        raise NoCounterpart("it is no softmax over the slots of a root")
    r.stands_for(result, dataclasses.replace(laid, state="softmax"))


@handles("bitwise_not", "logical_not")
def _not(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    known = r.meaning(args[0])
    if not isinstance(known, Padding):
        raise NoCounterpart("")
    r.stands_for(result, dataclasses.replace(known, opposite=not known.opposite))


@handles("all", "any")
def _all_padded(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    known = r.meaning(args[0])
    every = func.overloadpacket.__name__ == "all"
    if not isinstance(known, Padding) or len(args) < 2 or every == known.opposite or not known.slots:
        raise NoCounterpart("it asks a mask for something other than roots without neighbours")
    dim = args[1] % known.address.dim()
    first = known.address.narrow(dim, 0, 1) // r.each
    if known.address.shape[dim] != r.each or not torch.equal((known.address // r.each), first.expand_as(known.address)):
        raise NoCounterpart("it joins a mask over something other than slots")
    keep = bool(args[2]) if len(args) > 2 else bool(kwargs.get("keepdim", False))
    r.stands_for(result, Padding(False, first if keep else first.squeeze(dim), known.opposite))


def _masked(r: SlotRecorder, laid: Laid, address: Tensor) -> Laid:
    if not laid.slots or not torch.equal(laid.rows, address.expand_as(laid.address)):
        raise NoCounterpart("it masks other slots than its own")
    return dataclasses.replace(laid, state="masked")


@handles("masked_fill")
def _fill(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    _choose(r, r.meaning(args[1]), args[0], args[2], result)


@handles("where")
def _where(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    mask = r.meaning(args[0])
    if not isinstance(mask, Padding):
        raise NoCounterpart("it chooses by something other than the mask")
    kept, instead = (args[1], args[2]) if mask.opposite else (args[2], args[1])
    _choose(r, dataclasses.replace(mask, opposite=False), kept, instead, result)


def _choose(r: SlotRecorder, mask: Any, kept: Any, instead: Any, result: Tensor) -> None:
    """The value that is kept, and the number instead of it where the mask says so."""
    number = number_of(instead) if r.meaning(instead) is None else None
    if not isinstance(mask, Padding) or mask.opposite or number is None:
        raise NoCounterpart("its mask does not say which slots are empty")
    lowest = number <= -1e4
    if r.meaning(kept) is None and mask.slots and lowest and bool(((result == 0) | (result == number)).all()):
        r.stands_for(result, Forbidding(mask.address.expand(result.shape)))
        return
    laid = r.laid(kept, "masked", "softmax")
    if mask.slots and lowest and laid.state != "softmax":
        r.stands_for(result, _masked(r, laid, mask.address))
    elif mask.slots and number == 0 and laid.state == "softmax" and torch.equal(
            laid.rows, mask.address.expand_as(laid.address)):
        r.stands_for(result, laid)
    elif not mask.slots and not laid.slots and number == 0 and torch.equal(
            laid.rows, mask.address.expand_as(laid.address)):
        r.stands_for(result, dataclasses.replace(laid, name=r.emit("found", [laid.name])))
    else:
        raise NoCounterpart("it fills other values than scores of empty slots, or roots without neighbours with 0")


@handles("index_put")
def _put(r: SlotRecorder, func: Any, args: Any, kwargs: Any, result: Any) -> None:
    """A mask that is changed for roots without neighbours alone says the same of all others."""
    if not r.still_says(result, r.meaning(args[0])):
        raise NoCounterpart("it changes a part of a value, or the mask of roots that have neighbours")
    r.stands_for(result, r.meaning(args[0]))
