#!/usr/bin/env python3
"""Host-to-device transfer by method: its share of an epoch, and the bytes that it moves (after ESDG, SC'21, Fig. 4)."""

import sys

from strobe_figures import looks
from strobe_figures import rows as r

METHODS = ("transfer", "transfer_format")


def method_of(row):
    settings = row.get("settings", {})
    method = settings.get("transfer", "direct")
    return method if method == "direct" else f"{method}, {settings.get('transfer_format', '')}"


def draw_panel(axes, panel, methods):
    """One stack per rank count and method: transfer below, the rest of the epoch above it."""
    factor, unit = r.time_unit([sum(row["phase_seconds"].values()) for row in panel])
    volume, byte_unit = r.byte_unit([row["transfer_bytes"] for row in panel])
    position, ticks, names = 0.0, [], []
    for ranks in sorted({row["ranks"] for row in panel}):
        first = position
        for i, method in enumerate(methods):
            found = [row for row in panel if row["ranks"] == ranks and method_of(row) == method]
            if not found:
                continue
            moved = found[0]["phase_seconds"]["transfer"] * factor
            rest = sum(found[0]["phase_seconds"].values()) * factor - moved
            axes.bar(position, moved, 0.82, color=looks.COLOURS[i % len(looks.COLOURS)], edgecolor="white", linewidth=0.4)
            axes.bar(position, rest, 0.82, bottom=moved, color=looks.LIGHT_GREY, edgecolor="white", linewidth=0.4)
            low, high = r.interval_of(found[0])
            if low is not None:
                axes.errorbar([position], [moved + rest], yerr=[[max(0, moved + rest - low * factor)], [max(0, high * factor - moved - rest)]],
                              fmt="none", ecolor="black", elinewidth=0.8, capsize=2)
            top = max(moved + rest, (high or 0) * factor)
            looks.number_on_bar(axes, f"{found[0]['transfer_bytes'] * volume:.3g}", (position, top), xytext=(0, 2), ha="center",
                                fontsize=looks.points(6.5))
            position += 1
        if position == first:
            continue
        ticks.append((first + position - 1) / 2)
        names.append(str(ranks))
        position += 0.7
    looks.group_names(axes, ticks, names)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.12)
    axes.set_xlabel("ranks")
    axes.set_ylabel(f"mean epoch [{unit}]\n(above: {byte_unit} moved)")


def key_of(row, rows):
    return r.group_label(row, rows, METHODS), row["time_source"], r.label(row, "strategy", rows)


def draw(rows, plt):
    r.by_key(rows, lambda row: (key_of(row, rows), row["ranks"], method_of(row)), "bar")
    keys = [key for key in r.in_order(key_of(row, rows) for row in rows)
            if any(row["transfer_bytes"] for row in rows if key_of(row, rows) == key)]
    if not keys:
        raise r.Refused("no row moved anything between host and device: a device that computes in the host's memory "
                        "has no transfers to draw")
    drawn = [row for row in rows if key_of(row, rows) in keys]
    methods = r.in_order(method_of(row) for row in drawn)
    figure, axes = looks.panels(plt.subplots, len(keys))
    for place, key in zip(axes, keys):
        panel = [row for row in drawn if key_of(row, rows) == key]
        draw_panel(place, panel, methods)
        looks.title(place, f"{key[0]}, {key[2]}: {r.source_label(panel)}", 8)
    handles = [plt.Rectangle((0, 0), 1, 1, color=looks.COLOURS[i % len(looks.COLOURS)]) for i in range(len(methods))]
    handles.append(plt.Rectangle((0, 0), 1, 1, color=looks.LIGHT_GREY))
    labels = [f"transfer: {name}" for name in methods] + ["rest of the epoch"]
    if r.bars_label(drawn):
        handles.append(plt.Line2D([], [], color="black", marker="|", markersize=8, linestyle=""))
        labels.append(r.bars_label(drawn))
    looks.legend_below(figure, handles, labels)
    return figure


if __name__ == "__main__":
    sys.exit(looks.main(draw, "transfer", ["phase_seconds", "transfer_bytes", "epoch_seconds"], __doc__, scales=False))
