"""Takes ranks of a run under mpirun away, for good or for a while; those that are left must end soon and say why."""
import os
import pathlib
import shutil
import signal
import time

from faults.field import Skip

TIMEOUT = 2  # seconds a collective may wait
PATIENCE = 25  # seconds in which those that are left must end, on a busy machine


def _ranks_below(pid):
    """Processes of ranks by number, among those that `pid` started."""
    found, waiting = {}, [pid]
    while waiting:
        for task in pathlib.Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            for child in task.read_text().split():
                waiting.append(int(child))
                try:
                    variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                for variable in variables:
                    if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(variable.split(b"=")[1])] = int(child)
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
                os.kill(pids[victim], signal.SIGKILL)  # one that only stands still would stay for ever
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
