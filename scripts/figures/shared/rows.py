"""Rows of a run directory for figures: reading, refusing what is incomplete, naming what is drawn."""

import argparse
import copy
import csv
import io
import json
import os
import re
import statistics
import sys

from shared.files import Refused, ending, write_whole

# Okabe and Ito's palette, told apart with every common form of colour blindness.
BLUE, VERMILION, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
GREY, LIGHT_GREY = "#8C8C8C", "#D9D9D9"

PLUGINS = ("workload", "model", "strategy", "task", "optimizer")
SCALARS = ("device", "comm", "cluster", "numerics", "precision", "seed")


COLUMN_INCHES = 3.5  # one of two columns of a paper
LAYOUT = {"width": "page"}  # or "column": panels are below each other
LEFT_OUT = []  # rows that did not end ok, of the runs that are drawn


def rows_in(path):
    """All rows of a run directory (or summary.json)."""
    if os.path.isdir(path):
        path = os.path.join(path, "summary.json")
    try:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Refused(f"{path}: not a summary.json ({error!r})") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Refused(f"{path}: not a summary.json ('rows' is no list of objects)")
    return rows


def read_rows(paths, needed):
    """The ok rows of run directories (or of files summary.json). Raises Refused when a key in `needed` is absent or
    null. Rows of several runs say which, under "run"."""
    paths = [paths] if isinstance(paths, str) else list(paths)
    LEFT_OUT.clear()
    kept = []
    for path in paths:
        for number, row in enumerate(rows_in(path)):
            name = row.get("case_id", f"row {number}")
            if len(paths) > 1:
                row["run"] = os.path.basename(os.path.normpath(path))
            if row.get("status") != "ok":
                print(f"left out {name}: {row.get('status') or 'no status'} {row.get('reason') or ''}".rstrip(), file=sys.stderr)
                LEFT_OUT.append(row)
                continue
            for key in ("ranks", "time_source", "notes") + PLUGINS[:3] + tuple(needed):
                if row.get(key) is None:
                    why = row.get("absent", {}).get("/" + key, "the key is not there")
                    raise Refused(f"{path}: {name} lacks '{key}', which this figure needs ({why})")
            kept.append(row)
    if not kept:
        raise Refused(f"{', '.join(paths)}: no row ended ok, so there is nothing to draw")
    return kept


def mean_of(values):
    """The mean of numbers, and of lists and objects of them part by part; None where one of them lacks a part."""
    first = values[0]
    if isinstance(first, dict):
        return {key: mean_of([value.get(key) for value in values]) for key in first}
    if isinstance(first, list):
        return [mean_of(list(parts)) for parts in zip(*values)]
    return statistics.fmean(values) if all(isinstance(value, (int, float)) for value in values) else first


def deviation_of(values):
    """Standard deviations (n - 1) in the form of the values: a number, a list or a dictionary."""
    first = values[0]
    if isinstance(first, dict):
        return {key: deviation_of([value.get(key) for value in values]) for key in first}
    if isinstance(first, list):
        return [deviation_of(list(parts)) for parts in zip(*values)]
    return statistics.stdev(values) if all(isinstance(value, (int, float)) for value in values) else None


MEASURED = ("epoch_seconds", "phase_seconds", "sent_bytes", "transfer_bytes", "peak_bytes", "throughput", "loss", "metrics")


def mean_row(rows):
    """One row for several that differ in their seed: means, and under "spread" the standard deviations. Its interval of
    the median epoch is one standard deviation to each side."""
    merged = copy.deepcopy(rows[0])
    merged["seeds"] = len(rows)
    merged["case_id"] = f"{rows[0]['case_id']} and {len(rows) - 1} of other seeds"
    merged["spread"] = {}
    for key in MEASURED:
        if all(row.get(key) is not None for row in rows):
            merged[key] = mean_of([row[key] for row in rows])
            merged["spread"][key] = deviation_of([row[key] for row in rows])
    times = merged.get("epoch_seconds")
    if times:
        half = merged["spread"]["epoch_seconds"]["median"]
        times["ci95_low"], times["ci95_high"] = times["median"] - half, times["median"] + half
    return merged


def over_seeds(rows):
    """The rows, those that differ in their seed alone as one with mean and spread."""
    groups = {}
    for row in rows:
        key = {k: row.get(k) for k in PLUGINS + SCALARS + ("ranks", "settings", "time_source", "run") if k != "seed"}
        groups.setdefault(json.dumps(key, sort_keys=True), []).append(row)
    several = {key for key, group in groups.items()
               if len(group) > 1 and len({row.get("seed") for row in group}) == len(group)}
    if not several:
        return rows
    merged = []
    for key, group in groups.items():
        merged += [mean_row(group)] if key in several else group
    for row in merged:
        row["seed"] = None  # what is left of it would tell panels apart
    return merged


def interval_of(row):
    """The ends of the row's median epoch: of the 90 % band of a prediction that has one, of one standard deviation over
    seeds, or of the 95 % interval over epochs; (None, None) where there is none."""
    times, band = row["epoch_seconds"], row.get("epoch_seconds_band90")
    return (band["low"], band["high"]) if band else (times["ci95_low"], times["ci95_high"])


def bars_label(rows):
    """The meaning of the bars of `interval_of`, in words; "" where no row has one."""
    words = []
    if any(row.get("epoch_seconds_band90") for row in rows):
        words.append("90 % band where there is one")
    if any(row.get("seeds") and not row.get("epoch_seconds_band90") for row in rows):
        words.append(f"standard deviation over {max(row.get('seeds', 0) for row in rows)} seeds")
    plain = [row for row in rows if not row.get("seeds") and not row.get("epoch_seconds_band90")]
    if any(row["epoch_seconds"]["ci95_low"] is not None for row in plain):
        words.append("95 % interval of the median")
    return "bars: " + ", ".join(words) if words else ""


def is_extrapolated(row):
    return any(note.startswith("extrapolated") for note in row["notes"])


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
    """The label of a row's panel: the workload, and every other setting that differs among the rows of its clock. It
    leaves out settings in `without`, which a figure draws side by side."""
    same = [other for other in rows if other["time_source"] == row["time_source"]]
    parts = [label(row, "workload", rows)]
    if len({other.get("run") for other in same}) > 1:
        parts.insert(0, f"run {row.get('run')}")
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
    words += sorted({note.split()[0] for row in rows for note in row["notes"]
                     if note.split()[:1] in (["uncalibrated"], ["extrapolated"])})
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


def in_column():
    return LAYOUT["width"] == "column"


def panels(figure_of, count, columns=3, size=(4.3, 3.4)):
    """A figure with a grid of `count` axes, and the axes in order; those left over are switched off."""
    columns = 1 if in_column() else max(1, min(columns, count))
    size = (COLUMN_INCHES, 0.8 * COLUMN_INCHES) if in_column() else size
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
    here = os.getcwd()
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # matplotlib reads a matplotlibrc of the working folder
    try:
        import matplotlib
    except ImportError as error:
        raise Refused("figures need matplotlib (apt: python3-matplotlib)") from error
    finally:
        os.chdir(here)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.axisbelow": True, "axes.grid": True, "grid.color": "#E6E6E6", "grid.linewidth": 0.8,
                         "legend.frameon": False, "svg.hashsalt": "strobe", "figure.dpi": 100, "savefig.dpi": 160,
                         "pdf.fonttype": 42})
    if in_column():
        plt.rcParams.update({"font.size": 7.5, "axes.titlesize": 8, "savefig.dpi": 300})
    return plt


def show_control_characters(figure):
    """Names of files and cases may hold characters that are no text: as \\xNN, also because SVG cannot hold them."""
    from matplotlib.text import Text
    for text in figure.findobj(Text):
        shown = re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found.group()):02x}", text.get_text())
        if shown != text.get_text():
            text.set_text(shown)


METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def left_out_text(most=3):
    """How many rows are not drawn as they did not end ok, by why; of many reasons the most frequent."""
    kinds = {}
    for row in LEFT_OUT:
        key = (row.get("status"), row.get("reason") or "")
        kinds[key] = kinds.get(key, 0) + 1
    ordered = sorted(kinds.items(), key=lambda kind: -kind[1])
    words = [f"{count} {status} ({reason})" if reason else f"{count} {status}" for (status, reason), count in ordered[:most]]
    rest = sum(count for _, count in ordered[most:])
    return "; ".join(words) + (f"; {rest} for other reasons" if rest else "")


def add_words(figure, title):
    """The title above, and below what is not drawn: where everything else ends."""
    from shared import looks
    bounds = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_figwidth(), figure.get_figheight()
    if title:
        figure.text(bounds.x0 / width, (bounds.y1 + 0.08) / height, looks.fit(title, bounds.width, 10), fontsize=10, va="bottom")
    if LEFT_OUT:
        figure.text(bounds.x0 / width, (bounds.y0 - 0.06) / height,
                    looks.fit("not drawn: " + left_out_text(), 1.15 * bounds.width, 6.5, lines=5), fontsize=6.5, va="top", color="#606060")


def fit_column(figure):
    """Makes what is written as wide as a column of a paper, labels and legends included."""
    for _ in range(4):
        bounds = figure.get_tightbbox(figure.canvas.get_renderer())
        figure.set_figwidth(max(2.4, figure.get_figwidth() + COLUMN_INCHES - bounds.width - 0.04))


def write_figure(name, folder, read, draw, formats=("png", "svg"), title=""):
    """Writes draw(read(), matplotlib.pyplot) as FOLDER/NAME.png and so on; exit status 2 when refused, 1 when it cannot
    write. It reads the rows before it loads matplotlib, which takes a second, so that a refusal comes sooner."""
    def write():
        what = read()
        figure = draw(what, start_matplotlib())
        show_control_characters(figure)
        if in_column():
            fit_column(figure)
        add_words(figure, title)
        os.makedirs(folder, exist_ok=True)
        for kind in formats:
            path, drawn = os.path.join(folder, f"{name}.{kind}"), io.BytesIO()
            figure.savefig(drawn, format=kind, bbox_inches="tight", metadata=METADATA[kind],
                           pad_inches=0.02 if in_column() else 0.1)
            write_whole(path, drawn.getvalue())
            print(path)
        return 0
    return ending(write)


def spreadsheet_cell(value):
    """A text that a spreadsheet would run as a formula, with an apostrophe in front; anything else as it is."""
    if not isinstance(value, str) or value == "-" or not value.lstrip("'").startswith(tuple("=+-@\t\r\n\0")):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def write_table(path, lines):
    """Writes lines of a csv file, with the column names first; exit status 1 when it cannot."""
    def write():
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows([spreadsheet_cell(cell) for cell in line] for line in lines)
        write_whole(path, text.getvalue().encode("utf-8", "backslashreplace"))
        print(path)
        return 0
    return ending(write)


def document_main(draw, read, name, argument, description):
    """Command line of a figure of one JSON document: reads it with `read`, draws, writes NAME.png and NAME.svg."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("document", metavar=argument[0], help=argument[1])
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--name", default=name, help=f"name of the figures (default: {name})")
    options = parser.parse_args()
    return write_figure(options.name, options.out, lambda: read(options.document), draw)


def main(draw, name, needed, description, seeds="mean"):
    """Command line of a figure: reads runs, draws, writes NAME.png, NAME.svg or NAME.pdf; exit status 2 when refused.
    Rows that differ in their seed alone are drawn as one, with mean and spread, unless `seeds` is "each"."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directory, or its summary.json")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--format", default="png,svg", help="png, svg, pdf, several with commas (default: png,svg)")
    parser.add_argument("--width", choices=("column", "page"), default="page",
                        help="one column of a paper, or as wide as the panels need (default)")
    parser.add_argument("--title", default="", help="a heading (default: none)")
    options = parser.parse_args()
    formats = options.format.split(",")
    if not set(formats) <= set(METADATA):
        parser.error(f"--format: expected some of {', '.join(METADATA)}, found {options.format}")
    LAYOUT["width"] = options.width

    def read():
        rows = read_rows(options.runs, needed)
        return over_seeds(rows) if seeds == "mean" else rows
    return write_figure(name, options.out, read, draw, formats, options.title)
