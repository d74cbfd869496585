#!/usr/bin/env python3
"""Loss and metrics while training, per strategy: over epochs, or over simulated seconds (after ESDG, SC'21, Fig. 6)."""

import sys

from strobe_figures import looks
from strobe_figures import rows as r


def has_values(row):
    return any(value is not None for value in row["loss"] or [])


def series_of(row, name):
    return row["loss"] if name == "loss" else row["metrics"][name]


def spread_of(row, name):
    """Standard deviations over seeds by epoch; none where the row is of one."""
    spread = row.get("spread", {})
    return (spread.get("loss") if name == "loss" else spread.get("metrics", {}).get(name)) or []


def samples_of(panel, name):
    """Over how many samples the panel's rows take the metric, as part of a label; nothing where no row says so."""
    counts = sorted({row["metric_samples"][name] for row in panel if name in row.get("metric_samples", {})})
    if not counts:
        return ""
    return f" (n = {counts[0]})" if len(counts) == 1 else f" (n = {counts[0]} to {counts[-1]})"


def key_of(row, rows):
    """The strategy, and its ranks where they differ."""
    name = r.label(row, "strategy", rows)
    return (name, row["ranks"]) if len({other["ranks"] for other in rows}) > 1 else (name,)


def draw_curve(axes, values, step, look):
    """Values against epochs, each `step` long. Curves of exact strategies lie on each other: dashes of different lengths
    let both be seen."""
    colour, mark = look
    known = [(step * (e + 1), value) for e, value in enumerate(values) if value is not None]  # evaluated epochs
    axes.plot([x for x, _ in known], [y for _, y in known], color=colour, linestyle=looks.DASHES[mark], linewidth=2.0 - 0.08 * mark)


def draw_panel(axes, panel, rows, name, styles):
    virtual = panel[0]["time_source"] == "virtual"
    factor, unit = r.time_unit([row["epoch_seconds"]["mean"] * len(series_of(row, name)) for row in panel])
    for row in sorted(panel, key=lambda row: styles[key_of(row, rows)][1]):  # solid ones below
        values = series_of(row, name)
        step = row["epoch_seconds"]["mean"] * factor if virtual else 1
        colour = styles[key_of(row, rows)][0]
        draw_curve(axes, values, step, styles[key_of(row, rows)])
        half = spread_of(row, name)
        band = [(step * (e + 1), value, half[e]) for e, value in enumerate(values)
                if value is not None and e < len(half) and half[e] is not None]
        axes.fill_between([x for x, _, _ in band], [y - d for _, y, d in band], [y + d for _, y, d in band], color=colour,
                          alpha=min(0.18, 0.4 / len(panel)), linewidth=0)
    if not virtual:
        axes.xaxis.get_major_locator().set_params(integer=True)
    looks.set_scale(axes.yaxis, "linear")
    looks.readable_log(axes.yaxis)
    axes.set_xlabel(f"simulated time [{unit}]" if virtual else "epoch")
    axes.set_ylabel("training loss" if name == "loss" else f"test {name}{samples_of(panel, name)}")


def draw(rows, plt):
    rows = [row for row in rows if has_values(row)]
    if not rows:
        raise r.Refused("no row has values: losses exist where numerics is not none")
    groups = r.in_order((r.group_label(row, rows), row["time_source"]) for row in rows)
    names = ["loss"] + [name for name in ("mrr", "accuracy", "auc", "f1_micro", "f1_macro", "mse")
                        if all(row["metrics"].get(name) for row in rows)][:2]
    figure, axes = looks.panels(plt.subplots, len(groups) * len(names), columns=len(names))
    styles = looks.styles_of((key_of(row, rows) for row in rows))
    for g, (group, source) in enumerate(groups):
        panel = [row for row in rows if r.group_label(row, rows) == group and row["time_source"] == source]
        r.by_key(panel, lambda row: key_of(row, rows), "curve")
        for n, name in enumerate(names):
            draw_panel(axes[g * len(names) + n], panel, rows, name, styles)
        looks.title(axes[g * len(names)], f"{group}: {r.source_label(panel)}")
    handles = [plt.Line2D([], [], color=colour, linestyle=looks.DASHES[mark], linewidth=1.3)
               for colour, mark in styles.values()]
    labels = [", ".join([name, *map(looks.ranks_text, ranks)]) for name, *ranks in styles]
    seeds = max(row.get("seeds", 1) for row in rows)
    if seeds > 1:
        handles.append(plt.Rectangle((0, 0), 1, 1, color=looks.GREY, alpha=0.3))
        labels.append(f"band: standard deviation over {seeds} seeds")
    looks.legend_below(figure, handles, labels)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "curves", ["epoch_seconds"], __doc__))
