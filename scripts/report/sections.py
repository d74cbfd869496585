"""Times of epochs on the page: by phase, by ranks, and predicted against measured."""
import phase_split
import scaling as figure
from report import answers as answered
from report import charts, runs
from report.parts import Figures, Words, more, section
from strobe_figures import epochs, looks
from strobe_figures import rows as r

MOST_BARS = 40
MOST_PANELS = 6


def bar_name(row, rows):
    return f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}"


def bar_chart(title, names, draw, said=()):
    """A wide figure of horizontal bars: draw(axes) draws one for each name."""
    height = looks.height_of_bars(names) + 0.6
    return charts.chart(title, draw, said, width=9.4, height=height, left=3.4, kind="wide", right=0.2)


def phases(rows):
    drawn = [row for row in rows.pooled if row.get("status") == "ok" and isinstance(row.get("phase_seconds"), dict) and runs.median(row)]
    lines = [[row["case_id"], *(row["phase_seconds"].get(phase) or 0 for phase in r.PHASES)] for row in drawn]
    if not drawn:
        return None
    shown = [(bar_name(row, rows.pooled), figure_row(row)) for row in drawn[:MOST_BARS]]
    there = phase_split.phases_of([row for _, row in shown])
    figures = []
    for clock, words in (("wall", "measured"), ("virtual", "predicted")):  # they may differ a hundredfold
        own, per = of_equal_work([bar for bar in shown if bar[1].get("time_source") == clock])
        said = [f"{name}: {runs.seconds_text(runs.median(row))}" for name, row in own]
        if own:
            figures.append((bar_chart(f"Phases of the {epochs.time_per(per)}, {words}", [name for name, _ in own],
                                      lambda axes, own=own, per=per: phase_split.draw_bars(axes, [own], there, per), said), words))
    return section(rows, "phases", "Where an epoch's time goes",
                   [Figures(figures, charts.areas({phase: looks.PHASES[phase] for phase in there}), "mark and number: median epoch")],
                   "of the rank that worked most among those that end last, as a mean; other ranks differ. Communication that hides "
                   "behind computing is in hidden_communicate_seconds, not here." + more(len(drawn) - MOST_BARS, "cases"),
                   ["case_id", *r.PHASES], lines)


def of_equal_work(bars):
    """(bars, unit): bars of one workload per unit of work where their epochs hold different work. Bars of several
    workloads stay those of epochs."""
    if not bars or len({str(row.get("workload")) for _, row in bars}) > 1:
        return bars, "epoch"
    some, per = epochs.alike([row for _, row in bars])
    return list(zip([name for name, _ in bars], some)), per


def figure_row(row):
    """The row with what figures need of it, where a file lacks it."""
    phases_ = {phase: value or 0 for phase, value in (row.get("phase_seconds") or {}).items()}
    return {**row, "phase_seconds": phases_, "notes": row.get("notes") or [], "settings": row.get("settings") or {}}


def _scaling_groups(rows):
    """{label without strategy and ranks: rows} of cases that run at several rank counts; the first one of each place."""
    groups = {}
    for row in rows.pooled:
        if row.get("status") == "ok" and row.get("ranks") and runs.median(row) and row.get("time_source") in figure.STYLES:
            place = runs.strategy_label(row, rows.pooled), row["ranks"], row["time_source"]
            groups.setdefault(runs.rest_label(row, rows.pooled, without=("ranks",)), {}).setdefault(place, figure_row(row))
    return {title: list(own.values()) for title, own in groups.items() if len({ranks for _, ranks, _ in own}) > 1}


def scaling(rows, answers):
    groups = _scaling_groups(rows)
    styles = looks.styles_of(((runs.strategy_label(row, rows.pooled),) for own in groups.values() for row in own), len(looks.MARKERS))
    drawn, lines = [], []
    for title, own in groups.items():
        named = [dict(row, strategy={"name": runs.strategy_label(row, rows.pooled)}) for row in own]
        lines += [[title, row["strategy"]["name"], row["ranks"], runs.median(row), *(runs.interval(row) or ("", "")), "; ".join(row["notes"])]
                  for row in named]
        if len(drawn) < MOST_PANELS:
            bars, per = of_equal_work([(row["strategy"]["name"], row) for row in named])
            named = [row for _, row in bars]
            said = [f"{row['strategy']['name']}, {looks.ranks_text(row['ranks'])}: {runs.seconds_text(runs.median(row))}" for row in named]
            used = {key: style for key, style in styles.items() if any(row["strategy"]["name"] == key[0] for row in named)}
            drawn.append((charts.chart("Scaling: " + title, lambda axes, some=named, used=used, per=per: figure.draw_panel(axes, some, some, used, per), said),
                          title))
    words = answered.sentences_of(answers, [row["case_id"] for own in groups.values() for row in own])[:2]
    parts = [Figures(drawn, charts.legend({key[0]: style for key, style in styles.items()}, marks=True)), *map(Words, words)] if drawn else []
    return section(rows, "ranks", "More ranks", parts, "whether the graph grew with the ranks (it did not, unless the workload's name "
                   "says so); bars are intervals of measured rows and bands of predicted ones; solid is measured, dashed predicted; "
                   "rings are predictions beyond the described cluster." + more(len(groups) - MOST_PANELS, "cases"),
                   ["case", "strategy", "ranks", "median_s", "low_s", "high_s", "notes"], lines)


def predicted(rows):
    """Cases that were both measured and predicted, by all that decides them but the clock."""
    ignored = ("run", "device", "cluster", "comm", "numerics", "threads", "kernels", "repeat", "epochs", "warmup")
    pairs = {}
    for row in rows.pooled:
        if row.get("status") == "ok" and runs.median(row):
            key = tuple(sorted((k, str(v)) for k, v in runs.flat(row).items() if k not in ignored))
            pairs.setdefault(key, {})[row.get("time_source")] = row
    both = [pair for pair in pairs.values() if set(pair) == {"wall", "virtual"}]
    if not both:
        return None
    style = charts.styles_of(runs.strategy_label(pair["wall"], rows.pooled) for pair in both)
    points = [(runs.strategy_label(pair["wall"], rows.pooled), runs.median(pair["wall"]), runs.median(pair["virtual"]),
               runs.interval(pair["virtual"])) for pair in both]

    def draw(axes):
        factor, unit = r.time_unit([value for _, x, y, _ in points for value in (x, y)])
        ends = [factor * end(value for _, x, y, _ in points for value in (x, y)) for end in (min, max)]
        axes.plot(ends, ends, color=looks.GREY, linewidth=0.9)
        for name, x, y, band in points:
            colour, mark = style[name]
            if band:
                axes.plot([x * factor] * 2, [band[0] * factor, band[1] * factor], color=colour, alpha=0.35, linewidth=3)
            axes.plot([x * factor], [y * factor], looks.MARKERS[mark], color=colour, markersize=5)
        for axis, words in ((axes.xaxis, "measured"), (axes.yaxis, "predicted")):
            looks.set_scale(axis, "log")
            looks.readable_log(axis)
            axis.set_label_text(f"{words} epoch [{unit}]")
    chart = charts.chart("Predicted against measured", draw, [charts.said_of(name, [(x, y)]) for name, x, y, _ in points], height=3.6)
    return section(rows, "predicted", "Predicted against measured", [Figures([(chart, "")], charts.legend(style, marks=True))],
                   "whether the cluster that was predicted for is the machine that was measured on; that is for whoever put these "
                   "runs together to know.", ["case_id", "measured_s", "predicted_s", "error"],
                   [[pair["wall"]["case_id"], x, y, y / x - 1] for pair, (_, x, y, _) in zip(both, points)])
