"""Reads the entries of a board: unpacks their archives with care, has Strobe check them, and joins its tables with the
rows."""
import dataclasses
import gzip
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
import zlib

from strobe_figures import rows as r
from strobe_figures.files import Refused, read_json

FILES = ("entry.json", "plan.json", "env.json", "samples.jsonl", "rounds.jsonl", "values.jsonl", "summary.json", "summary.csv")
MOST_PACKED_BYTES, MOST_BYTES = 2 << 20, 64 << 20  # of an entry, packed and unpacked
BLOCK = 512  # of a tar
ENDING = ".tar.gz"


@dataclasses.dataclass
class Line:
    """One configuration of an entry in a table of the board."""
    place: int
    tied: bool
    seconds: float
    times_the_first: dict
    rows: list  # one a seed
    entry: "Entry"


@dataclasses.dataclass
class Entry:
    """An archive, its SHA-256, and what it states: entry.json, env.json, rows by case."""
    archive: pathlib.Path
    sha256: str
    facts: dict
    environment: dict
    rows: dict


@dataclasses.dataclass
class Board:
    """The entries, and the tables of `strobe submit --check` whose `lines` are Lines."""
    entries: list
    tables: list

    def summary(self):
        lines = sum(len(table["lines"]) for table in self.tables)
        return f"{len(self.entries)} entries, {lines} configurations, {len(self.tables)} tables"


def _files_in(archive, tar):
    """Yields (name, content) of a POSIX tar with nothing but the plain files of an entry, as `strobe submit` packs it. The
    blocks are read here, because other readers follow links, extended headers and negative sizes."""
    at = 0
    while tar[at:at + BLOCK].strip(b"\0"):
        header = tar[at:at + BLOCK]
        name = header[:100].rstrip(b"\0").decode("utf-8", "backslashreplace")
        if name not in FILES or header[156:157] not in (b"0", b"\0") or header[345:500].strip(b"\0"):
            raise Refused(f"{archive}: it holds {name!r} of type {header[156:157]!r}, which no entry has")
        digits = header[124:136].strip(b"\0 ")
        if not re.fullmatch(rb"[0-7]+", digits):
            raise Refused(f"{archive}: damaged: {name} has no size")
        size, at = int(digits, 8), at + BLOCK
        if size > MOST_BYTES:
            raise Refused(f"{archive}: it has more than {MOST_BYTES >> 20} MiB unpacked")
        if at + size > len(tar):
            raise Refused(f"{archive}: damaged: {name} is cut off")
        yield name, tar[at:at + size]
        at += -(-size // BLOCK) * BLOCK


def unpack(archive, folder):
    """Writes the files of an archive into a new folder. Raises Refused for anything but the plain files of an entry."""
    folder.mkdir()
    try:
        if archive.stat().st_size > MOST_PACKED_BYTES:
            raise Refused(f"{archive}: it has more than {MOST_PACKED_BYTES >> 20} MiB")
        with gzip.open(archive) as file:
            tar = file.read(MOST_BYTES + 1)  # to its end, which has the checksum
    except (OSError, zlib.error, EOFError) as error:
        raise Refused(f"{archive}: damaged, or no {ENDING} ({error})") from error
    if len(tar) > MOST_BYTES:
        raise Refused(f"{archive}: it has more than {MOST_BYTES >> 20} MiB unpacked")
    for name, content in _files_in(archive, tar):
        if (folder / name).exists():
            raise Refused(f"{archive}: it holds {name} twice")
        (folder / name).write_bytes(content)


def _check(strobe, folders, scratch):
    """The tables of `strobe submit --check`. Raises Refused with its words."""
    try:
        done = subprocess.run([strobe, "submit", "--check", *folders], capture_output=True, text=True, check=False, cwd=scratch)
    except OSError as error:
        raise Refused(f"{strobe}: {error.strerror}; name the program with --strobe") from error
    if done.returncode != 0:
        raise Refused(done.stderr.strip().removeprefix("strobe: "))
    return json.loads(done.stdout)


def _entry(archive, folder):
    return Entry(archive, hashlib.sha256(archive.read_bytes()).hexdigest(), read_json(folder / "entry.json"),
                 read_json(folder / "env.json"), {row["case_id"]: row for row in r.rows_in(folder)})


def _archives_in(folder):
    """The archives by the names of their entries."""
    found = {path.name.removesuffix(ENDING): path for path in sorted(folder.glob("*" + ENDING))} if folder.is_dir() else {}
    if not found:
        raise Refused(f"{folder}: it holds no entry (*{ENDING}); `strobe submit` writes one")
    for name, path in found.items():
        if not name.strip("."):
            raise Refused(f"{path}: it has no name; call it as `strobe submit` did")
    return found


def _refuse_copies(entries):
    """Two entries of one run would both count, though one was measured."""
    seen = {}
    for entry in entries:
        first = seen.setdefault(entry.facts["files"]["samples.jsonl"], entry)
        if first is not entry:
            raise Refused(f"{entry.archive}: it is the same run as {first.archive.name}; leave one of them out")


def read_board(folder, strobe):
    """The Board of the archives in a folder. Raises Refused for an entry that was changed or breaks a rule."""
    strobe = str(pathlib.Path(strobe).resolve()) if "/" in strobe else strobe
    with tempfile.TemporaryDirectory() as scratch:
        archives = _archives_in(folder)
        for name, archive in archives.items():
            unpack(archive, pathlib.Path(scratch) / name)
        tables = _check(strobe, ["./" + name for name in archives], scratch)
        entries = {"./" + name: _entry(archive, pathlib.Path(scratch) / name) for name, archive in archives.items()}
    _refuse_copies(entries.values())
    for table in tables:
        table["lines"] = [Line(line["place"], line["tied"], line["seconds"], line["times_the_first"],
                               [entries[line["entry"]].rows[case] for case in line["case_ids"]], entries[line["entry"]])
                          for line in table["lines"]]
    return Board(list(entries.values()), tables)
