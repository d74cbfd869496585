"""Time to a metric: the results of rows that train `until` it. For other rows, the time of each strategy to the best
value that all of them reach."""
import math
from html import escape

from report import runs, svg
from report.curves import (KNOWN_METRICS, MOST_GROUPS, cost_per_epoch, grouped, key_of, lower_is_better, panels,
                           seconds_per_epoch)
from report.sections import section


def goal_of(row):
    """(series that training watched, value that it was to reach or None), or None of a row without `until`."""
    text = (row.get("settings") or {}).get("until") or ""
    if not text:
        return None
    name, _, value = text.partition("=")
    if name.partition(":")[0] == "converged":
        options = dict(part.partition("=")[::2] for part in text.partition(":")[2].split(",") if part)
        name, value = options.get("metric", "loss"), ""
    watched = name.removeprefix("validation_")
    return watched if watched == "loss" else "validation_" + watched, float(value) if value else None


def series_of(row, name):
    return row.get("loss") if name == "loss" else (row.get("metrics") or {}).get(name)


def first_reach(values, level, lower):
    """Epochs until a value is at the level; None where none is."""
    for epoch, value in enumerate(values):
        if value is not None and math.isfinite(value) and (value <= level if lower else value >= level):
            return epoch + 1
    return None


def common_level(series, lower):
    """The best value that every series reaches."""
    best = [[v for v in values if v is not None and math.isfinite(v)] for values in series]
    return max(min(values) for values in best) if lower else min(max(values) for values in best)


MOST_LINES = 200


class Reached:
    """One strategy's way to a goal: seconds and cost None where they are not known."""

    def __init__(self, row, reached, updates, seconds, cost):
        self.row, self.reached, self.updates, self.seconds, self.cost = row, reached, updates, seconds, cost


def _asked(rows):
    """{(case, goal in words): {strategy: Reached}} of rows that trained until something."""
    table = {}
    for row in rows:
        if row.get("until_reached") is None or not goal_of(row):
            continue
        key = (runs.rest_label(row, rows), row["settings"]["until"])
        table.setdefault(key, {}).setdefault(runs.strategy_label(row, rows), Reached(
            row, row["until_reached"], row.get("until_iterations"), row.get("until_seconds"), row.get("until_dollars")))
    return table


def _common(rows):
    """The same table for rows that trained a fixed number of epochs. Their goal is the best value of a metric that all
    of them reach, on validation samples where rows have them."""
    table = {}
    rest = [row for row in rows if row.get("until_reached") is None and row.get("status") == "ok"]
    ours = {id(row) for row in rest}
    names = {name for row in rest for name in (row.get("metrics") or {})}
    for metric in [name for name in KNOWN_METRICS if name in names][:1]:
        name = "validation_" + metric if "validation_" + metric in names else metric
        lower = lower_is_better(name)
        for case, own in grouped(rows, lambda row: series_of(row, name) if id(row) in ours else None).items():
            if len(own) < 2:
                continue
            level = common_level([values for _, values in own], lower)
            for row, values in own:
                epochs = first_reach(values, level, lower)
                second, cost = seconds_per_epoch(row, len(values)), cost_per_epoch(row, len(values))
                updates = epochs * row["iterations"] if row.get("iterations") else None
                table.setdefault((case, f"{name} = {level:.4g}"), {}).setdefault(runs.strategy_label(row, rows), Reached(
                    row, True, updates, second and second * epochs, cost and cost * epochs))
    return table


def _cell(own, fastest, currency):
    if own is None:
        return '<td class="absent" data-value="inf">-</td>'
    updates = f"{own.updates} updates" if own.updates else ""
    cost = f"{own.cost:.3g} {currency}" if own.cost else ""
    small = f"<small>{escape(', '.join(part for part in (updates, cost) if part))}</small>"
    if not own.reached:
        spent = f" in {runs.seconds_text(own.seconds)}" if own.seconds else ""
        return f'<td class="absent" data-value="inf">not reached{escape(spent)}{small}</td>'
    if not own.seconds:
        return f'<td data-value="inf">reached{small}</td>'
    kind = "best" if own.seconds == fastest else ""
    return (f'<td class="{kind}" data-value="{own.seconds:.6g}" title="{escape(own.row["case_id"], True)}">'
            f"{runs.seconds_text(own.seconds)} ({own.seconds / fastest:.2f}){small}</td>")


def _table(table):
    strategies = list(dict.fromkeys(name for own in table.values() for name in own))
    lines, csv_lines = [], []
    for number, ((case, goal), own) in enumerate(table.items()):
        csv_lines += [[case, goal, name, way.reached, way.updates, way.seconds, way.cost] for name, way in own.items()]
        if number >= MOST_LINES:
            continue
        fastest = min((way.seconds for way in own.values() if way.reached and way.seconds), default=None)
        currency = next((way.row.get("currency") for way in own.values() if way.row.get("currency")), "")
        cells = "".join(_cell(own.get(name), fastest, currency) for name in strategies)
        lines.append(f"<tr><th>{escape(case)}</th><td>{escape(goal)}</td>{cells}</tr>")
    head = "".join(f"<th>{escape(name)}</th>" for name in strategies)
    body = (f'<table class="sortable"><thead><tr><th>case</th><th>until</th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
            "<p class='key'><span class='best'>first to reach it</span> in brackets: times of the first</p>")
    if len(table) > MOST_LINES:
        body += f"<p class='limits'>{len(table) - MOST_LINES} more cases are in the CSV.</p>"
    return body, csv_lines


def _order(rows, table):
    """The case that reached a goal first on a workload, with any model, for goals that several cases share."""
    races = {}
    for (case, goal), own in table.items():
        for strategy, way in own.items():
            row = way.row
            machine = row.get("cluster") or row.get("device")
            races.setdefault((runs.plugin_label(row, rows, "workload"), goal, machine), []).append((way, f"{strategy}, {case}"))
    items = ""
    for (workload, goal, machine), ways in races.items():
        there = sorted(((way.seconds, name) for way, name in ways if way.reached and way.seconds), key=lambda item: item[0])
        if len(ways) < 2:
            continue
        words = "; ".join(f"{name} ({runs.seconds_text(seconds)})" for seconds, name in there[:5])
        missed = f"; {len(ways) - len(there)} of {len(ways)} did not reach it" if len(there) < len(ways) else ""
        items += f"<li>{escape(f'{workload}, {goal}, {machine}: {words}{missed}')}</li>"
    return f"<h3>In this order</h3><ul>{items}</ul>" if items else ""


def _curves(rows):
    """Curves of the metric that training watched, with the value to reach."""
    goals = {}
    for row in rows:
        goal = goal_of(row)
        if goal and row.get("until_reached") is not None:
            goals.setdefault(goal, set()).add(id(row))
    names, groups = [], []
    for (name, target), own in goals.items():
        for title, some in grouped(rows, lambda row, own=own, name=name: series_of(row, name) if id(row) in own else None).items():
            groups.append((name, target, title, some))
            names += [runs.strategy_label(row, rows) for row, _ in some]
    style = svg.styles(names)
    drawn = "".join(panels(rows, name, title, some, style, target) for name, target, title, some in groups[:MOST_GROUPS])
    return key_of(style) + drawn if drawn else ""


def times_to_metric(rows):
    asked, common = _asked(rows), _common(rows)
    out = ""
    if asked:
        body, lines = _table(asked)
        out += section(rows, "Time to what training was to reach", body + _order(rows, asked) + _curves(rows),
                       "time for evaluations and start; another seed or learning rate, which may change the order. A row ends with the "
                       "epoch that reaches the value, so times are whole epochs.",
                       ["case", "until", "strategy", "reached", "updates", "seconds", "cost"], lines)
    if common:
        body, lines = _table(common)
        out += section(rows, "Time to the best value that all reach", body,
                       "a goal that somebody set beforehand: the value is the best that the slowest learner of a case comes to, so it is "
                       "chosen by these rows and other seeds may order them otherwise. Seconds are epochs times the mean epoch.",
                       ["case", "until", "strategy", "reached", "updates", "seconds", "cost"], lines)
    return out
