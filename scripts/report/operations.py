"""Operations against the roofline: what each one does a second, by how many flops it has for a byte."""
from html import escape

from report import runs, svg
from report.sections import section

MOST_PANELS = 12
MOST_SHARES = 200
REST = "#9a9a9a"  # operations without a colour of their own


class Operation:
    """The sums over one operation's spans in the slowest rank's mean epoch."""

    def __init__(self, name, seconds, flops, count):
        self.name, self.seconds, self.flops, self.bytes = name, seconds, flops, count

    @property
    def intensity(self):
        return self.flops / self.bytes if self.bytes else None

    @property
    def drawn(self):
        return self.flops > 0 and self.bytes > 0


def operations_of(row):
    """The row's operations that took time, the longest first; none where it tells nothing of their work."""
    seconds, flops, count = (row.get(f"operation_{key}") for key in ("seconds", "flops", "bytes"))
    if not all(isinstance(part, dict) for part in (seconds, flops, count)):
        return []
    found = [Operation(name, value, flops.get(name) or 0, count.get(name) or 0) for name, value in seconds.items() if value and value > 0]
    return sorted(found, key=lambda operation: -operation.seconds)


def peaks_of(row, given):
    """(flops, bytes) a second that the row's device does at most; `given`: (fp32, fp64, bytes) of measured rows."""
    own = row.get("device_peaks")
    if isinstance(own, dict) and own.get("flops_per_second") and own.get("bytes_per_second"):
        return own["flops_per_second"], own["bytes_per_second"]
    if given and row.get("time_source") == "wall":
        return given[1 if row.get("precision") == "fp64" else 0], given[2]
    return None


def roof_at(intensity, peaks):
    return min(peaks[0], peaks[1] * intensity)


def roof_share(operation, peaks):
    """An operation's rate as a share of the roof's limit for it. Without flops the limit is the memory's rate."""
    if not peaks:
        return None
    shares = [operation.bytes / operation.seconds / peaks[1], operation.flops / operation.seconds / peaks[0]]
    return max(shares)


def _panel(title, operations, peaks, colours):
    drawn = [operation for operation in operations if operation.drawn]
    total = sum(operation.seconds for operation in operations)
    across = [operation.intensity for operation in drawn] + ([peaks[0] / peaks[1]] if peaks else [])
    ends = (min(across), max(across))
    heights = [operation.flops / operation.seconds / 1e9 for operation in drawn]
    heights += [roof_at(x, peaks) / 1e9 for x in ends] if peaks else []
    axes = svg.Axes(ends, (min(heights), max(heights)), width=420, height=300, log_x=True, log_y=True)
    axes.grid("flops for a byte", "Gflop/s")
    if peaks:
        ridge = peaks[0] / peaks[1]
        corners = sorted({axes.x[0], min(max(ridge, axes.x[0]), axes.x[1]), axes.x[1]})
        axes.line([(x, max(roof_at(x, peaks) / 1e9, axes.y[0])) for x in corners], ("currentColor", "4 3"), "the roof", marks=False)
    for operation in drawn:
        share, rate = operation.seconds / total, operation.flops / operation.seconds
        reach = f", {100 * roof_share(operation, peaks):.0f} % of the roof" if peaks else ""
        axes.point(operation.intensity, rate / 1e9, 3 + 8 * share ** 0.5, colours.get(operation.name, REST),
                   f"{operation.name}: {svg.number(operation.intensity)} flop/byte, {svg.number(rate / 1e9)} Gflop/s, "
                   f"{100 * share:.0f} % of the operations' time{reach}")
    return f"<figure>{axes.drawing('Roofline: ' + title)}<figcaption>{escape(title)}</figcaption></figure>"


def _numbers(operation, peaks):
    share = roof_share(operation, peaks)
    return [operation.seconds, operation.flops, operation.bytes, operation.intensity, operation.flops / operation.seconds,
            operation.bytes / operation.seconds, share if share is not None else ""]


def _table(title, operations, peaks):
    lines = ""
    for operation in operations[:20]:
        seconds, _, _, intensity, flops, rate, share = _numbers(operation, peaks)
        cells = [(runs.seconds_text(seconds), seconds), (svg.number(intensity) if intensity is not None else "-", intensity or 0),
                 (svg.number(flops / 1e9), flops), (svg.number(rate / 1e9), rate),
                 (f"{100 * share:.1f} %" if share != "" else "-", share or 0)]
        lines += (f"<tr><th>{escape(operation.name)}</th>" + "".join(f'<td data-value="{value:.6g}">{escape(text)}</td>' for text, value in cells)
                  + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("operation", "an epoch", "flop/byte", "Gflop/s", "GB/s", "of the roof"))
    return (f"<details><summary>{escape(title)}: as numbers</summary><table class='sortable'><thead><tr>{head}</tr></thead>"
            f"<tbody>{lines}</tbody></table></details>")


def _colours(rows):
    """The colours of the operations that take most time on the page, by name."""
    sums = {}
    for operations in rows:
        for operation in operations:
            if operation.drawn:
                sums[operation.name] = sums.get(operation.name, 0) + operation.seconds
    most = sorted(sorted(sums, key=lambda name: -sums[name])[:len(svg.DISTINCT)])
    return dict(zip(most, svg.DISTINCT))


def _unlike_first(rows, known):
    """First one case of each device, model and strategy, then a second one of each."""
    seen, turns = {}, []
    for part in known:
        row = part[0]
        kind = (row.get("device"), row.get("cluster"), runs.plugin_label(row, rows, "model"), runs.strategy_label(row, rows))
        seen[kind] = seen.get(kind, 0) + 1
        turns.append((seen[kind], len(turns), part))
    return [part for _, _, part in sorted(turns, key=lambda turn: turn[:2])]


def rooflines(rows, given):
    known = [(row, operations_of(row), peaks_of(row, given)) for row in rows if row.get("status") == "ok"]
    known = [part for part in known if any(operation.drawn for operation in part[1])]
    if not known:
        return ""
    shown = _unlike_first(rows, known)[:MOST_PANELS]
    colours = _colours(operations for _, operations, _ in shown)
    figures, tables = "", ""
    for row, operations, peaks in shown:
        title = f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}"
        figures += _panel(title, operations, peaks, colours)
        tables += _table(title, operations, peaks)
    style = {name: (colour, "") for name, colour in colours.items()} | {"other operations": (REST, "")}
    roofless = any(peaks is None for _, _, peaks in shown)
    lines = [[row["case_id"], operation.name, *_numbers(operation, peaks)] for row, operations, peaks in known for operation in operations]
    return section(rows, "Operations against the roofline", svg.legend(style) + f"<div class='grid'>{figures}</div>{tables}",
                   "operations without arithmetic, which only move (they are among the numbers); what caches save or read again, since a byte "
                   "counts once; which limit holds a device whose ranks share cores and memory. The larger a point, the more of the time; in "
                   "predicted rows points lie where the cost model puts them. On device cuda without --trace operations share their time "
                   "equally, so their heights say nothing."
                   + (" No roof is known for some: --cluster FILE, as strobe calibrate writes it, draws it." if roofless else "")
                   + (f" {len(known) - MOST_PANELS} more cases are in the numbers." if len(known) > MOST_PANELS else ""),
                   ["case_id", "operation", "seconds", "flops", "bytes", "flops_per_byte", "flops_per_second", "bytes_per_second",
                    "share_of_roof"], lines)


def whole_epochs(rows):
    """All operations of an epoch together as shares of the peaks."""
    some = [row for row in rows if isinstance(row.get("roofline"), dict)]
    if not some:
        return ""
    keys = list(dict.fromkeys(key for row in some for key in row["roofline"]))
    lines = "".join(f"<tr><th>{escape(row['case_id'])}</th>"
                    + "".join(f"<td data-value='{row['roofline'].get(key)}'>{_share(row['roofline'].get(key))}</td>" for key in keys)
                    + "</tr>" for row in some[:MOST_SHARES])
    head = "".join(f"<th>{escape(key)}</th>" for key in keys)
    return section(rows, "Shares of the device's peaks", f'<table class="sortable"><thead><tr><th>case</th>{head}</tr></thead><tbody>{lines}'
                   "</tbody></table>", "single operations: these are of whole epochs; a share near 1 says that the peak is what limits."
                   + (f" {len(some) - MOST_SHARES} more cases are in the CSV." if len(some) > MOST_SHARES else ""),
                   ["case_id", *keys], [[row["case_id"], *(row["roofline"].get(key) for key in keys)] for row in some])


def _share(value):
    return "-" if value is None else f"{value:.4g}"
