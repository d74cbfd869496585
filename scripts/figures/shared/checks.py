"""Finds faults of a drawn figure: points beyond the axes, axes without labels, unreadable ticks, overlapping texts. It
serves tests, and people who change a figure."""

import math


def finite(values):
    return [float(value) for value in values if value is not None and math.isfinite(float(value))]


def outside(values, limits):
    """Whether one of the values lies beyond the limits by more than rounding."""
    low, high = sorted(limits)
    slack = 1e-6 * (high - low)
    return any(value < low - slack or value > high + slack for value in finite(values))


def clipped(axes):
    """Names of what reaches beyond the panel."""
    found = []
    data = axes.transData
    for line in axes.lines:
        if line.get_transform() == data and (outside(line.get_xdata(), axes.get_xlim()) or
                                             outside(line.get_ydata(), axes.get_ylim())):
            found.append(f"a line ({line.get_label()})")
    for bar in axes.patches:
        box = bar.get_bbox() if hasattr(bar, "get_bbox") else None
        ends = [box.y1] if box is not None and axes.get_yscale() == "log" else [box.y0, box.y1] if box is not None else []
        if outside(ends, axes.get_ylim()):  # on a logarithmic axis every bar begins below
            found.append("a bar")
    for bars in axes.collections:
        for segment in bars.get_segments() if hasattr(bars, "get_segments") else []:
            if outside([y for _, y in segment], axes.get_ylim()):
                found.append("an interval")
    return found


def shown_ticks(axis):
    """Labels of the axis that lie within its visible interval."""
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() + axis.get_minor_ticks() if low <= tick.get_loc() <= high]
    return [tick.label1 for tick in ticks if tick.label1.get_visible() and tick.label1.get_text().strip()]


def overlapping(texts, renderer):
    """A pair of texts that overlap."""
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in texts if not text.get_rotation() % 90]
    for i, (one, box) in enumerate(boxes):
        for other, beside in boxes[i + 1:]:
            if box.x0 < beside.x1 - 1 and beside.x0 < box.x1 - 1 and box.y0 < beside.y1 - 1 and beside.y0 < box.y1 - 1:
                return one, other
    return None


def complaints(figure):
    """Everything that is wrong with the figure, as sentences; empty for a good one."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    found = []
    for number, axes in enumerate(axes for axes in figure.axes if axes.axison):
        here = f"panel {number}"
        found += [f"{here}: {what} lies beyond the axes" for what in clipped(axes)]
        if not axes.get_ylabel():
            found.append(f"{here}: the vertical axis has no label")
        if not axes.get_xlabel() and not any(not text.get_text().replace(".", "").isdigit() for text in shown_ticks(axes.xaxis)) \
                and not axes.texts:
            found.append(f"{here}: the horizontal axis has no label")
        if len(shown_ticks(axes.yaxis)) < 2:
            found.append(f"{here}: the vertical axis has fewer than two numbers")
        for axis in (axes.xaxis, axes.yaxis):
            pair = overlapping(shown_ticks(axis), renderer)
            if pair:
                found.append(f"{here}: the labels {pair[0]!r} and {pair[1]!r} overlap")
        panel = axes.get_tightbbox(renderer)  # with its labels
        if any(legend.get_window_extent(renderer).overlaps(panel) for legend in figure.legends):
            found.append(f"{here}: a legend covers it")
    return found
