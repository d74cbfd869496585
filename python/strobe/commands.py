"""The other commands of the program: plan, inspect, calibrate and validate, each with its answer as an object."""
from __future__ import annotations

import html
import os
import pathlib
from typing import TYPE_CHECKING, Any

import pandas as pd

from strobe import request
from strobe._keywords import CalibrateOptions, InspectOptions, PlanOptions, ValidateOptions
from strobe.program import Path, answer, checked
from strobe.progress import Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Answer(dict[str, Any]):
    """The JSON of a command as a dictionary, whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{name}; known: {', '.join(self)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def _repr_html_(self) -> str:
        lines = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(str(value))}</td></tr>"
                        for key, value in self.items() if not isinstance(value, (dict, list)))
        return f"<table>{lines}</table>"


class Plan(Answer):
    """The answer of `strobe plan`; docs/reference/plan_json.md describes its keys. Times are seconds."""

    @property
    def table(self) -> pd.DataFrame:
        """One line for each point: strategy, cluster, nodes, ranks, seconds of an epoch, cost, verdict."""
        return pd.json_normalize(self["points"])

    def _repr_html_(self) -> str:
        table = self.table
        kept = table[table["verdict"] == "kept"]
        columns = ["strategy", "cluster", "nodes", "ranks", "epoch_seconds", "job_seconds", "dollars", "peak_bytes"]
        shown: str = kept[[column for column in columns if column in kept]].to_html(index=False)
        return f"<p>best: {html.escape(str(self.get('best')))}</p>{shown}"


class Validation(Answer):
    """The answer of `strobe validate`. Times are seconds."""

    @property
    def table(self) -> pd.DataFrame:
        """One line for each case that was judged; of published figures, one for each figure."""
        for key in ("cases", "figures", "tables"):
            if key in self:
                return pd.json_normalize(self[key])
        return pd.DataFrame()


class Calibration(Answer, os.PathLike[str]):
    """A cluster file that `strobe calibrate` wrote, at `path`; `cluster=` takes it."""

    path: pathlib.Path

    def __fspath__(self) -> str:
        return str(self.path)


def _with_bar(words: list[str], show: bool, allowed: tuple[int, ...] = (0,)) -> Any:
    """The JSON that the program prints, with a bar while it measures cases or simulates points."""
    bar = Progress(show)
    try:
        return answer(words, allowed, seen=bar.line, tick=bar.tick)
    finally:
        bar.close()


def _named(workload: Any) -> str:
    """A workload as an argument of the command line."""
    return request.argument(request.options({"workload": workload})[0].removeprefix("--workload="))


@request.with_keywords(PlanOptions)
def plan(workload: Any, *, progress: bool = True, **keywords: Unpack[PlanOptions]) -> Plan:
    """Strategies, clusters and node counts worth taking for a job, by simulation.

    strobe.plan("amazon", model="tm-gcn", clusters=["aimos-v100", "p5-h100"], deadline="2h", budget="500usd")

    `verdict` of a point says whether it is kept; `best` is None where no point is within the limits.
    Raises InvalidRequest.
    """
    words = request.options({"workload": workload, **keywords})
    return Plan(_with_bar(["plan", *words, "--json"], progress, (0, 1)))


@request.with_keywords(InspectOptions)
def inspect(workload: Any, **keywords: Unpack[InspectOptions]) -> Answer:
    """Vertices, steps, edges per step, overlap and degrees of a workload: a name, a file or a `strobe.Workload`.

    Raises InvalidRequest.
    """
    return Answer(answer(["inspect", _named(workload), *request.options(keywords), "--json"]))


@request.with_keywords(CalibrateOptions)
def calibrate(suite: str | None = None, *, out: Path = "this-machine.json", progress: bool = True,
              **keywords: Unpack[CalibrateOptions]) -> Calibration:
    """Measures this machine and writes it as a cluster file `out`. `quick=True` takes about a minute.

    Raises StrobeError where a case failed.
    """
    words = [*([suite] if suite else []), f"--out={os.fspath(out)}", *request.options(keywords), "--json"]
    found = Calibration(_with_bar(["calibrate", *words], progress))
    found.__dict__["path"] = pathlib.Path(out)
    return found


@request.with_keywords(ValidateOptions)
def validate(suite: str | None = None, *, progress: bool = True, **keywords: Unpack[ValidateOptions]) -> Validation:
    """Predictions against measurements of this machine (`cluster=`), earlier (`measured=`) or `published` ones.

    The answer is returned also where a case failed or the machine allows no verdict; it says so. Raises InvalidRequest.
    """
    words = [*([suite] if suite else []), *request.options(keywords), "--json"]
    return Validation(_with_bar(["validate", *words], progress, (0, 1, 6)))


def convert(workload: Any, out: Path) -> pathlib.Path:
    """Writes a workload as a binary graph (`.strobe`) or as events (`.csv`); returns the path. Raises StrobeError."""
    checked(["convert", _named(workload), request.argument(out)])
    return pathlib.Path(out)


def names(kind: str) -> pd.DataFrame:
    """The table of `strobe list KIND` (models, strategies, workloads, ...), with `parameters` as a list."""
    return pd.DataFrame(answer(["list", kind, "--json"])["entries"])


