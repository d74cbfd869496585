"""Writes and reads Strobe's binary files: events and steps. workloads/storage/binary_file.cpp has their form."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from strobe.program import Path

Array = npt.NDArray[Any]
Sections = dict[str, Array]

# The first bytes and the version of both kinds.
EVENTS = (b"STROBEG\n", 4)
STEPS = (b"STROBES\n", 1)
_HEADER = struct.Struct("<8sIIQQ16x64s16x")
_ALIGNMENT = 64


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _type(array: Array) -> str:
    return f"{array.dtype.kind}{8 * array.dtype.itemsize}"


def provenance(name: str, sections: Sections, **counts: Any) -> dict[str, Any]:
    """The origin of a graph. `sha256` is that of its columns and counts, because there is no source file."""
    digest = hashlib.sha256(json.dumps([name, counts], sort_keys=True).encode())
    for key, array in sections.items():
        digest.update(f"{key} {array.dtype} {array.size}\n".encode())
        digest.update(np.ascontiguousarray(array).data)
    return {"name": name, "format": "python", "source": "Python", "sha256": digest.hexdigest(), "licence": "",
            "ids": "shared", "rows": 0, "self_loops": 0, "duplicates": 0, "was_sorted": True, "notes": [], **counts}


def write(path: Path, kind: tuple[bytes, int], description: dict[str, Any], sections: Sections) -> None:
    """Writes a file whole or not at all. Empty sections are left out."""
    kept = {name: np.ascontiguousarray(array) for name, array in sections.items() if array.size > 0}
    table, offset = [], 0
    for name, array in kept.items():
        table.append({"name": name, "type": _type(array), "count": array.size, "offset": offset,
                      "sha256": hashlib.sha256(array.data).hexdigest()})
        offset += _padded(array.nbytes)
    text = json.dumps({**description, "sections": table}, separators=(",", ":")).encode()
    end = _HEADER.size + len(text)
    for array in kept.values():
        end = _padded(end) + array.nbytes
    parts = [kind[0], kind[1], _HEADER.size, len(text), end]
    digest = hashlib.sha256(_HEADER.pack(*parts, b"") + text).hexdigest()
    target = pathlib.Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(unfinished, "wb") as file:
            file.write(_HEADER.pack(*parts, digest.encode()) + text)
            for array in kept.values():
                file.write(bytes(_padded(file.tell()) - file.tell()))
                file.write(array.data)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def read(path: Path) -> tuple[dict[str, Any], Sections]:
    """The description and the columns, mapped. Raises ValueError for a file of another kind.

    Only the program checks a file for damage.
    """
    with open(path, "rb") as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or head[:8] not in (EVENTS[0], STEPS[0]):
            raise ValueError(f"{os.fspath(path)}: is no binary file of Strobe")
        description: dict[str, Any] = json.loads(file.read(_HEADER.unpack(head)[3]))
        begin = _padded(file.tell())
    sections: Sections = {one["name"]: np.memmap(path, dtype=f"{one['type'][0]}{int(one['type'][1:]) // 8}", mode="r",
                                       offset=begin + one["offset"], shape=(one["count"],))
                for one in description.pop("sections")}
    return description, sections


def packed_names(names: list[str]) -> Sections:
    """Names as all bytes in sequence and the end of each name."""
    encoded = [name.encode() for name in names]
    return {"name_ends": np.cumsum([len(name) for name in encoded], dtype=np.int64),
            "name_bytes": np.frombuffer(b"".join(encoded), dtype=np.int8)}


def unpacked_names(sections: Sections) -> list[str]:
    """The names of a file, or [] where it has none."""
    if "name_ends" not in sections:
        return []
    text, ends = sections["name_bytes"].tobytes(), sections["name_ends"].tolist()
    return [text[begin:end].decode() for begin, end in zip([0, *ends], ends, strict=False)]
