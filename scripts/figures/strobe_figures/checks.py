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
        if outside(ends, axes.get_ylim()) or box is not None and outside([box.x0, box.x1], axes.get_xlim()):
            found.append("a bar")  # on a logarithmic axis every bar begins below
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


def corners(text, renderer):
    """The corners of a text as it is turned, a pixel smaller on each side."""
    around, angle = text.get_window_extent(renderer), text.get_rotation()
    text.set_rotation(0)
    level = text.get_window_extent(renderer)
    text.set_rotation(angle)
    turn = math.radians(angle)
    x, y = (around.x0 + around.x1) / 2, (around.y0 + around.y1) / 2
    wide, tall = max(0, level.width / 2 - 1), max(0, level.height / 2 - 1)
    return [(x + a * wide * math.cos(turn) - b * tall * math.sin(turn), y + a * wide * math.sin(turn) + b * tall * math.cos(turn))
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def apart(one, other):
    """Whether a straight line separates two rectangles, given by their corners."""
    for shape in (one, other):
        for (x0, y0), (x1, y1) in zip(shape, shape[1:3]):
            first, second = ([x * (x1 - x0) + y * (y1 - y0) for x, y in corner] for corner in (one, other))
            if max(first) <= min(second) or max(second) <= min(first):
                return True
    return False


def meeting(texts, renderer):
    """A pair of texts that lie on each other, or None."""
    shapes = [(text.get_text(), corners(text, renderer)) for text in texts]
    for i, (one, shape) in enumerate(shapes):
        for other, beside in shapes[i + 1:]:
            if not apart(shape, beside):
                return one, other
    return None


def shown_texts(figure):
    """Every text of the figure that is drawn."""
    from matplotlib.text import Text
    hidden = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            shown = set(map(id, shown_ticks(axis))) if axes.axison else set()
            hidden |= {id(label) for tick in axis.get_major_ticks() + axis.get_minor_ticks() for label in (tick.label1, tick.label2)
                       if id(label) not in shown}
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and id(text) not in hidden]


def wordy(axis):
    """Whether the ticks of the axis are names, which need no label."""
    return any(not text.get_text().replace(".", "").isdigit() for text in shown_ticks(axis))


def misplaced(figure, renderer):
    """Texts that lie on each other, and those that the figure's edge cuts."""
    texts, found = shown_texts(figure), []
    pair = meeting(texts, renderer)
    if pair:
        found.append(f"{pair[0]!r} and {pair[1]!r} overlap")
    edge = figure.bbox
    for text in texts:
        box = text.get_window_extent(renderer)
        if box.x0 < edge.x0 - 1 or box.x1 > edge.x1 + 1 or box.y0 < edge.y0 - 1 or box.y1 > edge.y1 + 1:
            found.append(f"{text.get_text()!r} leaves the figure")
    return found


def complaints(figure):
    """Everything that is wrong with the figure, as sentences; empty for a good one."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    found = misplaced(figure, renderer)
    for number, axes in enumerate(axes for axes in figure.axes if axes.axison):
        here = f"panel {number}"
        found += [f"{here}: {what} lies beyond the axes" for what in clipped(axes)]
        if not axes.get_ylabel() and not wordy(axes.yaxis):
            found.append(f"{here}: the vertical axis has no label")
        if not axes.get_xlabel() and not wordy(axes.xaxis) and not axes.texts:
            found.append(f"{here}: the horizontal axis has no label")
        values = axes.yaxis if axes.get_ylabel() else axes.xaxis
        if len(shown_ticks(values)) < 2:
            found.append(f"{here}: the axis of values has fewer than two numbers")
        panel = axes.get_tightbbox(renderer)  # with its labels
        if any(legend.get_window_extent(renderer).overlaps(panel) for legend in figure.legends):
            found.append(f"{here}: a legend covers it")
    return found
