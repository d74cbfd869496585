"""Your own data as a workload: events or steps from arrays and tables of any library, as a binary file of Strobe."""
from __future__ import annotations

import copy
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from strobe import binary, columns, sources
from strobe.binary import Array
from strobe.commands import Answer, inspect
from strobe.errors import StrobeError
from strobe.program import Path

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from strobe._keywords import InspectOptions


def _cache() -> pathlib.Path:
    own = os.environ.get("STROBE_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(own or os.path.join(base, "strobe")) / "python"


def _saved(path: Path | None, kind: tuple[bytes, int], description: dict[str, Any],
           sections: binary.Sections) -> pathlib.Path:
    """Writes the file to `path`, or to the cache under the digest of its columns, where a file serves again."""
    if path is not None:
        binary.write(path, kind, description, sections)
        return pathlib.Path(path).absolute()
    # A later version of the form has files of its own.
    target = _cache() / f"{description['provenance']['sha256'][:32]}-{kind[1]}.strobe"
    try:
        if not target.exists():
            binary.write(target, kind, description, sections)
    except OSError as error:
        raise StrobeError(f"cannot write {target}: {error.strerror}; give path=, or set STROBE_CACHE_DIR") from error
    return target.absolute()


def _shown(name: Any) -> str:
    """The name of a vertex in a message."""
    return repr(name.item() if hasattr(name, "item") else name)


def _int8(values: Array, what: str) -> Array:
    if len(values) and (values.min() < -1 or values.max() > 127):
        raise ValueError(f"{what} are from {values.min()} to {values.max()}; classes are from 0 to 127, -1 is none")
    return values.astype(np.int8)


def _labels(values: Any, events: int, what: str) -> tuple[Array, list[Any] | None]:
    """Classes as numbers; names are numbered in sorted order, and returned."""
    numbers, names = columns.category(columns.series(values))
    if len(numbers) != events:
        raise ValueError(f"{len(numbers)} {what} for {events} rows")
    if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
        raise ValueError(f"{what} are whole numbers or names")
    return _int8(numbers, what), names


def _fp32(values: Array) -> Array:
    """Values in fp32; what is too large becomes infinite, and the caller refuses it."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


class Workload:
    """A workload with its options: a name that Strobe knows, a file, or data of yours.

    strobe.run(workload=strobe.Workload("ucsocial", window="1month"))

    `names` has your name of each vertex by row, or is [] where ids are numbers; `ids` has the numbers. `categories` has
    the values that have become numbers: `categories["kind"][2]` is the one that has become 2 in the feature `kind`.
    """

    def __init__(self, name: Path, **options: Any) -> None:
        self.name = os.fspath(name)
        self.options = options
        self.names: list[str] = []
        self.ids: Array = np.zeros(0, np.int64)
        self.categories: dict[str, list[Any]] = {}
        self.features: list[str] = []

    def part(self) -> dict[str, Any]:
        """The workload as a suite has it."""
        return {"name": self.name, **self.options}

    def with_options(self, **options: Any) -> Workload:
        """The same data with other options, such as `window="30d"`; docs/reference/workloads.md lists them."""
        other = copy.copy(self)
        other.options = {**self.options, **options}
        return other

    def inspect(self, **options: Unpack[InspectOptions]) -> Answer:
        """Vertices, steps, edges and degrees, as `strobe.inspect` says them."""
        return inspect(self, **options)

    def vertices(self) -> pd.DataFrame:
        """One line for each vertex: `row` (its number in outputs of Strobe), `id` and `name` (yours)."""
        frame = pd.DataFrame({"row": np.arange(len(self.ids)), "id": self.ids})
        return frame.assign(name=self.names) if self.names else frame

    def __repr__(self) -> str:
        return f"Workload({self.name!r}" + "".join(f", {key}={value!r}" for key, value in self.options.items()) + ")"

    @classmethod
    def open(cls, path: Path, **options: Any) -> Workload:
        """A file that `from_events`, `from_data` or `strobe convert` wrote, with its names and categories."""
        description, sections = binary.read(path)
        found = cls(pathlib.Path(path).absolute(), **options)
        found.names = binary.unpacked_names(sections)
        found.ids = np.asarray(sections.get("original_id", np.arange(description["vertices"])))
        tag = description.get("tag") or {}
        found.categories, found.features = tag.get("categories", {}), tag.get("features", [])
        return found

    @classmethod
    def from_events(cls, source: Any, target: Any, time: Any, weight: Any = None, features: Any = None,
                    labels: Any = None, *, vertices: Any = None, vertex_features: str | Sequence[str] | None = None,
                    vertex_labels: str | None = None, vertex_name: str = "name", time_unit: str = "s",
                    two_sided: bool = False, path: Path | None = None, name: str = "events",
                    **options: Any) -> Workload:
        """Events as a workload. Columns are arrays [E] of NumPy, pandas, polars, Arrow or PyTorch.

        - `source`, `target`: whole numbers from 0 on, or names.
        - `time`: dates, or numbers of `time_unit` (s, ms, us, ns since 1970, or step); in any order.
        - `weight`: numbers. `labels`: the class of an event, from 0 to 127 (-1: none), or names of classes.
        - `features`: [E], [E, F], or a table or mapping of columns. Dates become seconds since
          the first date of their column, categories numbers.
        - `vertices`: a table with a line for each vertex, joined by its column `vertex_name` with sources and targets.
          `vertex_features` names the columns that are features (default: all others), `vertex_labels` the class.
        - `two_sided`: sources and targets are numbered apart, so that equal numbers are two vertices.
        - `path`: the file to write (.strobe); default: one in the cache, named by the data's SHA-256.
        - other options are those of a workload, such as `window="30d"`.

        Raises ValueError for columns of unequal lengths and for values that are missing or impossible.
        """
        graph = _Events(name)
        graph.add_events(source, target, time, time_unit, two_sided)
        if weight is not None:
            graph.add_weight(weight)
        if features is not None:
            graph.add_features(features)
        if labels is not None:
            graph.add_labels(labels)
        if vertices is not None:
            graph.add_vertices(columns.table(vertices), vertex_name, vertex_features, vertex_labels)
        return cls.open(graph.save(path), **options)

    @classmethod
    def from_data(cls, data: Any, *, source: str | None = None, target: str | None = None, time: str | None = None,
                  weight: str | None = None, features: str | Sequence[str] | None = None, labels: str | None = None,
                  **how: Any) -> Workload:
        """Events of a table, a file or a graph of another library. The arguments name columns.

        - tables of pandas, polars and Arrow, mappings of arrays, files .parquet, .feather, .npz and .csv
        - PyTorch Geometric: `TemporalData`; DGL: a graph whose edges have a time; TGB: a data set of links
        - PyTorch Geometric Temporal: an iterator of snapshots, which becomes a graph of steps

        Columns that are not named are looked for under the names that these libraries use: `src`, `dst`, `t`, `msg` and
        the like. `how` goes to `from_events`. Raises ValueError.
        """
        steps = sources.steps_of(data)
        if steps is not None:
            return cls.from_steps(**steps, **how)
        found = sources.columns_of(data)
        chosen = sources.choose(found, {"source": source, "target": target, "time": time, "weight": weight,
                                        "labels": labels})
        values: dict[str, Any] = {key: found.events[name] for key, name in chosen.items() if name is not None}
        if features is not None:
            wanted = [features] if isinstance(features, str) else features
            values["features"] = {str(name): found.column(name) for name in wanted}
        elif found.features is not None:
            values["features"] = found.features
        if found.vertices is not None and "vertices" not in how:
            values["vertices"] = found.vertices
        return cls.from_events(**values, **{**found.how, **how})

    @classmethod
    def from_steps(cls, edges: Iterable[Any], weights: Iterable[Any] | None = None, features: Any = None,
                   targets: Any = None, *, path: Path | None = None, name: str = "steps", **options: Any) -> Workload:
        """A graph of T steps over N vertices: `edges` has an array [2, E_t] for each step, `weights` one [E_t].

        `features` are [T, N, F] or [T, N], `targets` [T, N] the values to predict of a vertex at a step (NaN: none).
        Parallel edges add. Raises ValueError.
        """
        graph = _Steps(name, list(edges), None if weights is None else list(weights), features, targets)
        return cls.open(graph.save(path), **options)


class _Events:
    """Columns on their way to a binary graph; events in stable time order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sections: binary.Sections = {}
        self.names: list[str] = []
        self.tag: dict[str, Any] = {"categories": {}, "features": []}
        self.widths = {"edge_feature_width": 0, "vertex_feature_width": 0}

    def _event_column(self, values: Array, what: str) -> Array:
        if len(values) != len(self.order):
            raise ValueError(f"{what} has {len(values)} rows for {len(self.order)} events")
        return values[self.order]

    def add_events(self, source: Any, target: Any, time: Any, unit: str, two_sided: bool) -> None:
        ends = columns.series(source), columns.series(target)
        times, self.dated = columns.times(time, unit)
        if not len(ends[0]) == len(ends[1]) == len(times):
            raise ValueError(f"{len(ends[0])} sources, {len(ends[1])} targets and {len(times)} times")
        if not len(times):
            raise ValueError("there are no events")
        first, second, ids, self.names = columns.numbered(*ends)
        if two_sided and self.names:
            raise ValueError("two_sided is for numbers; names of two sides differ, or give them another beginning")
        self.order = np.argsort(times, kind="stable")
        self.sorted = bool((np.diff(times) >= 0).all())
        self.stepped, self.two_sided = unit == "step", two_sided
        self.sections = {"time": times[self.order].astype(np.float64), "source": first[self.order].astype(np.int32),
                         "target": second[self.order].astype(np.int32), "original_id": ids.astype(np.int64)}

    def add_weight(self, weight: Any) -> None:
        exact = self._event_column(columns.series(weight).to_numpy(dtype=np.float64), "weight")
        rounded = _fp32(exact)
        if not np.isfinite(rounded).all():
            event = int(self.order[np.isfinite(rounded).argmin()])
            raise ValueError(f"weight {event} is missing or no finite fp32 number")
        self.sections["weight"] = rounded
        if (rounded.astype(np.float64) != exact).any():
            self.sections["exact_weight"] = exact

    def add_features(self, features: Any) -> None:
        plain = hasattr(features, "detach") or isinstance(features, (np.ndarray, list, pd.Series))
        if plain and np.ndim(features) != 1:
            features = columns.matrix(features)
        array, self.tag["features"], self.tag["categories"] = columns.as_features(
            {"feature": features} if plain else columns.table(features))
        self.widths["edge_feature_width"] = array.shape[1]
        self.sections["edge_features"] = self._event_column(array, "features").ravel()

    def add_labels(self, labels: Any) -> None:
        numbers, names = _labels(labels, len(self.order), "labels")
        if names is not None:
            self.tag["categories"]["labels"] = names
        self.sections["event_label"] = numbers[self.order]

    def add_vertices(self, table: Mapping[str, Any], key: str, features: str | Sequence[str] | None,
                     label: str | None) -> None:
        """Joins the table with the vertices of the events; lines of other vertices are left out."""
        key, label = str(key), None if label is None else str(label)
        features = [features] if isinstance(features, str) else features
        if key not in table:
            raise ValueError(f"the table of vertices has no column {key!r}; it has {', '.join(map(str, table))}")
        own = pd.Index(columns.series(table[key]))
        if not own.is_unique:
            raise ValueError(f"the table of vertices has {_shown(own[own.duplicated()][0])} twice")
        own = own.map(str) if self.names else own
        rows = own.get_indexer(pd.Index(self.names if self.names else self.sections["original_id"]))
        if (rows < 0).any():
            missing = int((rows < 0).argmax())
            absent = self.names[missing] if self.names else self.sections["original_id"][missing]
            raise ValueError(f"the table of vertices has no line for {_shown(absent)}, nor for {(rows < 0).sum() - 1} "
                             "others")
        chosen = features if features is not None else [name for name in table if name not in (key, label)]
        array, called, categories = columns.as_features(table, chosen)
        if array.shape[1]:
            self.widths["vertex_feature_width"] = array.shape[1]
            self.sections["vertex_features"] = array[rows].ravel()
        self.tag["categories"].update({f"vertex.{name}": values for name, values in categories.items()})
        self.tag["vertex_features"] = called
        if label is not None:
            numbers, names = _labels(table[label], len(own), "labels of vertices")
            self.sections["vertex_label"] = numbers[rows]
            if names is not None:
                self.tag["categories"][f"vertex.{label}"] = names

    def _counts(self) -> dict[str, Any]:
        events = pd.DataFrame({key: self.sections[key] for key in ("source", "target", "time")})
        return {"rows": len(events), "self_loops": int((events["source"] == events["target"]).sum()),
                "duplicates": int(events.duplicated().sum()), "was_sorted": self.sorted}

    def save(self, path: Path | None) -> pathlib.Path:
        self.sections.update(binary.packed_names(self.names) if self.names else {})
        origin = binary.provenance(self.name, {**self.sections, "tag": np.frombuffer(
            repr((self.tag, self.dated, self.stepped, self.two_sided)).encode(), np.uint8)}, **self._counts())
        return _saved(path, binary.EVENTS, {
            "vertices": len(self.sections["original_id"]), "events": len(self.order), "stepped": self.stepped,
            "two_sided": self.two_sided, "labels_before": False, "removals": False, "time_words": 0, **self.widths,
            "timed_labels": 0, "dated": self.dated, "name_bytes": len(self.sections.get("name_bytes", ())),
            "provenance": origin, "tag": self.tag}, self.sections)


class _Steps:
    """Snapshots on their way to a binary file: row v of a matrix lists the sources of the edges to v."""

    def __init__(self, name: str, edges: list[Any], weights: list[Any] | None, features: Any, targets: Any) -> None:
        self.name, self.steps = name, len(edges)
        if not edges:
            raise ValueError("there are no steps")
        if weights is not None and len(weights) != len(edges):
            raise ValueError(f"weights of {len(weights)} steps for edges of {len(edges)}")
        pairs = [self._pairs(one, step) for step, one in enumerate(edges)]
        self.features = None if features is None else self._features(features)
        self.targets = None if targets is None else _fp32(np.asarray(targets, np.float64))
        if self.targets is not None and (self.targets.ndim != 2 or np.isinf(self.targets).any()):
            raise ValueError(f"targets have the shape {self.targets.shape}; [{self.steps}, N] are read, fp32 or NaN")
        known = self.features if self.features is not None else self.targets
        self.vertices = known.shape[1] if known is not None else 1 + max((int(p.max()) for p in pairs if p.size),
                                                                         default=0)
        if self.targets is not None and self.targets.shape != (self.steps, self.vertices):
            raise ValueError(f"targets have the shape {self.targets.shape}, not {(self.steps, self.vertices)}")
        self.parts = [self._matrix(pairs[step], None if weights is None else weights[step], step)
                      for step in range(self.steps)]
        rows = sum(one.shape[1] for one in pairs)
        self.counts = {"rows": rows, "self_loops": sum(int((one[0] == one[1]).sum()) for one in pairs),
                       "duplicates": rows - sum(len(part[1]) for part in self.parts)}

    @staticmethod
    def _pairs(edges: Any, step: int) -> Array:
        array = np.asarray(edges.detach().cpu() if hasattr(edges, "detach") else edges)
        if array.ndim != 2 or array.shape[0] != 2:
            raise ValueError(f"edges of step {step} have the shape {array.shape}; [2, E] is read")
        kind = array.dtype.kind
        if kind not in "iuf" or (kind == "f" and not (np.isfinite(array) & (np.floor(array) == array)).all()):
            raise ValueError(f"edges of step {step} are not whole numbers")
        return array.astype(np.int64)

    def _features(self, features: Any) -> Array:
        array = np.asarray(features, np.float64)
        if array.ndim < 2 or array.shape[0] != self.steps or not np.isfinite(_fp32(array)).all():
            raise ValueError(f"features have the shape {array.shape}; [{self.steps}, N, F] of finite fp32 are read")
        return array.reshape(array.shape[0], array.shape[1], -1)

    def _matrix(self, pairs: Array, weights: Any, step: int) -> tuple[Array, Array, Array]:
        """Offsets of rows [N + 1], columns and values; parallel edges add up."""
        if pairs.size and (pairs.min() < 0 or pairs.max() >= self.vertices):
            raise ValueError(f"an edge of step {step} has a vertex outside 0 to {self.vertices - 1}")
        values = np.ones(pairs.shape[1]) if weights is None else columns.series(weights).to_numpy(dtype=np.float64)
        if len(values) != pairs.shape[1]:
            raise ValueError(f"step {step} has {pairs.shape[1]} edges and {len(values)} weights")
        cells, place = np.unique(pairs[1] * self.vertices + pairs[0], return_inverse=True)
        sums = np.bincount(place, values, len(cells)) if len(cells) else np.zeros(0)
        if not np.isfinite(_fp32(sums)).all():
            raise ValueError(f"a weight of step {step} is missing or no finite fp32 number")
        offsets = np.searchsorted(cells, np.arange(self.vertices + 1) * self.vertices)
        return offsets.astype(np.int64), (cells % self.vertices).astype(np.int32), sums

    def save(self, path: Path | None) -> pathlib.Path:
        # Equal matrices in sequence are stored once.
        distinct: list[tuple[Array, Array, Array]] = []
        of_step = []
        for part in self.parts:
            if not distinct or any(not np.array_equal(a, b) for a, b in zip(part, distinct[-1], strict=True)):
                distinct.append(part)
            of_step.append(len(distinct) - 1)
        exact = np.concatenate([part[2] for part in distinct])
        features = np.zeros((self.steps, self.vertices, 0)) if self.features is None else self.features
        sections = {"step_snapshot": np.array(of_step, np.int32),
                    "row_offsets": np.concatenate([part[0] for part in distinct]),
                    "columns": np.concatenate([part[1] for part in distinct]), "values": exact.astype(np.float32),
                    "features": features.astype(np.float32).ravel(),
                    "step_begin": np.arange(self.steps, dtype=np.float64),
                    "step_end": np.arange(1, self.steps + 1, dtype=np.float64)}
        for key, of in (("values", exact), ("features", features.ravel())):
            if (sections[key].astype(np.float64) != of).any():
                sections[f"exact_{key}"] = of
        if self.targets is not None:
            sections["targets"] = self.targets.ravel()
        return _saved(path, binary.STEPS, {
            "vertices": self.vertices, "steps": self.steps, "snapshots": len(distinct), "nonzeros": len(exact),
            "feature_width": features.shape[2], "repeats": "", "orientation": "in", "two_sided": False, "dated": False,
            "name_bytes": 0, "provenance": binary.provenance(self.name, sections, **self.counts)}, sections)
