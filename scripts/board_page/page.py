"""The page of the board: tables by data set, task, target and machine."""
import os
import pathlib
import statistics
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from report import runs
from strobe_figures import rows as r

TEMPLATES = pathlib.Path(__file__).resolve().parent / "templates"
STYLE = pathlib.Path(runs.__file__).resolve().parent / "templates" / "style.css"
TIMES = {"measured": "measured", "predicted": "predicted by the simulator, not measured"}


def _ratio(times):
    """"1.32 (0.9 to 1.9)": times the first line's, with the 99 % interval where there is one."""
    if times["ratio"] is None:
        return ""
    if times["ci99_low"] is None:
        return f"{times['ratio']:.2f}"
    return f"{times['ratio']:.2f} ({times['ci99_low']:.3g} to {times['ci99_high']:.3g})"


def _band(line):
    """"2.9 to 3.9 ms, 100 draws": where nine of ten draws of the cluster's constants lie, geometric means over the seeds. Without
    draws: the range of measured epochs compared with such predictions, as a share of the time. Else why there is none."""
    drawn = [(row.get("time_draws") or {}).get("until_seconds") for row in line.rows]
    if all(drawn) and len({row["time_draws"]["of"] for row in line.rows}) == 1 and len(drawn[0]) > 1:
        means = statistics.quantiles([statistics.geometric_mean(one) for one in zip(*drawn)], n=20, method="inclusive")
        return f"{runs.seconds_text(means[0])} to {runs.seconds_text(means[-1])}, {len(drawn[0])} draws"
    row = line.rows[0]
    if row.get("epoch_seconds_band90"):
        low, high = (line.seconds * row["epoch_seconds_band90"][end] / row["epoch_seconds"]["median"] for end in ("low", "high"))
        return f"{runs.seconds_text(low)} to {runs.seconds_text(high)}, as of measured epochs compared with such predictions"
    return "not known"


def _busy(rows):
    """The most cores that other programs kept busy while the rows were measured; "" where that is not known."""
    found = [(row.get("machine") or {}).get("other_cores") for row in rows]
    found = [extent[1] for extent in found if extent and extent[1] is not None]
    return f"{max(found):.1f}" if found else ""


def _where(row):
    count = f"{row['ranks']} rank{'' if row['ranks'] == 1 else 's'}"
    if row["device"] == "sim":
        return count
    return f"{count}, {row['device']}" + (f", {row['comm']}" if row["ranks"] > 1 and row.get("comm") else "")


def _line(line, varying, beside):
    row, facts = line.rows[0], line.entry.facts
    times = sorted(one["until_seconds"] for one in line.rows)
    return {
        "place": f"{line.place}", "tied": line.tied, "time": runs.seconds_text(line.seconds),
        "range": f"{runs.seconds_text(times[0])} to {runs.seconds_text(times[-1])}", "ratio": _ratio(line.times_the_first),
        "updates": f"{statistics.median(one['until_iterations'] for one in line.rows):.0f}",
        "model": r.name_with(row, "model", varying["model"]), "strategy": r.name_with(row, "strategy", varying["strategy"]),
        "where": _where(row), "exact": "exact" if row.get("exact") is True else ", ".join(row.get("exact") or ["not exact"]),
        "busy": _busy(line.rows), "band": "" if row["time_source"] == "wall" else _band(line), "who": facts["who"], "licence": facts["licence"], "date": facts["date_utc"][:10],
        "revision": facts["revision"][:12], "again": runs.again(row), "sha256": line.entry.sha256,
        "archive": line.entry.archive.name, "link": quote(os.path.relpath(line.entry.archive.resolve(), beside)),
    }


def _table(table, beside):
    rows = [row for line in table["lines"] for row in line.rows]
    varying = {plugin: r.varying(rows, plugin) for plugin in ("model", "strategy")}
    return {"division": table["division"], "times": TIMES[table["times"]], "measured": table["times"] == "measured",
            "machine": table["machine"], "lines": [_line(line, varying, beside) for line in table["lines"]]}


def sections_of(board, beside):
    """[{id, data, targets: [{workload, task, until, tables}]}], in the order of names; closed and measured tables first."""
    order = {"closed": 0, "open": 1, "measured": 0, "predicted": 1}
    found = {}
    for table in sorted(board.tables, key=lambda one: (one["data"], one["task"], one["until"], order[one["division"]],
                                                       order[one["times"]], one["machine"])):
        target = found.setdefault(table["data"], {}).setdefault((table["workload"], table["task"], table["until"]), [])
        target.append(_table(table, beside))
    return [{"id": f"data-{number}", "data": data,
             "targets": [{"workload": key[0], "task": key[1], "until": key[2], "tables": tables} for key, tables in targets.items()]}
            for number, (data, targets) in enumerate(found.items(), 1)]


def page(board, beside):
    """The whole page as text. `beside`: the folder where it will lie, from which links to the archives start."""
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True,
                                   lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    style = STYLE.read_text("utf-8") + (TEMPLATES / "board.css").read_text("utf-8")
    return templates.get_template("board.html").render(sections=sections_of(board, beside), summary=board.summary(),
                                                       style=Markup(style))
