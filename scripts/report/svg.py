"""Small charts as SVG text: every one has a title that a screen reader tells, colours that are told apart without seeing
red and green, and the page's own text colour, so that it is drawn in the dark as well."""
import math
from html import escape

from shared import looks

DISTINCT = (*looks.COLOURS[:6], "#8C6D31", "#6A51A3", "#636363")  # of things that are no strategies, in their order
NAMED_DASHES = {"-": "", "--": "6 3", ":": "2 3", "-.": "8 3 2 3"}
RIGHT = 22  # room to the right of the axis for half of the last number
MOST_SAID = 10  # series that a figure's description in words tells


def styles(names):
    """{name: (colour, dashes)} as in all other figures; black is the page's own text colour."""
    found = {}
    for (name,), (colour, mark) in looks.styles_of((name,) for name in sorted(set(names))).items():
        dashes = looks.DASHES[mark]
        spaced = NAMED_DASHES[dashes] if isinstance(dashes, str) else " ".join(str(2 * part) for part in dashes[1])
        found[name] = ("currentColor" if colour == "#000000" else colour, spaced)
    return found


def ticks(low, high, logarithmic):
    """Readable places for labels between two values."""
    if logarithmic:
        places = [m * 10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1) for m in (1, 2, 5)]
        inside = [place for place in places if low * 0.999 <= place <= high * 1.001]
        while len(inside) > 7:
            inside = inside[::2] if len(inside) > 14 else [p for p in inside if f"{p:e}"[0] in "1"] or inside[::2]
        return inside or [low, high]
    if high <= low:
        return [low]
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value):
    if abs(value) < 1e3:
        return f"{value:.3g}"
    return f"{value:.0f}" if abs(value) < 1e5 else f"{value:.2g}"


def thin(points, most=200):
    """At most `most` of the points: the first, the last, and the lowest and highest of equal stretches between them, so
    that no peak is lost."""
    if len(points) <= most:
        return points
    inner, stretches = points[1:-1], (most - 2) // 2
    kept = [points[0]]
    for i in range(stretches):
        part = inner[i * len(inner) // stretches:(i + 1) * len(inner) // stretches]
        ends = {min(range(len(part)), key=lambda k: part[k][1]), max(range(len(part)), key=lambda k: part[k][1])}
        kept += [part[k] for k in sorted(ends)]
    return kept + [points[-1]]


class Axes:
    """A plot's area with two axes; places in it from values."""

    def __init__(self, x, y, width=520, height=300, left=64, bottom=44, log_x=False, log_y=False):
        self.width, self.height, self.left, self.bottom = width, height, left, bottom
        self.log_x, self.log_y = log_x and x[0] > 0, log_y and y[0] > 0
        self.x, self.y = self._widened(x, self.log_x), self._widened(y, self.log_y)
        self.parts, self.said = [], []

    @staticmethod
    def _widened(ends, logarithmic):
        low, high = ends
        if logarithmic:
            return (low / 1.25, high * 1.25) if high > low else (low / 2, low * 2)
        room = (high - low) * 0.04 or abs(high) * 0.1 or 1
        return (low - room if low else low, high + room)

    @staticmethod
    def _share(value, ends, logarithmic):
        if logarithmic:
            return (math.log(value) - math.log(ends[0])) / (math.log(ends[1]) - math.log(ends[0]))
        return (value - ends[0]) / (ends[1] - ends[0])

    def px(self, x):
        return self.left + self._share(x, self.x, self.log_x) * (self.width - self.left - RIGHT)

    def py(self, y):
        return self.height - self.bottom - self._share(y, self.y, self.log_y) * (self.height - self.bottom - 14)

    def grid(self, x_label, y_label, x_places=None):
        for place in x_places if x_places is not None else ticks(*self.x, self.log_x):
            x = self.px(place)
            self.parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="14" y2="{self.height - self.bottom}"/>'
                              f'<text x="{x:.1f}" y="{self.height - self.bottom + 16}" text-anchor="middle">{number(place)}</text>')
        for place in ticks(*self.y, self.log_y):
            y = self.py(place)
            self.parts.append(f'<line class="grid" x1="{self.left}" x2="{self.width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                              f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{number(place)}</text>')
        middle = (self.height - self.bottom + 14) / 2
        self.parts.append(f'<text x="{(self.left + self.width - RIGHT) / 2:.0f}" y="{self.height - 8}" text-anchor="middle">'
                          f'{escape(x_label)}</text>')
        self.parts.append(f'<text transform="translate(14 {middle:.0f}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')

    def line(self, points, style, name, marks=True, width=2):
        points = thin([(x, y) for x, y in points if x is not None and y is not None and math.isfinite(y)])
        if not points:
            return
        places = [(self.px(x), self.py(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        (x, y), (last_x, last_y) = points[0], points[-1]
        self.said.append(f"{name}: {number(y)} at {number(x)}" + (f", {number(last_y)} at {number(last_x)}" if len(points) > 1 else ""))
        self.parts.append(f'<polyline fill="none" stroke="{style[0]}" stroke-width="{width}" stroke-dasharray="{style[1]}" '
                          f'points="{path}"><title>{escape(name)}</title></polyline>')
        if marks:
            self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{style[0]}"><title>{escape(name)}: {number(v)}'
                           f'</title></circle>' for (x, y), (_, v) in zip(places, points)]

    def band(self, x, low, high, style):
        self.parts.append(f'<line x1="{self.px(x):.1f}" x2="{self.px(x):.1f}" y1="{self.py(low):.1f}" y2="{self.py(high):.1f}" '
                          f'stroke="{style[0]}" stroke-width="5" opacity="0.35"/>')

    def level(self, y, words):
        """A dashed line across at a height that means something."""
        at, middle = self.py(y), (self.left + self.width - RIGHT) / 2
        self.parts.append(f'<line class="axis" x1="{self.left}" x2="{self.width - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
                          f'<text x="{middle:.0f}" y="{at - 4:.1f}" text-anchor="middle">{escape(words)}</text>')
        self.said.append(f"{words}: {number(y)}")

    def point(self, x, y, radius, colour, words):
        self.parts.append(f'<circle cx="{self.px(x):.1f}" cy="{self.py(y):.1f}" r="{radius:.1f}" fill="{colour}" '
                          f'fill-opacity="0.75" stroke="{colour}"><title>{escape(words)}</title></circle>')
        self.said.append(words)

    def diagonal(self):
        low, high = max(self.x[0], self.y[0]), min(self.x[1], self.y[1])
        if high > low:
            self.parts.append(f'<line class="axis" x1="{self.px(low):.1f}" y1="{self.py(low):.1f}" x2="{self.px(high):.1f}" '
                              f'y2="{self.py(high):.1f}"/>')

    def drawing(self, title):
        said = "; ".join(self.said[:MOST_SAID]) + ("; and more" if len(self.said) > MOST_SAID else "")
        return (f'<svg role="img" viewBox="0 0 {self.width} {self.height}" aria-label="{escape(title, True)}">'
                f'<title>{escape(title)}</title><desc>{escape(said)}</desc>{"".join(self.parts)}</svg>')


def legend(style_of):
    items = "".join(f'<li><svg viewBox="0 0 26 10" aria-hidden="true"><line x1="1" x2="25" y1="5" y2="5" stroke="{colour}" '
                    f'stroke-width="3" stroke-dasharray="{dash}"/></svg>{escape(name)}</li>'
                    for name, (colour, dash) in style_of.items())
    return f'<ul class="legend">{items}</ul>'


def stacked_bars(title, bars, parts, style_of, total_text):
    """Horizontal bars, each a list of parts: bars = [(name, {part: value}, note)]."""
    most = max((sum(values.values()) for _, values, _ in bars), default=0) or 1
    height, lines = 22, []
    for i, (name, values, note) in enumerate(bars):
        x, y = 420.0, 8 + i * height
        lines.append(f'<text x="412" y="{y + 13}" text-anchor="end">{escape(name if len(name) < 72 else name[:70] + "…")}'
                     f'<title>{escape(name)}</title></text>')
        for part in parts:
            width = values.get(part, 0) / most * 400
            if width > 0.2:
                lines.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="16" fill="{style_of[part][0]}">'
                             f'<title>{escape(name)}: {escape(part)} {escape(total_text(values[part]))}</title></rect>')
            x += width
        lines.append(f'<text x="{x + 6:.1f}" y="{y + 13}">{escape(total_text(sum(values.values())))} {escape(note)}</text>')
    return (f'<svg role="img" class="wide" viewBox="0 0 960 {16 + len(bars) * height}" aria-label="{escape(title, True)}">'
            f'<title>{escape(title)}</title>{"".join(lines)}</svg>')
