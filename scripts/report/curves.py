"""Loss and metrics against epochs, seconds and money."""
import math

import curves as figure
from report import charts, runs
from report.parts import Figures, more, section
from strobe_figures import rows as r

MOST_GROUPS = 6
KNOWN_METRICS = ("mrr", "auc", "ap", "accuracy", "f1_micro", "r2", "rmse", "mae")
MOST_METRICS = 2


def seconds_per_epoch(row, epochs):
    """The mean time of an epoch of the row's curves, from the total of the row where it has one."""
    until = row.get("until_seconds")
    if until and epochs and not row.get("seeds"):
        return until / epochs
    seconds = row.get("epoch_seconds")
    return (seconds.get("mean") or seconds.get("median")) if isinstance(seconds, dict) else None


def cost_per_epoch(row, epochs):
    until = row.get("until_dollars")
    return until / epochs if until and epochs and not row.get("seeds") else row.get("dollars_per_epoch")


def grouped(rows, values_of):
    """{label of the rows without their strategy: [(row, values)]} of rows with two values or more."""
    groups = {}
    for row in rows:
        values = values_of(row)
        if values and sum(value is not None and math.isfinite(value) for value in values) > 1:
            groups.setdefault(runs.rest_label(row, rows), []).append((row, values))
    return groups


def _units(own, units):
    """(label of the axis, factor, length of an epoch on it) of the panels."""
    seconds = [seconds_per_epoch(row, len(values)) for row, values in own]
    factor, unit = r.time_unit([second * len(values) for second, (_, values) in zip(seconds, own) if second])
    clock = "simulated time" if {row.get("time_source") for row, _ in own} == {"virtual"} else "time"
    found = [("epoch", 1.0, lambda row, epochs: 1.0), (f"{clock} [{unit}]", factor, seconds_per_epoch)]
    currency = next((row.get("currency") for row, _ in own if row.get("currency")), "")
    return [(found + [(f"cost [{currency}]", 1.0, cost_per_epoch)])[place] for place in units]


EPOCHS, TIME, COST = 0, 1, 2


def panels(rows, key, title, own, style, units, target=None):
    """Figures of one group against `units` (EPOCHS, TIME, COST). `target`: a height that training is to reach."""
    out = []
    for unit, factor, length_of in _units(own, units):
        drawn = [(row, values, length_of(row, len(values))) for row, values in own]
        drawn = [(runs.strategy_label(row, rows), values, factor * length) for row, values, length in drawn if length]
        if not drawn:
            continue

        def draw(axes, drawn=drawn, unit=unit):
            for name, values, length in drawn:
                figure.draw_curve(axes, [value if value is not None and math.isfinite(value) else None for value in values], length,
                                  style[name])
            if target is not None:
                axes.axhline(target, color="#606060", linestyle=(0, (4, 4)), linewidth=1)
                axes.annotate(f"{key} = {target:g}", (0.5, target), xycoords=("axes fraction", "data"), xytext=(0, 3),
                              textcoords="offset points", ha="center", color="#404040")
            if unit == "epoch":
                axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_xlabel(unit)
            axes.set_ylabel(key)
        said = [charts.said_of(name, [((i + 1) * length, v) for i, v in enumerate(values)]) for name, values, length in drawn]
        out.append((charts.chart(f"{key} against {unit}: {title}", draw, said), title))
    return out


def curves(rows, key, values_of, units):
    """(Figures or None, lines of the CSV, groups left out)."""
    groups = grouped(rows, values_of)
    style = charts.styles_of(runs.strategy_label(row, rows) for own in groups.values() for row, _ in own)
    out, lines = [], []
    for number, (title, own) in enumerate(groups.items()):
        if number < MOST_GROUPS:
            out += panels(rows, key, title, own, style, units)
        for row, values in own:
            second, cost = seconds_per_epoch(row, len(values)), cost_per_epoch(row, len(values))
            lines += [[row["case_id"], epoch, value, second and second * (epoch + 1), cost and cost * (epoch + 1)]
                      for epoch, value in enumerate(values)]
    return Figures(out, charts.legend(style)) if out else None, lines, max(0, len(groups) - MOST_GROUPS)


def losses(rows):
    drawn, lines, left = curves(rows, "loss", lambda row: row.get("loss"), [EPOCHS])
    return section(rows, "loss", "Training loss", drawn and [drawn],
                   "the test: a lower training loss is no better model. Times are epochs times the mean epoch; evaluation and "
                   "start are not in them." + more(left, "groups"), ["case_id", "epoch", "loss", "seconds", "cost"], lines)


def metrics(rows):
    names = list(dict.fromkeys(name for row in rows for name in (row.get("metrics") or {})))
    out = []
    for number, name in enumerate([name for name in KNOWN_METRICS if name in names][:MOST_METRICS]):
        drawn, lines, left = curves(rows, name, lambda row, name=name: (row.get("metrics") or {}).get(name),
                                    [EPOCHS] if number else [EPOCHS, TIME])
        counts = sorted({row["metric_samples"][name] for row in rows if name in (row.get("metric_samples") or {})})
        over = f"taken over {', '.join(map(str, counts))} samples; with few of them a difference may be chance. " if counts else ""
        rules = [other for other in names if other.endswith("_" + name) and not other.startswith("validation_")]
        over += f"Rules that learn nothing ({', '.join(rules)}) stand in the rows. " if rules else ""
        out.append(section(rows, f"metric-{name}", f"Test metric: {name}", drawn and [drawn],
                           over + "Times are without evaluations." + more(left, "groups"),
                           ["case_id", "epoch", name, "seconds", "cost"], lines))
    return out
