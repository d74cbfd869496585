"""Ends or stops ranks of a run under mpirun. The other ranks must end soon and say why."""
import json
import os
import pathlib
import re
import shutil
import signal
import time

from faults.field import Skip, finished, flags, leftovers, torn

TIMEOUT = 2  # seconds a collective may wait
PATIENCE = 25  # seconds in which the other ranks must end, on a busy machine


def _children(pid):
    """Processes that `pid` started; none when it ends meanwhile."""
    try:
        return [int(child) for task in os.listdir(f"/proc/{pid}/task")
                for child in pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split()]
    except OSError:
        return []


def _rank_of(pid):
    """The number of the rank that this process is, or None."""
    try:
        variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    numbers = [int(variable.split(b"=")[1]) for variable in variables if variable.startswith(b"OMPI_COMM_WORLD_RANK=")]
    return numbers[0] if numbers else None


def _ranks_below(pid):
    """Processes of ranks by number, among those that `pid` started."""
    found, waiting = {}, [pid]
    while waiting:
        for child in _children(waiting.pop()):
            waiting.append(child)
            rank = _rank_of(child)
            if rank is not None:
                found[rank] = child
    return found


def _begun(field, process):
    samples = field.folder / "out/samples.jsonl"
    for _ in range(600):
        if process.poll() is not None:
            return False
        if samples.exists() and samples.stat().st_size > 0:
            return True
        time.sleep(0.05)
    return False


def _alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def lost_and_stopped(field):
    if shutil.which("mpirun") is None or b"mpi" not in field.strobe("list", "communicators").out:
        raise Skip("there is no mpirun, or this build has no communicator mpi")
    before = ["mpirun", "-n", "3", "--oversubscribe", "--enable-recovery"]
    while True:
        field.fresh("out")
        process = field.start(["run", "--workload", "ucsocial", "--strategy", "snapshot", "--ranks", "3", "--comm", "mpi",
                               "--epochs", "1000000", "--timeout", str(TIMEOUT), "--out", "out"], before)
        if not _begun(field, process):
            field.end(process)
            field.running.remove(process)
            raise Skip("three ranks did not begin to train here")
        victim, how = field.rng.randrange(3), field.rng.choice([signal.SIGKILL, signal.SIGSTOP])
        pids = _ranks_below(process.pid)
        began = time.monotonic()
        os.kill(pids[victim], how)
        others = [pid for rank, pid in pids.items() if rank != victim]
        while time.monotonic() - began < TIMEOUT + PATIENCE and any(_alive(pid) for pid in others):
            time.sleep(0.05)
        stay = [pid for pid in others if _alive(pid)]
        seconds = time.monotonic() - began
        if stay:
            field.end(process)
        else:
            try:
                os.kill(pids[victim], signal.SIGKILL)  # a stopped rank would stay for ever
            except ProcessLookupError:
                pass
        answer = field.finish(process, 30)
        what = f"rank {victim} {'killed' if how == signal.SIGKILL else 'stopped'}, {answer.command}"
        if stay:
            yield f"the others were still there after {seconds:.0f} s: {what}"
        elif f"missing ranks: {victim}" not in answer.words() and "do not answer" not in answer.words():
            yield f"nobody says which rank is missing: {what}: {answer.words()[-300:]}"
        else:
            yield ""


def _mpi(case):
    """The flags of a case whose ranks are processes."""
    return ["run", *flags(case), "--comm", "mpi", "--timeout", str(TIMEOUT), "--out", "out"]


def _row_written(out):
    try:
        return bool(json.loads((out / "summary.json").read_text())["rows"])
    except (OSError, ValueError):
        return False


# Phases of a launch, and how to see that each has begun. The moment within a phase is random.
PHASES = {
    "start": lambda field, out: True,
    "agreeing": lambda field, out: out.exists(),
    "plan": lambda field, out: (out / "plan.json").exists(),
    "training": lambda field, out: (out / "samples.jsonl").exists() and (out / "samples.jsonl").stat().st_size > 0,
    "checkpoint": lambda field, out: (field.folder / "state").exists(),
    "row": lambda field, out: _row_written(out),
}
EPOCHS = {"training": 1000000, "checkpoint": 1000000}  # in all other phases the case must finish and write its row


def _reached(field, process, phase):
    end = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < end:
        pids = _ranks_below(process.pid)
        if len(pids) == 2 and PHASES[phase](field, field.folder / "out"):
            time.sleep(field.rng.choice([0, 0, 0.02, 0.1]))
            return pids
        time.sleep(0.001)
    return {}


def _stop(field, process, pids, victim):
    """Stops a rank; returns how many seconds the others went on, or None where the rank had already ended."""
    try:
        os.kill(pids[victim], signal.SIGSTOP)
    except ProcessLookupError:
        return None
    began = time.monotonic()
    patience = min(TIMEOUT + PATIENCE, field.patience)
    while time.monotonic() - began < patience and any(_alive(pid) for rank, pid in pids.items() if rank != victim):
        time.sleep(0.05)
    return time.monotonic() - began


def _judge_stop(field, answer, pids, victim, seconds):
    named = re.search(rf"\branks?:? {victim}\b", answer.words())
    rows = finished(field.folder / "out")
    end = time.monotonic() + 3  # the launcher ends stopped ranks when it ends itself
    while any(_alive(pid) for pid in pids.values()) and time.monotonic() < end:
        time.sleep(0.05)
    if any(_alive(pid) for pid in pids.values()):
        return f"a rank is still there after {seconds:.0f} s"
    if answer.status is None:
        return f"the launch is still there after {seconds:.0f} s"
    if not rows and not named:
        return f"nobody names rank {victim}"
    return (torn(field.folder / "out") if (field.folder / "out").exists() else "") or leftovers(field.folder, pids[victim])


def stopped_in_every_phase(field):
    """Stops a rank of a launch in some phase: the launch must end and name that rank."""
    if shutil.which("mpirun") is None or b"mpi" not in field.strobe("list", "communicators").out:
        raise Skip("there is no mpirun, or this build has no communicator mpi")
    trials = [(phase, case, victim) for phase in PHASES for case in ("daemon", "vertex") for victim in (0, 1)]
    while True:
        for phase, case, victim in field.rng.sample(trials, len(trials)):
            for name in ("out", "state", "state.ids.csv"):
                field.fresh(name)
            process = field.start([*_mpi(case), "--epochs", str(EPOCHS.get(phase, 3)), "--checkpoint", "state",
                                   "--checkpoint-every", "20"], ["mpirun", "-n", "2", "--oversubscribe"])
            pids = _reached(field, process, phase)
            seconds = _stop(field, process, pids, victim) if pids else None
            if seconds is None:  # the rank ended before it could be stopped
                field.end(process)
                field.running.remove(process)
                continue
            answer = field.finish(process, 5)
            wrong = _judge_stop(field, answer, pids, victim, seconds)
            for pid in pids.values():
                _end_rank(pid)
            what = f"rank {victim} stopped in phase {phase}: {answer.command}: {answer.words()[-200:]}"
            yield f"{wrong}: {what}" if wrong else ""


def _end_rank(pid):
    """Ends a rank: its session is its own, so it does not end with the launcher."""
    try:
        if b"OMPI_COMM_WORLD_RANK=" in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, signal.SIGKILL)
    except OSError:
        pass
