"""Places the panels, legend and words of a figure so that nothing is cut off or lies on something else, at any width."""

import textwrap
import weakref

from strobe_figures.checks import meeting

# The choices of the command line. `width`: inches of the whole figure, None = as wide as its panels need; `points`: size
# of letters, None = 9, or 7.5 in a column; `scale`: "log", "linear" or None; `caption`: whether there are words below.
LAYOUT = {"width": None, "points": None, "scale": None, "caption": True}
COLUMN_INCHES, PAGE_INCHES = 3.5, 7.0  # of a paper with two columns
EDGE, GAP = 0.04, 0.14  # inches at the edges and between panels
PLACED = weakref.WeakKeyDictionary()  # what `lay_out` knows of each figure


class Placed:
    """A figure whose panels `lay_out` places."""

    def __init__(self, columns, heights):
        self.columns, self.heights = columns, heights
        self.titles, self.groups, self.numbers, self.words, self.legend, self.heading = [], [], [], [], None, ""


def narrow():
    """Whether panels are below each other and letters are small, as in a column of a paper."""
    return LAYOUT["width"] is not None and LAYOUT["width"] <= 5


def base_points():
    return LAYOUT["points"] or (7.5 if narrow() else 9)


def points(size):
    """The size of letters that are `size` points in a figure of 9 points; never below 5."""
    return max(5, size * base_points() / 9)


def short(text, most):
    """The text, or its two ends with a mark between them."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return text[:head] + "…" + text[len(text) - (most - 1 - head):]


def fit(text, inches, size, lines=3):
    """The text in lines of at most `inches` in letters of that size. Longer text is shortened in its middle. A word may
    take all lines but two, because names of files often differ in their middle only."""
    width = max(12, int(inches * 72 / (0.6 * size)))
    words = " ".join(short(word, width * max(1, lines - 2)) for word in text.split())
    broken = textwrap.wrap(words, width, break_on_hyphens=False)
    if len(broken) > lines:
        broken = textwrap.wrap(short(words, width * lines - 2 * lines), width, break_on_hyphens=False)[:lines]
    return "\n".join(broken)


def panels(figure_of, count, columns=3, size=(4.3, 3.4), heights=None):
    """A figure with a grid of `count` axes, and the axes in order; those left over are switched off. `size`: inches of a
    panel on a page; `heights`: of each panel's axes, None = as the size says."""
    columns = max(1, min(columns, count))
    if LAYOUT["width"]:
        columns = min(columns, max(1, int(LAYOUT["width"] / 2.6)))
    lines = -(-count // columns)
    width = LAYOUT["width"] or size[0] * columns
    figure, grid = figure_of(lines, columns, squeeze=False, figsize=(width, size[1] * lines))
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.set_axis_off()
    inner = min(0.7 * size[1], 0.62 * width / columns + 0.3) if LAYOUT["width"] else 0.72 * size[1]
    PLACED[figure] = Placed(columns, heights or [inner] * count)
    return figure, axes[:count]


def headline(figure, text):
    """A heading above all panels, for a figure whose user gives none."""
    PLACED[figure].heading = text


def title(axes, text, size=9):
    """A title above the panel, no wider than it."""
    if axes.figure in PLACED:
        PLACED[axes.figure].titles.append((axes, text, points(size)))
    inches = axes.get_position().width * axes.figure.get_figwidth()
    axes.set_title(fit(text, inches, points(size), 5), loc="left", fontsize=points(size))


def group_names(axes, places, names):
    """Names of groups along the horizontal axis: level where there is room for all of them, else turned."""
    axes.set_xticks(places, [short(name, 40) for name in names])
    axes.tick_params(axis="x", length=0)
    PLACED[axes.figure].groups.append(axes)


def names_of_bars(axes, names, places=None):
    """Names of horizontal bars on the vertical axis, the first one on top; `height_of_bars` is the height they need."""
    places = range(len(names)) if places is None else places
    axes.set_yticks(places, [_bar_name(name) for name in names], fontsize=points(8))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_ylim(places[-1] + 0.65, places[0] - 0.65)


def _bar_name(name):
    width = LAYOUT["width"]
    return fit(name, 0.4 * width if width else 3.0, points(8), 3)


def height_of_bars(names, gaps=0):
    """Inches of axes with a horizontal bar for each name, and `gaps` half bars between groups."""
    lines = max((_bar_name(name).count("\n") + 1 for name in names), default=1)
    return (len(names) + 0.5 * gaps + 0.3) * (1.25 * lines + 0.45) * points(8) / 72


def number_on_bar(axes, text, place, **more):
    """A number next to its bar. A panel where they do not all find room has none: they are in the tables."""
    written = axes.annotate(text, place, textcoords="offset points", color="#404040", **more)
    if axes.figure in PLACED:
        PLACED[axes.figure].numbers.append(written)


def legend_below(figure, handles, labels=None, most=110):
    """A legend below all panels, in as many columns as fit."""
    texts = [short(str(text), most) for text in (labels or [handle.get_label() for handle in handles])]
    if figure in PLACED:
        PLACED[figure].legend = (handles, texts)  # drawn when everything has its place
        return
    bottom = min(axes.get_position().y0 for axes in figure.axes) - 0.48 / figure.get_figheight()
    _legend(figure, handles, texts, figure.get_figwidth(), bottom)


def _legend(figure, handles, texts, inches, top):
    """Draws it with its upper edge at `top`, a share of the figure; returns its height in inches."""
    size = points(7.5)
    letters = max(16, int((inches - 0.6) * 72 / (0.56 * size)))
    texts = ["\n".join(textwrap.wrap(text, letters) or [""]) for text in texts]
    renderer = figure.canvas.get_renderer()
    for columns in range(min(len(texts), 6), 0, -1):
        for old in list(figure.legends):
            old.remove()
        legend = figure.legend(handles, texts, loc="upper center", bbox_to_anchor=(0.5, top), ncol=columns, fontsize=size,
                               handlelength=3.2, borderaxespad=0, borderpad=0)
        box = legend.get_window_extent(renderer)
        if box.width / figure.dpi <= inches - 2 * EDGE:
            break
    return box.height / figure.dpi


def _turn(axes, renderer):
    """Turns the names of groups as far as it takes until no two of them meet."""
    labels = axes.get_xticklabels()
    low, high = axes.bbox.x0 - 30, axes.bbox.x1 + 30
    for angle, ha, va in ((0, "center", "top"), (40, "right", "top"), (90, "right", "center")):
        for label in labels:
            label.set(rotation=angle, ha=ha, va=va, rotation_mode="anchor")
        boxes = [label.get_window_extent(renderer) for label in labels]
        if not meeting(labels, renderer) and (angle or all(low <= box.x0 and box.x1 <= high for box in boxes)):
            return


def _measure(placed, figure):
    """Inches around the axes of each line and column of panels: left, right, above, below."""
    renderer, columns = figure.canvas.get_renderer(), placed.columns
    sides = {side: {} for side in ("left", "right", "above", "below")}
    for axes in placed.groups:
        _turn(axes, renderer)
    for number, axes in enumerate(figure.axes[:len(placed.heights)]):
        if not axes.axison:
            continue
        around, line, column = axes.get_tightbbox(renderer), number // columns, number % columns
        for side, key, inches in (("left", column, axes.bbox.x0 - around.x0), ("right", column, around.x1 - axes.bbox.x1),
                                  ("above", line, around.y1 - axes.bbox.y1), ("below", line, axes.bbox.y0 - around.y0)):
            sides[side][key] = max(sides[side].get(key, 0), inches / figure.dpi)
    return sides


def _place(placed, figure, heading, words):
    sides, columns = _measure(placed, figure), placed.columns
    width, lines = figure.get_figwidth(), -(-len(placed.heights) // columns)
    beside = sum(sides["left"].values()) + sum(sides["right"].values())
    inner = max(0.6, (width - 2 * EDGE - beside - GAP * (columns - 1)) / columns)
    tall = [max(placed.heights[line * columns:(line + 1) * columns]) for line in range(lines)]
    legend = _legend(figure, *placed.legend, width, 0) if placed.legend else 0
    below = legend + sum(text.get_window_extent().height / figure.dpi + GAP for text in words) + (GAP if legend else 0)
    above = heading.get_window_extent().height / figure.dpi + GAP if heading else 0
    height = 2 * EDGE + above + below + sum(tall) + GAP * (lines - 1) + sum(sides["above"].values()) + sum(sides["below"].values())
    figure.set_size_inches(width, height)
    y = height - EDGE - above
    if heading:
        heading.set_position((EDGE / width, 1 - EDGE / height))
    for line in range(lines):
        y -= sides["above"].get(line, 0) + tall[line]
        x = EDGE
        for column in range(columns):
            x += sides["left"].get(column, 0)
            number = line * columns + column
            if number < len(placed.heights):
                own = placed.heights[number]
                figure.axes[number].set_position([x / width, (y + tall[line] - own) / height, inner / width, own / height])
            x += inner + sides["right"].get(column, 0) + GAP
        y -= sides["below"].get(line, 0) + GAP
    if placed.legend:
        _legend(figure, *placed.legend, width, y / height)
        y -= legend + GAP
    for text in words:
        text.set_position((EDGE / width, y / height))
        y -= text.get_window_extent().height / figure.dpi + GAP


def lay_out(figure, heading="", words=()):
    """Places everything: the heading, the panels with all that is around them, the legend and the words. The figure
    keeps its width and gets the height that all of it needs."""
    placed, size = PLACED[figure], points(6.5)
    heading = heading or placed.heading
    width = figure.get_figwidth()
    for old in placed.words:
        old.remove()
    top = figure.text(0, 1, fit(heading, width - 2 * EDGE, points(10), 4), fontsize=points(10), va="top") if heading else None
    below = [figure.text(0, 0, fit(text, width - 2 * EDGE, size, lines=8), fontsize=size, va="top", color="#404040")
             for text in words]
    placed.words = below + ([top] if top else [])
    height = 0.0
    for _ in range(4):
        if abs(figure.get_figheight() - height) < 0.005:
            break
        height = figure.get_figheight()
        for axes, text, letters in placed.titles:
            inches = axes.get_position().width * figure.get_figwidth()
            axes.set_title(fit(text, inches, letters, 5), loc="left", fontsize=letters)
        _place(placed, figure, top, below)
    panels_of_numbers = {text.axes: [] for text in placed.numbers}
    for text in placed.numbers:
        panels_of_numbers[text.axes].append(text)
    for own in panels_of_numbers.values():
        for text in own:
            text.set_visible(True)
        if meeting(own, figure.canvas.get_renderer()):
            for text in own:
                text.set_visible(False)
    _hide_cut_numbers(figure)


def _hide_cut_numbers(figure):
    """Hides numbers under an axis that the edge of the figure would cut: ticks move when panels get their last width."""
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        for label in axes.get_xticklabels():
            if axes.axison and label.get_window_extent(renderer).x1 > figure.bbox.x1:
                label.set_visible(False)
