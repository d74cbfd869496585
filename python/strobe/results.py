"""Run directories as pandas tables.

Times are seconds, sizes bytes; names are those of summary.json (results/schema in Strobe's source has every key, its
unit and its meaning). A value that does not exist is NaN or None, and `absent` says why.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

import pandas as pd

from strobe.errors import NoProgram, NotARun, NotComparable
from strobe.program import Path, call
from strobe.request import argument

__all__ = ["NoProgram", "NotARun", "NotComparable", "answers", "compare", "curves", "read", "samples"]

_PLUGINS = ("workload", "model", "strategy", "task", "optimizer")


def _rename_host(phases: dict[str, Any] | None) -> None:
    """Rows of version 1 call phase `host` "sample"."""
    if phases and "sample" in phases:
        phases["host"] = phases.pop("sample")


def _rows(run: Path) -> list[dict[str, Any]]:
    path = os.path.join(os.fspath(run), "summary.json")
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    except OSError as error:
        raise NotARun(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise NotARun(f"{path}: not the summary of a run ({error})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "case_id" in row for row in rows):
        raise NotARun(f"{path}: not the summary of a run")
    _check_values(path, rows, os.path.join(os.fspath(run), "values.jsonl"))
    for row in rows:
        _rename_host(row.get("phase_seconds"))
    return rows


def _lines(path: str, what: str) -> list[Any]:
    """The values of a file of JSON lines; a last line that is torn, because the run was killed or is still going on, is
    left out.
    """
    lines = []
    with open(path, encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            if not text.endswith("\n"):
                break
            try:
                lines.append(json.loads(text))
            except ValueError as error:
                raise NotARun(f"{path}:{number}: not a {what} ({error})") from error
    return lines


def _check_values(path: str, rows: list[dict[str, Any]], written: str) -> None:
    """Raises NotARun where a row has other losses or metrics than each line that was written with it.

    Only `strobe verify` looks at digests.
    """
    if not os.path.exists(written):
        return
    known: dict[str, list[Any]] = {}
    for line in _lines(written, "line of losses and metrics"):
        if isinstance(line, dict):
            known.setdefault(line.get("case_id", ""), []).append({key: line.get(key) for key in ("loss", "metrics")})
    for row in rows:
        lines = known.get(row["case_id"])
        if lines and {key: row.get(key) for key in ("loss", "metrics")} not in lines:
            field = "loss" if row.get("loss") != lines[-1]["loss"] else "metrics"
            raise NotARun(f"{path}: the row of case {row['case_id']} was changed: its {field} is not that of {written}")


def _last(series: Any) -> Any:
    """The last value of a curve that was evaluated."""
    values = [value for value in series or [] if value is not None]
    return values[-1] if values else None


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    line: dict[str, Any] = {}
    for key, value in row.items():
        if key == "sha256":
            continue
        if key in _PLUGINS and isinstance(value, dict):
            line[key] = value.get("name")
            line.update({f"{key}.{inner}": v for inner, v in value.items() if inner != "name"})
        elif key == "settings" and isinstance(value, dict):
            line.update(value)
        elif key == "epoch_seconds" and isinstance(value, dict):
            line[key] = value.get("median")
            line.update(_dotted(key, value))
        elif key == "loss":
            line[key] = _last(value)
        elif key == "metrics" and isinstance(value, dict):
            line.update({name: _last(curve) for name, curve in value.items()})
        elif key == "metric_samples" and isinstance(value, dict):
            line.update({f"{name}.samples": count for name, count in value.items()})
        elif key in ("notes", "absent", "approximations"):
            line[key] = value
        elif isinstance(value, dict):
            line.update(_dotted(key, value))
        else:
            line[key] = value
    return line


def _dotted(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    """The inner values under names with dots; `memory_bytes.planned` holds parts again."""
    line: dict[str, Any] = {}
    for name, value in values.items():
        line.update(_dotted(f"{prefix}.{name}", value) if isinstance(value, dict) else {f"{prefix}.{name}": value})
    return line


def _folders(runs: Path | Iterable[Path]) -> list[Path]:
    return [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)


def read(runs: Path | Iterable[Path]) -> pd.DataFrame:
    """One line for every case of one or several run directories.

    `workload`, `model`, `strategy`, `task` and `optimizer` are names, their parameters columns like `model.hidden`;
    settings are columns of their own (`epochs`, `threads`). `epoch_seconds` is the median, `epoch_seconds.ci95_low` and
    the like are next to it; `loss` and every metric are their last value, `mrr.samples` over how many it was taken;
    `sent_bytes.halo` and `phase_seconds.wait` are columns. `run` is the folder. Raises NotARun.
    """
    folders = _folders(runs)
    lines = [{"run": os.fspath(folder), **_flat(row)} for folder in folders for row in _rows(folder)]
    return pd.DataFrame(lines)


def curves(run: Path) -> pd.DataFrame:
    """One line for every case and epoch, warm-up included. Raises NotARun.

    Columns: `case_id`, `epoch` (from 0), `loss` of the epoch's own pass, and every metric of the weights after its
    update. NaN where an epoch was not evaluated.
    """
    lines = []
    for row in _rows(run):
        series = {"loss": row.get("loss") or [], **(row.get("metrics") or {})}
        for epoch in range(max((len(curve or []) for curve in series.values()), default=0)):
            line = {"case_id": row["case_id"], "epoch": epoch}
            line.update({name: curve[epoch] for name, curve in series.items() if curve and epoch < len(curve)})
            lines.append(line)
    return pd.DataFrame(lines)


def samples(run: Path) -> pd.DataFrame:
    """One line for every case, repetition, epoch and rank, of samples.jsonl, without a torn last line.

    Raises NotARun.
    """
    path = os.path.join(os.fspath(run), "samples.jsonl")
    try:
        lines = _lines(path, "sample")
    except OSError as error:
        raise NotARun(f"{path}: {error.strerror}") from error
    for line in lines:
        _rename_host(line.get("phase_seconds"))
    return pd.json_normalize(lines).drop(columns="sha256", errors="ignore")


def answers(runs: Path | Iterable[Path], by: str = "strategy", threshold: float = 0.05,
            program: Path | None = None) -> dict[str, Any]:
    """The answer of `strobe compare RUN... --by FIELD --json` about one or several run directories.

    Keys: `questions`, `alone` (cases that no other differs from in this field alone) and `facts` (units and help of the
    facts of contenders). docs/reference/compare_json.md describes them. Times are seconds.

    `by` is any field that `strobe run --vary` takes. `threshold` is the smallest share that counts as a difference.
    `program` is the program to ask; without it, the one that `strobe.program` finds. Raises NoProgram without a
    program, NotARun for a folder without rows, and NotComparable where Strobe refuses the comparison.
    """
    names = [argument(folder) for folder in _folders(runs)]
    for name in names:
        _rows(name)
    done = call(["compare", *names, f"--by={by}", f"--threshold={threshold * 100:.17g}%", "--json"], asked=program)
    if done.status in (2, 4):
        refused = NotComparable("\n".join(line.removeprefix("strobe: ") for line in done.err.strip().splitlines()))
        refused.status = done.status
        raise refused
    try:
        found: dict[str, Any] = json.loads(done.out)
    except ValueError as error:
        said = done.err.strip() or "it printed no answer"
        raise NoProgram(f"{program or 'strobe'} ended with status {done.status}: {said}") from error
    return found


def compare(runs: Path | Iterable[Path], by: str = "strategy", threshold: float = 0.05,
            program: Path | None = None) -> pd.DataFrame:
    """Which value of the field `by` is best: one line for every contender of every question, the fastest of each first.

    - `question` counts from 0, `common` says what distinguishes it, and the column named like the field has the
      contender.
    - `epoch_seconds` and `unit_seconds` are seconds of an epoch and of one unit of work (`unit`: epoch, event, cell or
      edge); NaN where it cannot be compared.
    - `times_the_fastest.ratio`, `.ci99_low`, `.ci99_high` and `.verdict` compare with the first line of the question,
      whose own ratio is NaN.
    - `until_seconds` is the time to the metric `until`.
    - `work.cells` and the like are numbers of an epoch, `facts.KEY` what its kind of training states.

    The sentences of each question are in `attrs["sentences"]`. Arguments and errors are those of `answers`.
    """
    questions = answers(runs, by, threshold, program)["questions"]
    lines = [{"question": number, "common": ", ".join(question["common"]), "unit": question["unit"],
              "until": question["until"], by: contender["value"], **contender}
             for number, question in enumerate(questions) for contender in question["contenders"]]
    table = pd.json_normalize(lines).drop(columns="value")
    for column in map(str, table.columns):
        if column.endswith(("_seconds", ".ratio", ".ci99_low", ".ci99_high")) or column.startswith("work."):
            table[column] = table[column].astype(float)
    table.attrs["sentences"] = [question["sentences"] for question in questions]
    return table
