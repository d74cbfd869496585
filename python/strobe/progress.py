"""A bar for the cases of a command, in terminals and notebooks."""
from __future__ import annotations

import contextlib
import json
import pathlib
import re
from typing import Any

_ENDED = re.compile(r"\[ *(\d+)/(\d+)\]")


class Progress:
    """A bar over the cases, next to it the epochs of the case under way, from the samples that the program writes."""

    def __init__(self, show: bool, samples: pathlib.Path | None = None) -> None:
        self._samples = samples
        # A run that is resumed has samples of before.
        self._read = samples.stat().st_size if samples is not None and samples.exists() else 0
        self._show = show
        # Without samples nothing is known before a case has ended, and perhaps there is none.
        self._bar: Any = self._new() if show and samples is not None else None

    @staticmethod
    def _new() -> Any:
        from tqdm.auto import tqdm

        return tqdm(unit="case")

    def line(self, text: str) -> None:
        """Takes a line that the program printed: `[ 2/12] eta 4s ...` says that two of twelve cases have ended."""
        ended = _ENDED.match(text)
        if not ended or not self._show:
            return
        if self._bar is None:
            self._bar = self._new()
        self._bar.total = int(ended[2])
        self._bar.update(int(ended[1]) - self._bar.n)

    def tick(self) -> None:
        """Shows the last epoch in the samples that were written since the last call."""
        if self._bar is None or self._samples is None or not self._samples.exists():
            return
        with open(self._samples, "rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self._read += len(whole)
        with contextlib.suppress(ValueError, IndexError, KeyError, TypeError):
            last = json.loads(whole.splitlines()[-1])
            self._bar.set_postfix_str(f"{last['case_id']} epoch {last['epoch']}", refresh=True)

    def close(self) -> None:
        """Leaves the bar as it is."""
        if self._bar is not None:
            self._bar.close()
