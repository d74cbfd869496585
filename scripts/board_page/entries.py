"""Reads the entries of a board: unpacks their archives with care, has Strobe check them, and joins its tables with the
rows."""
import dataclasses
import gzip
import hashlib
import io
import json
import pathlib
import subprocess
import tarfile
import tempfile
import zlib

from strobe_figures import rows as r
from strobe_figures.files import Refused, read_json

FILES = ("entry.json", "plan.json", "env.json", "samples.jsonl", "rounds.jsonl", "values.jsonl", "summary.json", "summary.csv")
MOST_BYTES = 64 << 20  # of an entry, unpacked
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


def _check_member(archive, member, seen, total):
    if member.name not in FILES or not member.isfile():
        raise Refused(f"{archive}: it holds '{member.name}', which no entry has")
    if member.name in seen:
        raise Refused(f"{archive}: it holds {member.name} twice")
    if total + member.size > MOST_BYTES:
        raise Refused(f"{archive}: it has more than {MOST_BYTES >> 20} MiB unpacked")


def unpack(archive, folder):
    """Writes the files of an archive into a new folder. Raises Refused for anything but the plain files of an entry."""
    folder.mkdir()
    total, seen = 0, set()
    try:
        with gzip.open(archive) as file:
            content = file.read(MOST_BYTES + 1)  # to its end, which has the checksum
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as packed:
            for member in packed:
                _check_member(archive, member, seen, total)
                (folder / member.name).write_bytes(packed.extractfile(member).read())
                seen.add(member.name)
                total += member.size
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise Refused(f"{archive}: damaged, or no {ENDING} ({error})") from error


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


def read_board(folder, strobe):
    """The Board of the archives in a folder. Raises Refused for an entry that was changed or breaks a rule."""
    archives = sorted(path for path in folder.iterdir() if path.name.endswith(ENDING)) if folder.is_dir() else []
    if not archives:
        raise Refused(f"{folder}: it holds no entry (*{ENDING}); `strobe submit` writes one")
    strobe = str(pathlib.Path(strobe).resolve()) if "/" in strobe else strobe
    with tempfile.TemporaryDirectory() as scratch:
        entries = {}
        for archive in archives:
            name = archive.name.removesuffix(ENDING)
            unpack(archive, pathlib.Path(scratch) / name)
            entries["./" + name] = _entry(archive, pathlib.Path(scratch) / name)
        tables = _check(strobe, list(entries), scratch)
    for table in tables:
        table["lines"] = [Line(line["place"], line["tied"], line["seconds"], line["times_the_first"],
                               [entries[line["entry"]].rows[case] for case in line["case_ids"]], entries[line["entry"]])
                          for line in table["lines"]]
    return Board(list(entries.values()), tables)
