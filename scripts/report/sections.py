"""The figures of the page. Each returns HTML, or "" where the rows have no data for it. Below each figure are its
limits and its numbers as a file. The row of a case has the command that runs it again."""
import base64
from html import escape

from report import runs, svg
from shared import looks
from shared import rows as r

MOST_BARS = 60


def anchor(text):
    return "".join(c if c.isalnum() else "-" for c in text.lower()).strip("-")


MOST_CSV = 60_000  # characters of a figure's numbers in the page; longer ones are in the run's own files


def section(rows, title, body, not_shown, header, lines, source="summary.csv"):
    """A figure or a table of `rows` with what belongs under it; `source`: what of a run has its numbers, too."""
    if not body:
        return ""
    name = anchor(title)
    text = r.csv_text([header, *lines])
    data = base64.b64encode(text.encode()).decode()
    link = f'<a download="{name}.csv" href="data:text/csv;base64,{data}">numbers (CSV)</a>'
    if len(text) > MOST_CSV:
        files = ", ".join(f'<a href="{escape(path, True)}">{escape(path)}</a>' for path in rows.files(source))
        link = "The numbers are too many for this page: they are in " + (files or source + " of each run") + "."
    again = "" if name == "rows" else ' · <a href="#rows">commands that run the cases again</a>'
    return (f'<section id="{name}"><h2><a href="#{name}">{escape(title)}</a></h2>{body}'
            f'<p class="limits"><b>Not shown:</b> {escape(not_shown)}</p>'
            f"<p>{link}{again}</p></section>")


def phases(rows):
    bars, lines = [], []
    for row in rows:
        values = row.get("phase_seconds")
        if row.get("status") != "ok" or not isinstance(values, dict):
            continue
        name = f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}"
        bars.append((name, {phase: values.get(phase) or 0 for phase in r.PHASES}, ""))
        lines.append([row["case_id"], *(values.get(phase) or 0 for phase in r.PHASES)])
    if not bars:
        return ""
    more = len(bars) - MOST_BARS
    style = {phase: (looks.PHASES[phase], "") for phase in r.PHASES}
    body = svg.legend(style) + svg.stacked_bars("Phases of an epoch", bars[:MOST_BARS], r.PHASES, style, runs.seconds_text)
    return section(rows, "Where an epoch's time goes", body,
                   "of the rank that worked most among those that end last, as a mean; other ranks differ. Communication that hides behind computing is in "
                   "hidden_communicate_seconds, not here." + (f" {more} more cases are in the CSV." if more > 0 else ""),
                   ["case_id", *r.PHASES], lines)


def scaling(rows):
    out = []
    groups = {}
    for row in rows:
        if row.get("status") == "ok" and runs.median(row):
            key = ", ".join(str(part) for part in (row["workload"]["name"], row["model"]["name"], row.get("device"), row.get("cluster"),
                                                   row.get("run")) if part)
            groups.setdefault(key, {}).setdefault(runs.strategy_label(row, rows), {}).setdefault(row.get("ranks"), row)
    style = svg.styles(runs.strategy_label(row, rows) for row in rows)
    lines, used = [], set()
    for title, strategies in groups.items():
        ranks = sorted({rank for own in strategies.values() for rank in own})
        if len(ranks) < 2:
            continue
        every = [row for own in strategies.values() for row in own.values()]
        ends = [value for row in every for value in (runs.interval(row) or ()) + (runs.median(row),) if value > 0]
        axes = svg.Axes((ranks[0], ranks[-1]), (min(ends), max(ends)), log_x=True, log_y=True)
        axes.grid("ranks", "median epoch, s", ranks)
        for name, own in strategies.items():
            for rank, row in own.items():
                if runs.interval(row) and min(runs.interval(row)) > 0:
                    axes.band(rank, *runs.interval(row), style[name])
                lines.append([title, name, rank, runs.median(row), *(runs.interval(row) or ("", "")), "; ".join(row.get("notes") or [])])
            axes.line([(rank, runs.median(own[rank])) for rank in sorted(own)], style[name], name)
            used.add(name)
        out.append(f"<figure>{axes.drawing('Scaling: ' + title)}<figcaption>{escape(title)}</figcaption></figure>")
    body = svg.legend({name: style[name] for name in style if name in used}) + f"<div class='grid'>{''.join(out)}</div>" if out else ""
    return section(rows, "More ranks", body, "whether the graph grew with the ranks (it did not, unless the workload's name says so); "
                   "bars are intervals of measured rows and bands of predicted ones; predictions beyond the described cluster are "
                   "marked in the CSV's notes.", ["case", "strategy", "ranks", "median_s", "low_s", "high_s", "notes"], lines)


def predicted(rows):
    """Cases that were both measured and predicted, by all that decides them but the clock."""
    ignored = ("run", "device", "cluster", "comm", "numerics", "threads", "kernels", "repeat", "epochs", "warmup")
    pairs = {}
    for row in rows:
        if row.get("status") == "ok" and runs.median(row):
            key = tuple(sorted((k, str(v)) for k, v in runs.flat(row).items() if k not in ignored))
            pairs.setdefault(key, {})[row.get("time_source")] = row
    both = [pair for pair in pairs.values() if len(pair) == 2]
    if not both:
        return ""
    style = svg.styles(runs.strategy_label(pair["wall"], rows) for pair in both)
    values = [runs.median(pair[clock]) for pair in both for clock in ("wall", "virtual")]
    axes = svg.Axes((min(values), max(values)), (min(values), max(values)), width=520, height=420, log_x=True, log_y=True)
    axes.grid("measured, s", "predicted, s")
    axes.diagonal()
    lines = []
    for pair in both:
        name = runs.strategy_label(pair["wall"], rows)
        x, y = runs.median(pair["wall"]), runs.median(pair["virtual"])
        if runs.interval(pair["virtual"]):
            axes.band(x, *runs.interval(pair["virtual"]), style[name])
        axes.line([(x, y)], style[name], name)
        lines.append([pair["wall"]["case_id"], x, y, y / x - 1])
    return section(rows, "Predicted against measured", svg.legend(style) + f"<figure>{axes.drawing('Predicted against measured')}</figure>",
                   "whether the cluster that was predicted for is the machine that was measured on; that is for whoever put these "
                   "runs together to know.", ["case_id", "measured_s", "predicted_s", "error"], lines)
