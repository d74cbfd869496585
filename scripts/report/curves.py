"""Loss and metrics against epochs, seconds and money."""
import math
from html import escape

from report import runs, svg
from report.sections import section

MOST_GROUPS = 12
KNOWN_METRICS = ("mrr", "auc", "ap", "accuracy", "f1_micro", "r2", "rmse", "mae")


def lower_is_better(metric):
    return metric.rpartition("_")[2] in ("loss", "rmse", "mae", "mse", "mape", "error")


def seconds_per_epoch(row, epochs):
    """The mean time of an epoch of the row's curves, from the total of the row where it has one."""
    until = row.get("until_seconds")
    if until and epochs:
        return until / epochs
    seconds = row.get("epoch_seconds")
    return (seconds.get("mean") or seconds.get("median")) if isinstance(seconds, dict) else None


def cost_per_epoch(row, epochs):
    until = row.get("until_dollars")
    return until / epochs if until and epochs else row.get("dollars_per_epoch")


def grouped(rows, values_of):
    """{label of the rows without their strategy: [(row, values)]} of rows with two values or more."""
    groups = {}
    for row in rows:
        values = values_of(row)
        if values and sum(value is not None and math.isfinite(value) for value in values) > 1:
            groups.setdefault(runs.rest_label(row, rows), []).append((row, values))
    return groups


def _units(own):
    """(label of the axis, length of an epoch on it) of the three panels."""
    currency = next((row.get("currency") for row, _ in own if row.get("currency")), "")
    clock = {row.get("time_source") for row, _ in own}
    seconds = "simulated seconds" if clock == {"virtual"} else "seconds"
    return [("epoch", lambda row, epochs: 1.0), (seconds, seconds_per_epoch), ("cost, " + currency, cost_per_epoch)]


def key_of(style):
    under = "<p class='limits'>Curves that lie on each other are drawn thin upon thick.</p>" if len(style) > 1 else ""
    return svg.legend(style) + under


def panels(rows, key, title, own, style, target=None):
    """Figures of one group, side by side; `target`: a height that training is to reach."""
    heights = [v for _, values in own for v in values if v is not None and math.isfinite(v)]
    heights += [target] if target is not None else []
    out = []
    for unit, length_of in _units(own):
        drawn = [(row, values, length_of(row, len(values))) for row, values in own]
        drawn = [(row, values, length) for row, values, length in drawn if length]
        if not drawn:
            continue
        axes = svg.Axes((0, max(len(values) * length for _, values, length in drawn)), (min(heights), max(heights)), width=400, height=240)
        axes.grid(unit, key)
        if target is not None:
            axes.level(target, f"{key} = {target:g}")
        for place, (row, values, length) in enumerate(drawn):
            name = runs.strategy_label(row, rows)
            width = min(2 + 2 * (len(drawn) - 1 - place), 8)  # curves that lie on each other are all seen
            axes.line([((i + 1) * length, v) for i, v in enumerate(values)], style[name], name, marks=False, width=width)
        out.append(f"<figure>{axes.drawing(f'{key} against {unit}: {title}')}<figcaption>{escape(title)}</figcaption></figure>")
    return f"<div class='grid'>{''.join(out)}</div>"


def curves(rows, key, values_of):
    """(HTML, lines of the CSV, groups left out)."""
    groups = grouped(rows, values_of)
    style = svg.styles(runs.strategy_label(row, rows) for own in groups.values() for row, _ in own)
    out, lines = "", []
    for number, (title, own) in enumerate(groups.items()):
        if number < MOST_GROUPS:
            out += panels(rows, key, title, own, style)
        for row, values in own:
            second, cost = seconds_per_epoch(row, len(values)), cost_per_epoch(row, len(values))
            lines += [[row["case_id"], epoch, value, second and second * (epoch + 1), cost and cost * (epoch + 1)]
                      for epoch, value in enumerate(values)]
    if not out:
        return "", [], 0
    return key_of(style) + out, lines, max(0, len(groups) - MOST_GROUPS)


def losses(rows):
    body, lines, more = curves(rows, "loss", lambda row: row.get("loss"))
    return section(rows, "Training loss", body, "the test: a lower training loss is no better model. Seconds and cost are epochs times "
                   "the mean epoch; evaluation and start are not in them." + (f" {more} more groups are in the rows." if more else ""),
                   ["case_id", "epoch", "loss", "seconds", "cost"], lines)


def metrics(rows):
    names = list(dict.fromkeys(name for row in rows for name in (row.get("metrics") or {})))
    out = ""
    for name in [name for name in KNOWN_METRICS if name in names][:3]:
        body, lines, more = curves(rows, name, lambda row, name=name: (row.get("metrics") or {}).get(name))
        counts = sorted({row["metric_samples"][name] for row in rows if name in (row.get("metric_samples") or {})})
        over = f"taken over {', '.join(map(str, counts))} samples; with few of them a difference may be chance. " if counts else ""
        rules = [other for other in names if other.endswith("_" + name) and not other.startswith("validation_")]
        over += f"Rules that learn nothing ({', '.join(rules)}) stand in the rows. " if rules else ""
        out += section(rows, f"Test metric: {name}", body, over + "Time that evaluations take is not in seconds and cost."
                       + (f" {more} more groups are in the rows." if more else ""),
                       ["case_id", "epoch", name, "seconds", "cost"], lines)
    return out
