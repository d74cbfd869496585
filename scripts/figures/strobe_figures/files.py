"""The one rule for files of scripts: what is written appears whole or not at all, and a program that cannot go on says
which file is to blame and why, in one line, with status 2 for a wrong file and 1 where the system refuses."""

import csv
import errno
import fcntl
import io
import itertools
import json
import os
import pathlib
import re
import sys
import traceback
import warnings


class Refused(Exception):
    """The request or a file that it names is wrong; the text says which and why."""


class CannotWrite(Exception):
    """The system refuses; the text names the file and the reason."""


def _text_of(path):
    try:
        return sys.stdin.read() if str(path) == "-" else pathlib.Path(path).read_text("utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{path}: not text ({error})") from error


def read_json(path):
    """The content of a JSON file, or of standard input if the path is "-". Raises Refused."""
    try:
        return json.loads(_text_of(path))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: not JSON ({error})") from error


def read_csv(path, columns, why):
    """The lines of a CSV file as {column: text}. Raises Refused, with `why`, when one of `columns` is not there."""
    lines = list(csv.DictReader(io.StringIO(_text_of(path), newline="")))
    if not lines or any(lines[0].get(name) is None for name in columns):
        raise Refused(f"{path}: {why}")
    return lines


def _remove_abandoned(path):
    """Removes a temporary file of ours whose writer is gone: one that lives holds a lock on it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        if os.fstat(file).st_uid == os.geteuid():
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    except OSError:
        pass
    finally:
        os.close(file)


def _unfinished(target):
    """(name, descriptor) of a new and locked file TARGET.tmp.PID.NUMBER; what writers that are gone left is removed."""
    folder, name = os.path.split(target)
    for entry in os.listdir(folder):
        if re.fullmatch(re.escape(name) + r"\.tmp\.\d+\.\d+", entry):
            _remove_abandoned(os.path.join(folder, entry))
    for number in itertools.count():
        unfinished = f"{target}.tmp.{os.getpid()}.{number}"
        try:
            file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        except FileExistsError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # a disk without locks will do
        return unfinished, file


def _flush_folder(folder):
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return  # the file is whole; a folder that cannot be opened cannot be flushed
    try:
        os.fsync(opened)
    except OSError:
        pass
    finally:
        os.close(opened)


def _replace(target, content):
    unfinished, file = _unfinished(target)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(file, left):]
        os.fsync(file)
        os.replace(unfinished, target)
    except BaseException:
        os.unlink(unfinished)
        raise
    finally:
        os.close(file)
    _flush_folder(os.path.dirname(target))


def _is_stream(path):
    """A device, a pipe or a descriptor, which is written as it is."""
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path)))
    return folder.startswith(("/dev/fd", "/proc/")) or os.path.islink(path) and folder == "/dev" or \
        os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def write_whole(path, content):
    """Replaces the file `path` by these bytes in one step: flushed, renamed, its folder flushed. A link stays one and the
    file at its end is replaced. On failure the previous file is left as it was. Raises CannotWrite."""
    try:
        if _is_stream(path):
            with open(path, "wb") as file:
                file.write(content)
        elif os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        else:
            _replace(os.path.realpath(path), content)
    except OSError as error:
        raise CannotWrite(f"cannot write {path}: {error.strerror}") from error


def named_files(words):
    """The files among a program's arguments that are no value of an option; of a run directory its rows."""
    files = [word for before, word in zip(["", *words], words) if not before.startswith("--") and os.path.exists(word)]
    return [os.path.join(file, "summary.json") if os.path.isdir(file) else file for file in files]


def _one_line(text, most=200):
    line = next(iter(text.splitlines()), "")
    return line if len(line) <= most else line[:most] + "..."


def ending(work):
    """The exit status of `work`: its own, or what became of it, in one line on standard error. A value that nothing here
    expects is the fault of the files that were named; the line says where in the program it was met."""
    label = os.path.basename(sys.argv[0]).removesuffix(".py")
    warnings.simplefilter("ignore")  # a library's words about values that are drawn as well as they can be
    try:
        return work()
    except Refused as refused:
        status, said = 2, str(refused)
    except CannotWrite as error:
        status, said = 1, str(error)
    except MemoryError:
        status, said = 1, "the memory is exhausted"
    except OSError as error:
        status, said = 1, f"{error.filename or 'the system'}: {error.strerror or error}"
    except Exception as error:  # pylint: disable=broad-except
        place = traceback.extract_tb(error.__traceback__)[-1]
        files = ", ".join(named_files(sys.argv[1:])) or "the input"
        status = 2
        said = (f"{files}: holds a value that cannot be used: {type(error).__name__}: {_one_line(str(error))} "
                f"({os.path.basename(place.filename)}:{place.lineno})")
    print(f"{label}: {said}".encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
    return status
