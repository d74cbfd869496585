"""Reads the outputs of a program and finds where those of two programs differ. Only the keys named here are left
out."""
import csv
import io
import json
import re

# Wall-clock times and what is computed from them. On device sim these are virtual times, and must be equal.
WALL = {"epoch_seconds", "busy_seconds", "phase_seconds", "hidden_communicate_seconds", "operation_seconds",
        "throughput", "imbalance", "until_seconds", "until_dollars", "dollars_per_epoch", "roofline", "load_seconds"}
# Keys left out of rows with measured times: the work of the rank that ended last in each epoch, which varies from run
# to run. samples.jsonl has the work of every rank, and is compared.
OF_ONE_RANK = {"operation_flops", "operation_bytes"}
# The load of the machine, and digests of lines that hold it or a wall-clock time.
MACHINE = {"machine", "/machine/load", "/machine/other_cores", "/machine/stolen_share", "/machine/megahertz",
           "sha256"}
# Seconds of this machine to make chunks, to assign and to join them, on every device.
MAKING = {"generation_seconds", "assignment_seconds", "fusing_seconds"}
# Keys left out of env.json: who ran, when, where, and which build.
ENVIRONMENT = {"arguments", "date_utc", "host", "load", "megahertz", "build", "source", "sha256",
               "OMPI_MCA_orte_precondition_transports"}
# Keys left out of traces with measured times: moments, and kinds of spans that occur only when a thread came late. The
# names of threads are left out for the same reason.
MOMENTS = {"ts", "dur"}
CHANCE = {"wait", "host", "sample", "exchange"}
LOAD_NOTES = re.compile(r"^(other programs kept|the machine changed|a hypervisor took) ")
# In notes: the time to train static node memory, which is measured on device sim too.
TRAINING_TIME = re.compile(r"(?<= epochs in )\S+ s(?=, loss )")
PROGRESS = re.compile(r"^(\[\d+/\d+\]) eta \S+ +(\S+) +(.*?) +(\S+)$")


def _pruned(value, names):
    if isinstance(value, dict):
        kept = {key: _pruned(inner, names) for key, inner in value.items() if key not in names}
        if "notes" in kept:
            notes = [note for note in kept["notes"] if not LOAD_NOTES.search(note)]
            kept["notes"] = [TRAINING_TIME.sub("", note) for note in notes]
        return kept
    return [_pruned(inner, names) for inner in value] if isinstance(value, list) else value


def words(text, virtual):
    """Lines for people, without the time left and without epoch times of a real device, which are wall-clock times."""
    lines = []
    for line in text.splitlines():
        found = PROGRESS.match(line)
        lines.append(" ".join([found[1], found[2], found[3] if virtual else "", found[4]]) if found else line)
    return lines


def _samples(text, names):
    """Sorted lines of samples, each for one epoch of one rank. Ranks write them in no fixed order."""
    lines = [_pruned(json.loads(line), names) for line in text.splitlines()]
    return sorted(lines, key=lambda line: [line[key] for key in ("case_id", "repetition", "epoch", "rank")])


def _table(text, names):
    rows = list(csv.reader(io.StringIO(text)))
    kept = [column for column, name in enumerate(rows[0]) if name.split(".")[0] not in names | {"notes", "absent"}]
    return [{rows[0][column]: row[column] for column in kept} for row in rows]


def _trace(text, virtual):
    trace = json.loads(text)
    if not virtual:  # spans of threads have no fixed order
        trace["otherData"].pop("origin_seconds", None)
        certain = (event for event in trace["traceEvents"] if event["ph"] != "M" and event.get("cat") not in CHANCE)
        trace["traceEvents"] = sorted(json.dumps(_pruned(event, MOMENTS)) for event in certain)
    return trace


def content(path, name, virtual, left_out=frozenset()):
    """The content of a run's file that must be equal; `left_out` are keys that the caller does not compare."""
    names = MACHINE | MAKING | left_out | (set() if virtual else WALL)
    of_row = names if virtual else names | OF_ONE_RANK
    if name == "run/env.json":
        return _pruned(json.loads(path.read_text()), ENVIRONMENT)
    if name == "run/summary.json" or (name == "stdout" and path.read_text().startswith("{")):
        return _pruned(json.loads(path.read_text()), of_row)
    if name == "run/samples.jsonl":
        return _samples(path.read_text(), names)
    if name == "run/summary.csv":
        return _table(path.read_text(), of_row)
    if name.startswith("run/trace/"):
        return _trace(path.read_text(), virtual)
    if name in ("stdout", "stderr", "run/logs/strobe.log"):
        return words(path.read_text(), virtual)
    return path.read_bytes()


def difference(before, after, where=""):
    """The first place where two values differ, as text; "" when they are equal. 1 differs from 1.0, and 0.0 from
    -0.0."""
    if type(before) is not type(after):
        return f"{where}: {before!r:.80} became {after!r:.80}"
    if isinstance(before, dict):
        if list(before) != list(after):
            odd = [key for key in {**before, **after} if (key in before) != (key in after)]
            return f"{where}/{odd[0]}: only one has it" if odd else f"{where}: the order of keys differs"
        parts = ((before[key], after[key], f"{where}/{key}") for key in before)
    elif isinstance(before, list):
        if len(before) != len(after):
            return f"{where}: {len(before)} entries became {len(after)}"
        parts = ((one, other, f"{where}/{number}") for number, (one, other) in enumerate(zip(before, after)))
    elif isinstance(before, bytes):
        return "" if before == after else f"{where}: byte {_first_byte(before, after)} differs"
    else:
        return "" if repr(before) == repr(after) else f"{where}: {before!r:.80} became {after!r:.80}"
    return next((found for part in parts if (found := difference(*part))), "")


def _first_byte(before, after):
    pairs = enumerate(zip(before, after))
    return next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))


def folder_differences(before, after, virtual, left_out=frozenset()):
    """A line for every file that differs between two folders."""
    files = [{str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
             for folder in (before, after)]
    found = []
    for name in sorted({**files[0], **files[1]}):
        if name not in files[0] or name not in files[1]:
            found.append(f"{name}: only {'AFTER' if name in files[1] else 'BEFORE'} wrote it")
            continue
        try:
            contents = [content(of[name], name, virtual, left_out) for of in files]
            line = difference(*contents, name)
        except (ValueError, KeyError, IndexError) as error:
            line = f"{name}: cannot be read: {error}"
        if line:
            found.append(line)
    return found
