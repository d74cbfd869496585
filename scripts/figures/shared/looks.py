"""How figures look and are written: colours and marks by name, legends that cover nothing, titles that fit, axes that can be
read, and the command line of a figure."""

import argparse
import io
import os
import re
import textwrap
import zlib

from shared import rows as r
from shared.files import ending, write_whole

# Okabe and Ito's palette, told apart with every common form of colour blindness.
BLUE, VERMILION, ORANGE, GREEN, PURPLE, SKY = "#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"
GREY, LIGHT_GREY = "#8C8C8C", "#D9D9D9"

COLUMN_INCHES = 3.5  # one of two columns of a paper
LAYOUT = {"width": "page"}  # or "column": panels are below each other
COLOURS = [BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, "#000000"]
MARKERS = "osD^vPX*<>hd"
DASHES = ["-", "--", ":", "-.", (0, (7, 1)), (0, (1, 1)), (0, (7, 2, 1, 2, 1, 2)), (0, (3, 4)), (0, (9, 4)), (0, (1, 4)),
          (0, (5, 1, 1, 1, 1, 1, 1, 1)), (0, (11, 2, 3, 2))]
FILLS = ["full", "left", "bottom", "right", "top"]
# Every strategy has one colour in all figures, whatever else is drawn. No two are alike in any form of colour
# blindness to the degree that the first seven are; the others, DynaHB's baselines, are told apart by their marks too.
KNOWN = {"snapshot": BLUE, "vertex": VERMILION, "pss": GREEN, "snapshot_groups": ORANGE, "sequential": "#000000",
         "chunk": PURPLE, "hybrid_batch": SKY, "event_batch": "#7A4A1F", "dynahb": "#1B4F72", "adt": "#A6761D",
         "pyd": "#66A61E", "dbov": "#E7298A", "dbos": "#7570B3", "bvr": "#8C8C00"}
PHASES = dict(zip(r.PHASES, (BLUE, VERMILION, ORANGE, GREEN, GREY, LIGHT_GREY)))
OTHERS = ["#AA4499", "#882255", "#117733", "#999933", "#44AA99", "#DDCC77", "#661100"]  # of names that nobody knows


def colour_of(name):
    """The colour of a name: a strategy's own, with all of its variants, else one that follows from the name's letters,
    so that it is the same in every figure."""
    base = name.split(" (")[0]
    return KNOWN.get(base, OTHERS[zlib.crc32(base.encode()) % len(OTHERS)])


def colours_of(names):
    return {name: colour_of(name) for name in sorted(set(names))}


def styles_of(keys, kinds=len(DASHES), staggered=False):
    """{key: (colour, number of its mark)} for keys (name, ...): the colour is the name's, and among the keys of one
    colour each has another mark; `staggered`, marks of different names differ as well as far as they go, for lines that
    lie on each other. All pairs of colour and mark are used before one occurs twice, whatever the names: beyond as many
    keys of one colour as there are marks, other colours are lent."""
    keys = r.in_order(keys)
    colours, styles, taken = colours_of([key[0] for key in keys]), {}, set()
    names = sorted(colours)
    for key in keys:
        own, start = colours[key[0]], names.index(key[0]) if staggered else 0
        free = [(colour, (start + step) % kinds) for colour in [own] + [c for c in COLOURS if c != own]
                for step in range(kinds) if (colour, (start + step) % kinds) not in taken]
        styles[key] = free[0] if free else (own, len(styles) % kinds)
        taken.add(styles[key])
    return styles


def short(text, most):
    """The text, or its two ends with a mark between them."""
    if len(text) <= most:
        return text
    head = (most - 1) * 2 // 3
    return text[:head] + "…" + text[len(text) - (most - 1 - head):]


def ranks_text(count):
    return f"{count} rank" if count == 1 else f"{count} ranks"


def fit(text, inches, points, lines=3):
    """The text in lines of at most `inches` in letters of that size; what is longer is shortened in its middle."""
    width = max(12, int(inches * 72 / (0.6 * points)))
    words = " ".join(short(word, width) for word in text.split())
    broken = textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False)
    if len(broken) > lines:
        broken = textwrap.wrap(short(words, width * lines - 2 * lines), width, break_on_hyphens=False)[:lines]
    return "\n".join(broken)


def title(axes, text, points=9):
    """A title above the panel, no wider than it."""
    inches = axes.get_position().width * axes.figure.get_figwidth()
    axes.set_title(fit(text, inches, points), loc="left", fontsize=points)


def legend_below(figure, handles, labels=None, points=7.5, most=64, drop=0.48):
    """A legend below all panels, `drop` inches, in as many columns as fit."""
    points, most = (6.5, min(most, 52)) if in_column() else (points, most)
    texts = [short(str(text), most) for text in (labels or [handle.get_label() for handle in handles])]
    widest = max(len(text) for text in texts) * 0.53 * points + 36
    columns = max(1, min(len(texts), int(figure.get_figwidth() * 72 / widest)))
    bottom = min(axes.get_position().y0 for axes in figure.axes)
    figure.legend(handles, texts, loc="upper center", bbox_to_anchor=(0.5, bottom - drop / figure.get_figheight()),
                  ncol=columns, fontsize=points, handlelength=3.2)


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
    seen = [tick for tick in axis.get_majorticklocs() if low <= tick <= high]
    if len(seen) >= 2 or not 0 < low < high:
        axis.set_minor_formatter(NullFormatter())
        return
    wide = high / low > 4
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)) if wide else MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def in_column():
    return LAYOUT["width"] == "column"


def panels(figure_of, count, columns=3, size=(4.3, 3.4)):
    """A figure with a grid of `count` axes, and the axes in order; those left over are switched off."""
    columns = 1 if in_column() else max(1, min(columns, count))
    size = (COLUMN_INCHES, 0.8 * COLUMN_INCHES) if in_column() else size
    lines = -(-count // columns)
    figure, grid = figure_of(lines, columns, squeeze=False, figsize=(size[0] * columns, size[1] * lines),
                             gridspec_kw={"hspace": 0.55, "wspace": 0.35})
    axes = list(grid.flat)
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, axes[:count]


def start_matplotlib():
    """matplotlib.pyplot without a display, with this project's look and output that is the same every time."""
    here = os.getcwd()
    os.chdir(os.path.dirname(os.path.abspath(__file__)))  # matplotlib reads a matplotlibrc of the working folder
    try:
        import matplotlib
    except ImportError as error:
        raise r.Refused("figures need matplotlib (apt: python3-matplotlib)") from error
    finally:
        os.chdir(here)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False,
                         "axes.axisbelow": True, "axes.grid": True, "grid.color": "#E6E6E6", "grid.linewidth": 0.8,
                         "legend.frameon": False, "svg.hashsalt": "strobe", "figure.dpi": 100, "savefig.dpi": 160,
                         "pdf.fonttype": 42})
    if in_column():
        plt.rcParams.update({"font.size": 7.5, "axes.titlesize": 8, "savefig.dpi": 300})
    return plt


def show_control_characters(figure):
    """Names of files and cases may hold characters that are no text: as \\xNN, also because SVG cannot hold them."""
    from matplotlib.text import Text
    for text in figure.findobj(Text):
        shown = re.sub(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found.group()):02x}", text.get_text())
        if shown != text.get_text():
            text.set_text(shown)


METADATA = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def add_words(figure, title):
    """The title above, and below what is not drawn: where everything else ends."""
    bounds = figure.get_tightbbox(figure.canvas.get_renderer())
    width, height = figure.get_figwidth(), figure.get_figheight()
    if title:
        figure.text(bounds.x0 / width, (bounds.y1 + 0.08) / height, fit(title, bounds.width, 10), fontsize=10, va="bottom")
    if r.LEFT_OUT:
        figure.text(bounds.x0 / width, (bounds.y0 - 0.06) / height,
                    fit("not drawn: " + r.left_out_text(), 1.15 * bounds.width, 6.5, lines=5), fontsize=6.5, va="top", color="#606060")


def fit_column(figure):
    """Makes what is written as wide as a column of a paper, labels and legends included."""
    for _ in range(4):
        bounds = figure.get_tightbbox(figure.canvas.get_renderer())
        figure.set_figwidth(max(2.4, figure.get_figwidth() + COLUMN_INCHES - bounds.width - 0.04))


def write_figure(name, folder, read, draw, formats=("png", "svg"), title=""):
    """Writes draw(read(), matplotlib.pyplot) as FOLDER/NAME.png and so on; exit status 2 when refused, 1 when it cannot
    write. It reads the rows before it loads matplotlib, which takes a second, so that a refusal comes sooner."""
    def write():
        what = read()
        figure = draw(what, start_matplotlib())
        show_control_characters(figure)
        if in_column():
            fit_column(figure)
        add_words(figure, title)
        os.makedirs(folder, exist_ok=True)
        for kind in formats:
            path, drawn = os.path.join(folder, f"{name}.{kind}"), io.BytesIO()
            figure.savefig(drawn, format=kind, bbox_inches="tight", metadata=METADATA[kind],
                           pad_inches=0.02 if in_column() else 0.1)
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


def main(draw, name, needed, description, seeds="mean"):
    """Command line of a figure: reads runs, draws, writes NAME.png, NAME.svg or NAME.pdf; exit status 2 when refused.
    Rows that differ in their seed alone are drawn as one, with mean and spread, unless `seeds` is "each"."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directory, or its summary.json")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the figures (default: here)")
    parser.add_argument("--format", default="png,svg", help="png, svg, pdf, several with commas (default: png,svg)")
    parser.add_argument("--width", choices=("column", "page"), default="page",
                        help="one column of a paper, or as wide as the panels need (default)")
    parser.add_argument("--title", default="", help="a heading (default: none)")
    options = parser.parse_args()
    formats = options.format.split(",")
    if not set(formats) <= set(METADATA):
        parser.error(f"--format: expected some of {', '.join(METADATA)}, found {options.format}")
    LAYOUT["width"] = options.width

    def read():
        rows = r.read_rows(options.runs, needed)
        return r.over_seeds(rows) if seeds == "mean" else rows
    return write_figure(name, options.out, read, draw, formats, options.title)
