"""How figures look: colours and marks by name, legends that cover nothing, titles that fit, axes that can be read."""

import textwrap
import zlib

from shared import rows as r

COLOURS = [r.BLUE, r.VERMILION, r.GREEN, r.ORANGE, r.PURPLE, r.SKY, "#000000"]
MARKERS = "osD^vPX*<>hd"
DASHES = ["-", "--", ":", "-.", (0, (7, 1)), (0, (1, 1)), (0, (7, 2, 1, 2, 1, 2)), (0, (3, 4)), (0, (9, 4)), (0, (1, 4)),
          (0, (5, 1, 1, 1, 1, 1, 1, 1)), (0, (11, 2, 3, 2))]
FILLS = ["full", "left", "bottom", "right", "top"]
# Every strategy has one colour in all figures, whatever else is drawn. No two are alike in any form of colour
# blindness to the degree that the first seven are; the others, DynaHB's baselines, are told apart by their marks too.
KNOWN = {"snapshot": r.BLUE, "vertex": r.VERMILION, "pss": r.GREEN, "snapshot_groups": r.ORANGE, "sequential": "#000000",
         "chunk": r.PURPLE, "hybrid_batch": r.SKY, "event_batch": "#7A4A1F", "dynahb": "#1B4F72", "adt": "#A6761D",
         "pyd": "#66A61E", "dbov": "#E7298A", "dbos": "#7570B3", "bvr": "#8C8C00"}


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
    points, most = (6.5, min(most, 52)) if r.in_column() else (points, most)
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
        axes.plot([x], [y], "o", markersize=10, fillstyle="none", color=r.GREY, markeredgewidth=0.9)


def cross_left_out(axes, ranks, colour, number):
    """A cross near the lower edge for a case that could not run, each strategy's above the one before."""
    axes.plot([ranks], [0.03 + 0.05 * (number % 18)], "x", transform=axes.get_xaxis_transform(), color=colour, markersize=6, markeredgewidth=1.4,
              clip_on=False)


def extra_handles(line_of_legend, extrapolated, left_out):
    """Entries of the legend that explain rings and crosses."""
    handles = []
    if extrapolated:
        handles.append(line_of_legend([], [], color=r.GREY, marker="o", fillstyle="none", markersize=9, linestyle="",
                                      label="ringed: extrapolated"))
    if left_out:
        handles.append(line_of_legend([], [], color=r.GREY, marker="x", markersize=6, linestyle="",
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
