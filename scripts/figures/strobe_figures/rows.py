"""Rows of a run directory for figures and reports: reading, refusing what is incomplete, naming what is drawn."""

import copy
import csv
import io
import json
import os
import statistics
import sys

from strobe_figures.files import Refused, ending, read_csv, read_json, write_whole  # pylint: disable=unused-import

PLUGINS = ("workload", "model", "strategy", "task", "optimizer")
SCALARS = ("device", "comm", "cluster", "numerics", "precision", "seed")
PHASES = ("compute", "communicate", "transfer", "host", "wait", "other")
LEFT_OUT = []  # rows that did not end ok or lack what a figure needs, of the runs that are drawn


def rows_in(path):
    """All rows of a run directory (or summary.json)."""
    if os.path.isdir(path):
        path = os.path.join(path, "summary.json")
    summary = read_json(path)
    rows = summary.get("rows") if isinstance(summary, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise Refused(f"{path}: not a summary.json ('rows' is no list of objects)")
    for phases in (row.get("phase_seconds") for row in rows):
        if phases and "sample" in phases:  # its name in version 1
            phases["host"] = phases.pop("sample")
    return rows


def read_rows(paths, needed):
    """The ok rows of run directories (or of files summary.json). Rows of several runs say which, under "run". A row whose
    key in `needed` is null for a reason is left out. Raises Refused when a key is not there, or no row is left."""
    paths = [paths] if isinstance(paths, str) else list(paths)
    LEFT_OUT.clear()
    kept, refusal = [], ""
    for path in paths:
        for number, row in enumerate(rows_in(path)):
            name = row.get("case_id", f"row {number}")
            if len(paths) > 1:
                row["run"] = os.path.basename(os.path.normpath(path))
            if row.get("status") != "ok":
                print(f"left out {name}: {row.get('status') or 'no status'} {row.get('reason') or ''}".rstrip(), file=sys.stderr)
                LEFT_OUT.append(row)
                continue
            lacking = [key for key in ("ranks", "time_source", "notes") + PLUGINS[:3] + tuple(needed) if row.get(key) is None]
            why = {key: (row.get("absent") or {}).get("/" + key) for key in lacking}
            for key in lacking:
                refusal = f"{path}: {name} lacks '{key}', which this figure needs ({why[key] or 'the key is not there'})"
                if key not in needed or not why[key]:
                    raise Refused(refusal)
            if lacking:
                print(f"left out {refusal}", file=sys.stderr)
                LEFT_OUT.append({**row, "status": f"without {lacking[0]}", "reason": why[lacking[0]]})
            else:
                kept.append(row)
    if not kept:
        raise Refused(refusal or f"{', '.join(paths)}: no row ended ok, so there is nothing to draw")
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


MEASURED = ("epoch_seconds", "phase_seconds", "sent_bytes", "transfer_bytes", "peak_bytes", "throughput", "loss", "metrics",
            "messages", "imbalance", "until_iterations", "until_dollars")


def mean_row(rows):
    """One row for several that differ in their seed: means, and under "spread" the standard deviations. Its interval of
    the median epoch is one standard deviation to each side. It reaches a metric if all of them do. The rows themselves are
    under "pooled"."""
    merged = copy.deepcopy(rows[0])
    merged["pooled"] = rows
    merged["until_reached"] = None if merged.get("until_reached") is None else all(row.get("until_reached") for row in rows)
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


def pooled(row):
    """The rows that this one is the mean of: those of each seed, or itself."""
    return row.get("pooled") or [row]


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
    times, band = row.get("epoch_seconds") or {}, row.get("epoch_seconds_band90")
    ends = (band["low"], band["high"]) if band else (times.get("ci95_low"), times.get("ci95_high"))
    return (None, None) if None in ends else ends


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


def by_key(rows, key_of, what):
    """{key: row} in order of appearance. Raises Refused when two rows have one key, and so would share one `what`."""
    found = {}
    for row in rows:
        key = key_of(row)
        if key in found:
            raise Refused(f"{row['case_id']} and {found[key]['case_id']} would share one {what}")
        found[key] = row
    return found


def ranks_of(row):
    return row["ranks"]


def is_extrapolated(row):
    return any(note.startswith("extrapolated") for note in row["notes"])


def parameters(row, kind):
    return {key: value for key, value in (row.get(kind) or {}).items() if key != "name"}


def name_of(row, kind):
    return (row.get(kind) or {}).get("name", "?")


def parameter_text(key, value):
    """A word says of what it is; a number or a switch needs its key: "hash", "k=8", "pipeline=false"."""
    if isinstance(value, str):
        return value
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


def varying(rows, kind):
    """{plug-in: its parameters that differ among the rows of its name}."""
    first, found = {}, {}
    for row in rows:
        name, own = name_of(row, kind), parameters(row, kind)
        other = first.setdefault(name, own)
        found.setdefault(name, set()).update(key for key in {**own, **other} if own.get(key) != other.get(key))
    return found


def name_with(row, kind, differ):
    """The plug-in's name, with those of its parameters that `differ`, as `varying` finds them."""
    name = name_of(row, kind)
    values = [parameter_text(key, value) for key, value in parameters(row, kind).items() if key in differ.get(name, ())]
    return name if not values else f"{name} ({', '.join(values)})"


def label(row, kind, rows):
    """The plug-in's name, with those of its parameters that differ among `rows` of the same name."""
    return name_with(row, kind, varying(rows, kind))


def differs(key, rows):
    """Whether a setting differs among rows. Where a strategy lacks it altogether, that is no difference."""
    def strategy(row):
        return row.get("own_strategy", row["strategy"])["name"]

    having = {strategy(row) for row in rows if key in row.get("settings", {})}
    return len({json.dumps(row.get("settings", {}).get(key)) for row in rows if strategy(row) in having}) > 1


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
        if key not in without and differs(key, same):
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


def unit_of(rows):
    """The key of throughput in which rows are compared: the first of these that all of them have. Each is the same work
    for every model. Raises Refused where there is none."""
    for key in UNITS:
        if all(row["throughput"].get(key) is not None for row in rows):
            return key
    lacking = next((row for row in rows if all(row["throughput"].get(key) is None for key in UNITS)), None)
    raise Refused(f"{lacking['case_id']} has no throughput" if lacking else
                  "the rows count different things per second: events, and cells or edges")


def in_order(values):
    """Distinct values in order of first appearance."""
    return list(dict.fromkeys(values))


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


def spreadsheet_cell(value):
    """A text that a spreadsheet would run as a formula, with an apostrophe in front; anything else as it is."""
    if not isinstance(value, str) or value == "-" or not value.lstrip("'").startswith(tuple("=+-@\t\r\n\0")):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value


def csv_text(lines):
    """The text of a csv file with these lines, column names first."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([spreadsheet_cell(cell) for cell in line] for line in lines)
    return text.getvalue()


def write_table(path, lines):
    """Writes lines of a csv file, with the column names first; exit status 1 when it cannot."""
    def write():
        write_whole(path, csv_text(lines).encode("utf-8", "backslashreplace"))
        print(path)
        return 0
    return ending(write)
