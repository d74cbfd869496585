"""Keywords of a call as what the program reads: a suite, or options."""
from __future__ import annotations

import datetime
import functools
import inspect
import json
import os
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from strobe.program import answer, program

# Keywords whose value names a part with parameters, and the kind of `strobe list` that knows them.
PARTS = {"workload": "workloads", "model": "models", "strategy": "strategies", "task": "tasks",
         "optimizer": "optimizers"}


# Keywords whose value may be a number, which the program has as text.
_AS_TEXT = {"nb"}


class HasName(typing.Protocol):
    """A value that stands for a part with parameters, such as `strobe.Workload`."""

    def part(self) -> dict[str, Any]:
        """The name and the parameters, as a suite has them."""


@functools.lru_cache(maxsize=64)
def _types(asked: str, kind: str) -> dict[str, dict[str, str]]:
    """By name of a part: the type of each parameter. `asked` is the program, which a later call may change."""
    entries = answer(["list", kind, "--json"], asked=asked)["entries"]
    return {entry["name"]: {one["name"]: one["type"] for one in entry.get("parameters", [])} for entry in entries}


def _typed(text: str, kind: str | None) -> Any:
    """A parameter that was written as text. The program refuses what stays text and should not be."""
    convert: dict[str | None, Callable[[str], Any]] = {
        "integer": int, "real": float, "boolean": {"true": True, "false": False}.__getitem__}
    try:
        return convert[kind](text)
    except (KeyError, ValueError):
        return text


def _split(text: str, keyword: str) -> Any:
    """NAME:key=value,... as an object; a plain name, or the path of a file, stays as it is."""
    name, colon, rest = text.partition(":")
    if not colon or os.path.exists(text):
        return text
    tables = _types(program(), PARTS[keyword])
    # A file has the parameters of every data set.
    types = tables.get(name) or {key: kind for table in tables.values() for key, kind in table.items()}
    items: list[str] = []
    for item in rest.split(","):
        if "=" in item or not items:
            items.append(item)
        else:
            items[-1] += "," + item
    part: dict[str, Any] = {"name": name}
    for item in items:
        key, _, value = item.partition("=")
        part[key] = _typed(value, types.get(key))
    return part


def plain(value: Any, keyword: str = "") -> Any:
    """A value as JSON holds it: NumPy's numbers as numbers, paths and durations as text, parts as objects."""
    if hasattr(value, "part"):
        return plain(value.part())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, str):
        return _split(value, keyword) if keyword in PARTS else value
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        seconds = pd.Timedelta(value).total_seconds()
        return f"{int(seconds) if seconds.is_integer() else seconds}s"
    if getattr(value, "ndim", None) == 0:  # a number of NumPy or a tensor of one, over which nothing iterates
        return value.item()
    if isinstance(value, Iterable):
        return [plain(inner, keyword) for inner in value]
    return value


def settings(keywords: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The keywords that have one value, and the lists that are tried in turn, by `key` or `key.parameter`."""
    single: dict[str, Any] = {}
    many: dict[str, list[Any]] = {}
    for key, given in keywords.items():
        value = plain(given, key)
        if key in _AS_TEXT:
            value = [str(one) for one in value] if isinstance(value, list) else str(value)
        if isinstance(value, dict):
            lists = {inner: values for inner, values in value.items() if isinstance(values, list)}
            many.update({f"{key}.{inner}": values for inner, values in lists.items()})
            value = {inner: values for inner, values in value.items() if inner not in lists}
        if isinstance(value, list):
            many[key] = value
        elif value is not None:
            single[key] = value
    return single, many


def suite(name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """A suite of all combinations of the keywords' values."""
    single, many = settings(keywords)
    return {"name": name, "cases": [{**single, **({"matrix": many} if many else {})}]}


def overrides(keywords: Mapping[str, Any]) -> list[str]:
    """The keywords as options that go over the cases of a suite."""
    single, many = settings(keywords)
    words = []
    for key, value in single.items():
        words.append(f"--vary={key}={json.dumps(value)}" if isinstance(value, dict) else
                     f"--set={key}={value if isinstance(value, str) else json.dumps(value)}")
    return words + [f"--vary={key}={','.join(map(json.dumps, values))}" for key, values in many.items()]


def _word(value: Any) -> str:
    """A value as the text of an option."""
    if isinstance(value, dict):
        name, rest = value.get("name", ""), {key: inner for key, inner in value.items() if key != "name"}
        return str(name) + "".join(f"{',' if i else ':'}{key}={_word(inner)}"
                                   for i, (key, inner) in enumerate(rest.items()))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def options(keywords: Mapping[str, Any]) -> list[str]:
    """Keywords as options of a command: `max_missing=.5` is --max-missing=0.5.

    A list is one option with commas. `set` and `vary` take a mapping, and become one option for each key.
    """
    words = []
    for key, given in keywords.items():
        name = "--" + key.replace("_", "-")
        value = plain(given)
        if key in ("set", "vary") and isinstance(value, dict):
            for path, inner in value.items():
                words.append(f"{name}={path}=" + (",".join(map(_word, inner)) if isinstance(inner, list) else
                                                  _word(inner)))
        elif isinstance(value, list):
            words.append(f"{name}={','.join(map(_word, value))}")
        elif value is not None:
            words.append(f"{name}={_word(value)}")
    return words


def argument(name: str | os.PathLike[str]) -> str:
    """A name as an argument of the command line, where one that begins with '-' would be an option."""
    text = os.fspath(name)
    return "./" + text if text.startswith("-") else text


F = TypeVar("F", bound=Callable[..., Any])


def with_keywords(*tables: type) -> Callable[[F], F]:
    """Gives a function of **keywords a signature with those of `tables`, and their help. Notebooks complete them."""

    def decorate(function: F) -> F:
        hints: dict[str, Any] = {}
        for table in tables:
            hints.update(typing.get_type_hints(table, include_extras=True))
        plain_parameters = [parameter for parameter in inspect.signature(function).parameters.values()
                            if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        own = {parameter.name for parameter in plain_parameters}
        added = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in hints
                 if name not in own]
        function.__signature__ = inspect.Signature([*plain_parameters, *added])  # type: ignore[attr-defined]
        lines = [f"    {name}: {hints[name].__metadata__[0]}" for name in hints if name not in own]
        function.__doc__ = inspect.cleandoc(function.__doc__ or "") + "\n\nKeywords:\n" + "\n".join(lines)
        return function

    return decorate
