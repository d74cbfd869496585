"""Other people's training programs, measured in the same rounds as Strobe's cases."""
from __future__ import annotations

import copy
import os
import pathlib
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from strobe import request
from strobe._keywords import CaseKeywords, RunOptions
from strobe.running import run
from strobe.runs import Run

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from strobe._keywords import RunKeywords

Command: TypeAlias = str | Sequence[str] | Callable[[], Any]


def _source(function: Callable[[], Any]) -> pathlib.Path:
    """The file that a new process reads the function from. Raises ValueError where there is none."""
    name, module = getattr(function, "__qualname__", "<"), sys.modules.get(getattr(function, "__module__", ""))
    file = getattr(module, "__file__", None)
    if file is None or "<" in name:
        raise ValueError(f"{name}: a new process cannot import this function; write it at the top level of a file (in "
                         "a notebook with %%writefile train.py), and import it from there")
    return pathlib.Path(file).absolute()


def _line(command: Command) -> str:
    """The command as a line for /bin/sh."""
    if isinstance(command, str):
        return command
    if not callable(command):
        return shlex.join(os.fspath(word) for word in command)
    file, module, name = _source(command), command.__module__, command.__qualname__
    if module == "__main__":
        code = f"import runpy; runpy.run_path({str(file)!r}, run_name='measured')[{name!r}]()"
        return shlex.join([sys.executable, "-c", code])
    folder = file.parents[module.count(".") + (file.name == "__init__.py")]
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}; {module}.{name}()"
    return shlex.join([sys.executable, "-c", code])


class Program:
    """A training program as a value of `strategy=`, next to Strobe's own strategies.

    `command` is a line for /bin/sh, a list of words, or a function of a module. In a line, `{ranks}`, `{epochs}` and
    `{seed}` are replaced. The program states its epochs by `strobe.epochs`, or by lines of JSON.
    """

    def __init__(self, command: Command, *, name: str = "", version: str = "", network: str = "shared",
                 patience: float = 600) -> None:
        named = getattr(command, "__name__", "") if callable(command) else ""
        self._part = {"name": "external", "command": _line(command), "program": name or named, "version": version,
                      "network": network, "patience": float(patience)}

    def under(self, name: str) -> Program:
        """The same program under another name."""
        other = copy.copy(self)
        other._part = {**self._part, "program": name or self._part["program"]}
        return other

    def part(self) -> dict[str, Any]:
        """The strategy that runs it, as a suite has it."""
        return dict(self._part)

    def __repr__(self) -> str:
        return f"Program({self._part['command']!r}, name={self._part['program']!r})"


@request.with_keywords(CaseKeywords, RunOptions)
def measure(program: Command | Program | Mapping[str, Command | Program], **keywords: Unpack[RunKeywords]) -> Run:
    """Measures a training program, or several by name, in rounds of new processes (5 unless given). Returns the run.

    run = strobe.measure({"pyg": "python train.py"}, workload="ucsocial", model="t-gcn", strategy="sequential")
    run.compare(by="strategy")

    With `strategy=`, Strobe's own cases take turns with it. `workload`, `model` and `task` say what the program trains;
    Strobe does not check that. Other keywords, and errors, are those of `strobe.run`. A program that states no epoch,
    ends early or hangs becomes a row `failed` or `timeout`, and CaseFailed is raised when all cases have run.
    """
    if "STROBE_EPOCH_FILE" in os.environ:
        raise RuntimeError("this program is being measured already, and calls strobe.measure itself; put that call "
                           "below `if __name__ == '__main__':`")
    given = program if isinstance(program, Mapping) else {"": program}
    programs = [(one if isinstance(one, Program) else Program(one)).under(name) for name, one in given.items()]
    settings: dict[str, Any] = dict(keywords)
    own = settings.pop("strategy", None)
    own = [] if own is None else [own] if isinstance(own, (str, Mapping, Program)) else list(own)
    return run(**{"rounds": 5, **settings, "strategy": [*programs, *own]})
