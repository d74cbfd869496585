#!/usr/bin/env python3
"""Grouped bars of any numbers of a run's rows (after DGC, SIGMOD'23, Fig. 4, 5(c), 12, 14, 15 and 16, Tables 2 and 3).

A column of panels for each --value, a line of panels for each workload and whatever else differs; along a panel's axis
the values of --group, and for each of them a bar by --bars. The numbers that are drawn go to NAME.csv, in the units of
the rows. From a list with a number for each epoch, the last one counts. For quantities sent, it is the mean after the
first epoch, which sends everything. From a list with a number for each rank, the largest one counts. Rows that differ in
their seed alone are one bar: the mean, with one standard deviation to each side. Where epochs of a panel hold different
work, quantities of an epoch are per unit of work.

usage: bars.py RUN_DIR --value epoch_seconds.median --value sent_bytes.total
       bars.py RUN_DIR --value epoch_seconds.median --group workload.edges_variance --where workload.length_variance=100
"""

import argparse
import copy
import os
import statistics
import sys

from strobe_figures import epochs, looks
from strobe_figures import rows as r

NAMES = {"epoch_seconds.median": "median epoch", "epoch_seconds.mean": "mean epoch",
         "sent_bytes.total": "sent in an epoch",
         "loaded_bytes": "loaded in an epoch", "transfer_bytes": "moved to the device in an epoch",
         "padded_share": "share of rows that only fill up", "fusion_units": "most units of a rank",
         "imbalance.max_over_min": "largest over smallest time of a rank",
         "phase_seconds.transfer": "transfer in an epoch",
         "device_memory_share": "share of the device's memory", "sent_share": "share of bytes sent after epoch 1"}
HATCHES = ["", "////", "....", "xxxx", "||||", "----"]
BEHIND_FIRST = ("sent_share", "sent_bytes_by_epoch")


def at(row, path):
    """The value in a row that `path` names, for example "strategy.fusion", or None."""
    value = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def numbers(row, path):
    """The number that `path` names under each seed; without those that have none."""
    return [value for value in (number_of(one, path) for one in r.pooled(row)) if value is not None]


def number(row, path):
    """The number that `path` names, the mean over seeds; None where the row has none."""
    known = numbers(row, path)
    return known[0] if len(known) == 1 else statistics.fmean(known) if known else None


def number_of(row, path):
    """The number that `path` names, of a list what the head of this file says; None where the row has none."""
    value = at(row, path)
    if isinstance(value, list) and value and all(isinstance(entry, (int, float)) for entry in value):
        if path in BEHIND_FIRST:
            value = sum(value[1:]) / len(value[1:]) if len(value) > 1 else value[0]
        else:
            value = value[-1] if path.startswith("metrics.") or path == "loss" else max(value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def require(rows, paths):
    """Raises Refused for a path that no row has a number for."""
    for path in paths:
        if all(number(row, path) is None for row in rows):
            why = rows[0].get("absent", {}).get("/" + path.replace(".", "/"), "no number")
            raise r.Refused(f"{rows[0]['case_id']}: {path}: {why}")


def brief(row, kind, rows):
    """As r.label with as few parameters as tell all apart: those that take several values, then others in order."""
    values = {}
    for other in rows:
        for key, value in r.parameters(other, kind).items():
            values.setdefault(key, set()).add(str(value))
    told = {key for key, some in values.items() if len(some) > 1}

    def name(plugin):
        same = [r.parameters(other, kind) for other in rows if other[kind]["name"] == plugin["name"]]
        kept = [r.parameter_text(key, value) for key, value in plugin.items()
                if key in told and key != "name" and any(other.get(key) != value for other in same)]
        return plugin["name"] + (f" ({', '.join(kept)})" if kept else "")

    distinct = len({str(other[kind]) for other in rows})
    for key in values:
        if len({name(other[kind]) for other in rows}) == distinct:
            break
        told.add(key)
    return name(row[kind])


def text(row, path, rows):
    """The name of what `path` says of a row: a plug-in with its parameters that differ, or a value."""
    if path in r.PLUGINS:
        return brief(row, path, rows)
    value = at(row, path)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def chosen(rows, conditions):
    """The rows for which every KEY=VALUE holds; a plug-in's value is its name. Raises Refused when none is left."""
    for condition in conditions:
        path, equals, wanted = condition.partition("=")
        if not equals:
            raise r.Refused(f"--where {condition}: expected KEY=VALUE")
        path += ".name" if path in r.PLUGINS else ""
        rows = [row for row in rows if text(row, path, rows).replace(",", "") == wanted.replace(",", "")]
        if not rows:
            raise r.Refused(f"--where {condition}: no row has it")
    return rows


def over_seeds(rows, options):
    """The rows, those that differ in their seed alone as one, unless bars or groups are seeds."""
    return rows if "seed" in (options.group, options.bars) else r.over_seeds(rows)


def without(row, path):
    """A copy of a row in which all rows are the same at `path`. The strategy itself stays under "own_strategy"."""
    row = copy.copy(row)
    head, _, rest = path.partition(".")
    if head == "strategy":
        row.setdefault("own_strategy", row["strategy"])
    if rest:
        row[head] = without(row[head], rest) if isinstance(row.get(head), dict) else {}
    else:
        row[head] = {"name": ""} if head in r.PLUGINS else None
    return row


def panels_of(rows, options):
    """{(clock, name of the panel): {group: {bar: row}}}, in order of first appearance."""
    plain = [without(without(row, options.group), options.bars) for row in rows]
    ranks = {}
    for row in plain:
        ranks.setdefault(row["time_source"], set()).add(row["ranks"])
    panels = {}
    for row, rest in zip(rows, plain):
        parts = [r.group_label(rest, plain, without=("comm", "device", "cluster", "numerics", "strategy")).strip(", ")]
        if len(ranks[row["time_source"]]) > 1:
            parts.append(looks.ranks_text(row["ranks"]))
        panel = panels.setdefault((row["time_source"], ", ".join(part for part in parts if part)), {})
        bars = panel.setdefault(text(row, options.group, rows), {})
        bar = text(row, options.bars, rows)
        if bar in bars:
            raise r.Refused(f"{row['case_id']} and {bars[bar]['case_id']} would share one bar; --group and --bars name "
                            "what tells them apart")
        bars[bar] = row
    return {panel: in_order(groups, options.group) for panel, groups in panels.items()}


def alike(groups, paths):
    """The groups of a panel with quantities of equal work, and its unit. Without such a quantity it stays as it is."""
    if not any(epochs.is_quantity(path) for path in paths):
        return groups, "epoch"
    rows, per = epochs.alike([row for bars in groups.values() for row in bars.values()])
    left = iter(rows)
    return {group: {bar: next(left) for bar in bars} for group, bars in groups.items()}, per


def in_order(groups, path):
    """Groups that are numbers by size, others as they come."""
    values = {name: at(next(iter(bars.values())), path) for name, bars in groups.items()}
    if all(isinstance(value, (int, float)) for value in values.values()):
        return {name: groups[name] for name in sorted(groups, key=values.get)}
    return groups


def scale(path, values, per):
    """(factor, label of the axis) for numbers of one kind; those of an epoch per `per`."""
    name = NAMES.get(path, path)
    if per == epochs.UNLIKE and epochs.is_quantity(path):
        name += epochs.remark(per)
    elif per != "epoch" and epochs.is_quantity(path):
        name = name.replace("epoch", "time") if path.startswith("epoch_seconds") else name.removesuffix(" in an epoch")
        name = name.removesuffix("_per_epoch").removesuffix("_by_epoch") + f" per {per}"
    if "seconds" in path:
        factor, unit = r.time_unit(values)
    elif "bytes" in path:
        factor, unit = r.byte_unit(values)
    else:
        return (100, f"{name} [%]") if "share" in path else (1, name)
    return factor, f"{name} [{unit}]"


def ends_of(row, path):
    """The ends of what is drawn: one standard deviation over seeds, or the interval of the median epoch."""
    if len(known := numbers(row, path)) > 1:
        return number(row, path) - statistics.stdev(known), number(row, path) + statistics.stdev(known)
    if path not in ("epoch_seconds", "epoch_seconds.median"):
        return None
    low, high = r.interval_of(row)
    return None if low is None else (low, high)


def draw_panel(axes, groups, per, path, styles, log):
    numbers = [{name: number(row, path) for name, row in bars.items()} for bars in groups.values()]
    known = [value for bars in numbers for value in bars.values() if value is not None]
    if not known:
        axes.set_axis_off()
        return
    factor, label = scale(path, known, per)
    width, tops = 0.84 / len(styles), []
    for place, (bars, rows) in enumerate(zip(numbers, groups.values())):
        present = [name for name in styles if bars.get(name) is not None]
        for i, name in enumerate(present):
            height = bars[name] * factor
            position = place + (i - (len(present) - 1) / 2) * width
            ends = ends_of(rows[name], path)
            top = max(height, ends[1] * factor) if ends else height
            tops += [height, top]
            distances = [[max(0, height - ends[0] * factor)], [top - height]] if ends else None
            axes.bar(position, height, 0.92 * width, edgecolor="white", linewidth=0.4, yerr=distances, capsize=1.5,
                     error_kw={"elinewidth": 0.7}, **styles[name])
            mark = "*" if r.is_extrapolated({"notes": [], **rows[name]}) else ""
            axes.annotate(f"{height:.3g}{mark}", (position, top), xytext=(0, 2), textcoords="offset points", ha="center",
                          va="bottom", rotation=90, fontsize=6.5, color="#404040")
    axes.set_xticks(range(len(groups)), [looks.short(name, 28) for name in groups], fontsize=8)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)
    beyond = any(r.is_extrapolated({"notes": [], **row}) for rows in groups.values() for row in rows.values())
    axes.set_ylabel(looks.fit(label + ("; * extrapolated" if beyond else ""), 2.0, 9))
    positive = [top for top in tops if top > 0]
    if log and positive:
        axes.set_yscale("log")
        axes.set_ylim(min(positive) / 1.6, max(positive) * (max(positive) / min(positive)) ** 0.25 * 1.5)
        looks.readable_log(axes.yaxis)
    else:
        axes.set_ylim(min(tops + [0]), 1.3 * max(positive, default=0.8))


def styles_of(panels):
    """{bar: its colour and hatching}; bars of one colour are hatched apart."""
    names = r.in_order(bar for groups in panels.values() for bars in groups.values() for bar in bars)
    styles = looks.styles_of(((name,) for name in names), len(HATCHES))
    return {name: {"facecolor": colour, "hatch": HATCHES[mark]} for (name,), (colour, mark) in styles.items()}


def draw(rows, options, plt):
    require(rows, options.value)
    panels = panels_of(rows, options)
    styles = styles_of(panels)
    widest = max(len(groups) * max(len(bars) for bars in groups.values()) for groups in panels.values())
    width = max(3.4, 0.2 * widest + 1.0)
    columns = len(options.value)
    figure, grid = looks.panels(plt.subplots, len(panels) * columns, columns=columns, size=(width, 2.4))
    for line, ((clock, name), groups) in enumerate(panels.items()):
        groups, per = alike(groups, options.value)
        source = r.source_label([row for row in rows if row["time_source"] == clock])
        for column, path in enumerate(options.value):
            axes = grid[line * columns + column]
            draw_panel(axes, groups, per, path, styles, options.log)
            if axes.axison:
                looks.title(axes, f"{name}: {source}" if name else source)
    for axes in grid[-columns:]:
        axes.set_xlabel(options.group)
    handles = [plt.Rectangle((0, 0), 1, 1, edgecolor="white", linewidth=0.4, **style)
               for style in styles.values()]
    looks.legend_below(figure, handles, list(styles))
    return figure


def table(rows, options):
    """Header and lines of the csv: what is drawn, in the rows' units; quantities of an epoch per `per`."""
    lines = [["clock", "panel", "per", options.group, options.bars] + options.value]
    for (clock, name), groups in panels_of(rows, options).items():
        groups, per = alike(groups, options.value)
        for group, bars in groups.items():
            lines += [[clock, name, per, group, bar] + [number(row, path) for path in options.value]
                      for bar, row in bars.items()]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("run", metavar="RUN_DIR", help="run directory, or its summary.json")
    parser.add_argument("--value", required=True, action="append", metavar="KEY",
                        help="what is drawn: a number of the rows")
    parser.add_argument("--group", default="model", metavar="KEY", help="what stands along the axis (default: model)")
    parser.add_argument("--bars", default="strategy", metavar="KEY", help="what each bar is (default: strategy)")
    parser.add_argument("--where", action="append", default=[], metavar="KEY=VALUE", help="draw only rows that have it")
    parser.add_argument("--log", action="store_true", help="logarithmic heights")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--name", default="bars", help="name of the files (default: bars)")
    options = parser.parse_args()
    rows = []

    def read():
        rows.extend(over_seeds(chosen(r.read_rows(options.run, []), options.where), options))
        return rows

    status = looks.write_figure(options.name, options.out, read, lambda some, plt: draw(some, options, plt))
    return status or r.write_table(os.path.join(options.out, options.name + ".csv"), table(rows, options))


if __name__ == "__main__":
    sys.exit(r.ending(main))
