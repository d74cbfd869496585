"""The place where faults are made: a folder, the program, and the rules for every answer."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
from dataclasses import dataclass

# Words of libraries and of the C++ run time, which do not help a user.
FOREIGN = re.compile(r"json\.exception|std::|terminate called|basic_string|_M_|what\(\)|Assertion|Segmentation|"
                     r"munmap_chunk|double free|stack smashing|AddressSanitizer|runtime error:|"
                     r"Traceback \(most|: sto[a-z]+$|\bNone\b", re.MULTILINE)
# Bytes that control a terminal.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]")

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EVENT_ROWS = "source,target,time\n" + "".join(f"{i * i % 37},{40 + i * 7 % 19},{i}\n" for i in range(600))
EVENTS = {"workload": {"name": "events.csv"}, "model": {"name": "tgn-attn", "memory": 8, "time": 8}, "task": "future-links"}
# A case of every family: full batches, chunks, hybrid batches, events on one rank, and on two with a memory daemon.
CASES = {
    "full": {"model": "tm-gcn", "strategy": "sequential"},
    "snapshot": {"model": "t-gcn", "strategy": "snapshot", "ranks": 2},
    "vertex": {"model": "evolve-gcn-o", "strategy": "vertex", "ranks": 2},
    "chunk": {"model": "t-gcn", "strategy": "chunk", "ranks": 2},
    # With a pipeline, which batch comes next depends on what the generator has made by then.
    "hybrid": {"model": "t-gcn", "ranks": 2, "strategy": {"name": "hybrid_batch", "vertices": "50%", "snapshots": "50%",
                                                          "generator": "inline"}},
    "event": {**EVENTS, "strategy": {"name": "event_batch", "batch": 100}},
    "daemon": {**EVENTS, "strategy": {"name": "event_batch", "batch": 100, "j": 2}, "ranks": 2},
}
SUITE = {
    "name": "sweep",
    "defaults": {"workload": {"name": "uniform", "steps": 8, "vertices": 60, "density": 3}, "epochs": 3, "threads": 1},
    "cases": list(CASES.values()),
}


def _words(value):
    """A part of a case as the value of a flag: NAME:key=value,..."""
    if not isinstance(value, dict):
        return str(value)
    settings = ",".join(f"{key}={value[key]}" for key in value if key != "name")
    return value["name"] + (":" + settings if settings else "")


def flags(case):
    """The flags of `strobe run` that describe one of CASES."""
    described = {**SUITE["defaults"], **CASES[case]}
    del described["epochs"]
    return [word for key, value in described.items() for word in ("--" + key, _words(value))]


class Skip(Exception):
    """The kind cannot be tried here; the text says why."""


@dataclass
class Answer:
    status: int  # 128 + signal when a signal ended the program; None when it still ran at its time limit
    out: bytes
    err: bytes
    command: str

    def words(self):
        return self.err.decode("utf-8", "replace").strip()

    def wrong(self, statuses, names=()):
        """"" when the answer is one of these statuses with a reason that a user can act on, else what is wrong."""
        last = self.words().splitlines()[-1:] or [""]
        if self.status is None:
            return f"no end: {self.command}"
        if self.status not in statuses:
            return f"status {self.status}, not {sorted(statuses)}: {self.command}: {last[0]}"
        if FOREIGN.search(self.words()):
            return f"a library's words: {self.command}: {last[0]}"
        if CONTROL.search(self.err) or CONTROL.search(self.out):
            return f"control characters in what is said: {self.command}"
        missing = [name for name in names if name not in self.words()]
        if self.status not in (0, 128 + signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGHUP) and missing:
            return f"'{missing[0]}' is not named: {self.command}: {last[0]}"
        return ""


class Field:
    """A folder with the program in it. The field ends every process that it started."""

    patience = 60  # seconds after which a program that has not ended hangs

    def __init__(self, folder, binary, rng):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.binary = binary
        self.rng = rng
        self.running = []
        self.environment = dict(os.environ, STROBE_CACHE_DIR=str(self.folder / "cache"), NO_COLOR="1",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_btl_vader_single_copy_mechanism="none")
        self.suite = self.write("sweep.json", json.dumps(SUITE))
        self.write("events.csv", EVENT_ROWS)

    def close(self):
        for process in self.running:
            if process.poll() is None:
                self.end(process)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def fresh(self, name):
        """An empty place of this name."""
        path = self.folder / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            path.unlink()
        return path

    def start(self, words, before=(), limit=None):
        """Starts the program in a session of its own; `before` is put before the command."""
        command = [*before, self.binary, *words]

        def begin():
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup the program would inherit that it is ignored
            if limit is not None:
                limit()
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   preexec_fn=begin)
        process.command = shlex.join(os.fsdecode(word) for word in ["strobe", *words])
        if before:
            process.command = f"{shlex.join(str(word) for word in before)} {process.command}"
        self.running.append(process)
        return process

    def end(self, process):
        """Ends a process and everything that it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()

    def finish(self, process, seconds=60):
        """Waits for the end of a process, and ends it after `seconds`."""
        status = None
        try:
            out, err = process.communicate(timeout=min(seconds, self.patience))
            status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        self.running.remove(process)
        return Answer(status, out, err, process.command)

    def strobe(self, *words, seconds=60, before=(), limit=None):
        return self.finish(self.start(words, before, limit), seconds)


# The keys of a row about training. Their values may not depend on interruptions of the run.
NUMBERS = ("status", "loss", "metrics", "metric_samples", "exact")


def rows_of(folder):
    """The numbers of each row of a run directory, by case."""
    return {row["case_id"]: tuple(row[key] for key in NUMBERS) for row in _rows(folder)}


def finished(folder):
    """The rows of cases that ended well, with their times. They may never be lost or measured again."""
    try:
        rows = _rows(folder)
    except (OSError, ValueError):
        return {}
    return {row["case_id"]: (row["loss"], row["metrics"], row["epoch_seconds"]) for row in rows if row["status"] == "ok"}


def lost(before, folder):
    """A row that `finished` returned before and does not return now, in words, or ""."""
    now = finished(folder)
    gone = [case for case, row in before.items() if now.get(case) != row]
    return f"the finished row {gone[0]} was {'changed or run again' if gone[0] in now else 'lost'}" if gone else ""


def _rows(folder):
    return json.loads((pathlib.Path(folder) / "summary.json").read_text())["rows"]


def torn(folder):
    """A file of a run directory that is torn, in words, or "". An unfinished last line of samples is allowed: it was
    being written."""
    folder = pathlib.Path(folder)
    for name in ("plan.json", "env.json", "summary.json"):
        path = folder / name
        if path.exists():
            try:
                json.loads(path.read_text())
            except ValueError:
                return f"{name} is torn"
    samples = folder / "samples.jsonl"
    for line in samples.read_text().split("\n")[:-1] if samples.exists() else []:
        try:
            json.loads(line)
        except ValueError:
            return "a line of samples.jsonl is torn"
    return ""


def leftovers(folder, killed=None):
    """Temporary files that nobody removed, or "". The process `killed` could not remove its own; the next writer does."""
    left = [path.name for path in pathlib.Path(folder).rglob("*") if re.search(r"\.tmp\.|\.partial$|probe", path.name)]
    left = [name for name in left if f".tmp.{killed}." not in name]
    return f"left behind: {left[0]}" if left else ""
