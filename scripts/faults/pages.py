"""Fills the disk under reports, figures, tables and traces. Each must give a message with path and reason, keep the
earlier file whole, and leave no temporary file."""
import os
import resource
import subprocess

from faults.field import Skip, leftovers

COMMANDS = [(["report", "run", "--out", "D/page.html"], "page.html"), (["plot", "curves", "run", "--out", "D"], ""),
            (["trace", "merge", "TRACE", "TRACE", "--out", "D/both.json"], "both.json"),
            (["convert", "events.csv", "D/g.strobe"], "g.strobe"), (["convert", "g.strobe", "D/g.csv"], "g.csv"),
            (["inspect", "events.csv:window_count=8", "--shape", "D/shape.json"], "shape.json")]
EARLIER = b"what stood here before"


def _limit(blocks):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 * blocks, resource.RLIM_INFINITY))
    return limit


def _judge(field, answer, folder, name, what):
    wrong = answer.wrong({0, 1}, ["room"]) or leftovers(folder)
    path = folder / name
    if not wrong and answer.status == 1 and name and path.exists() and path.read_bytes() != EARLIER:
        wrong = f"{name} is not what stood there before: {answer.command}"
    return f"{what}: {wrong}" if wrong else ""


def _on_full_disk(field, words, name):
    disk = field.fresh("room")
    disk.mkdir()
    kib = field.rng.choice([4, 8, 12, 16, 24])
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "strobe-faults", disk], capture_output=True).returncode:
        raise Skip("no disk can be mounted here (needs root)")
    try:
        if name and field.rng.random() < 0.5:
            (disk / name).write_bytes(EARLIER)
        # This file fills the disk, except for less than a page.
        with open(disk / "filler", "wb", buffering=0) as filler:
            try:
                while field.rng.random() < 0.9:
                    filler.write(b"x" * 4096)
            except OSError:
                pass
        return _judge(field, field.strobe(*words, seconds=30), disk, name, f"a disk of {kib} KiB")
    finally:
        subprocess.run(["umount", disk], capture_output=True)


def without_room(field):
    for words in (["run", field.suite, "--out", "run", "--trace"], ["convert", "events.csv", "g.strobe"]):
        if field.strobe(*words).status != 0:
            raise Skip("the undisturbed run does not end well")
    trace = str(min((field.folder / "run/trace").iterdir()))
    may_mount = os.geteuid() == 0
    while True:
        for words, name in field.rng.sample(COMMANDS, len(COMMANDS)):
            words = [word.replace("D/", "room/").replace("TRACE", trace) if word != "D" else "room" for word in words]
            if may_mount and field.rng.random() < 0.5:
                try:
                    yield _on_full_disk(field, words, name)
                    continue
                except Skip:
                    may_mount = False
            room = field.fresh("room")
            room.mkdir()
            if name and field.rng.random() < 0.5:
                (room / name).write_bytes(EARLIER)
            blocks = field.rng.randint(0, 20)
            yield _judge(field, field.strobe(*words, seconds=30, limit=_limit(blocks)), room, name, f"ulimit -f {blocks}")
