#!/usr/bin/env python3
"""Host-to-device transfer by method: its share of an epoch, and the bytes that it moves (after ESDG, SC'21, Fig. 4)."""

import sys

from shared import rows as r

METHODS = ("transfer", "transfer_format")
COLOURS = [r.BLUE, r.VERMILION, r.GREEN, r.ORANGE, r.PURPLE, r.SKY]


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
            if len(found) > 1:
                raise r.Refused(f"{found[0]['case_id']} and {found[1]['case_id']} would share one bar")
            moved = found[0]["phase_seconds"]["transfer"] * factor
            rest = sum(found[0]["phase_seconds"].values()) * factor - moved
            axes.bar(position, moved, 0.82, color=COLOURS[i % len(COLOURS)], edgecolor="white", linewidth=0.4)
            axes.bar(position, rest, 0.82, bottom=moved, color=r.LIGHT_GREY, edgecolor="white", linewidth=0.4)
            axes.annotate(f"{found[0]['transfer_bytes'] * volume:.3g}", (position, moved + rest), xytext=(0, 2),
                          textcoords="offset points", ha="center", fontsize=6.5, color="#404040")
            position += 1
        ticks.append((first + position - 1) / 2)
        names.append(str(ranks))
        position += 0.7
    axes.set_xticks(ticks, names)
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.12)
    axes.set_xlabel("ranks")
    axes.set_ylabel(f"mean epoch [{unit}]\n(above: {byte_unit} moved)")


def key_of(row, rows):
    return r.group_label(row, rows, METHODS), row["time_source"], r.label(row, "strategy", rows)


def draw(rows, plt):
    methods = r.in_order(method_of(row) for row in rows)
    keys = r.in_order(key_of(row, rows) for row in rows)
    figure, axes = r.panels(plt.subplots, len(keys))
    for place, key in zip(axes, keys):
        panel = [row for row in rows if key_of(row, rows) == key]
        draw_panel(place, panel, methods)
        place.set_title(f"{key[0]}, {key[2]}:\n{r.source_label(panel)}", loc="left", fontsize=8)
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[i % len(COLOURS)]) for i in range(len(methods))]
    handles.append(plt.Rectangle((0, 0), 1, 1, color=r.LIGHT_GREY))
    figure.legend(handles, [f"transfer: {name}" for name in methods] + ["rest of the epoch"], loc="upper center",
                  bbox_to_anchor=(0.5, 0.0), ncol=3)
    return figure


if __name__ == "__main__":
    sys.exit(r.main(draw, "transfer", ["phase_seconds", "transfer_bytes"], __doc__))
