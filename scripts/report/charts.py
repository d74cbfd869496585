"""Small figures of the page: drawn by matplotlib with the functions of scripts/figures, written into the page as SVG whose
letters and axes have the page's own colours, so that they can be read in the light and in the dark."""
import functools
import io
import itertools
import math
import re

from markupsafe import Markup

from strobe_figures import looks

DISTINCT = (*looks.COLOURS[:6], "#8C6D31", "#6A51A3", "#636363")  # of things that are no strategies, in their order
MOST_SAID = 10  # series that a figure's description in words tells
NUMBERS = itertools.count()  # makes the ids of a page unique
PAGE_COLOURS = (("#000000", "currentColor"), ("#404040", "currentColor"), ("#606060", "currentColor"),
                ("#e6e6e6", "var(--line)"), ("#ffffff", "var(--page)"))


def start():
    """Loads matplotlib, which takes a while, with this project's looks for a page."""
    looks.set_looks().update({"svg.fonttype": "none", "font.size": 8.5, "figure.facecolor": "none", "axes.facecolor": "none",
                         "xtick.major.size": 0, "ytick.major.size": 0, "xtick.minor.size": 0, "ytick.minor.size": 0,
                         "legend.fontsize": 8})


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


def said_of(name, points):
    """A series in words: where it begins and ends."""
    known = [(x, y) for x, y in points if y is not None and math.isfinite(y)]
    if not known:
        return name
    (x, y), (last_x, last_y) = known[0], known[-1]
    return f"{name}: {number(y)} at {number(x)}" + (f", {number(last_y)} at {number(last_x)}" if len(known) > 1 else "")


def _tag(found, own, keep):
    """A tag with short numbers, colours of the page and ids that no other figure has."""
    tag = found.group()
    if tag.startswith(("<text", "<tspan")):
        tag = re.sub(r"font: ([\d.]+)px [^;\"]*;?", r"font-size: \1px;", tag)
    elif tag.startswith("<g "):
        tag = re.sub(r' id="[^"]*"', lambda match: match.group() if keep and keep in match.group() else "", tag)
    tag = re.sub(r' clip-path="[^"]*"| transform="rotate\(-?0 [^"]*"', "", tag)
    tag = re.sub(r'(id="|#)([mh][0-9a-f]{10})', lambda match: f"{match.group(1)}{own(match.group(2))}", tag)
    tag = re.sub(r"-?\d+\.\d+", lambda match: f"{float(match.group()):.1f}".removesuffix(".0"), tag)
    for colour, of_page in PAGE_COLOURS:
        tag = tag.replace(colour, of_page)
    return tag.replace("xlink:href", "href").replace("; stroke-linecap: square", "").replace(": ", ":").replace("; ", ";")


def _without_bare_groups(text):
    """Drops groups without content, and <g> without attributes with its end."""
    text, kept, bare = re.sub(r"<g[^>]*/>", "", text), [], []
    for part in re.split(r"(<g ?[^>]*>|</g>)", text):
        if part.startswith("<g"):
            bare.append(not part[2:-1].strip())
            kept += [] if bare[-1] else [part]
        elif part == "</g>":
            kept += [] if bare.pop() else [part]
        else:
            kept.append(part)
    return "".join(kept)


def inline(figure, title, said=(), kind="", keep=""):
    """The figure as an SVG element with a title and a description for those who do not see it. Groups keep the id `keep`."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    written, names, serial = io.StringIO(), {}, next(NUMBERS)
    FigureCanvasSVG(figure).print_svg(written, metadata={key: None for key in ("Creator", "Date", "Format", "Type")})
    text = written.getvalue()
    box = re.search(r'viewBox="([^"]*)"', text).group(1)
    body = text[text.index("</defs>") + 7:text.rindex("</svg>")]
    body = re.sub(r"<!--.*?-->|<clipPath.*?</clipPath>|<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"\s+", " ", body)
    body = re.sub(r"<[^>]*>", lambda found: _tag(found, lambda name: names.setdefault(name, f"f{serial}-{len(names)}"), keep), body)
    body = re.sub(r"> <", "><", body).replace("<defs></defs>", "")
    body = re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found.group()):02x}", body)  # of names; SVG cannot hold them
    words = "; ".join(list(said)[:MOST_SAID]) + ("; and more" if len(said) > MOST_SAID else "")
    head = Markup('<svg role="img"{} viewBox="{}" aria-label="{}"><title>{}</title>{}').format(
        Markup(f' class="{kind}"') if kind else "", box, title, title, Markup("<desc>{}</desc>").format(words) if words else "")
    return head + Markup(_without_bare_groups(body).strip()) + Markup("</svg>")


@functools.lru_cache(maxsize=None)
def _panel(width, height, left, right):
    """Empty axes of that many inches. Figures of one size share them, because making axes takes longer than drawing."""
    from matplotlib.figure import Figure
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes([left / width, 0.46 / height, 1 - (left + right) / width, 1 - 0.56 / height])
    axes.xaxis.set_label_coords(0.5, 0.14 / height, figure.transFigure)  # sought for at every drawing otherwise
    axes.yaxis.set_label_coords(0.13 / width, 0.5 + 0.18 / height, figure.transFigure)
    return axes


def _wipe(axes):
    for artist in [*axes.lines, *axes.patches, *axes.collections, *axes.texts]:
        artist.remove()
    axes.containers.clear()
    axes.relim()
    axes.set(xscale="linear", yscale="linear", xlabel="", ylabel="")
    axes.set_prop_cycle(None)
    axes.autoscale(True)


def chart(title, draw, said=(), width=4.3, height=2.5, left=0.7, kind="", right=0.12):
    """One panel: draw(axes) draws it."""
    from matplotlib.ticker import NullLocator
    axes = _panel(width, height, left, right)
    _wipe(axes)
    draw(axes)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
    return inline(axes.figure, title, said, kind)


def swatches(lines):
    """The samples in a legend of lines (colour, dashes, marker) and, without dashes, of areas. All are cut from one
    drawing."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    height = 0.14 * len(lines)
    figure = Figure(figsize=(0.4, height))
    for number_, (colour, dash, marker) in enumerate(lines):
        look = {"linestyle": dash, "linewidth": 1.6} if dash else {"linewidth": 8}
        y = 1 - (number_ + 0.5) / len(lines)
        figure.add_artist(Line2D([0.04, 0.5, 0.96], [y] * 3, color=colour, marker=marker, markersize=4.5, markevery=[1],
                                 solid_capstyle="butt", gid="swatch", **look))
    drawn = str(inline(figure, "", keep="swatch")).split('<g id="swatch">')[1:]
    drawn[-1] = drawn[-1].removesuffix("</svg>")
    return [Markup(f'<svg class="swatch" viewBox="0 {72 * 0.14 * place:.1f} 28.8 10" aria-hidden="true"><g>{body}</svg>')
            for place, body in enumerate(drawn)]


def legend(styles, marks=False):
    """[(swatch, name)] of {name: (colour, number of its mark)}."""
    lines = [(colour, "-" if marks else looks.DASHES[mark], looks.MARKERS[mark] if marks else "") for colour, mark in styles.values()]
    return list(zip(swatches(lines), styles)) if styles else []


def areas(colours):
    """[(swatch, name)] of {name: colour}."""
    return list(zip(swatches([(colour, "", "") for colour in colours.values()]), colours))


def styles_of(names):
    """{name: (colour, number of its mark)} as in all other figures."""
    return {name: style for (name,), style in looks.styles_of((name,) for name in names).items()}
