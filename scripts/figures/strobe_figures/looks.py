"""How figures look and are written: colours and marks by name, axes that can be read, and the command line of a figure."""

import argparse
import io
import os
import re
import zlib

from strobe_figures import rows as r
from strobe_figures.files import Refused, ending, read_json, write_whole
from strobe_figures.layout import (COLUMN_INCHES, LAYOUT, PLACED, base_points, fit, group_names, height_of_bars,  # noqa: F401
                                   headline, lay_out, legend_below, names_of_bars, narrow, number_on_bar, panels, points, short, title)  # pylint: disable=unused-import

# Okabe and Ito's palette, told apart with every common form of colour blindness.
BLUE, VERMILION, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
GREY, LIGHT_GREY = "#8C8C8C", "#D9D9D9"
COLOURS = [BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, "#000000"]
MARKERS = "osD^vPX*<>hd"
DASHES = ["-", "--", ":", "-.", (0, (7, 1)), (0, (1, 1)), (0, (7, 2, 1, 2, 1, 2)), (0, (3, 4)), (0, (9, 4)), (0, (1, 4)),
          (0, (5, 1, 1, 1, 1, 1, 1, 1)), (0, (11, 2, 3, 2))]
FILLS = ["full", "left", "bottom", "right", "top"]
# The one table of looks: every strategy has its colour and its mark (a place in MARKERS and DASHES) in all figures and on
# all pages, whatever else is drawn. The first seven colours differ in every form of colour blindness. The others,
# DynaHB's baselines, are told apart by their marks too.
KNOWN = {"snapshot": (BLUE, 0), "vertex": (VERMILION, 1), "pss": (GREEN, 2), "snapshot_groups": (ORANGE, 3),
         "sequential": ("#000000", 4), "chunk": (PURPLE, 5), "hybrid_batch": (SKY, 6), "event_batch": ("#7A4A1F", 7),
         "dynahb": ("#1B4F72", 8), "adt": ("#A6761D", 9), "pyd": ("#66A61E", 10), "dbov": ("#E7298A", 11),
         "dbos": ("#7570B3", 1), "bvr": ("#8C8C00", 2), "dynagraph": ("#B15928", 3), "file": ("#6A3D9A", 4)}
PHASES = dict(zip(r.PHASES, (BLUE, VERMILION, ORANGE, GREEN, GREY, LIGHT_GREY)))
OTHERS = ["#AA4499", "#882255", "#117733", "#999933", "#44AA99", "#DDCC77", "#661100"]  # of names that nobody knows


def look_of(name, *more):
    """The colour of a name and the number of its mark. They follow from the name alone, so they are the same in every
    figure. All variants of a strategy, "vertex (metis)", have its colour; their marks follow from their words."""
    base, _, variant = str(name).partition(" (")
    colour, mark = KNOWN.get(base) or (OTHERS[zlib.crc32(base.encode()) % len(OTHERS)], zlib.crc32(base.encode()) // 7)
    rest = "".join(map(str, (variant, *more)))
    return colour, (mark + (1 + zlib.crc32(rest.encode()) % 11 if rest else 0)) % len(MARKERS)


def styles_of(keys, kinds=len(DASHES)):
    """{key: (colour, number of its mark)} for keys (name, ...), as `look_of` says. A key whose look is taken gets the next
    mark that is free; a plain name never does. Beyond as many keys of one colour as there are marks, other colours are
    lent: all pairs of colour and mark are used before one occurs twice."""
    keys = r.in_order(keys)
    looks = {key: look_of(*key) for key in keys}
    styles, taken = {}, set()
    for key in sorted(keys, key=lambda key: (len(key) > 1 or "(" in str(key[0]), str(key))):
        own, start = looks[key]
        free = [(colour, (start + step) % kinds) for colour in [own] + [c for c in COLOURS if c != own]
                for step in range(kinds) if (colour, (start + step) % kinds) not in taken]
        styles[key] = free[0] if free else (own, start % kinds)
        taken.add(styles[key])
    return {key: styles[key] for key in keys}


def shades(count):
    """Colours from dark to light for things that have an order and are no strategies, such as rank counts."""
    from matplotlib import colormaps
    return [colormaps["viridis"](0.92 * number / max(1, count - 1)) for number in range(count)]


def ranks_text(count):
    return f"{count} rank" if count == 1 else f"{count} ranks"


def aside(number, count):
    """The factor that moves a line's points along an axis of powers of two, so that intervals at one place do not
    overlap."""
    return 2 ** (0.16 * (number - (count - 1) / 2) / max(count, 4))


def ring_extrapolated(axes, places):
    """Rings around the points (x, y) that lie beyond what was measured or described."""
    for x, y in places:
        axes.plot([x], [y], "o", markersize=10, fillstyle="none", color=GREY, markeredgewidth=0.9)


def cross_left_out(axes, ranks, colour, number):
    """A cross near the lower edge for a case that could not run, each strategy's above the one before."""
    axes.plot([ranks], [0.03 + 0.05 * (number % 18)], "x", transform=axes.get_xaxis_transform(), color=colour, markersize=6, markeredgewidth=1.4,
              clip_on=False)


def extra_handles(line_of_legend, extrapolated, left_out):
    """Entries of the legend that explain rings and crosses."""
    handles = []
    if extrapolated:
        handles.append(line_of_legend([], [], color=GREY, marker="o", fillstyle="none", markersize=9, linestyle="",
                                      label="ringed: extrapolated"))
    if left_out:
        handles.append(line_of_legend([], [], color=GREY, marker="x", markersize=6, linestyle="",
                                      label="cross: could not run"))
    return handles


def readable_log(axis):
    """Labels for a logarithmic axis that shows fewer than two of its major ticks: within a decade nothing could be
    read. With two or more, those alone have labels. Call it when everything is drawn."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
    low, high = sorted(axis.get_view_interval())
    if axis.get_scale() != "log":
        return
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    if axis.axis_name == "x" and 0 < 1e5 * low <= high:
        axis.set_major_locator(LogLocator(numticks=6))  # some versions of matplotlib label every decade, over each other
    if len([tick for tick in axis.get_majorticklocs() if low <= tick <= high]) >= 2 or not 0 < low < high:
        return
    wide = high / low > 4
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)) if wide else MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))


def set_looks():
    """Loads matplotlib without a display and gives it this project's looks, and output that is the same every time. Returns
    its parameters."""
    here = os.getcwd()
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # matplotlib reads a matplotlibrc of the working folder
    try:
        import matplotlib
    except ImportError as error:
        raise r.Refused("figures need matplotlib (apt: python3-matplotlib)") from error
    finally:
        os.chdir(here)
    matplotlib.use("Agg")
    matplotlib.rcParams.update({"font.size": base_points(), "axes.titlesize": points(10), "text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.axisbelow": True, "axes.grid": True, "grid.color": "#E6E6E6", "grid.linewidth": 0.8,
                         "legend.frameon": False, "svg.hashsalt": "strobe", "figure.dpi": 100, "savefig.dpi": 160,
                         "pdf.fonttype": 42})
    if narrow():
        matplotlib.rcParams["savefig.dpi"] = 300
    return matplotlib.rcParams


def start_matplotlib():
    """matplotlib.pyplot with this project's looks."""
    set_looks()
    import matplotlib.pyplot as plt
    return plt


def show_control_characters(figure):
    """Names of files and cases may hold characters that are no text: as \\xNN, also because SVG cannot hold them."""
    from matplotlib.text import Text
    for text in figure.findobj(Text):
        shown = re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found.group()):02x}", text.get_text())
        if shown != text.get_text():
            text.set_text(shown)


METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
UNITS = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}


def inches_of(text):
    """Inches of "8cm", "3.5in", "80mm", "240pt", "column"; None for "page". Raises ValueError."""
    if text == "page":
        return None
    if text == "column":
        return COLUMN_INCHES
    found = re.fullmatch(r"([0-9.]+)\s*(in|cm|mm|pt)", text)
    if not found or not 1.5 <= (inches := float(found.group(1)) * UNITS[found.group(2)]) <= 40:
        raise ValueError(f"expected column, page or a width from 1.5in to 40in such as 8cm, 80mm or 240pt, found {text}")
    return inches


def points_of(text):
    """Points of "8pt" or "8". Raises ValueError."""
    found = re.fullmatch(r"([0-9.]+)\s*(pt)?", text)
    if not found or not 4 <= float(found.group(1)) <= 30:
        raise ValueError(f"expected letters from 4pt to 30pt, found {text}")
    return float(found.group(1))


def set_scale(axis, usual):
    """Makes the axis (axes.xaxis, axes.yaxis) logarithmic or linear: as asked for, else as usual."""
    getattr(axis.axes, f"set_{axis.axis_name}scale")(LAYOUT["scale"] or usual)


def words_below(answers):
    """The words below a figure: the answer of `strobe compare` to the questions of its rows, and what is not drawn."""
    words, questions = [], answers.get("questions", [])
    for question in questions[:2]:
        place = question["title"] + ": " if len(questions) > 1 else ""
        words.append(place + " ".join(question["sentences"]))
    if len(questions) > 2:
        words.append(f"{len(questions) - 2} more questions: strobe compare RUN --by {answers['by']}")
    if r.LEFT_OUT:
        words.append("not drawn: " + r.left_out_text())
    return words


def write_figure(name, folder, read, draw, formats=("png", "svg"), heading="", words=lambda: []):
    """Writes draw(read(), matplotlib.pyplot) as FOLDER/NAME.png and so on; exit status 2 when refused, 1 when it cannot
    write. It reads the rows before it loads matplotlib, which takes a second, so that a refusal comes sooner."""
    def write():
        what = read()
        figure = draw(what, start_matplotlib())
        show_control_characters(figure)
        if figure in PLACED:
            lay_out(figure, heading, words() if LAYOUT["caption"] else [])
        os.makedirs(folder, exist_ok=True)
        exact = {} if LAYOUT["width"] else {"bbox_inches": "tight", "pad_inches": 0.1}
        for kind in formats:
            path, drawn = os.path.join(folder, f"{name}.{kind}"), io.BytesIO()
            figure.savefig(drawn, format=kind, metadata=METADATA[kind], **exact)
            write_whole(path, drawn.getvalue())
            print(path)
        return 0
    return ending(write)


def document_main(draw, read, name, argument, description):
    """Command line of a figure of one JSON document: reads it with `read`, draws, writes NAME.png and NAME.svg."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("document", metavar=argument[0], help=argument[1])
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--name", default=name, help=f"name of the figures (default: {name})")
    options = parser.parse_args()
    return write_figure(options.name, options.out, lambda: read(options.document), draw)


def _options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directory, or its summary.json")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--format", default="png,svg", help="png, svg, pdf, several with commas (default: png,svg)")
    parser.add_argument("--width", default="page", help="8cm, 3.5in, 80mm, 240pt, column (3.5in), or page (default): as panels need")
    parser.add_argument("--font-size", default="", help="size of letters, such as 8pt (default: 9pt, in a column 7.5pt)")
    parser.add_argument("--order", default="", help="strategies in the order in which they are drawn, with commas")
    parser.add_argument("--scale", choices=("log", "linear"), help="of the axis with the values (default: as suits the figure)")
    parser.add_argument("--no-caption", action="store_true", help="no words below the legend")
    parser.add_argument("--answers", default="", help="JSON of strobe compare RUN --by strategy --json, for the caption")
    parser.add_argument("--title", default="", help="a heading (default: none)")
    options = parser.parse_args()
    options.format = options.format.split(",")
    if not set(options.format) <= set(METADATA):
        parser.error(f"--format: expected some of {', '.join(METADATA)}, found {','.join(options.format)}")
    for flag, key, value_of in (("width", "width", inches_of), ("font_size", "points", points_of)):
        text = getattr(options, flag)
        try:
            LAYOUT[key] = value_of(text) if text else None
        except ValueError as error:
            parser.error(f"--{flag.replace('_', '-')}: {error}")
    LAYOUT["scale"], LAYOUT["caption"] = options.scale, not options.no_caption
    return options


def in_order(rows, order):
    """The rows, those of the named strategies first, in that order. Raises Refused for a strategy that no row has."""
    wanted = [name for name in order.split(",") if name]
    there = r.in_order(r.name_of(row, "strategy") for row in rows)
    for name in wanted:
        if name not in there:
            raise Refused(f"--order: no row is of the strategy '{name}'; rows are of {', '.join(there)}")
    place = {name: number for number, name in enumerate(wanted)}
    return sorted(rows, key=lambda row: place.get(r.name_of(row, "strategy"), len(place)))


def main(draw, name, needed, description, seeds="mean", scales=True):
    """Command line of a figure: reads runs, draws, writes NAME.png, NAME.svg or NAME.pdf; exit status 2 when refused.
    Rows that differ in their seed alone are drawn as one, with mean and spread, unless `seeds` is "each". `scales`: whether
    its values can be on a logarithmic axis as well as on a linear one, as stacked bars cannot."""
    options = _options(description)

    def read():
        if options.scale == "log" and not scales:
            raise Refused(f"--scale: {name} stacks bars, whose parts a logarithmic axis would not show")
        rows = in_order(r.read_rows(options.runs, needed), options.order)
        return r.over_seeds(rows) if seeds == "mean" else rows
    return write_figure(name, options.out, read, draw, options.format, options.title,
                        lambda: words_below(read_json(options.answers) if options.answers else {}))
