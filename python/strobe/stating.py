"""How a training program states its epochs to Strobe; without Strobe around it, nothing is stated.

for epoch in strobe.epochs(edges=51_000, updates=1):   # as many as the run asks for
    epoch.loss = train_one_epoch(model)
"""
from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

# As torchrun, mpirun and srun number processes.
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def _settle() -> None:
    """Waits for GPUs, whose kernels run on after the call that starts them."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _rank() -> dict[str, int]:
    for name in _RANKS:
        if name in os.environ:
            return {"rank": int(os.environ[name])}
    return {}


def _value(given: Any) -> float | None:
    """A loss or metric as a number of JSON, which has no NaN and no infinity."""
    number = float(given)
    return number if math.isfinite(number) else None


class Epoch:
    """One epoch of training, timed from `with` to its end. An epoch that an exception ends is not stated.

    `loss` and `metrics` may be set inside. `cells`, `edges`, `events` and `updates` are its work over all ranks:
    without one of the first three, its time is compared with no other program's. `seconds` is its time, afterwards.
    """

    def __init__(self, **work: int) -> None:
        unknown = set(work) - {"cells", "edges", "events", "updates"}
        if unknown:
            raise TypeError(f"unknown work {', '.join(sorted(unknown))}; known: cells, edges, events, updates")
        self.work = work
        self.loss: Any = None
        self.metrics: dict[str, Any] = {}
        self.seconds = float("nan")

    def __enter__(self) -> Epoch:
        _settle()
        self._begin = time.perf_counter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is not None:
            return
        _settle()
        self.seconds = time.perf_counter() - self._begin
        target = os.environ.get("STROBE_EPOCH_FILE")
        if not target:
            return
        work = {name: float(count) for name, count in self.work.items()}
        line: dict[str, Any] = {"epoch_seconds": self.seconds, **_rank(), **work}
        if self.loss is not None:
            line["loss"] = _value(self.loss)
        if self.metrics:
            line["metrics"] = {name: _value(value) for name, value in self.metrics.items()}
        handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # One call, so that lines of processes do not mix.
            os.write(handle, (json.dumps(line, allow_nan=False) + "\n").encode())
        finally:
            os.close(handle)


def epoch(**work: int) -> Epoch:
    """An epoch to put around training: `with strobe.epoch(edges=51_000) as epoch: epoch.loss = train()`."""
    return Epoch(**work)


def epochs(count: int | None = None, **work: int) -> Iterator[Epoch]:
    """The epochs to train, each timed around the loop's body. `count` is used where Strobe does not ask for a number.

    An epoch that the loop leaves by `break` or an exception is not stated.
    """
    for _ in range(int(os.environ.get("STROBE_EPOCHS", count or 1))):
        with Epoch(**work) as one:
            yield one
