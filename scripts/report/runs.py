"""Rows of runs: reads them, finds the settings that vary and the cases that differ only in strategy, and gives commands
to run a case again."""
import json
import os
import pathlib
import shlex
from urllib.parse import quote

from strobe_figures import rows as r
from strobe_figures.rows import PLUGINS, Refused

SCALARS = (*r.SCALARS, "ranks")


class Rows(list):
    """Rows, with facts about all of them together that are computed once. `folders`: the directory of each run.
    `beside`: the folder of the page, because links to the runs start there."""

    def __init__(self, rows, folders=None, beside=None):
        super().__init__(rows)
        self.folders, self.beside = folders or {}, beside
        choices = [flat(row) for row in self]
        self.differ, self.shared = [], {}
        for key in dict.fromkeys(key for own in choices for key in own):
            values = {json.dumps(own.get(key), sort_keys=True) for own in choices}
            if len(values) > 1:
                self.differ.append(key)
            else:
                self.shared[key] = choices[0].get(key)
        self.varying = {plugin: r.varying(self, plugin) for plugin in PLUGINS}
        self.told = self._telling(choices)
        commands = [_words(row) for row in self]
        self.flags = list(dict.fromkeys(pair for own in commands for pair in own))  # each once, whoever has it
        pooled = r.over_seeds(list(self))
        self.pooled = self if len(pooled) == len(self) else Rows(pooled, folders, beside)  # one for all seeds of a case

    def _telling(self, choices):
        """The settings that a label needs to tell cases apart that differ in more than their strategy. A setting that
        follows from earlier ones is left out. So is one with a single value that some kinds of training do not have."""
        labels = {plugin: [plugin_label(row, self, plugin) for row in self] for plugin in PLUGINS if plugin != "strategy"}
        scalars = [key for key in self.differ if "." not in key and key not in PLUGINS]
        for key in sorted(scalars, key=lambda key: (key == "run", key not in SCALARS)):
            values = [own.get(key) for own in choices]
            if len({_text(value) for value in values if value is not None}) > 1:
                labels[key] = [_text(value) for value in values]
        told, groups = [], [()] * len(self)
        for key, values in labels.items():
            if len(set(zip(groups, values))) > len(set(groups)):
                told.append(key)
                groups = list(zip(groups, values))
        return told

    def files(self, name):
        """Links to a file or folder of each run that has it, relative to the page."""
        if self.beside is None:
            return []
        found = [folder / name for folder in self.folders.values() if (folder / name).exists()]
        return [quote(os.path.relpath(path, self.beside)) for path in found]


def read_run(folder):
    """(name, rows, environment) of a run directory. Raises Refused."""
    folder = pathlib.Path(folder)
    if not (folder / "summary.json").is_file():
        raise Refused(f"{folder}: no run directory (it has no summary.json)")
    rows = r.rows_in(folder)
    environment = r.read_json(folder / "env.json") if (folder / "env.json").is_file() else {}
    if not all("case_id" in row for row in rows) or not isinstance(environment, dict):
        raise Refused(f"{folder}: not the summary and the environment of a run")
    return folder.name, rows, environment


def read_runs(folders, beside=None):
    """All Rows, each with `run` set to the name of its folder, and the environments by that name."""
    rows, environments, places = [], {}, {}
    for folder in folders:
        name, own, environment = read_run(folder)
        while name in environments:
            name += "'"
        environments[name] = environment
        places[name] = pathlib.Path(folder)
        rows += [dict(row, run=name) for row in own]
    if not rows:
        raise Refused("no row in " + ", ".join(str(folder) for folder in folders) + " yet")
    return Rows(rows, places, beside), environments


def flat(row):
    """The choices of a row as {"model.hidden": 6, ...}, without its results."""
    choices = {"run": row.get("run", "")}
    for plugin in PLUGINS:
        value = row.get(plugin)
        if isinstance(value, dict):
            for key, inner in value.items():
                choices[plugin if key == "name" else f"{plugin}.{key}"] = inner
    for key in SCALARS:
        choices[key] = row.get(key)
    for key, value in (row.get("settings") or {}).items():
        choices[key] = value
    return choices


def plugin_label(row, rows, plugin):
    """The plug-in's name with those of its parameters that differ among rows of that name."""
    return r.name_with(row, plugin, rows.varying[plugin])


def strategy_label(row, rows):
    return plugin_label(row, rows, "strategy")


def rest_label(row, rows, without=()):
    """The label of a row's settings other than its strategy and `without`."""
    words, choices = [], flat(row)
    for key in rows.told:
        if key in without:
            continue
        if key in PLUGINS:
            words.append(plugin_label(row, rows, key))
        elif choices.get(key) not in ("", None):
            words.append(str(choices[key]) if key in ("run", "device", "cluster") else f"{key} {_text(choices[key])}")
    return ", ".join(words) or "all cases"


def median(row):
    seconds = row.get("epoch_seconds")
    value = seconds.get("median") if isinstance(seconds, dict) else None
    return value if isinstance(value, (int, float)) and value > 0 else None


def interval(row):
    """(low, high) of the row's median epoch: measured, or the band of a prediction; None where nothing says it."""
    ends = r.interval_of(row)
    return None if None in ends else ends


def _words(row):
    """The flags that make the row's case, in pairs."""
    words = []
    for plugin in PLUGINS:
        value = row.get(plugin)
        if not isinstance(value, dict):
            continue
        parameters = [f"{key}={_text(inner)}" for key, inner in value.items() if key != "name" and inner not in ("", None)]
        words.append((f"--{plugin}", value.get("name", "") + (":" + ",".join(parameters) if parameters else "")))
    for key, value in [(key, row.get(key)) for key in SCALARS] + list((row.get("settings") or {}).items()):
        if value not in ("", None):
            words.append(("--set", f"{key}={_text(value)}"))
    return words


def again(row):
    """The command that runs the row's case again."""
    return shlex.join(["strobe", "run"] + [word for pair in _words(row) for word in pair])


def all_flags(rows):
    """Every flag of these rows' commands as a shell takes it, once."""
    return [shlex.join(pair) for pair in rows.flags]


def flags_of(row, rows):
    """The places in `all_flags` of the row's own."""
    own = set(_words(row))
    return [place for place, pair in enumerate(rows.flags) if pair in own]


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def seconds_text(seconds):
    if seconds is None:
        return "-"
    factor, unit = r.time_unit([seconds])
    return f"{seconds * factor:.3g} {unit}"


def bytes_text(count):
    factor, unit = r.byte_unit([count])
    return f"{count * factor:.3g} {unit}"
