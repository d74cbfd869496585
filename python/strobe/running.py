"""Runs cases: shows how far they are, can be interrupted, and returns the run directory."""
from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strobe import request
from strobe._keywords import CaseKeywords, RunOptions
from strobe.errors import CaseFailed, Interrupted, InvalidRequest, NotARun, StrobeError, error_of
from strobe.program import Path, answer, call
from strobe.progress import Progress
from strobe.runs import Run
from strobe.weights import start_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from strobe._keywords import RunKeywords

_RUN_OPTIONS = frozenset(RunOptions.__annotations__)


def _new_folder(name: str) -> pathlib.Path:
    """A folder of runs/ that nobody has; it is made at once, so that two runs of one second have two."""
    stem = f"{name}-{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}"
    for number in range(1000):
        path = pathlib.Path("runs") / (stem + (f"-{number}" if number else ""))
        try:
            path.mkdir(parents=True)
            return path
        except FileExistsError:
            continue
        except OSError as error:
            raise StrobeError(f"cannot make {path.absolute()}: {error.strerror}; give out=") from error
    raise StrobeError(f"cannot make {path.absolute()}: too many runs began in this second; give out=")


def _watch(words: list[str], out: pathlib.Path, show: bool) -> Run:
    """Calls `strobe run` and returns the run directory. Raises StrobeError and Interrupted."""
    progress = Progress(show, out / "samples.jsonl")
    try:
        done = call(words, seen=progress.line, tick=progress.tick)
    except KeyboardInterrupt:
        with contextlib.suppress(NotARun):
            run = Run(out)
            raise Interrupted(f"interrupted; finished cases are in {out}, strobe.resume({str(out)!r}) runs the others",
                              run) from None
        raise
    finally:
        progress.close()
    if done.status not in (0, 1):
        raise error_of(done.status, done.err)
    with contextlib.suppress(NotARun):
        run = Run(out)
        failed = run.rows[~run.rows["status"].isin(["ok", "skipped"])]
        if done.status == 0:
            return run
        if len(failed):
            reasons = [f"{row['case_id']}: {row['status']}: {row.get('reason')}" for row in failed.to_dict("records")]
            raise CaseFailed("\n".join(reasons), run)
    raise error_of(done.status, done.err)


def _words(given: str | Mapping[str, Any] | os.PathLike[str] | None, folder: str, cases: dict[str, Any]) -> list[str]:
    """The suite as an argument, and what goes over its cases. A suite of the call is written into `folder`."""
    if given is not None and not isinstance(given, Mapping):
        return [os.fspath(given), *request.overrides(cases)]
    text = request.suite("python", cases) if given is None else request.plain(given)
    path = pathlib.Path(folder) / "python.json"
    path.write_text(json.dumps(text), encoding="utf-8")
    return [str(path), *([] if given is None else request.overrides(cases))]


def _parted(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The keywords that describe cases, and the options of the run."""
    given = {key: value for key, value in keywords.items() if key in _RUN_OPTIONS}
    return {key: value for key, value in keywords.items() if key not in given}, request.options(given)


@request.with_keywords(CaseKeywords, RunOptions)
def run(suite: str | Mapping[str, Any] | os.PathLike[str] | None = None, *, out: Path | None = None,
        progress: bool = True, weights: Any = None, weight_names: Mapping[str, str] | None = None,
        **keywords: Unpack[RunKeywords]) -> Run:
    """Trains and measures cases: all combinations of the keywords' values. Returns the run.

    strobe.run(workload="ucsocial", strategy=["snapshot", "vertex"], ranks=[1, 2], epochs=5)
    strobe.run(workload="chess:window=30d", model={"name": "tm-gcn", "hidden": [8, 16]})
    strobe.run("quickstart", epochs=2)

    A list is tried value by value. A part (workload, model, strategy, task, optimizer) is a name, `NAME:key=value,...`,
    or a mapping with "name" and parameters. With `suite` (a name of `strobe list suites`, a JSON file or its content),
    the keywords go over its cases. `out` is the run directory; without it, a new folder of runs/. `weights` is where
    training starts: a PyTorch module with the layers of `strobe.modules`, its state_dict, a safetensors file, or a run.
    `weight_names` are the names of its layers that differ, as `names` of `strobe.to_torch`.

    Raises InvalidRequest before anything is measured, with `pointer` to the keyword; NotAvailable for a backend that is
    not here; CaseFailed, whose `run` has the other rows. Ctrl-C ends the case under way, keeps the finished ones, and
    raises Interrupted. Weights that do not fit raise NotFitting. Seconds and bytes are the units of all results.
    """
    described, words = _parted(keywords)
    if weights is not None:
        if described.get("load_model") is not None:
            raise InvalidRequest("/weights: load_model also says where training starts; give one of them")
        planned = cases(suite, **{**described, "filter": keywords.get("filter")})
        described["load_model"] = start_of(weights, planned, weight_names)
    with tempfile.TemporaryDirectory() as folder:
        # A request that is refused leaves no folder, nor an empty runs/.
        asked = _words(suite, folder, described)
        had_runs = pathlib.Path("runs").exists()
        target = pathlib.Path(out) if out is not None else _new_folder("python")
        try:
            return _watch(["run", *asked, f"--out={target.absolute()}", *words], target, progress)
        finally:
            if out is None:
                with contextlib.suppress(OSError):
                    target.rmdir()
                    if not had_runs:
                        target.parent.rmdir()


def resume(path: Path, *, retry_failed: bool = False, progress: bool = True) -> Run:
    """Runs the cases of a run directory that have no finished row, and returns the run.

    Raises NotARun for a folder that is none; other errors are those of `run`.
    """
    target = pathlib.Path(path)
    if not (target / "plan.json").exists():
        raise NotARun(f"{target}: is no run directory, because it has no plan.json")
    words = ["run", "--resume", os.fspath(target.absolute()), *(["--retry-failed"] if retry_failed else [])]
    return _watch(words, target, progress)


@request.with_keywords(CaseKeywords, RunOptions)
def cases(suite: str | Mapping[str, Any] | os.PathLike[str] | None = None,
          **keywords: Unpack[RunKeywords]) -> list[dict[str, Any]]:
    """The plan of every case that `run` would run with the same arguments; nothing is run. Raises InvalidRequest."""
    described, words = _parted(keywords)
    with tempfile.TemporaryDirectory() as folder:
        planned = answer(["run", *_words(suite, folder, described), *words, "--dry-run", "--json"])["cases"]
        return list(planned)
