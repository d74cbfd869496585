"""Run directories as objects: rows, curves, samples, comparisons, figures and reports."""
from __future__ import annotations

import html
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from strobe import results
from strobe.program import Path, checked

if TYPE_CHECKING:
    import torch

_COLUMNS = ["workload", "model", "strategy", "device", "ranks", "status", "epoch_seconds", "loss"]


class Figure:
    """A figure that the program drew, as SVG. Notebooks show it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Path) -> pathlib.Path:
        """Writes the figure as an SVG file and returns its path. Raises ValueError for a name of another kind."""
        target = pathlib.Path(path)
        if target.suffix.lower() != ".svg":
            raise ValueError(f"{target}: the figure is SVG, so its file ends in .svg; strobe plot also writes .png")
        target.write_text(self.svg, encoding="utf-8")
        return target

    def _repr_svg_(self) -> str:
        return self.svg


class Page(os.PathLike[str]):
    """A file of HTML. Notebooks show a link to it."""

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Page({str(self.path)!r})"

    def _repr_html_(self) -> str:
        return f'<a href="{html.escape(str(self.path), quote=True)}" target="_blank">{html.escape(str(self.path))}</a>'


class Run:
    """A run directory. Tables are read from its files at each access, so that they also serve a run under way.

    Times are seconds, sizes bytes. Raises NotARun for a folder without rows.
    """

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path).absolute()
        results.read(self.path)

    @property
    def rows(self) -> pd.DataFrame:
        """One line for each case; see `strobe.read`."""
        return results.read(self.path)

    @property
    def epochs(self) -> pd.DataFrame:
        """One line for each case and epoch: loss and metrics; see `strobe.curves`."""
        return results.curves(self.path)

    @property
    def samples(self) -> pd.DataFrame:
        """One line for each case, repetition, epoch and rank; see `strobe.samples`."""
        return results.samples(self.path)

    def compare(self, by: str = "strategy", threshold: float = 0.05) -> pd.DataFrame:
        """Which value of the field `by` is best, and how sure that is; see `strobe.compare`."""
        return results.compare(self.path, by, threshold)

    def plot(self, kind: str = "scaling", **options: Any) -> Figure:
        """Draws the figure that `strobe plot KIND` draws. It needs matplotlib.

        `kind`: curves, memory, phase_split, scaling, throughput, transfer, volume, weak_scaling, or a Python file.
        `options` are those of `strobe plot`, such as `width="8cm"`. Raises StrobeError.
        """
        from strobe.request import options as words

        with tempfile.TemporaryDirectory() as folder:
            checked(["plot", kind, os.fspath(self.path), f"--out={folder}", "--format=svg", *words(options)])
            drawn = sorted(pathlib.Path(folder).glob("*.svg"))
            return Figure(drawn[0].read_text(encoding="utf-8"))

    def report(self, **options: Any) -> Page:
        """Writes the page of `strobe report` and returns it; it needs matplotlib and jinja2.

        `options` are those of `strobe report`, such as `out="mine.html"` and `title="Mine"`. Raises StrobeError.
        """
        from strobe.request import options as words

        out = pathlib.Path(options.pop("out", self.path / "report.html"))
        checked(["report", os.fspath(self.path), f"--out={out.absolute()}", *words(options)])
        return Page(out)

    def to_torch(self, module: torch.nn.Module | None = None, *,
                 names: Mapping[str, str] | None = None) -> torch.nn.Module:
        """The weights of a run with `save_model=` in a PyTorch module; see `strobe.to_torch`."""
        from strobe.weights import to_torch

        return to_torch(self, module, names=names)

    def __repr__(self) -> str:
        counts = self.rows.get("status", pd.Series(dtype=object)).value_counts()
        told = ", ".join(f"{count} {status}" for status, count in counts.items())
        return f"Run({str(self.path)!r}: {told or 'no rows'})"

    def _repr_html_(self) -> str:
        rows = self.rows
        columns = [column for column in _COLUMNS if column in rows]
        table: str = rows[columns].to_html(index=False, float_format=lambda value: f"{value:.4g}")
        return f"<p>{html.escape(repr(self))}</p>{table}"
