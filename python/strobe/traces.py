"""Software profiles from traces of PyTorch: what the program that was traced adds to Strobe's."""
from __future__ import annotations

import datetime
import gzip
import json
import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from strobe.commands import Answer
from strobe.program import Path, answer, share

# Operations that launch nothing: they only give a tensor another shape.
_VIEWS = frozenset("aten::" + name for name in (
    "view", "_unsafe_view", "t", "transpose", "detach", "alias", "expand", "expand_as", "select", "slice", "unbind",
    "split", "chunk", "squeeze", "unsqueeze", "reshape", "permute", "as_strided", "narrow", "_reshape_alias",
    "result_type", "is_nonzero", "item", "_local_scalar_dense", "lift_fresh", "resolve_conj", "resolve_neg"))
# Memory, gradients' bookkeeping and messages.
_NO_LAUNCH = ("aten::empty", "aten::resize_", "aten::set_", "autograd::", "torch::autograd", "c10d::")
_LAUNCH = re.compile(r"(cuda|cu|hip)\w*Launch\w*Kernel\w*")
_SEND = re.compile(r"c10d::(i?send|send_)")
_STEP = re.compile(r"ProfilerStep#\d+")
_FEWEST = 20

Spans = npt.NDArray[np.float64]


class SoftwareProfile(Answer, os.PathLike[str]):
    """A profile for `software=`, and what was seen in the trace (`seen`). Times are seconds."""

    path: pathlib.Path
    seen: dict[str, Any]

    def __fspath__(self) -> str:
        return str(self.path)


def _events(trace: Path) -> list[dict[str, Any]]:
    """The events with a duration. Raises ValueError for what is no trace."""
    path = os.fspath(trace)
    text = pathlib.Path(path).read_bytes()
    try:
        found = json.loads(gzip.decompress(text) if path.endswith(".gz") else text)
    except ValueError as error:
        raise ValueError(f"{path}: is no trace of torch.profiler ({error})") from error
    events = found.get("traceEvents") if isinstance(found, dict) else None
    if not isinstance(events, list):
        raise ValueError(f"{path}: is no trace of torch.profiler (it has no traceEvents)")
    return [event for event in events if event.get("ph") == "X" and "dur" in event]


def _spans(events: Iterable[dict[str, Any]]) -> Spans:
    """Begin and end [E, 2] in seconds, in the order of their beginning."""
    pairs = [(float(event["ts"]), float(event["ts"]) + float(event["dur"])) for event in events]
    return np.array(sorted(pairs), dtype=np.float64).reshape(-1, 2) / 1e6


def _by_thread(events: Iterable[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    threads: dict[Any, list[dict[str, Any]]] = {}
    for event in events:
        threads.setdefault((event.get("pid"), event.get("tid")), []).append(event)
    return [sorted(of_one, key=lambda event: (event["ts"], -event["dur"])) for of_one in threads.values()]


def _leaves(thread: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The operations of a thread that call no other operation."""
    return [event for event, after in zip(thread, [*thread[1:], None], strict=True)
            if after is None or after["ts"] >= event["ts"] + event["dur"]]


def _intervals(threads: list[list[dict[str, Any]]]) -> Spans:
    """Times in seconds from the beginning of each event to that of the next one of its thread."""
    parts = [np.diff([float(event["ts"]) for event in thread]) / 1e6 for thread in threads]
    return np.concatenate([np.zeros(0), *parts])


def _covered(spans: Spans, begin: float, end: float) -> float:
    """Seconds of [begin, end] that the union of the spans covers."""
    total, reached = 0.0, begin
    for first, last in spans:
        if last > reached and first < end:
            total += min(last, end) - max(first, reached)
            reached = min(last, end)
    return total


def _launches(events: list[dict[str, Any]]) -> tuple[str, list[list[dict[str, Any]]]]:
    """The group of the profile, and by thread what the host launches: kernels of a GPU, else the operations."""
    on_gpu = [event for event in events if _LAUNCH.fullmatch(event.get("name", ""))]
    if on_gpu:
        return "gpu", _by_thread(on_gpu)
    operations = [event for event in events if event.get("cat") == "cpu_op" and "::" in event["name"]
                  and event["name"] not in _VIEWS and not event["name"].startswith(_NO_LAUNCH)]
    return "cpu", [_leaves(thread) for thread in _by_thread(operations)]


def _messages(events: list[dict[str, Any]]) -> Spans:
    """Seconds from one message to the next of a loop: from each send to the next of its thread, receiving included."""
    sends = [event for event in events if _SEND.fullmatch(event.get("name", ""))]
    return _intervals(_by_thread(sends))


def _host(events: list[dict[str, Any]]) -> list[float]:
    """For each step, the seconds in which no operation runs and nothing is launched."""
    work = _spans(event for event in events if event.get("cat") in ("cpu_op", "cuda_runtime", "kernel"))
    steps = _spans(event for event in events if _STEP.fullmatch(event.get("name", "")) and
                   event.get("cat") == "user_annotation")
    return [end - begin - _covered(work, begin, end) for begin, end in steps]


def _number(value: float, source: str) -> dict[str, Any]:
    return {"value": float(f"{value:.4g}"), "source": source,
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat()}


def _lowest_tenth(intervals: Spans, what: str) -> dict[str, Any]:
    """A tenth of the intervals are shorter: the others wait for work, or for other programs."""
    return _number(float(np.quantile(intervals, 0.1)),
                   f"{what}, lowest tenth of {len(intervals)} intervals, median {np.median(intervals):.3g} s")


def _bundled(name: str) -> dict[str, Any]:
    """A profile by its name or path."""
    if os.path.exists(name):
        return dict(json.loads(pathlib.Path(name).read_text(encoding="utf-8")))
    known = {entry["name"]: entry["file"] for entry in answer(["list", "software", "--json"])["entries"]}
    if known.get(name) is None:
        raise ValueError(f"there is no profile {name!r} with numbers; known: "
                         f"{', '.join(key for key, file in known.items() if file)}, or a file")
    return dict(json.loads(share(known[name]).read_text(encoding="utf-8")))


def software_profile(trace: Path, *, out: Path = "software.json", name: str = "traced", base: str = "pytorch-eager",
                     rows_per_step: int | None = None) -> SoftwareProfile:
    """A software profile from a Chrome trace of `torch.profiler` (.json or .json.gz), written to `out`.

    strobe.run(workload="aml-sim", device="sim", software=strobe.software_profile("trace.json"))

    - `issue_seconds`: from one launch to the next of a thread. On a GPU launches are kernels, else operations that
      call no others. A tenth of the intervals are shorter: the others wait for work, or for something else.
    - `message_seconds`: the same from one `c10d` send to the next, if there are enough.
    - `row_seconds`: the time of a step (`ProfilerStep`) without operations, through `rows_per_step`, the rows that the
      host reaches in a step.

    All other numbers, and counts of calls, are those of the profile `base`. The profiler itself adds about 1 us to each
    operation. `seen` has the launches and steps of the trace, and seconds of the host in a step. Raises ValueError for
    a file that is no trace, or one with too few operations.
    """
    events = _events(trace)
    group, threads = _launches(events)
    issue, messages, host = _intervals(threads), _messages(events), _host(events)
    if len(issue) < _FEWEST:
        raise ValueError(f"{os.fspath(trace)}: {len(issue)} intervals of operations are too few; trace whole steps")
    if rows_per_step is not None and not host:
        raise ValueError(f"{os.fspath(trace)}: there are no steps; call step() of the profiler after each")
    where = f"strobe.software_profile, trace {pathlib.Path(trace).name}"
    profile = _bundled(base)
    profile.update(name=name, description=f"{profile['description']}; times from a trace")
    profile[group]["issue_seconds"] = _lowest_tenth(issue, f"{where}: from launch to launch")
    if len(messages) >= _FEWEST:
        profile[group]["message_seconds"] = _lowest_tenth(messages, f"{where}: from send to send")
    if rows_per_step is not None:
        profile["host"]["row_seconds"] = _number(float(np.median(host)) / rows_per_step, f"{where}: median of "
                                                 f"{len(host)} steps without operations, over {rows_per_step} rows")
    found = SoftwareProfile(profile)
    found.__dict__.update(path=pathlib.Path(out).absolute(), seen={
        "device": group, "launches": sum(map(len, threads)), "messages": len(messages), "steps": len(host),
        "host_seconds_per_step": float(np.median(host)) if host else None})
    found.path.write_text(json.dumps(profile, indent=1) + "\n", encoding="utf-8")
    return found
