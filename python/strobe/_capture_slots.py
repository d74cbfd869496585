"""Records a PyTorch module that embeds vertices from their sampled neighbours.

A root has K slots, one for each neighbour. Each element of a tensor has an address: its row and column in a named
value. Operations that only move elements are repeated on the addresses. So it does not matter how a module lays out
batches, slots and heads. Sums over columns, softmax and sums over slots are recognised from the addresses.
"""
from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from strobe._capture import NoCounterpart, Recorder, Stale, _place, _written


@dataclasses.dataclass
class Laid:
    """Elements of the value `name`, which has a row for each root or for each slot. `state`: what became of slots."""

    name: str
    width: int
    slots: bool
    address: Tensor  # row * width + column
    state: str = ""  # "masked": padding cannot win a softmax; "softmax"; "weighted": by the softmax of `score`
    score: str = ""

    @property
    def rows(self) -> Tensor:
        return self.address // self.width

    @property
    def columns(self) -> Tensor:
        return self.address % self.width


@dataclasses.dataclass
class Padding:
    """Whether a slot is empty (`slots`), or a root has no neighbours. `opposite`: whether it has some."""

    slots: bool
    address: Tensor
    opposite: bool = False


@dataclasses.dataclass
class Forbidding:
    """0 in a slot, and so low a number in padding that a softmax passes over it."""

    address: Tensor


@dataclasses.dataclass
class Lost:
    """A value without a counterpart, and why."""

    reason: str


Handler = Callable[["SlotRecorder", Any, Any, Any, Any], None]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Registers a function for ATen operations by name, in place or not."""

    def register(function: Handler) -> Handler:
        HANDLERS.update(dict.fromkeys(names, function))
        return function

    return register


class SlotRecorder(Recorder):  # type: ignore[no-untyped-call, unused-ignore]
    """The operations of one call with a mask `padding` [roots, slots of each], which is True in empty slots."""

    def __init__(self, padding: Tensor) -> None:
        super().__init__(len(padding))
        self.padding, (self.roots, self.each) = padding.clone(), padding.shape
        self.stands_for(padding, Padding(True, torch.arange(padding.numel()).reshape(padding.shape)))

    def lay(self, tensor: Tensor, name: str, slots: bool) -> None:
        """`tensor` [roots, width] or [roots, slots, width] is the whole value `name`."""
        address = torch.arange(tensor.numel()).reshape(tensor.shape)
        self.stands_for(tensor, Laid(name, tensor.shape[-1], slots, address))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        flat = [one for one in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        meanings = [self.meaning(one) for one in flat]
        if not any(isinstance(one, (Laid, Padding, Forbidding, Lost, Stale)) for one in meanings):
            return super().__torch_dispatch__(func, types, args, kwargs)
        name = func.overloadpacket.__name__
        handler = HANDLERS.get(name) or HANDLERS.get(name.removesuffix("_"))
        if handler is None:
            with self:
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        result = func(*args, **kwargs)
        try:
            lost = next((one for one in meanings if isinstance(one, Lost)), None)
            if lost is not None:
                self._all(result, lost)
            elif handler is None or any(isinstance(one, Stale) for one in meanings):
                raise NoCounterpart("" if handler is None else "a part of it was changed in place")
            else:
                handler(self, func, args, kwargs, result)
        except NoCounterpart as error:
            self._all(result, Lost(f"{func} at {_place()}" + (f": {error}" if str(error) else "")))
        for tensor in _written(func, args, kwargs):
            for other in self._aliases(tensor):
                if not self.still_says(other, self.meaning(other)):
                    self.stands_for(other, Stale())
        return result

    def still_says(self, tensor: Tensor, meaning: Any) -> bool:
        """Whether a mask that was changed in place says the same as before of roots that have neighbours."""
        if not isinstance(meaning, Padding) or meaning.opposite or not meaning.slots:
            return False
        empty = self.padding.all(1)[meaning.address // self.each]
        return bool(torch.equal(tensor | empty, self.padding.flatten()[meaning.address] | empty))

    def result_name(self, result: Tensor) -> str:
        """The name of the result, which must have a row for each root."""
        laid = self.laid(result)
        if laid.slots or not torch.equal(self.whole_rows(laid), torch.arange(self.roots)):
            raise NoCounterpart("it has not a row for each root")
        return laid.name

    def laid(self, tensor: Any, *states: str) -> Laid:
        found = self.meaning(tensor)
        if isinstance(found, Lost):
            raise NoCounterpart(found.reason)
        if not isinstance(found, Laid) or found.state not in ("", *states):
            raise NoCounterpart("it mixes values of roots or neighbours with others")
        return found

    def whole_rows(self, laid: Laid) -> Tensor:
        """The row of each place of the axes before the last one, which must have whole rows."""
        rows = laid.rows[..., :1]
        if laid.address.shape[-1] != laid.width or not torch.equal(
                laid.address, (rows * laid.width + torch.arange(laid.width)).expand_as(laid.address)):
            raise NoCounterpart("its last axis has not the columns of a value")
        return rows[..., 0]

    def some_columns(self, laid: Laid) -> Laid:
        """The value of the columns alone that are there, where these are a part of the value's."""
        found = sorted(set(laid.columns.flatten().tolist()))
        first, count = found[0], len(found)
        if laid.state not in ("", "masked") or count == laid.width or found[-1] != first + count - 1:
            return laid
        name = self.emit("columns", [laid.name], first=first, count=count)
        return dataclasses.replace(laid, name=name, width=count, address=laid.rows * count + laid.columns - first)

    def spread(self, laid: Laid, rows: Tensor) -> Laid:
        """A value of roots at the slots `rows`, which have the shape of its addresses."""
        if not torch.equal(laid.rows.expand_as(rows), rows // self.each):
            raise NoCounterpart("it gives slots a value of other roots")
        return Laid(self.emit("spread", [laid.name]), laid.width, True, rows * laid.width + laid.columns)

    def together(self, a: Laid, b: Laid) -> tuple[Laid, Laid]:
        """Both at one shape, and both of roots or of slots; their rows are the same."""
        shape = (a.address + b.address).shape
        a, b = (dataclasses.replace(one, address=one.address.expand(shape)) for one in (a, b))
        if a.slots and not b.slots:
            b = self.spread(b, a.rows)
        elif b.slots and not a.slots:
            a = self.spread(a, b.rows)
        if not torch.equal(a.rows, b.rows):
            raise NoCounterpart("it puts values of different rows together")
        return a, b

    def product(self, a: Laid, b: Laid) -> Laid:
        if b.state == "softmax":
            a, b = b, a
        a, b = self.together(a, b)
        if a.state == "softmax" and b.state == "":
            if b.width % a.width or not torch.equal(a.columns, b.columns // (b.width // a.width)):
                raise NoCounterpart("it weights columns by another head than their own")
            return dataclasses.replace(b, state="weighted", score=a.name)
        if a.state or b.state or a.width != b.width or not torch.equal(a.columns, b.columns):
            raise NoCounterpart("it multiplies columns with others")
        return dataclasses.replace(a, name=self.emit("multiply", [a.name, b.name]))

    def sum(self, laid: Laid, dim: int, keep: bool) -> Laid:
        first = laid.address.narrow(dim, 0, 1)
        count = laid.address.shape[dim]
        line = [1] * laid.address.dim()
        line[dim] = count
        steps = torch.arange(count).reshape(line)
        if laid.state == "weighted":
            if count != self.each or not torch.equal(laid.address, first + steps * laid.width):
                raise NoCounterpart("it sums something other than all slots of a root")
            name, width, address = self.emit("attend", [laid.score, laid.name]), laid.width, (
                first // laid.width // self.each * laid.width + first % laid.width)
            result = Laid(name, width, False, address)
        elif laid.state == "" and torch.equal(laid.address, first + steps) and bool(
                (first % laid.width % count == 0).all()) and laid.width % count == 0:
            width = laid.width // count
            result = Laid(self.emit("head_sums", [laid.name], count=width), width, laid.slots, first // count)
        else:
            raise NoCounterpart("it sums something other than columns, or values weighted by a softmax")
        return result if keep else dataclasses.replace(result, address=result.address.squeeze(dim))


def number_of(value: Any) -> float | None:
    """The number that a constant is everywhere."""
    if isinstance(value, (int, float)):
        return float(value)
    if isinstance(value, Tensor) and value.numel() and bool((value == value.flatten()[0]).all()):
        return float(value.flatten()[0])
    return None
