"""The program `strobe`: where it is, and how it is called."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from strobe.errors import NoProgram, error_of

Path = str | os.PathLike[str]
_BUNDLED = pathlib.Path(__file__).parent / "_program" / "bin" / "strobe"


def program(asked: Path | None = None) -> str:
    """The path of the program: `asked`, else $STROBE_PROGRAM, else the package's own, else `strobe` in PATH.

    Raises NoProgram where there is none.
    """
    name = os.fspath(asked or os.environ.get("STROBE_PROGRAM") or (_BUNDLED if _BUNDLED.exists() else "strobe"))
    found = shutil.which(name)
    if found is None:
        raise NoProgram(f"there is no program '{name}'; put strobe into PATH, set STROBE_PROGRAM, or give program=")
    return found


def share(name: str) -> pathlib.Path:
    """A file that the program reads at run time, by its path in the source tree. Raises NoProgram."""
    found = pathlib.Path(program()).resolve()
    for folder in (found.parent.parent / "share" / "strobe", *found.parents):
        if (folder / name).exists():
            return folder / name
    raise NoProgram(f"{found} has no file {name} near it")


def main() -> None:
    """The console script `strobe`: becomes the program."""
    try:
        path = program()
    except NoProgram as error:
        sys.exit(f"strobe: {error}")
    # STROBE_PROGRAM=strobe names this script.
    if os.path.realpath(path) == os.path.realpath(sys.argv[0]):
        if not _BUNDLED.exists():
            sys.exit(f"strobe: '{path}' is this script, and the package has no program; set STROBE_PROGRAM to one")
        path = str(_BUNDLED)
    os.execv(path, [path, *sys.argv[1:]])


def environment() -> dict[str, str]:
    """The environment of the program. It draws figures with this Python, unless STROBE_PYTHON names another."""
    return {**os.environ, "STROBE_PYTHON": os.environ.get("STROBE_PYTHON", sys.executable)}


class Finished:
    """A call of the program that has ended: exit `status`, standard output `out` and standard error `err`."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err


def _read(stream: Iterable[str], lines: list[str], seen: Callable[[str], None] | None) -> None:
    # A display that fails must not leave the pipe unread: the program would wait for ever.
    for line in stream:
        lines.append(line)
        if seen is not None:
            try:
                seen(line.rstrip("\n"))
            except Exception:
                seen = None


def _wait(process: subprocess.Popen[str], readers: list[threading.Thread],
          tick: Callable[[], None] | None) -> KeyboardInterrupt | None:
    """Waits for the program. Returns the KeyboardInterrupt that was forwarded to it, if there was one.

    The end of what it prints wakes the caller at once. Popen.wait with a timeout looks only every 50 ms.
    """
    interrupted: KeyboardInterrupt | None = None
    while True:
        try:
            reading = [reader for reader in readers if reader.is_alive()]
            if not reading:
                process.wait()
                return interrupted
            reading[0].join(0.2)
            if tick is not None:
                with contextlib.suppress(Exception):
                    tick()
        except KeyboardInterrupt as error:
            interrupted = error
            process.send_signal(signal.SIGINT)
        except BaseException:
            process.kill()
            process.wait()
            raise


def call(words: Iterable[str], seen: Callable[[str], None] | None = None, tick: Callable[[], None] | None = None,
         asked: Path | None = None, cwd: Path | None = None) -> Finished:
    """Calls the program with `words` and waits for it.

    `seen` gets each line of standard error, from another thread. `tick` is called five times a second. Their errors do
    not end the program: a `seen` that fails is not called again. A
    KeyboardInterrupt becomes a SIGINT of the program, which then ends in order; a second one ends it at once. The
    KeyboardInterrupt is raised again when the program has ended.
    """
    # In a session of its own the program gets no Ctrl-C of the terminal: two would end it without its rows.
    process = subprocess.Popen([program(asked), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, encoding="utf-8", errors="replace", env=environment(),
                               start_new_session=True, cwd=cwd)
    assert process.stdout is not None and process.stderr is not None
    out: list[str] = []
    err: list[str] = []
    readers = [threading.Thread(target=_read, args=(process.stdout, out, None), daemon=True),
               threading.Thread(target=_read, args=(process.stderr, err, seen), daemon=True)]
    for reader in readers:
        reader.start()
    interrupted = _wait(process, readers, tick)
    process.stdout.close()
    process.stderr.close()
    if interrupted is not None:
        raise interrupted
    return Finished(process.returncode, "".join(out), "".join(err))


def checked(words: Iterable[str], allowed: Iterable[int] = (0,), **how: Any) -> Finished:
    """Like `call`; raises a StrobeError for an exit status that is not `allowed`."""
    done = call(words, **how)
    if done.status not in allowed:
        raise error_of(done.status, done.err)
    return done


def answer(words: Iterable[str], allowed: Iterable[int] = (0,), **how: Any) -> Any:
    """The JSON that the program prints. Raises StrobeError."""
    done = checked(words, allowed, **how)
    try:
        return json.loads(done.out)
    except ValueError:
        raise error_of(done.status, done.err) from None
