"""A bar for the cases of a command, in terminals and notebooks."""
from __future__ import annotations

import contextlib
import json
import pathlib
import re
from typing import Any

_ENDED = re.compile(r"\[ *(\d+)/(\d+)\]")
_POINTS = re.compile(r"(?:strobe: )?(\d+) of (\d+) points")


class Progress:
    """A bar over the cases, next to it the epochs of the case under way, from the samples that the program writes.

    Only `tick` and `close` draw, and both are for one thread: a bar of tqdm that fails keeps tqdm's lock. A display
    that fails is left alone, because it must not end a run.
    """

    def __init__(self, show: bool, samples: pathlib.Path | None = None) -> None:
        self._show, self._samples = show, samples
        self._ended: tuple[int, int] | None = None
        self._unit = "case"
        self._read = 0
        # A run that is resumed has samples of before.
        with contextlib.suppress(OSError):
            self._read = samples.stat().st_size if samples is not None else 0
        # The bar is made when there is something to show, so a request that is refused has none.
        self._bar: Any = None

    def line(self, text: str) -> None:
        """Takes a line that the program printed: `[ 2/12] eta 4s ...` says that two of twelve cases have ended.

        A plan prints `20 of 120 points`, and begins again with more points.
        """
        points = _POINTS.fullmatch(text)
        if points:
            self._unit = "point"
        ended = points or _ENDED.match(text)
        if ended:
            self._ended = int(ended[1]), int(ended[2])

    def tick(self) -> None:
        """Shows the cases that have ended, and the last epoch in the samples written since the last call."""
        if not self._show:
            return
        try:
            self._draw()
        except Exception:
            self._show = False

    def _draw(self) -> None:
        epoch = self._epoch()
        if self._bar is None and (self._ended or epoch):
            from tqdm.auto import tqdm

            self._bar = tqdm(unit=self._unit)
        if self._ended:
            self._bar.total = self._ended[1]
            self._bar.update(self._ended[0] - self._bar.n)
        if epoch:
            self._bar.set_postfix_str(epoch, refresh=True)

    def _epoch(self) -> str:
        if self._samples is None or not self._samples.exists():
            return ""
        with open(self._samples, "rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self._read += len(whole)
        with contextlib.suppress(ValueError, IndexError, KeyError, TypeError):
            last = json.loads(whole.splitlines()[-1])
            return f"{last['case_id']} epoch {last['epoch']}"
        return ""

    def close(self) -> None:
        """Draws for the last time, and leaves the bar as it is."""
        self.tick()
        if self._show and self._bar is not None:
            with contextlib.suppress(Exception):
                self._bar.close()
