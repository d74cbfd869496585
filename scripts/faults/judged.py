"""Judges the campaign with programs that are broken on purpose: a kind of fault must find each one."""
import itertools
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import time

from faults.field import Field, Skip

# Broken programs, and the kind that must find each. The first three are the short list.
BROKEN = {
    "swallow": "damage",  # every refusal becomes success without a word
    "nofsync": "flushes",  # nothing is flushed
    "follow": "links",  # links in places of own files are followed
    "nofoldersync": "flushes",  # the names of files are not flushed
    "latesync": "flushes",  # a file gets its name before it is flushed
    "trusting": "damage",  # digests of checkpoints and models are not checked
    "garble": "kill",  # going on changes a loss by 1e-9
    "forget": "kill",  # going on trains finished cases again
    "leave": "kill",  # temporary files stay
    "fulldisk": "disk",  # a write that the disk refused counts as done
    "nolock": "together",  # two runs get the lock of one folder
    "deaf": "signals",  # signals are not heard
    "signals": "signals",  # a run that a signal ended has status 0
    "words": "odd-files",  # a refusal in a library's words
    "hang": "odd-files",  # a refusal does not end
    "crash": "runs",  # a refusal ends as a segmentation fault
    "remember": "cut",  # the report on a file stays the same when the file changes
    "shell": "names",  # names reach a shell
    "threads": "determinism",  # another number of threads gives other numbers
    "memory": "memory",  # the row of a run without memory says that it failed
    "patient": "stops",  # ranks wait for a stopped one without a limit
}
SHORT = 3
PRELOADED = ("nofsync", "nofoldersync", "latesync", "follow", "fulldisk", "nolock", "deaf")  # by broken.c; others: broken.py
SECONDS = 60  # in which a kind must find the broken program
PATIENCE = 15  # seconds after which a program counts as hanging
# On a busy machine the intact program needs 8 s to end when a rank is stopped. It must not count as a broken one.
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
    """The first fault that the kind found, or None; and how often it tried."""
    tried, end = 0, time.monotonic() + SECONDS
    for wrong in kinds[kind](field):
        tried += 1
        if wrong or time.monotonic() > end:
            return wrong, tried
    return "", tried


def _try(kinds, kind, folder, program, seed, most=None):
    """The first fault found in a program, and after how many trials. The same seed makes the same faults."""
    field = Field(folder, program, random.Random(seed))
    field.patience = PATIENCE_OF.get(kind, PATIENCE)
    try:
        tries = kinds if most is None else {kind: lambda field: itertools.islice(kinds[kind](field), most)}
        return _found(tries, kind, field)
    finally:
        field.close()
        shutil.rmtree(folder, ignore_errors=True)


def judge(kinds, folder, binary, seed, names):
    """Returns whether each broken program was found by trials that the intact one passes. Programs that cannot be tried
    here (no mpirun, no strace) are named, and are no failure."""
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
