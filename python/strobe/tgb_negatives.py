"""Turns the negatives that the Temporal Graph Benchmark stores into a file for `protocol=tgb` of task future-links.

usage: python -m strobe.tgb_negatives VAL.pkl TEST.pkl OUT.npz

TGB keeps one pickle for the validation events and one for the test events (`tgbl-review_val_ns_v2.pkl`). Each is a
dictionary from (source, destination, time) to an array of negative destinations. OUT.npz holds the same as plain
arrays, which Strobe maps into memory: source, target and time of each query, sorted by time, source and target; first,
where its negatives begin; and negatives.

A pickle can run any program when it is opened. This module opens it with an unpickler that makes dictionaries, tuples,
lists, numbers and NumPy arrays of numbers, and refuses everything else before it is made.
"""
from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import pathlib
import pickle
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from strobe.errors import StrobeError

_ARRAY_MODULES = ("numpy.core.multiarray", "numpy._core.multiarray")
_BUFFER_MODULES = ("numpy.core.numeric", "numpy._core.numeric")


class NotNegatives(StrobeError, ValueError):
    """The file is no pickle of TGB's negatives."""


class _NumberType:
    """Stands for numpy.dtype: types of numbers only, so that no array of objects is made."""

    def __new__(cls, *words: Any) -> Any:
        made: np.dtype[Any] = np.dtype(*words)
        if made.kind not in "iuf" or made.hasobject:
            raise pickle.UnpicklingError(f"an array of type {made}")
        return made


class _NumbersOnly(pickle.Unpickler):
    """Makes dictionaries, tuples, lists, numbers and arrays of numbers."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("numpy", "dtype"):
            return _NumberType
        known = ((module in _ARRAY_MODULES and name in ("_reconstruct", "scalar"))
                 or (module in _BUFFER_MODULES and name == "_frombuffer")
                 or (module, name) in (("numpy", "ndarray"), ("_codecs", "encode")))
        if known:
            with contextlib.suppress(ModuleNotFoundError):
                return super().find_class(module, name)
            return super().find_class(module.replace("numpy._core", "numpy.core"), name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def _read(path: pathlib.Path) -> dict[Any, Any]:
    try:
        with path.open("rb") as file:
            found = _NumbersOnly(file).load()
    except OSError as error:
        raise NotNegatives(f"{path}: {error.strerror}") from None
    except Exception as error:  # whatever a damaged pickle brings about
        raise NotNegatives(f"{path}: no pickle of numbers: {error}") from None
    if not isinstance(found, dict) or not found:
        raise NotNegatives(f"{path}: holds no dictionary of queries")
    wrong = next((key for key in found if not isinstance(key, tuple) or len(key) != 3), None)
    if wrong is not None:
        raise NotNegatives(f"{path}: the query {wrong!r} is not (source, destination, time)")
    return found


def _whole(values: Any, what: str) -> NDArray[np.int64]:
    """The values as whole numbers. TGB's own are floats where it joined an empty list to them."""
    given = np.asarray(values)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iuf"):
        raise NotNegatives(f"{what} are no list of numbers")
    whole = given.astype(np.int64)
    if not np.array_equal(whole, given) or (whole.size and whole.min() < 0):
        raise NotNegatives(f"{what} are no whole numbers from 0 on")
    return whole


def _narrow(values: NDArray[np.int64]) -> NDArray[Any]:
    return values.astype(np.int32) if values.size == 0 or values.max() < 2**31 else values


def convert(pickles: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str]) -> str:
    """Writes the queries of all `pickles` to the file `out`, and returns its SHA-256. Raises NotNegatives."""
    paths = [pathlib.Path(path) for path in pickles]
    tables = [_read(path) for path in paths]
    keys = [key for table in tables for key in table]
    source, target = (_whole([key[end] for key in keys], what) for end, what in enumerate(("sources", "destinations")))
    time = np.asarray([key[2] for key in keys], dtype=np.float64)
    order = np.lexsort((target, source, time))
    source, target, time = source[order], target[order], time[order]
    same = (np.diff(time) == 0) & (np.diff(source) == 0) & (np.diff(target) == 0)
    if same.any():
        at = int(np.argmax(same))
        raise NotNegatives(f"the query ({source[at]}, {target[at]}, {time[at]:g}) is in both files")
    lists = list(itertools.chain.from_iterable(table.values() for table in tables))
    counts = np.asarray([len(one) for one in lists], dtype=np.int64)[order]
    if counts.min() == 0:
        at = int(np.argmin(counts))
        raise NotNegatives(f"the query ({source[at]}, {target[at]}, {time[at]:g}) has no negatives")
    negatives = _whole(np.concatenate([np.asarray(lists[place]) for place in order]), "negatives")
    path = pathlib.Path(out)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("wb") as file:
            np.savez(file, source=_narrow(source), target=_narrow(target), time=time,
                     first=np.concatenate([[0], np.cumsum(counts)]), negatives=_narrow(negatives))
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def main(words: Sequence[str]) -> int:
    """Runs the command with these words, and returns its exit status."""
    if len(words) < 2 or any(word in ("-h", "--help") for word in words):
        print(__doc__, end="")
        return 0 if "-h" in words or "--help" in words else 2
    try:
        digest = convert(words[:-1], words[-1])
    except (NotNegatives, OSError) as error:
        print(f"tgb_negatives: {error}", file=sys.stderr)
        return 2
    with np.load(words[-1]) as arrays:
        print(f"{words[-1]}: {len(arrays['source'])} queries, {len(arrays['negatives'])} negatives, sha256 {digest}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
