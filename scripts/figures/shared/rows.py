"""Rows of a run directory for figures: reading, refusing what is incomplete, naming what is drawn."""

import argparse
import csv
import json
import os
import re
import sys

# Okabe and Ito's palette, told apart with every common form of colour blindness.
BLUE, VERMILION, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
GREY, LIGHT_GREY = "#8C8C8C", "#D9D9D9"

PLUGINS = ("workload", "model", "strategy", "task", "optimizer")
SCALARS = ("device", "comm", "cluster", "numerics", "precision", "seed")


class Refused(Exception):
    """The rows cannot be drawn; the text says why."""


def read_rows(path, needed):
    """The ok rows of a run directory (or summary.json). Raises Refused when a key in `needed` is absent or null."""
    if os.path.isdir(path):
        path = os.path.join(path, "summary.json")
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise Refused(f"{path}: not a summary.json ({error!r})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Refused(f"{path}: not a summary.json ('rows' is no list of objects)")
    kept = []
    for number, row in enumerate(rows):
        name = row.get("case_id", f"row {number}")
        if row.get("status") != "ok":
            print(f"left out {name}: {row.get('status')} {row.get('reason', '')}".rstrip(), file=sys.stderr)
            continue
        for key in ("ranks", "time_source", "notes") + PLUGINS[:3] + tuple(needed):
            if row.get(key) is None:
                why = row.get("absent", {}).get("/" + key, "the key is not there")
                raise Refused(f"{path}: {name} lacks '{key}', which this figure needs ({why})")
        kept.append(row)
    if not kept:
        raise Refused(f"{path}: no row ended ok, so there is nothing to draw")
    return kept


def parameters(row, kind):
    return {key: value for key, value in row.get(kind, {}).items() if key != "name"}


def parameter_text(key, value):
    """A word says of what it is; a number or a switch needs its key: "hash", "k=8", "pipeline=false"."""
    if isinstance(value, str):
        return value
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


def label(row, kind, rows):
    """The plug-in's name, with those of its parameters that differ among `rows` of the same name."""
    name = row[kind]["name"]
    same = [parameters(other, kind) for other in rows if other[kind]["name"] == name]
    varying = [key for key, value in parameters(row, kind).items() if any(other.get(key) != value for other in same)]
    values = [parameter_text(key, parameters(row, kind)[key]) for key in varying]
    return name if not values else f"{name} ({', '.join(values)})"


def group_label(row, rows, without=()):
    """What tells the panels apart: the workload, and every other setting that differs among the rows of its clock, but
    those in `without`, which a figure draws side by side."""
    same = [other for other in rows if other["time_source"] == row["time_source"]]
    parts = [label(row, "workload", rows)]
    for kind in ("model", "task", "optimizer"):
        if kind in row and len({json.dumps(other.get(kind)) for other in same}) > 1:
            parts.append(label(row, kind, same))
    for key in SCALARS:
        if key not in without and len({other.get(key) for other in same}) > 1:
            parts.append(f"{key} {row.get(key)}")
    for key in row.get("settings", {}):
        if key not in without and len({json.dumps(other.get("settings", {}).get(key)) for other in same}) > 1:
            parts.append(f"{key} {row['settings'][key]}")
    return ", ".join(parts)


def source_label(rows):
    """'measured', 'predicted' or 'predicted, uncalibrated' for rows of one clock, with the cluster if there is one."""
    words = ["measured" if rows[0]["time_source"] == "wall" else "predicted"]
    words += sorted({note for row in rows for note in row["notes"] if note in ("uncalibrated", "extrapolated")})
    clusters = sorted({row.get("cluster") or "" for row in rows} - {""})
    return ", ".join(words) + (f" ({', '.join(clusters)})" if clusters else "")


UNITS = ("edges_per_second", "cells_per_second", "events_per_second")


def unit_of(row):
    """The key of the row's throughput: the first of these that it has. Each is the same work for every model."""
    for key in UNITS:
        if row["throughput"].get(key) is not None:
            return key
    raise Refused(f"{row['case_id']} has no throughput")


def rate_of(row):
    return row["throughput"][unit_of(row)]


def in_order(values):
    """Distinct values in order of first appearance."""
    return list(dict.fromkeys(values))


def panels(figure_of, count, columns=3, size=(4.3, 3.4)):
    """A figure with a grid of `count` axes, and the axes in order; those left over are switched off."""
    columns = max(1, min(columns, count))
    lines = -(-count // columns)
    figure, grid = figure_of(lines, columns, squeeze=False, figsize=(size[0] * columns, size[1] * lines),
                             gridspec_kw={"hspace": 0.55, "wspace": 0.35})
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def byte_unit(values):
    """(factor, unit) that puts the largest of `values` between 1 and 1000."""
    largest = max(values, default=1)
    for factor, unit in ((1e-9, "GB"), (1e-6, "MB"), (1e-3, "kB")):
        if largest * factor >= 1:
            return factor, unit
    return 1.0, "bytes"


def time_unit(seconds):
    """(factor, unit) that puts the largest of `seconds` between 1 and 1000."""
    largest = max(seconds, default=1.0)
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if largest * factor >= 1:
            return factor, unit
    return 1e9, "ns"


def start_matplotlib():
    """matplotlib.pyplot without a display, with this project's look and output that is the same every time."""
    try:
        import matplotlib
    except ImportError as error:
        raise Refused("figures need matplotlib (apt: python3-matplotlib)") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.axisbelow": True, "axes.grid": True, "grid.color": "#E6E6E6", "grid.linewidth": 0.8,
                         "legend.frameon": False, "svg.hashsalt": "strobe", "figure.dpi": 100, "savefig.dpi": 160})
    return plt


def show_control_characters(figure):
    """Names of files and cases may hold characters that are no text: as \\xNN, also because SVG cannot hold them."""
    from matplotlib.text import Text
    for text in figure.findobj(Text):
        shown = re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found.group()):02x}", text.get_text())
        if shown != text.get_text():
            text.set_text(shown)


def write_figure(name, folder, read, draw):
    """Writes draw(read(), matplotlib.pyplot) as FOLDER/NAME.png and .svg; exit status 2 when refused, 1 when it cannot
    write. What cannot be read is refused before matplotlib is loaded, which takes a second."""
    label = os.path.basename(sys.argv[0]).removesuffix(".py")
    try:
        what = read()
        figure = draw(what, start_matplotlib())
        show_control_characters(figure)
        os.makedirs(folder, exist_ok=True)
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            path = os.path.join(folder, f"{name}.{kind}")
            figure.savefig(path, bbox_inches="tight", metadata=metadata)
            print(path)
    except Refused as refused:
        print(f"{label}: {refused}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{label}: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def write_table(path, lines):
    """Writes lines of a csv file, the first of which are names; exit status 1 when it cannot."""
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    except OSError as error:
        print(f"{os.path.basename(sys.argv[0]).removesuffix('.py')}: cannot write {path}: {error.strerror}", file=sys.stderr)
        return 1
    print(path)
    return 0


def document_main(draw, read, name, argument, description):
    """Command line of a figure of one JSON document: reads it with `read`, draws, writes NAME.png and NAME.svg."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("document", metavar=argument[0], help=argument[1])
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--name", default=name, help=f"name of the figures (default: {name})")
    options = parser.parse_args()
    return write_figure(options.name, options.out, lambda: read(options.document), draw)


def main(draw, name, needed, description):
    """Command line of a figure: reads RUN_DIR, draws, writes NAME.png and NAME.svg; exit status 2 when refused."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("run", metavar="RUN_DIR", help="run directory, or its summary.json")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    options = parser.parse_args()
    return write_figure(name, options.out, lambda: read_rows(options.run, needed), draw)
