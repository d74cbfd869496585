"""Errors of the package. Each carries the program's own message."""
from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from strobe._keywords import RunKeywords

if TYPE_CHECKING:
    from strobe.runs import Run


class StrobeError(Exception):
    """The program ended with a failure; the text is its message. `status` is its exit status, where it ended."""

    status: int | None = None


class InvalidRequest(StrobeError, ValueError):
    """The request was wrong and nothing was measured. `pointer` names the keyword or its key, such as `/model/hiden`.

    `mistakes` has a pair (pointer, message) for each mistake; `pointer` is the first one's.
    """

    def __init__(self, text: str) -> None:
        self.mistakes = _mistakes(text)
        self.pointer = self.mistakes[0][0] if self.mistakes else ""
        super().__init__("\n".join(f"{place}: {message}" if place else message for place, message in self.mistakes))


class NotAvailable(StrobeError):
    """The backend, device or number of ranks is not available on this machine."""


class NoProgram(StrobeError, RuntimeError):
    """The program `strobe` was not found or cannot be run."""


class NotARun(StrobeError, ValueError):
    """The folder holds no rows of a run; the text names the file and says what is wrong with it."""


class NotComparable(StrobeError, ValueError):
    """Strobe refuses the comparison; the text is its message."""


class CaseFailed(StrobeError):
    """A case failed. `run` has all rows, also those of the cases that ended well."""

    def __init__(self, text: str, run: Run) -> None:
        super().__init__(text)
        self.run = run


class Interrupted(KeyboardInterrupt):
    """The run was interrupted. `run` has the rows of the finished cases; `strobe.resume(run.path)` runs the others."""

    def __init__(self, text: str, run: Run) -> None:
        super().__init__(text)
        self.run = run


# A place is an option, a pointer, or a pointer into a file: --ranks, /workload/name, a.json#/cases/0/model/hiden.
_PLACE = re.compile(r"^(?:strobe: )?(?P<place>--[\w-]+(?: [\w.]+)?|(?:[^\s#]+#)?/\S*?): (?P<message>.*)$")
_UNKNOWN_OPTION = re.compile(r"^(?:strobe: )?unknown option '(?P<place>--[\w-]+)'")


def _is_path(place: str) -> bool:
    """Whether a place is a file or folder, perhaps with line and column, and no pointer, such as FOLDER/a.csv:3:4."""
    path = re.sub(r"(:\d+)*$", "", place)
    return place.startswith("/") and place.split("/")[1] not in RunKeywords.__annotations__ and os.path.exists(path)


def _pointer(place: str) -> str:
    """The keyword that a place of the program is about: options are keywords, and a suite of one case is the call."""
    if place.startswith("--"):
        option, _, key = place[2:].partition(" ")
        return "/" + (key.replace(".", "/") if option in ("set", "vary") and key else option.replace("-", "_"))
    pointer = place.rpartition("#")[2]
    return re.sub(r"^/cases/0(/matrix)?(?=/)", "", pointer).replace(".", "/")


def _mistakes(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in text.strip().splitlines():
        place, unknown = _PLACE.match(line), _UNKNOWN_OPTION.match(line)
        if unknown:
            found.append((_pointer(unknown["place"]), _keywords(line.removeprefix("strobe: "))))
        elif place and not _is_path(place["place"]):
            found.append((_pointer(place["place"]), place["message"]))
        elif line.startswith("strobe: ") or not found:
            found.append(("", line.removeprefix("strobe: ")))
        else:
            found[-1] = (found[-1][0], found[-1][1] + "\n" + line)
    return found


def _keywords(message: str) -> str:
    """Options in a message as the keywords that they are in Python."""
    return re.sub(r"--([\w-]+)", lambda match: match[1].replace("-", "_"), message).replace("option", "keyword", 1)


def error_of(status: int, text: str) -> StrobeError:
    """The exception for an exit status of the program and what it printed on standard error."""
    lines = [line for line in text.splitlines() if line.startswith("strobe: ")]
    message = "\n".join(line.removeprefix("strobe: ") for line in lines) or text.strip()
    error: StrobeError
    if status == 2:
        error = InvalidRequest(text[text.index("strobe: "):] if "strobe: " in text else text)
    elif status == 4:
        error = NotComparable(message)
    elif status == 5:
        error = NotAvailable(message)
    else:
        error = StrobeError(message or f"strobe ended with status {status}")
    error.status = status
    return error
