"""Takes the power away at every moment of a recorded run: data that was not flushed is lost (such as in SQLite's crash
tests and dm-log-writes). Work that was reported as done may not be lost or torn. Going on gives the undisturbed
numbers."""
import json
import re
import shutil

from faults import disk_record
from faults.field import CASES, SUITE, Skip, finished, flags, leftovers, lost, rows_of, torn

SAID = re.compile(r"\] eta \S+ +(\S+#\w+) .*\bok$", re.MULTILINE)
# Commands that write one file: it appears whole, or not at all.
WRITERS = [["convert", "events.csv", "disk/g.strobe"], ["inspect", "events.csv:window_count=8", "--shape", "disk/shape.json"],
           ["report", "whole", "--out", "disk/page.html"], ["trace", "merge", "TRACE", "TRACE", "--out", "disk/both.json"],
           ["run", *flags("event"), "--epochs", "1", "--out", "o", "--dump-ranks", "disk/ranks.csv"],
           ["run", *flags("event"), "--epochs", "1", "--out", "o", "--dump-memory", "disk/memory.safetensors"],
           ["run", *flags("chunk"), "--epochs", "1", "--out", "o", "--save-model", "disk/m.safetensors"],
           ["run", *flags("hybrid"), "--epochs", "1", "--out", "o", "--checkpoint", "disk/state"]]


def _record(field, words):
    """Runs the command, which writes only into the folder `disk`; returns its system calls."""
    field.fresh("disk").mkdir()
    field.fresh("o")
    answer = field.strobe(*words, before=[*disk_record.RECORDER, "-o", field.folder / "calls"])
    if answer.status != 0:
        raise Skip(f"strace does not work here: {answer.command}: {answer.words()[-200:]}")
    return list(disk_record.lines((field.folder / "calls").read_text("latin-1")))


def _moments(field, calls):
    """Yields every state that a power loss may leave, once, with the output before it. The last moment is the end of
    the program."""
    disk, seen = disk_record.Disk(field.folder / "disk", field.folder), set()
    for number, line in enumerate(calls):
        if not disk.replay(line):
            continue
        for state in disk.states(field.rng):
            said = "".join(disk.said)
            key = hash((tuple(sorted(state.items())), tuple(SAID.findall(said))))
            if key not in seen:
                seen.add(key)
                yield f"after call {number}, {line.split('(')[0].split()[-1]}", state, said
    for path, file in disk.names.items():
        if file != "folder" and file.content() != (field.folder / "disk" / path).read_bytes():
            raise Skip(f"the record does not explain {path}")
    for state in disk.states(field.rng):
        yield "at the end", state, None


def _make(field, state):
    field.fresh("disk").mkdir()
    disk_record.put(state, field.folder / "disk")


def _training(field):
    """A run of several cases, or one with checkpoints."""
    if field.rng.random() < 0.5:
        suite = {**SUITE, "cases": field.rng.sample(list(CASES.values()), 2)}
        words = ["run", field.write("two.json", json.dumps(suite)), "--out", "disk/out", "--epochs", "2"]
        return words, [*words, "--resume"]
    words = ["run", *flags(field.rng.choice(list(CASES))), "--out", "disk/out", "--epochs", "3", "--checkpoint", "disk/state",
             "--checkpoint-every", "1"]
    return words, [*words, "--resume", "--resume-training"]


def _judge_training(field, go_on, state, said, expected):
    _make(field, state)
    out = field.folder / "disk/out"
    if out.exists() and (wrong := torn(out)):
        return wrong
    promised = expected.keys() if said is None else set(SAID.findall(said)) & expected.keys()
    before = finished(out)
    if gone := [case for case in promised if case not in before]:
        return f"the row {gone[0]}, which was said to be done, is lost"
    answer = field.strobe(*go_on)
    wrong = answer.wrong({0})
    if not wrong and rows_of(out) != expected:
        wrong = f"other numbers: {answer.command}"
    return wrong or lost(before, out) or leftovers(field.folder / "disk")


def _judge_file(name, content, state, ended):
    found = state.get(name)
    if found is None:
        return f"{name} is lost, although the program had ended well" if ended else ""
    return "" if found == content else f"{name} is torn: {len(found)} of {len(content)} bytes are right"


def power_lost(field):
    if shutil.which("strace") is None:
        raise Skip("strace is not there (apt: strace)")
    if field.strobe("run", field.suite, "--out", "whole", "--trace").status != 0:
        raise Skip("the undisturbed run does not end well")
    trace = str(min((field.folder / "whole/trace").iterdir()))
    writers = field.rng.sample(WRITERS, len(WRITERS))
    while True:
        words, go_on = _training(field)
        calls = _record(field, words)
        expected = rows_of(field.folder / "disk/out")
        moments = list(_moments(field, calls))
        for place, state, said in [moments[-2], *field.rng.sample(moments, min(12, len(moments)))]:
            wrong = _judge_training(field, go_on, state, said, expected)
            yield f"power lost {place} of {' '.join(map(str, words))}: {wrong}" if wrong else ""
        for _ in range(2):
            writers.append(words := writers.pop(0))
            words = [trace if word == "TRACE" else word for word in words]
            yield _judge_writer(field, words)


def _judge_writer(field, words):
    calls = _record(field, words)
    name = next(word for word in words if word.startswith("disk/"))[5:]
    content = (field.folder / "disk" / name).read_bytes()
    for place, state, said in _moments(field, calls):
        # A checkpoint is written again and again: each may be there, as long as it is whole.
        if name != "state" and (wrong := _judge_file(name, content, state, said is None)):
            return f"power lost {place} of {' '.join(words)}: {wrong}"
    return ""
