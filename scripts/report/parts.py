"""The parts of a section of the page: tables, figures and lists as plain data. The templates make HTML of them."""
import base64
from dataclasses import dataclass, field

from strobe_figures import rows as r

MOST_CSV = 60_000  # characters of a figure's numbers in the page; longer ones are in the run's own files


@dataclass
class Cell:
    """One cell of a table. `value`: what it is sorted by; `share`: how dark it is, from 0 to 1."""
    text: str
    value: object = None
    small: str = ""
    kind: str = ""
    title: str = ""
    share: object = None


@dataclass
class Line:
    head: str
    cells: list
    small: str = ""
    title: str = ""
    id: str = ""
    again: object = None  # the places of the flags that run the case again


@dataclass
class Table:
    head: list  # names, or (name, explanation)
    lines: list
    key: list = field(default_factory=list)  # (class, words) that explain kinds of cells
    name: str = ""  # of a table that a word filters
    summary: str = ""  # of a table that is folded away
    part = "table"


@dataclass
class Figures:
    """Figures with their captions, side by side, below one legend of (swatch, name)."""
    drawn: list
    legend: list = field(default_factory=list)
    note: str = ""
    part = "figures"


@dataclass
class Items:
    """A list: (bold words, text, address) each."""
    items: list
    heading: str = ""
    summary: str = ""
    part = "items"


@dataclass
class Words:
    text: str
    part = "words"


@dataclass
class Section:
    id: str
    title: str
    parts: list
    not_shown: str
    csv: str = ""
    files: list = field(default_factory=list)
    source: str = ""


def section(rows, name, title, parts, not_shown, header, lines, source="summary.csv"):
    """A section of the page with what belongs under it: its limits and its numbers. None without parts. `source`: what of
    a run has its numbers, too."""
    if not parts:
        return None
    text = r.csv_text([header, *lines])
    if len(text) > MOST_CSV:
        return Section(name, title, parts, not_shown, files=rows.files(source), source=source)
    return Section(name, title, parts, not_shown, csv=base64.b64encode(text.encode("utf-8", "backslashreplace")).decode())


def more(count, kinds, place="the numbers"):
    """" N more cases are in the CSV." where a section leaves some out."""
    return f" {count} more {kinds} are in {place}." if count > 0 else ""
