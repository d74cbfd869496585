"""The figures of the page. Each returns HTML, or "" where the rows have nothing for it; under every one stands what it
does not show and its numbers as a file. The command that runs a case again stands at its row."""
import base64
import math
from html import escape

from report import runs, svg

PHASES = ("compute", "communicate", "transfer", "sample", "wait", "other")
PHASE_COLOURS = {"compute": "#0072B2", "communicate": "#D55E00", "transfer": "#E69F00", "sample": "#009E73",
                 "wait": "#CC79A7", "other": "#8C8C8C"}
MOST_BARS = 60


def anchor(text):
    return "".join(c if c.isalnum() else "-" for c in text.lower()).strip("-")


MOST_CSV = 60_000  # characters of a figure's numbers in the page; longer ones are in the run's own files


def section(title, body, not_shown, header, lines):
    """A figure or a table with what belongs under it."""
    if not body:
        return ""
    name = anchor(title)
    text = runs.as_csv(header, lines)
    data = base64.b64encode(text.encode()).decode()
    link = f'<a download="{name}.csv" href="data:text/csv;base64,{data}">numbers (CSV)</a>'
    if len(text) > MOST_CSV:
        link = "The numbers are too many for this page: they are in summary.json and summary.csv of each run."
    again = "" if name == "rows" else ' · <a href="#rows">commands that run the cases again</a>'
    return (f'<section id="{name}"><h2><a href="#{name}">{escape(title)}</a></h2>{body}'
            f'<p class="limits"><b>Not shown:</b> {escape(not_shown)}</p>'
            f"<p>{link}{again}</p></section>")


def _colour_class(row, best):
    """Whether the interval of a row says that it is slower than the fastest."""
    if row is best:
        return "best"
    own, other = runs.interval(row), runs.interval(best)
    if own is None or other is None:
        return "unknown"
    return "slower" if own[0] > other[1] else "same"


def ratios(rows):
    """Case x strategy: how many times as long as the fastest; the page's first table."""
    table = runs.by_case(rows)
    if not table:
        return ""
    strategies = list(dict.fromkeys(name for row in table.values() for name in row))
    means, matched = runs.geometric_means(table)
    head = "".join(f"<th>{escape(name)}</th>" for name in strategies)
    lines, csv_lines = [], []
    for case, row in table.items():
        best = min(row.values(), key=runs.median)
        cells = ""
        for name in strategies:
            if name not in row:
                cells += '<td class="absent" data-value="inf">-</td>'
                continue
            ratio = runs.median(row[name]) / runs.median(best)
            cells += (f'<td class="{_colour_class(row[name], best)}" data-value="{ratio:.6g}" title="{escape(row[name]["case_id"], True)}">'
                      f'{ratio:.2f}<small>{runs.seconds_text(runs.median(row[name]))}</small></td>')
            csv_lines.append([case, name, runs.median(row[name]), ratio, *(runs.interval(row[name]) or ("", ""))])
        lines.append(f"<tr><th>{escape(case)}</th>{cells}<td class='words'>{escape(runs.verdict(row))}</td></tr>")
    foot = ""
    if means:
        foot = (f"<tfoot><tr><th>geometric mean of {matched} matched case{'s' if matched != 1 else ''} of {len(table)}</th>"
                + "".join(f"<td>{means[name]:.2f}</td>" for name in strategies) + "<td></td></tr></tfoot>")
    body = (f'<table class="sortable"><thead><tr><th>case</th>{head}<th>in words</th></tr></thead><tbody>{"".join(lines)}</tbody>'
            f"{foot}</table><p class='key'><span class='best'>fastest</span> <span class='same'>interval meets the fastest's</span> "
            f"<span class='slower'>slower, intervals apart</span> <span class='unknown'>no interval</span></p>")
    body += extremes(table)
    return section("How long an epoch takes, in times of the fastest", body,
                   "intervals of measured rows come from the epochs of one process, so a machine that is slow for a whole "
                   "process makes them too narrow; the mean leaves out every case that one strategy lacks; time to a metric.",
                   ["case", "strategy", "median_s", "ratio", "low_s", "high_s"], csv_lines)


def extremes(table):
    """The five cases in which the choice matters most, and the five in which it matters least."""
    spread = []
    for case, row in table.items():
        if len(row) > 1:
            times = sorted((runs.median(r), name) for name, r in row.items())
            spread.append((times[-1][0] / times[0][0], case, times[0][1], times[-1][1]))
    if len(spread) < 2:
        return ""
    spread.sort(reverse=True)

    def items(chosen):
        return "".join(f"<li>{escape(case)}: {escape(best)} {ratio:.2f} times as fast as {escape(worst)}</li>"
                       for ratio, case, best, worst in chosen)
    return (f"<div class='columns'><div><h3>The choice matters most</h3><ol>{items(spread[:5])}</ol></div>"
            f"<div><h3>and least</h3><ol>{items(spread[::-1][:5])}</ol></div></div>")


def phases(rows):
    bars, lines = [], []
    for row in rows:
        values = row.get("phase_seconds")
        if row.get("status") != "ok" or not isinstance(values, dict):
            continue
        name = f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}"
        bars.append((name, {phase: values.get(phase) or 0 for phase in PHASES}, ""))
        lines.append([row["case_id"], *(values.get(phase) or 0 for phase in PHASES)])
    if not bars:
        return ""
    more = len(bars) - MOST_BARS
    style = {phase: (PHASE_COLOURS[phase], "") for phase in PHASES}
    body = svg.legend(style) + svg.stacked_bars("Phases of an epoch", bars[:MOST_BARS], PHASES, style, runs.seconds_text)
    return section("Where an epoch's time goes", body,
                   "the slowest rank's epoch, as a mean; other ranks differ. Communication that hides behind computing is in "
                   "hidden_communicate_seconds, not here." + (f" {more} more cases are in the CSV." if more > 0 else ""),
                   ["case_id", *PHASES], lines)


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
                lines.append([title, name, rank, runs.median(row), *(runs.interval(row) or ("", "")), "; ".join(row.get("notes", []))])
            axes.line([(rank, runs.median(own[rank])) for rank in sorted(own)], style[name], name)
            used.add(name)
        out.append(f"<figure>{axes.drawing('Scaling: ' + title)}<figcaption>{escape(title)}</figcaption></figure>")
    body = svg.legend({name: style[name] for name in style if name in used}) + f"<div class='grid'>{''.join(out)}</div>" if out else ""
    return section("More ranks", body, "whether the graph grew with the ranks (it did not, unless the workload's name says so); "
                   "bars are intervals of measured rows and bands of predicted ones; predictions beyond the described cluster are "
                   "marked in the CSV's notes.", ["case", "strategy", "ranks", "median_s", "low_s", "high_s", "notes"], lines)


def _curves(rows, key, values_of):
    """One panel against epochs and one against seconds for each group of cases that differ in strategy alone."""
    groups = {}
    for row in rows:
        values = values_of(row)
        if values and sum(value is not None for value in values) > 1:
            groups.setdefault(runs.rest_label(row, rows), []).append((row, values))
    style = svg.styles(runs.strategy_label(row, rows) for own in groups.values() for row, _ in own)
    out, lines = [], []
    for title, own in list(groups.items())[:24]:
        finite = [v for _, values in own for v in values if v is not None and math.isfinite(v)]
        for unit, scale in (("epoch", lambda row: 1.0), ("seconds", runs.median), ("dollars", lambda row: row.get("dollars_per_epoch"))):
            drawn = [(row, values, scale(row)) for row, values in own if scale(row)]
            if not drawn or not finite:
                continue
            axes = svg.Axes((0, max(len(values) * step for _, values, step in drawn)), (min(finite), max(finite)), width=400, height=240)
            axes.grid(unit, key)
            for row, values, step in drawn:
                name = runs.strategy_label(row, rows)
                axes.line([((i + 1) * step, v) for i, v in enumerate(values)], style[name], name, marks=False)
            out.append(f"<figure>{axes.drawing(f'{key} against {unit}: {title}')}<figcaption>{escape(title)}</figcaption></figure>")
        lines += [[row["case_id"], epoch, value] for row, values in own for epoch, value in enumerate(values)]
    if not out:
        return "", [], 0
    return svg.legend(style) + f"<div class='grid'>{''.join(out)}</div>", lines, max(0, len(groups) - 24)


def losses(rows):
    body, lines, more = _curves(rows, "loss", lambda row: row.get("loss"))
    return section("Training loss", body, "the test: a lower training loss is no better model. Seconds are epochs times the median "
                   "epoch; evaluation and start are not in them." + (f" {more} more groups are in the rows." if more else ""),
                   ["case_id", "epoch", "loss"], lines)


def metrics(rows):
    names = list(dict.fromkeys(name for row in rows for name in (row.get("metrics") or {})))
    shown = [name for name in ("mrr", "auc", "ap", "accuracy", "f1", "rmse", "mae") if name in names][:3]
    out = ""
    for name in shown:
        body, lines, more = _curves(rows, name, lambda row, name=name: (row.get("metrics") or {}).get(name))
        counts = sorted({row["metric_samples"][name] for row in rows if name in (row.get("metric_samples") or {})})
        over = f"taken over {', '.join(map(str, counts))} samples; with few of them a difference may be chance. " if counts else ""
        rules = [other for other in names if other.endswith("_" + name)]
        over += f"Rules that learn nothing ({', '.join(rules)}) stand in the rows. " if rules else ""
        out += section(f"Test metric: {name}", body, over + ("%d more groups are in the rows." % more if more else ""),
                       ["case_id", "epoch", name], lines)
    return out


def heat_map(rows):
    """Bytes by purpose of each case, darker where more of all bytes of the page."""
    kinds = [kind for kind in dict.fromkeys(k for row in rows for k in (row.get("sent_bytes") or {})) if kind != "total"]
    kinds = [kind for kind in kinds if any((row.get("sent_bytes") or {}).get(kind) for row in rows)]
    cases = [row for row in rows if row.get("sent_bytes") and sum(row["sent_bytes"].get(kind) or 0 for kind in kinds)]
    if not kinds or not cases:
        return ""
    most = max(row["sent_bytes"].get(kind) or 0 for row in cases for kind in kinds)
    lines = []
    for row in cases[:200]:
        cells = ""
        for kind in kinds:
            value = row["sent_bytes"].get(kind) or 0
            share = math.log1p(value) / math.log1p(most)
            cells += f'<td class="heat" style="--share:{share:.3f}" data-value="{value}">{runs.bytes_text(value) if value else ""}</td>'
        lines.append(f"<tr><th title='{escape(row['case_id'], True)}'>{escape(runs.strategy_label(row, rows))}: "
                     f"{escape(runs.rest_label(row, rows))}</th>{cells}</tr>")
    head = "".join(f"<th>{escape(kind)}</th>" for kind in kinds)
    return section("Bytes an epoch, by purpose", f'<table class="sortable"><thead><tr><th>case</th>{head}</tr></thead>'
                   f'<tbody>{"".join(lines)}</tbody></table>',
                   "which ranks they go between, and whether they hide behind computing. They equal the plan to the byte; the "
                   "colour is logarithmic." + (f" {len(cases) - 200} more cases are in the CSV." if len(cases) > 200 else ""),
                   ["case_id", *kinds], [[row["case_id"], *(row["sent_bytes"].get(kind) for kind in kinds)] for row in cases])


def memory(rows):
    bars, lines = [], []
    for row in rows:
        peaks = row.get("peak_bytes")
        if not isinstance(peaks, dict):
            continue
        device, host = max(peaks.get("device") or [0]), max(peaks.get("host") or [0])
        share = row.get("device_memory_share")
        name = f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}"
        bars.append((name, {"device": device, "host": host}, f"({100 * share:.0f} % of the limit)" if share else ""))
        lines.append([row["case_id"], device, host, share if share is not None else ""])
    if not bars:
        return ""
    style = {"device": ("#0072B2", ""), "host": ("#8C8C8C", "")}
    return section("Most memory of any rank", svg.legend(style) + svg.stacked_bars("Peak memory", bars[:MOST_BARS], ("device", "host"),
                                                                                   style, runs.bytes_text),
                   "how it changes during an epoch (a trace has that); device and host are peaks of their own and need not fall "
                   "together." + (f" {len(bars) - MOST_BARS} more cases are in the CSV." if len(bars) > MOST_BARS else ""),
                   ["case_id", "device_bytes", "host_bytes", "share_of_limit"], lines)


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
    return section("Predicted against measured", svg.legend(style) + f"<figure>{axes.drawing('Predicted against measured')}</figure>",
                   "whether the cluster that was predicted for is the machine that was measured on; that is for whoever put these "
                   "runs together to know.", ["case_id", "measured_s", "predicted_s", "error"], lines)
