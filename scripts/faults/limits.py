"""Takes room away: on the disk, and in memory. Nothing may be torn, and with room again the run must go on."""
import os
import resource
import signal
import subprocess

from faults.field import Skip, finished, leftovers, lost, rows_of, torn


def _file_limit(blocks):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 * blocks, resource.RLIM_INFINITY))
    return limit


def _memory_limit(kib):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1024 * kib, 1024 * kib))
    return limit


def _full_disk(field, kib):
    """A run on a disk of its own with `kib` KiB, then with more; yields the faults."""
    disk = field.fresh("disk")
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "strobe-faults", disk], capture_output=True).returncode:
        raise Skip("no disk can be mounted here (needs root)")
    try:
        answer = field.strobe("run", field.suite, "--out", "disk/out")
        wrong = answer.wrong({0, 1, 2}, ["disk"])
        wrong = wrong or (torn(disk / "out") if (disk / "out").exists() else "") or _whole(field, answer, disk / "out")
        if wrong:
            return f"a disk of {kib} KiB: {wrong}"
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True, capture_output=True)
        return _go_on(field, "disk/out", f"a disk of {kib} KiB")
    finally:
        subprocess.run(["umount", disk], capture_output=True)


def _go_on(field, out, what):
    before = finished(field.folder / out)
    again = field.strobe("run", field.suite, "--out", out, "--resume", "--retry-failed")
    wrong = again.wrong({0})
    if not wrong and rows_of(field.folder / out) != field.expected:
        wrong = "other numbers"
    wrong = wrong or lost(before, field.folder / out) or leftovers(field.folder / out)
    return f"{what}: {wrong}" if wrong else ""


def _whole(field, answer, out):
    """Checks that a run with status 0 has all of its numbers."""
    if answer.status == 0 and finished(out).keys() != field.expected.keys():
        return f"status 0 without all rows: {answer.command}"
    return "other numbers" if answer.status == 0 and rows_of(out) != field.expected else ""


def nearly_full_disks(field):
    if field.strobe("run", field.suite, "--out", "whole").status != 0:
        raise Skip("the undisturbed run does not end well")
    field.expected = rows_of(field.folder / "whole")
    may_mount = os.geteuid() == 0
    while True:
        if may_mount:
            try:
                yield _full_disk(field, 4 * field.rng.randint(1, 70))
            except Skip:
                may_mount = False
        field.fresh("out")
        blocks = field.rng.randint(1, 120)
        answer = field.strobe("run", field.suite, "--out", "out", limit=_file_limit(blocks))
        wrong = answer.wrong({0, 1, 2}, ["out"]) or (torn(field.folder / "out") if (field.folder / "out").exists() else "")
        wrong = wrong or _whole(field, answer, field.folder / "out")
        yield f"ulimit -f {blocks}: {wrong}" if wrong else _go_on(field, "out", f"ulimit -f {blocks}")


def _begins(field):
    """The least limit in KiB, within 1 MiB, under which the program and its libraries are loaded and say a word."""
    low, high = 20, 4096
    while high - low > 1:
        middle = (low + high) // 2
        if field.strobe("--version", limit=_memory_limit(1024 * middle)).status == 0:
            high = middle
        else:
            low = middle
    return 1024 * high


def little_memory(field):
    begins = _begins(field)
    while True:
        # Most limits end the program while it reads, plans or trains, and a few while it is loaded.
        kib = begins + field.rng.randint(-20, 240) * 1024 + field.rng.randint(0, 1023)
        field.fresh("out")
        answer = field.strobe("run", "--workload", "chess", "--epochs", "1", "--threads", "1", "--out", "out",
                              limit=_memory_limit(kib))
        # Without room to load it, the loader or a library ends the program before its first instruction.
        loader = answer.status == 127 or (
            kib < begins + 1024 and answer.status in (128 + signal.SIGKILL, 128 + signal.SIGSEGV) and not answer.err)
        wrong = "" if loader else answer.wrong({0, 1, 2})
        if not wrong and answer.status == 1 and (field.folder / "out/summary.json").exists():
            rows = rows_of(field.folder / "out")
            states = {row[0] for row in rows.values()}
            if states - {"out_of_memory"}:
                wrong = f"a row has status {states}"
        yield f"ulimit -v {kib}: {wrong}" if wrong else ""
