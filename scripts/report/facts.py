"""The parts of the page without figures: all rows as a table, their shared settings, cases that failed, the machine."""
import json

from report import runs
from report.parts import Cell, Items, Line, Table, Words, more, section

MOST_ROWS = 1000
MOST_NOTES = 300  # characters of a row's notes; summary.json has them whole
MOST_CHOICES = 14  # columns of what was varied; the command of a row has all of it


def _text(value):
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else str(value)


def last(series):
    values = [value for value in series or [] if value is not None]
    return values[-1] if values else None


def columns_of(rows):
    """(name, value of a row, text of a value) of the columns: what was varied, then what came out."""
    within = {f"{plugin}.{key}" for plugin, own in rows.varying.items() for keys in own.values() for key in keys}  # not those that only some plug-ins have
    keys = [key for key in rows.differ if "." not in key] + [key for key in rows.differ if key in within]
    keys = keys[:MOST_CHOICES]
    columns = [(key, lambda row, key=key: runs.flat(row).get(key), _text) for key in keys]
    columns.append(("status", lambda row: row.get("status"), _text))
    columns.append(("epoch", runs.median, runs.seconds_text))
    columns.append(("sent", lambda row: (row.get("sent_bytes") or {}).get("total"), lambda v: "" if v is None else runs.bytes_text(v)))
    columns.append(("loss", lambda row: last(row.get("loss")), _text))
    metrics = dict.fromkeys(name for row in rows for name in (row.get("metrics") or {}))
    for name in [name for name in ("mrr", "auc", "ap", "accuracy", "rmse", "mae") if name in metrics]:
        columns.append((name, lambda row, name=name: last((row.get("metrics") or {}).get(name)), _text))
    columns.append(("exact", lambda row: row.get("exact"), _text))
    columns.append(("dollars", lambda row: row.get("dollars_per_epoch"), _text))
    kept = []
    for name, value_of, text_of in columns:
        values = {_text(value_of(row)) for row in rows}
        if name in keys or len(values) > 1:
            kept.append((name, value_of, text_of))
    return kept


def of_kind(rows, kind, number):
    """A section with the keys of one kind of training, of the rows that have any of them; None when no row has."""
    keys = [field["key"] for field in kind["fields"]]
    own = [row for row in rows if any(row.get(key) is not None for key in keys)]
    if not own:
        return None
    head = [(field["key"] + (f" [{field['unit']}]" if field["unit"] not in ("", "1") else ""), field["help"]) for field in kind["fields"]]
    lines = [Line(row["case_id"], [Cell(_text(row.get(key))) for key in keys]) for row in own[:MOST_ROWS]]
    words = "; ".join(f"{field['key']}: {field['help']}" for field in kind["fields"])
    return section(rows, f"kind-{number}", kind["title"], [Table(["case", *head], lines)], words, ["case_id", *keys],
                   [[row["case_id"], *(row.get(key) for key in keys)] for row in own])


def _line(row, rows, columns, shared_notes):
    cells = []
    for _, value_of, text_of in columns:
        value = value_of(row)
        cells.append(Cell(text_of(value) if value is not None else "-",
                          f"{value:.6g}" if isinstance(value, float) and text_of is not _text else None))
    notes = [row["reason"]] if row.get("reason") else []
    notes += [note for note in row.get("notes") or [] if note not in shared_notes]
    words = "; ".join(notes)
    cells.append(Cell(words if len(words) <= MOST_NOTES else words[:MOST_NOTES] + "…", kind="words"))
    return Line(row["case_id"], cells, id=row["case_id"], again=runs.flags_of(row, rows))


def table(rows):
    columns = columns_of(rows)
    shared_notes = set.intersection(*(set(row.get("notes") or []) for row in rows)) if len(rows) > 1 else set()
    lines = [_line(row, rows, columns, shared_notes) for row in rows[:MOST_ROWS]]
    parts = [Table(["case", *(name for name, _, _ in columns), "notes", "again"], lines, name="rows")]
    parts += [Words("All rows: " + "; ".join(sorted(shared_notes)))] if shared_notes else []
    return section(rows, "rows", "Rows", parts, "everything that all rows share stands below, once; samples of every epoch and rank are in "
                   "each run's samples.jsonl." + more(len(rows) - MOST_ROWS, "rows"), ["case_id", *(name for name, _, _ in columns)],
                   [[row["case_id"], *(value_of(row) for _, value_of, _ in columns)] for row in rows])


def shared(rows):
    same = {key: value for key, value in rows.shared.items() if value not in ("", None)}
    return section(rows, "shared", "What all rows share", [Items([(key, _text(value), "") for key, value in same.items()])], "nothing.",
                   ["key", "value"], list(same.items()))


def troubles(rows):
    bad = [row for row in rows if row.get("status") != "ok"]
    items = [(row["case_id"], f"{row.get('status')} {row.get('reason') or ''}", row["case_id"]) for row in bad[:100]]
    items += [("approximation in force", text, "") for text in dict.fromkeys(text for row in rows for text in row.get("approximations") or [])]
    return section(rows, "trouble", "What did not end well, or is not exact", [Items(items)] if items else [], "cases that were never begun.",
                   ["case_id", "status", "reason"], [[row["case_id"], row.get("status"), row.get("reason")] for row in bad])


def environments(rows, of_runs):
    parts, lines = [], []
    for name, environment in of_runs.items():
        known = [(key, _text(value)) for key, value in environment.items() if value not in (None, "", [], {})]
        lines += [[name, key, value] for key, value in known]
        parts.append(Items([(key, value[:400], "") for key, value in known], summary=name))
    return section(rows, "machines", "Where it ran", parts, "what else ran on these machines meanwhile, but for the load when each run began.",
                   ["run", "key", "value"], lines)
