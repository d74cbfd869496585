"""Columns of any library as NumPy arrays: pandas, polars, Arrow, PyTorch. Each is imported only where it is used."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from strobe.binary import Array


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
        return data
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


def times(values: Any, unit: str) -> tuple[Array, bool]:
    """Times [E] as seconds since 1970, and whether they were dates. Numbers count `unit`: s, ms, us, ns or step.

    Dates without a zone are UTC. Raises ValueError for times that are missing or not finite.
    """
    column = series(values)
    scale = {"s": 1, "step": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}
    if unit not in scale:
        raise ValueError(f"time_unit is one of {', '.join(scale)}, not {unit!r}")
    dated = not pd.api.types.is_numeric_dtype(column)
    if dated:
        moments = pd.to_datetime(column, utc=True)
        if moments.isna().any():
            raise ValueError(f"time {int(moments.isna().to_numpy().argmax())} is missing")
        since = moments.dt.tz_localize(None).to_numpy().astype("datetime64[ns]").astype(np.int64)
        # Whole seconds first, because nanoseconds since 1970 have more digits than a double.
        return since // 10**9 + since % 10**9 / 1e9, True
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
    both = pd.concat([source, target], ignore_index=True)
    if both.isna().any():
        raise ValueError(f"event {int(both.isna().to_numpy().argmax()) % len(source)} has no source or no target")
    if pd.api.types.is_float_dtype(both) and (both == np.floor(both)).all():
        both = both.astype(np.int64)
    if pd.api.types.is_integer_dtype(both) and (both >= 0).all():
        ids, rows = np.unique(both.to_numpy(dtype=np.int64), return_inverse=True)
        return rows[:len(source)], rows[len(source):], ids, []
    in_turn = np.arange(2 * len(source)).reshape(2, -1).T.ravel()
    codes, found = pd.factorize(both.astype(object).to_numpy()[in_turn])
    return codes[::2], codes[1::2], np.arange(len(found)), [str(name) for name in found]


def as_features(columns: Mapping[str, Any], names: Sequence[str] | None = None
                ) -> tuple[Array, list[str], dict[str, list[Any]]]:
    """Columns as fp32 [E, F], what each feature is called, and the categories of those that are no numbers.

    A category is numbered from 0 in sorted order. Raises ValueError for a value that is missing or not finite.
    """
    arrays: list[Array] = []
    called: list[str] = []
    categories: dict[str, list[Any]] = {}
    for name in names if names is not None else columns:
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(map(str, columns))}")
        shape = getattr(columns[name], "shape", ())
        if len(shape) > 1:
            array = matrix(columns[name])
        else:
            column, known = category(series(columns[name]))
            if known is not None:
                categories[name] = known
            array = matrix(column)
        if not np.isfinite(array).all():
            raise ValueError(f"column {name!r} has a value that is missing or no finite fp32 number")
        arrays.append(array)
        called += [name] if array.shape[1] == 1 else [f"{name}.{i}" for i in range(array.shape[1])]
    rows = len(arrays[0]) if arrays else 0
    return (np.hstack(arrays) if arrays else np.zeros((rows, 0), np.float32)), called, categories


def category(column: pd.Series[Any]) -> tuple[Array, list[Any] | None]:
    """A column as numbers: dates as seconds since 1970, categories as places in a sorted list, which is returned."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64), None
    if pd.api.types.is_datetime64_any_dtype(column):
        return times(column, "s")[0], None
    if column.isna().any():
        raise ValueError(f"column {column.name!r} has a value that is missing")
    codes, values = pd.factorize(column.astype(object).to_numpy(), sort=True)
    return codes.astype(np.float64), [value.item() if hasattr(value, "item") else value for value in values]
