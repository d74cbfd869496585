"""Columns of any library as NumPy arrays: pandas, polars, Arrow, PyTorch. Each is imported only where it is used."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from strobe.binary import Array

_DATES = ("date", "datetime", "datetime64")


def series(values: Any) -> pd.Series[Any]:
    """A column [E] of any library as a pandas Series."""
    if isinstance(values, pd.Series):
        return values.reset_index(drop=True)
    if hasattr(values, "detach"):  # a tensor
        values = values.detach().cpu().numpy()
    elif hasattr(values, "to_arrow") or type(values).__module__.startswith("pyarrow"):
        arrow = values.to_arrow() if hasattr(values, "to_arrow") else values
        return pd.Series(arrow.to_pandas()).reset_index(drop=True)
    return pd.Series(values).reset_index(drop=True)


def matrix(values: Any) -> Array:
    """Features [E] or [E, F] of any library as fp32 [E, F]."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    with np.errstate(over="ignore"):  # the caller refuses what is too large for fp32
        array = np.asarray(values, dtype=np.float32)
    return array.reshape(len(array), -1)


def table(data: Any) -> Mapping[str, Any]:
    """A table of any library, or a file of one, as columns by name. Raises ValueError for what is no table."""
    if isinstance(data, (str, os.PathLike)):
        return _file(os.fspath(data))
    if isinstance(data, pd.DataFrame):
        return {str(name): data[name] for name in data.columns}
    if hasattr(data, "iter_columns") and hasattr(data, "columns") and hasattr(data, "to_arrow"):  # polars
        return {column.name: column for column in data.iter_columns()}
    if hasattr(data, "column_names") and hasattr(data, "column"):  # Arrow
        return {name: data.column(name) for name in data.column_names}
    if isinstance(data, Mapping):
        return {str(name): column for name, column in data.items()}
    raise ValueError(f"a {type(data).__module__}.{type(data).__name__} is no table that Strobe knows")


def _file(path: str) -> Mapping[str, Any]:
    """The columns of a .parquet, .feather, .arrow, .npz or .csv file."""
    if path.endswith((".parquet", ".pq")):
        from pyarrow import parquet

        return table(parquet.read_table(path))
    if path.endswith((".feather", ".arrow", ".ipc")):
        from pyarrow import feather

        return table(feather.read_table(path))
    if path.endswith(".npz"):
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    if path.endswith((".csv", ".csv.gz")):
        return table(pd.read_csv(path))
    raise ValueError(f"{path}: columns are read from .parquet, .feather, .arrow, .npz and .csv files")


def _of_one_kind(values: Any) -> tuple[pd.Series[Any], str]:
    """A column [E], and the kind that pandas infers. Objects become dates and numbers where all are of one kind."""
    column = series(values).infer_objects()
    kind = pd.api.types.infer_dtype(column, skipna=True)
    return (column.astype(np.float64) if kind == "decimal" else column), kind


def times(values: Any, unit: str) -> tuple[Array, bool]:
    """Times [E] as seconds since 1970, and whether they were dates. Numbers count `unit`: s, ms, us, ns or step.

    Dates without a zone are UTC. Raises ValueError for times that are missing or not finite.
    """
    column, kind = _of_one_kind(values)
    if kind == "categorical":
        column, kind = _of_one_kind(column.to_numpy())
    scale = {"s": 1, "step": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}
    if unit not in scale:
        raise ValueError(f"time_unit is one of {', '.join(scale)}, not {unit!r}")
    dated = not pd.api.types.is_numeric_dtype(column)
    if dated and unit == "step":
        raise ValueError("time_unit='step' is for whole numbers, not dates")
    if dated and kind not in ("date", "datetime", "datetime64", "string", "empty"):
        raise ValueError(f"times are dates or numbers, and these are {kind}")
    if dated:
        moments = pd.to_datetime(column, utc=True)
        if moments.isna().any():
            raise ValueError(f"time {int(moments.isna().to_numpy().argmax())} is missing")
        exact = moments.dt.tz_localize(None).to_numpy()
        whole = exact.astype("datetime64[s]")
        # Whole seconds first, because nanoseconds since 1970 have more digits than a double.
        return whole.astype(np.int64) + (exact - whole).astype("timedelta64[ns]").astype(np.int64) / 1e9, True
    numbers = column.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"time {int(np.argmin(np.isfinite(numbers)))} is missing or not finite")
    if unit == "step" and (numbers != np.floor(numbers)).any():
        raise ValueError("steps are whole numbers")
    return numbers / scale[unit], False


def numbered(source: pd.Series[Any], target: pd.Series[Any]) -> tuple[Array, Array, Array, list[str]]:
    """Sources and targets [E] as rows of vertices, the number of each vertex [N], and its name, or [].

    Whole numbers from 0 on are numbers: vertices are in their order. Anything else is a name: vertices are in the order
    in which names first appear, source before target. Both are as in Strobe's csv. Raises ValueError for missing ends.
    """
    ends = [_whole(source), _whole(target)]
    if all(pd.api.types.is_integer_dtype(end) and end.min() >= 0 and int(end.max()) < 2**63 for end in ends):
        ids, rows = np.unique(np.concatenate([end.to_numpy(dtype=np.int64) for end in ends]), return_inverse=True)
        return rows[:len(source)], rows[len(source):], ids, []
    in_turn = np.stack([end.astype(object).to_numpy() for end in ends], axis=1).ravel()
    codes, found = pd.factorize(in_turn)
    # A number and its text are one name, because names are text.
    of_text, names = pd.factorize(np.array([str(name) for name in found], dtype=object))
    codes = of_text[codes]
    return codes[::2], codes[1::2], np.arange(len(names)), list(names)


def _whole(ends: pd.Series[Any]) -> pd.Series[Any]:
    """Sources or targets [E], whole numbers as integers. Raises ValueError for those that are missing or infinite."""
    column, kind = _of_one_kind(ends)
    if kind == "categorical":
        column, _ = _of_one_kind(column.to_numpy())
    missing = column.isna()
    if pd.api.types.is_float_dtype(column):
        missing |= np.isinf(column)
    if missing.any():
        raise ValueError(f"event {int(missing.to_numpy().argmax())} has no source or no target")
    # A double holds each whole number below 2**53; above, different ids would become one.
    whole = pd.api.types.is_float_dtype(column) and bool(((column == np.floor(column)) & (column.abs() < 2**53)).all())
    return column.astype(np.int64) if whole else column


def as_features(columns: Mapping[str, Any], names: Sequence[str] | None = None
                ) -> tuple[Array, list[str], dict[str, list[Any]]]:
    """Columns as fp32 [E, F], what each feature is called, and the categories of those that are no numbers.

    A category is numbered from 0 in sorted order. Dates are seconds since the first date of their column, because fp32
    would round seconds since 1970 to 128 s. Raises ValueError for a value that is missing or not finite.
    """
    arrays: list[Array] = []
    called: list[str] = []
    categories: dict[str, list[Any]] = {}
    for name in map(str, names if names is not None else columns):
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(str, columns))}")
        shape = getattr(columns[name], "shape", ())
        if len(shape) > 1:
            array = matrix(columns[name])
        else:
            column, known = category(series(columns[name]))
            if known is not None:
                categories[name] = known
            elif _of_one_kind(series(columns[name]))[1] in _DATES and len(column):
                column = column - column.min()
            array = matrix(column)
        if not np.isfinite(array).all():
            raise ValueError(f"column {name!r} has a value that is missing or no finite fp32 number")
        arrays.append(array)
        called += [name] if array.shape[1] == 1 else [f"{name}.{i}" for i in range(array.shape[1])]
    rows = len(arrays[0]) if arrays else 0
    return (np.hstack(arrays) if arrays else np.zeros((rows, 0), np.float32)), called, categories


def category(column: pd.Series[Any]) -> tuple[Array, list[Any] | None]:
    """A column as numbers: dates as seconds since 1970, durations as seconds.

    Categories become places in a sorted list, which is returned.
    """
    column, kind = _of_one_kind(column)
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64), None
    if column.isna().any():
        raise ValueError(f"column {column.name!r} has a value that is missing")
    if kind in _DATES:
        return times(column, "s")[0], None
    if kind in ("timedelta", "timedelta64"):
        return pd.to_timedelta(column).dt.total_seconds().to_numpy(dtype=np.float64), None
    codes, values = pd.factorize(column.astype(object).to_numpy(), sort=True)
    named = [value.item() if hasattr(value, "item") else value for value in values]
    return codes.astype(np.float64), [one if isinstance(one, (str, int, float)) else str(one) for one in named]
