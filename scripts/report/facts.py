"""The parts of the page without figures: all rows as a table, their shared settings, cases that failed, the machine."""
import json
from html import escape

from report import runs
from report.sections import section

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


def of_kind(rows, kind):
    """A section with the keys of one kind of training, of the rows that have any of them; None when no row has."""
    keys = [field["key"] for field in kind["fields"]]
    own = [row for row in rows if any(row.get(key) is not None for key in keys)]
    if not own:
        return None
    head = "".join(f"<th title='{escape(field['help'], True)}'>{escape(field['key'])}"
                   f"{escape(' [' + field['unit'] + ']') if field['unit'] not in ('', '1') else ''}</th>" for field in kind["fields"])
    lines = "".join(f"<tr><th>{escape(row['case_id'])}</th>{''.join(f'<td>{escape(_text(row.get(key)))}</td>' for key in keys)}</tr>"
                    for row in own[:MOST_ROWS])
    body = f'<table class="sortable"><thead><tr><th>case</th>{head}</tr></thead><tbody>{lines}</tbody></table>'
    more = "; ".join(f"{field['key']}: {field['help']}" for field in kind["fields"])
    return section(rows, kind["title"], body, more, ["case_id", *keys], [[row["case_id"], *(row.get(key) for key in keys)] for row in own])


def table(rows):
    columns = columns_of(rows)
    shared_notes = set.intersection(*(set(row.get("notes") or []) for row in rows)) if len(rows) > 1 else set()
    lines = []
    for row in rows[:MOST_ROWS]:
        cells = ""
        for name, value_of, text_of in columns:
            value = value_of(row)
            number = f" data-value={value:.6g}" if isinstance(value, float) and text_of is not _text else ""
            cells += f"<td{number}>{escape(text_of(value) if value is not None else '-')}</td>"
        notes = [row["reason"]] if row.get("reason") else []
        notes += [note for note in row.get("notes") or [] if note not in shared_notes]
        places = " ".join(map(str, runs.flags_of(row, rows)))
        command = f"<details class='again' data-flags='{places}'><summary>…</summary><code></code></details>"
        words = "; ".join(notes)
        words = words if len(words) <= MOST_NOTES else words[:MOST_NOTES] + "…"
        lines.append(f'<tr id="{escape(row["case_id"], True)}"><th>{escape(row["case_id"])}</th>{cells}'
                     f"<td class='words'>{escape(words)}</td><td>{command}</td></tr>")
    head = "".join(f"<th>{escape(name)}</th>" for name, _, _ in columns)
    body = (f'<p><label>keep rows with <input class="filter" data-table="rows" type="search"></label></p>'
            f'<table class="sortable" data-name="rows"><thead><tr><th>case</th>{head}<th>notes</th><th>again</th></tr></thead>'
            f'<tbody>{"".join(lines)}</tbody></table>')
    flags = json.dumps(runs.all_flags(rows)).replace("<", "\\u003c")
    body += f'<script type="application/json" id="flags">{flags}</script>'
    if shared_notes:
        body += f"<p>All rows: {escape('; '.join(sorted(shared_notes)))}</p>"
    more = f"{len(rows) - MOST_ROWS} more rows are in the CSV. " if len(rows) > MOST_ROWS else ""
    return section(rows, "Rows", body, more + "everything that all rows share stands below, once; samples of every epoch and rank are in "
                   "each run's samples.jsonl.", ["case_id", *(name for name, _, _ in columns)],
                   [[row["case_id"], *(value_of(row) for _, value_of, _ in columns)] for row in rows])


def shared(rows):
    same = {key: value for key, value in rows.shared.items() if value not in ("", None)}
    items = "".join(f"<li><b>{escape(key)}</b> {escape(_text(value))}</li>" for key, value in same.items())
    return section(rows, "What all rows share", f"<ul class='facts'>{items}</ul>", "nothing.", ["key", "value"], list(same.items()))


def troubles(rows):
    bad = [row for row in rows if row.get("status") != "ok"]
    items = "".join(f"<li><a href='#{escape(row['case_id'], True)}'>{escape(row['case_id'])}</a>: {escape(str(row.get('status')))}"
                    f" {escape(row.get('reason') or '')}</li>" for row in bad[:100])
    inexact = list(dict.fromkeys(text for row in rows for text in row.get("approximations") or []))
    words = "".join(f"<li>approximation in force: {escape(text)}</li>" for text in inexact)
    body = f"<ul>{items}{words}</ul>" if items or words else ""
    return section(rows, "What did not end well, or is not exact", body, "cases that were never begun.", ["case_id", "status", "reason"],
                   [[row["case_id"], row.get("status"), row.get("reason")] for row in bad])


def environments(rows, of_runs):
    body, lines = "", []
    for name, environment in of_runs.items():
        items = ""
        for key, value in environment.items():
            if value in (None, "", [], {}):
                continue
            lines.append([name, key, _text(value)])
            items += f"<li><b>{escape(key)}</b> {escape(_text(value)[:400])}</li>"
        body += f"<details><summary>{escape(name)}</summary><ul class='facts'>{items}</ul></details>"
    return section(rows, "Where it ran", body, "what else ran on these machines meanwhile, but for the load when each run began.",
                   ["run", "key", "value"], lines)
