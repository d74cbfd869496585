#!/usr/bin/env python3
"""One comparison of all parallelisms in a run: which is at the metric first, what its epochs cost, and why.

Writes comparison.md, whose first screen answers the question, and comparison.csv, one line a case, from which
comparison_guide.py makes the guide of several runs; draws the validation metric over the seconds of training, and
predicted epoch times over ranks.
"""

import argparse
import os
import sys

from strobe_figures import looks
from strobe_figures import parallelisms as p
from strobe_figures import rows as r

NEEDED = ("epoch_seconds", "phase_seconds", "sent_bytes", "metrics")


def number(value, digits=3):
    return "" if value is None else f"{value:.{digits}g}"


def bytes_text(row):
    """Bytes that an epoch sends, by purpose, largest first."""
    sent = {name: count for name, count in row["sent_bytes"].items() if name != "total" and count > 0}
    factor, unit = r.byte_unit(sent.values())
    parts = [f"{name} {count * factor:.3g}" for name, count in sorted(sent.items(), key=lambda part: -part[1])]
    return f"{', '.join(parts)} {unit}" if parts else "none"


def phases_text(row):
    """Shares of an epoch's time by phase, those from 1 % on."""
    total = sum(row["phase_seconds"][phase] or 0 for phase in r.PHASES) or 1.0
    shares = [(phase, (row["phase_seconds"][phase] or 0) / total) for phase in r.PHASES]
    return ", ".join(f"{phase} {100 * share:.0f}" for phase, share in shares if share >= 0.01)


def rate_text(row):
    """Work a second; nothing where sizes that an adjuster chooses differ from epoch to epoch."""
    unit = next((unit for unit in r.UNITS if row["throughput"].get(unit) is not None), None)
    return "" if unit is None else f"{row['throughput'][unit]:.3g} {unit.split('_')[0]}"


def peak_text(row):
    peaks = [count for where in row["peak_bytes"].values() for count in where or [] if count]
    factor, unit = r.byte_unit(peaks)
    return f"{max(peaks) * factor:.3g} {unit}" if peaks else ""


def table(head, lines):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                     ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]) + "\n"


def line_of(row):
    seconds, dollars = p.seconds_to_metric(row), row.get("until_dollars")
    return [p.kind_of(row), p.way_of(row), p.model_of(row), row["ranks"],
            number(1e3 * seconds) if seconds is not None else "not reached" if row.get("until_reached") is False else "",
            row.get("until_iterations") or "", number(1e3 * row["epoch_seconds"]["median"]), phases_text(row),
            rate_text(row), bytes_text(row), peak_text(row), number(row["imbalance"]["max_over_mean"]),
            number((row["loss"] or [None])[-1], 4), number(p.last(row, "mrr"), 4), number(dollars)]


HEAD = ["parallelism", "strategy", "model", "ranks", "to the metric [ms]", "updates", "epoch [ms]", "phases [%]",
        "a second", "sent an epoch", "peak a rank", "busiest over mean", "loss", "test MRR", "dollars"]


def rules_text(rows):
    """The metrics of rules that learn nothing, on the same events."""
    row = next((row for row in rows if p.last(row, "recency_mrr") is not None), None)
    if row is None:
        return ""
    names = ("recency", "edgebank_unlimited", "edgebank_window", "popularity")
    rules = ", ".join(f"{name} {p.last(row, name + '_mrr'):.4f}" for name in names)
    best = max((p.last(other, "mrr"), p.way_of(other), other["model"]["name"]) for other in rows
               if p.last(other, "mrr") is not None)
    beats = "beats" if best[0] > p.last(row, "recency_mrr") else "does not beat"
    return (f"Rules that learn nothing, test MRR on the same events, candidates and batches: {rules}. The best model "
            f"({best[2]}, {best[1]}) has {best[0]:.4f} and {beats} the recency rule.\n")


def first_screen(rows):
    """By setting, the parallelisms in the order in which they are at the metric, and why."""
    text = []
    for setting in r.in_order(p.setting_of(row) for row in rows):
        judged = p.judged_in(rows, setting)
        best = p.first_of_each_kind(judged)
        if not best:
            continue
        missing = [kind for kind in r.in_order(p.kind_of(row) for row in judged)
                   if kind not in [p.kind_of(row) for row in best]]
        text.append(f"## {setting[0].upper()}{setting[1:]}: first at {judged[0]['settings']['until']}\n")
        text.append(table(HEAD, [line_of(row) for row in best]))
        text += [f"- {p.why(best[0], other)}." for other in best[1:]]
        text += [f"- {kind}: the metric was not reached in any case." for kind in missing]
        text.append("")
    return "\n".join(text)


def epoch_tables(rows):
    """By setting, the shortest epochs of each parallelism, by model and ranks."""
    text = []
    for setting in r.in_order(p.setting_of(row) for row in rows):
        fastest = p.fastest_epochs([row for row in rows if p.setting_of(row) == setting])
        kinds = [kind for kind in p.KINDS if any(kind in line for line in fastest.values())]
        lines = [[model, ranks] + [number(1e3 * line[kind]["epoch_seconds"]["median"]) if kind in line else ""
                                   for kind in kinds] for (model, ranks), line in sorted(fastest.items())]
        text.append(f"### Epochs, {setting} [ms]\n\n" + table(["model", "ranks"] + list(kinds), lines))
    return "\n".join(text)


def every_strategy(rows):
    """By setting, each strategy's soonest case."""
    text = []
    for setting in r.in_order(p.setting_of(row) for row in rows):
        judged = p.judged_in(rows, setting)
        best = p.first_of_each(judged, p.way_of)
        never = [way for way in r.in_order(p.way_of(row) for row in judged) if way not in [p.way_of(row) for row in best]]
        if best:
            text.append(f"### {setting[0].upper()}{setting[1:]}\n\n" + table(HEAD, [line_of(row) for row in best]))
            text += [f"Not at the metric in any case: {', '.join(never)}.\n"] if never else []
    return "\n".join(text)


CSV_HEAD = ["workload", "where", "parallelism", "strategy", "model", "ranks", "until", "seconds_to_metric", "updates",
            "epoch_seconds", "compute_share", "sent_bytes", "messages", "test_mrr", "dollars"]
CASE = CSV_HEAD[:7]  # which case a line is of


def recorded_times(path):
    """{the first columns of CSV_HEAD: line} of a comparison.csv. Raises Refused where it is none."""
    lines = r.read_csv(path, CSV_HEAD, "not a comparison.csv of scripts/figures/comparison.py")
    return {tuple(line[name] for name in CASE): line for line in lines}


def take_times(rows, path):
    """Gives measured rows the epoch times that a comparison.csv has for the same cases. Phases keep their shares of an
    epoch, and metrics stay this run's. Raises Refused where a case is not there."""
    recorded = recorded_times(path)
    for row in (row for row in rows if row["time_source"] == "wall"):
        old = recorded.get(tuple(str(value) for value in csv_line(row)[:len(CASE)]))
        if old is None:
            raise r.Refused(f"{path}: {row.get('case_id', 'a case')} is not there; --times needs all cases that were measured")
        times = row["epoch_seconds"]
        ratio = float(old["epoch_seconds"]) / times["median"]
        row["phase_seconds"] = {phase: value and value * ratio for phase, value in row["phase_seconds"].items()}
        row["throughput"] = {unit: value and value / ratio for unit, value in row["throughput"].items()}
        row["epoch_seconds"] = {**times, "median": float(old["epoch_seconds"])}


def csv_line(row):
    """A case in one line, by which cases of several runs compare; nothing where it has nothing to say."""
    total = sum(row["phase_seconds"][phase] or 0 for phase in r.PHASES) or 1.0
    messages = row.get("messages")
    values = [p.seconds_to_metric(row), row.get("until_iterations") if row.get("until_reached") else None,
              row["epoch_seconds"]["median"], (row["phase_seconds"]["compute"] or 0) / total, row["sent_bytes"]["total"],
              sum(messages.values()) if isinstance(messages, dict) else messages, p.last(row, "mrr"), row.get("until_dollars")]
    texts = ["" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return [row["workload"]["name"], row["cluster"] if row["time_source"] == "virtual" else "here", p.kind_of(row), p.way_of(row),
            p.model_of(row), row["ranks"], row["settings"].get("until") or ""] + texts


LIMITS = """## What this does not show

- An epoch is a pass over the training steps or events; of hybrid batches it is an update, or what lies between two
  averagings. Only times to the metric compare across the kinds of training.
- One data set, one metric; several seeds are pooled, and a case is at the metric if it is under each of them; models have the sizes that the suite gives, not the best for each.
- Ranks measured here are threads of one machine: with more ranks than cores, time is not a cluster's.
- Predictions follow the cluster files; those marked uncalibrated rest on published figures of the hardware.
"""


def show(rows):
    """The first screen for a terminal: in which order parallelisms are at the metric."""
    for setting in r.in_order(p.setting_of(row) for row in rows):
        judged = p.judged_in(rows, setting)
        best = p.first_of_each_kind(judged)
        if not best:
            continue
        print(f"{judged[0]['settings']['until']} on {judged[0]['workload']['name']}, {setting}")
        for row in best:
            print(f"  {p.kind_of(row):<13} {p.way_of(row):<12} {row['model']['name']:<9} {row['ranks']:>3} ranks "
                  f"{1e3 * p.seconds_to_metric(row):>10.3g} ms  {row['until_iterations']:>5.6g} updates  "
                  f"test MRR {p.last(row, 'mrr'):.4f}")


def report(rows):
    name = r.label(rows[0], "workload", rows[:1])
    notes = sorted({note for row in rows for note in row["notes"] if note in ("uncalibrated", "extrapolated")})
    about = f"{len(rows)} cases" + (f", predictions {', '.join(notes)}" if notes else "")
    cases = table(HEAD + ["where"], [line_of(row) + [p.setting_of(row)] for row in rows])
    return (f"# Parallelisms compared on {name} ({about})\n\n{rules_text(rows)}\n{first_screen(rows)}\n{LIMITS}\n"
            f"## Every strategy, its soonest case\n\n{every_strategy(rows)}\n## Epochs\n\n{epoch_tables(rows)}\n## All cases\n\n{cases}")


def draw_curves(axes, rows, setting):
    """Validation MRR over seconds of training, of each parallelism's first case at the metric."""
    first = p.first_of_each_kind([row for row in rows if p.setting_of(row) == setting])
    styles = p.styles_of([(p.kind_of(row), p.way_of(row)) for row in first])
    for row in first:
        colour, mark = styles[p.kind_of(row), p.way_of(row)]
        values = row["metrics"].get("validation_mrr") or []
        each = p.seconds_to_metric(row) / max(1, len(values))
        points = [(1e3 * each * (at + 1), value) for at, value in enumerate(values) if value is not None]
        axes.plot([x for x, _ in points], [y for _, y in points], marker=looks.MARKERS[mark], markersize=4,
                  color=colour, label=f"{p.way_of(row)}, {row['model']['name']}")
    axes.set_xscale("log")
    axes.set_xlabel("training [ms]")
    axes.set_ylabel("validation MRR")
    axes.legend(fontsize=7)
    looks.readable_log(axes.xaxis)
    looks.title(axes, setting)


def draw_epochs(axes, rows, setting):
    """Epoch times over ranks, of each model and parallelism."""
    models = r.in_order(row["model"]["name"] for row in rows)
    fastest = p.fastest_epochs([row for row in rows if p.setting_of(row) == setting])
    styles = p.styles_of([(kind, model) for kind in p.KINDS for model in models])
    for model in models:
        for kind in p.KINDS:
            line = sorted((ranks, kinds[kind]["epoch_seconds"]["median"] * 1e3)
                          for (of, ranks), kinds in fastest.items() if of == model and kind in kinds)
            if line:
                colour, mark = styles[kind, model]
                axes.plot([x for x, _ in line], [y for _, y in line], color=colour, markersize=4,
                          marker=looks.MARKERS[mark], label=f"{kind}, {model}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = sorted({ranks for _, ranks in fastest})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel("ranks")
    axes.set_ylabel("median epoch [ms]")
    looks.readable_log(axes.yaxis)
    looks.title(axes, f"epochs, {setting}")


def draw(rows, plt):
    settings = r.in_order(p.setting_of(row) for row in rows)
    judged = [setting for setting in settings if p.first_of_each_kind(
        [row for row in rows if p.setting_of(row) == setting])]
    figure, axes = looks.panels(plt.subplots, len(judged) + len(settings), columns=max(1, len(settings)))
    for place, setting in zip(axes, judged):
        draw_curves(place, rows, setting)
    for place, setting in zip(axes[len(judged):], settings):
        draw_epochs(place, rows, setting)
    labels = {label: handle for place in axes[len(judged):]
              for handle, label in zip(*place.get_legend_handles_labels())}
    looks.legend_below(figure, list(labels.values()), list(labels))
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("run", metavar="RUN_DIR", help="run directory, or its summary.json")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the report and the figure (default: here)")
    parser.add_argument("--show", action="store_true", help="print in which order parallelisms are at the metric")
    parser.add_argument("--times", metavar="COMPARISON_CSV",
                        help="take the epoch times of measured cases from this comparison.csv of an earlier run")
    options = parser.parse_args()
    rows = []

    def read():
        rows.extend(r.read_rows(options.run, NEEDED))
        if options.times:
            take_times(rows, options.times)
        rows[:] = r.over_seeds(rows)
        return rows

    status = looks.write_figure("comparison", options.out, read, draw)
    if status == 0:
        path = os.path.join(options.out, "comparison.md")
        r.write_whole(path, report(rows).encode())
        print(path)
        status = r.write_table(os.path.join(options.out, "comparison.csv"), [CSV_HEAD] + [csv_line(row) for row in rows])
        if options.show:
            show(rows)
    return status


if __name__ == "__main__":
    sys.exit(r.ending(main))
