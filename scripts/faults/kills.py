"""Ends runs at any moment; the files left must be whole, and going on must give the results of an undisturbed run."""
import re
import shutil
import signal
import time

from faults.field import Skip, finished, flags, leftovers, lost, rows_of, torn


def _undisturbed(field):
    began = time.monotonic()
    answer = field.strobe("run", field.suite, "--out", "whole")
    if answer.status != 0:
        raise Skip(f"the undisturbed run ended with {answer.status}: {answer.words()[-200:]}")
    return rows_of(field.folder / "whole"), time.monotonic() - began


def _go_on(field, expected):
    """Goes on with the run in `out`: by its directory where that holds a plan, else by the whole command."""
    command = ["run", "--resume", "out"]
    if not (field.folder / "out/plan.json").exists() or field.rng.random() < 0.5:
        command = ["run", field.suite, "--out", "out", "--resume"]
    before = finished(field.folder / "out")
    answer = field.strobe(*command)
    if wrong := answer.wrong({0}):
        return wrong
    if rows_of(field.folder / "out") != expected:
        return f"other numbers after {answer.command}"
    if wrong := lost(before, field.folder / "out"):
        return f"{wrong} by {answer.command}"
    return leftovers(field.folder / "out")


def at_random_moments(field):
    expected, seconds = _undisturbed(field)
    while True:
        field.fresh("out")
        command = ["run", field.suite, "--out", "out"]
        for kill in range(field.rng.choice([1, 1, 1, 2, 3])):
            process = field.start(command + (["--resume"] if kill else []))
            time.sleep(field.rng.uniform(0, 1.1 * seconds))
            field.end(process)
            field.running.remove(process)
        wrong = torn(field.folder / "out") if (field.folder / "out").exists() else ""
        yield wrong or _go_on(field, expected)


def _interrupted_file(field, number):
    """A graph that is being converted, or a shape that is written: whole, or nothing of it."""
    command = field.rng.choice([["convert", "big.csv", "big.strobe"],
                                ["inspect", "big.csv:window_count=9", "--shape", "big.json"]])
    for name in ("big.strobe", "big.strobe.seal", "big.json"):
        field.fresh(name)
    process = field.start(command)
    time.sleep(field.rng.uniform(0, 0.3))
    process.send_signal(number)
    answer = field.finish(process, 30)
    if answer.status not in (0, 128 + number):
        return f"status {answer.status}: {answer.command}"
    wrong = leftovers(field.folder)
    if not wrong and (field.folder / "big.strobe").exists():
        wrong = field.strobe("inspect", "big.strobe").wrong({0})
    return f"{answer.command} and signal {int(number)}: {wrong}" if wrong else ""


def by_signals(field):
    expected, seconds = _undisturbed(field)
    field.write("big.csv", "source,target,time\n" + "".join(f"{i % 997},{i * 7 % 991},{i}\n" for i in range(150000)))
    while True:
        field.fresh("out")
        number = field.rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        if field.rng.random() < 0.3:
            yield _interrupted_file(field, number)
            continue
        endless = field.rng.random() < 0.3
        process = field.start(["run", field.suite, "--out", "out", *(["--epochs", "1000000"] if endless else [])])
        time.sleep(field.rng.uniform(0.5, 1) if endless else field.rng.uniform(0, 1.1 * seconds))
        process.send_signal(number)
        answer = field.finish(process, 30)
        if endless:
            yield answer.wrong({128 + number}) or torn(field.folder / "out")
            continue
        wrong = answer.wrong({0, 128 + number}) or (torn(field.folder / "out") if (field.folder / "out").exists() else "")
        yield wrong or _go_on(field, expected)


CALLS = ("rename", "fsync", "openat", "write", "unlink", "flock", "mkdir", "ftruncate")


def at_every_call(field):
    """Kills one training run with checkpoints at its first, second, ... call of each kind, then goes on with it.
    Sometimes that continuation is killed at a call too."""
    if shutil.which("strace") is None:
        raise Skip("strace is not there (apt: strace)")
    case = field.rng.choice(["full", "chunk", "hybrid", "event", "daemon"])
    run = ["run", *flags(case), "--epochs", "3", "--out", "out", "--checkpoint", "state", "--checkpoint-every", "1", "--trace"]
    go_on = [*run, "--resume", "--resume-training"]
    probe = field.strobe(*run, before=["strace", "-f", "-qq", "-o", "calls", "-e", "trace=" + ",".join(CALLS)])
    if probe.status != 0:
        raise Skip(f"strace does not work here: {probe.words()[-200:]}")
    expected = rows_of(field.folder / "out")
    calls = (field.folder / "calls").read_text()
    moments = [(call, n) for call in CALLS for n in range(1, len(re.findall(rf"\d+ +{call}\(", calls)) + 1)]
    field.rng.shuffle(moments)
    for call, n in moments:
        for name in ("out", "state", "state.ids.csv"):
            field.fresh(name)
        inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                  f"inject={call}:signal=SIGKILL:when={n}"]
        field.strobe(*run, before=inject)
        place = f"{case} killed at {call} {n}"
        if (field.folder / "out").exists() and (wrong := torn(field.folder / "out")):
            yield f"{place}: {wrong}"
            continue
        if field.rng.random() < 0.3:
            again = field.rng.randint(1, n)
            field.strobe(*go_on, before=[*inject[:-1], f"inject={call}:signal=SIGKILL:when={again}"])
            place += f", and at {call} {again} of going on"
        answer = field.strobe(*go_on)
        wrong = answer.wrong({0})
        if not wrong and rows_of(field.folder / "out") != expected:
            wrong = "other numbers"
        wrong = wrong or leftovers(field.folder / "out")
        yield f"{place}: {wrong}" if wrong else ""
