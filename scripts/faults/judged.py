"""Judges the campaign: programs that are broken on purpose, each of which a kind of fault must find."""
import itertools
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import time

from faults.field import Field, Skip

# What is broken, and the kind that must find it. The first three are the short list.
BROKEN = {
    "swallow": "damage",  # every refusal becomes success without a word
    "nofsync": "flushes",  # nothing is flushed
    "follow": "links",  # links in places of own files are followed
    "nofoldersync": "flushes",  # the names of files are not flushed
    "latesync": "flushes",  # a file gets its name before it is flushed
    "trusting": "damage",  # digests of checkpoints and models are not looked at
    "garble": "kill",  # going on changes a loss by 1e-9
    "forget": "kill",  # going on trains finished cases again
    "leave": "kill",  # temporary files stay
    "fulldisk": "disk",  # a write that the disk refused counts as done
    "nolock": "together",  # two runs get the lock of one folder
    "deaf": "signals",  # signals are not heard
    "signals": "signals",  # a run that a signal ended says status 0
    "words": "odd-files",  # a refusal in a library's words
    "hang": "odd-files",  # a refusal does not end
    "crash": "runs",  # a refusal ends as a segmentation fault
    "remember": "cut",  # a report of a file as it was
    "shell": "names",  # names reach a shell
    "threads": "determinism",  # another number of threads gives other numbers
    "memory": "memory",  # the row of a run without memory says that it failed
    "patient": "stops",  # ranks wait for a stopped one without a limit
}
SHORT = 3
PRELOADED = ("nofsync", "nofoldersync", "latesync", "follow", "fulldisk", "nolock", "deaf")  # by broken.c; others: broken.py
SECONDS = 60  # in which a kind must find what is broken
PATIENCE = 15  # seconds after which a program hangs
# On a busy machine the whole program needs 8 s to end when a rank stands still: it must not be taken for a broken one.
PATIENCE_OF = {"stops": 30}


def _make_program(folder, how, binary):
    """A program that starts the broken one."""
    library = folder / "broken.so"
    here = pathlib.Path(__file__).with_name("broken.py")
    if how in PRELOADED and not library.exists():
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise Skip("there is no C compiler")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, here.with_suffix(".c"), "-ldl"], check=True)
    program = folder / f"strobe-{how}"
    start = f"'{sys.executable}' '{here}' {how} '{binary}'"
    if how in PRELOADED:
        start = f"env LD_PRELOAD='{library}' STROBE_BROKEN={how} '{binary}'"
    program.write_text(f"#!/bin/sh\nexec {start} \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def _found(kinds, kind, field):
    """What the kind found first, or None; and how often it tried."""
    tried, end = 0, time.monotonic() + SECONDS
    for wrong in kinds[kind](field):
        tried += 1
        if wrong or time.monotonic() > end:
            return wrong, tried
    return "", tried


def _try(kinds, kind, folder, program, seed, most=None):
    """Of a program: what was found, and when. The same seed makes the same faults."""
    field = Field(folder, program, random.Random(seed))
    field.patience = PATIENCE_OF.get(kind, PATIENCE)
    try:
        tries = kinds if most is None else {kind: lambda field: itertools.islice(kinds[kind](field), most)}
        return _found(tries, kind, field)
    finally:
        field.close()
        shutil.rmtree(folder, ignore_errors=True)


def judge(kinds, folder, binary, seed, names):
    """Returns whether each was found where the whole program is right. What cannot be tried here (no mpirun, no strace) is
    named, and no fault."""
    right = True
    for how in names:
        kind = BROKEN[how]
        try:
            program = _make_program(folder, how, binary)
            wrong, tried = _try(kinds, kind, folder / how, program, f"{seed} {how}")
            whole = _try(kinds, kind, folder / how, binary, f"{seed} {how}", tried)[0] if wrong else ""
        except Skip as skip:
            print(f"{how:14} {kind:12} not tried: {skip}", flush=True)
            continue
        said = f"found after {tried}: {' '.join(wrong.split())[:110]}" if wrong else f"NOT FOUND in {tried}"
        if whole:
            said = f"NOT TOLD from the whole program: {' '.join(whole.split())[:300]}"
        right = right and bool(wrong) and not whole
        print(f"{how:14} {kind:12} {said}", flush=True)
    return right
