"""Time to what training lasts to: the answer's table, and curves of the metric that training watched."""
from report import answers as answered
from report import charts, curves, runs
from report.parts import Figures, section


def goal_of(row):
    """(series that training watched, value that it was to reach or None), or None of a row without `until`."""
    text = (row.get("settings") or {}).get("until") or ""
    if not text:
        return None
    name, _, value = text.partition("=")
    if name.partition(":")[0] == "converged":
        options = dict(part.partition("=")[::2] for part in text.partition(":")[2].split(",") if part)
        name, value = options.get("metric", "loss"), ""
    if "%" in value:  # a share is another value under each seed
        value = ""
    watched = name.removeprefix("validation_")
    return watched if watched == "loss" else "validation_" + watched, float(value) if value else None


def series_of(row, name):
    return row.get("loss") if name == "loss" else (row.get("metrics") or {}).get(name)


def _curves(rows):
    """Curves of the metric that training watched, with the value to reach."""
    goals = {}
    for row in rows:
        goal = goal_of(row)
        if goal and row.get("until_reached") is not None:
            goals.setdefault(goal, set()).add(id(row))
    names, groups = [], []
    for (name, target), own in goals.items():
        for title, some in curves.grouped(rows, lambda row, own=own, name=name: series_of(row, name) if id(row) in own else None).items():
            groups.append((name, target, title, some))
            names += [runs.strategy_label(row, rows) for row, _ in some]
    style = charts.styles_of(names)
    drawn = [one for name, target, title, some in groups[:curves.MOST_GROUPS]
             for one in curves.panels(rows, name, title, some, style, [curves.TIME, curves.COST], target)]
    return [Figures(drawn, charts.legend(style))] if drawn else []


def times_to_metric(rows, answers):
    table, lines = answered.goals(rows, answers)
    return section(rows, "until", "Time to what training was to reach", ([table] if table else []) + _curves(rows.pooled),
                   "time for evaluations and start; another learning rate, which may change the order. A row ends with the epoch "
                   "that reaches the value, so times are whole epochs.",
                   ["case", "until", "contender", "reached", "updates", "seconds", "cost"], lines)
