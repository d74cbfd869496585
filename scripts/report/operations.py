"""Operations against the roofline: what each one does a second, by how many flops it has for a byte."""
from report import charts, runs
from report.parts import Cell, Figures, Line, Table, more, section
from report.sections import bar_name
from strobe_figures import looks

MOST_PANELS = 6
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
    said = []
    for operation in drawn:
        reach = f", {100 * roof_share(operation, peaks):.0f} % of the roof" if peaks else ""
        said.append(f"{operation.name}: {charts.number(operation.intensity)} flop/byte, "
                    f"{charts.number(operation.flops / operation.seconds / 1e9)} Gflop/s, {100 * operation.seconds / total:.0f} % of the "
                    f"operations' time{reach}")

    def draw(axes):
        for operation in drawn:
            axes.plot([operation.intensity], [operation.flops / operation.seconds / 1e9], "o", color=colours.get(operation.name, REST),
                      alpha=0.75, markersize=5 + 12 * (operation.seconds / total) ** 0.5)
        looks.set_scale(axes.xaxis, "log")
        looks.set_scale(axes.yaxis, "log")
        if peaks:
            low, high = axes.get_xlim()
            high = max(high, 2 * peaks[0] / peaks[1])
            ridge = max(low, peaks[0] / peaks[1])
            corners = [low, ridge, high]
            axes.plot(corners, [roof_at(x, peaks) / 1e9 for x in corners], color="#606060", linestyle=(0, (4, 3)), linewidth=1.2)
        looks.readable_log(axes.xaxis)
        looks.readable_log(axes.yaxis)
        axes.set_xlabel("flops for a byte")
        axes.set_ylabel("Gflop/s")
    return charts.chart("Roofline: " + title, draw, said, height=2.9), title


def _numbers(operation, peaks):
    share = roof_share(operation, peaks)
    return [operation.seconds, operation.flops, operation.bytes, operation.intensity, operation.flops / operation.seconds,
            operation.bytes / operation.seconds, share if share is not None else ""]


def _table(title, operations, peaks):
    lines = []
    for operation in operations[:20]:
        seconds, _, _, intensity, flops, rate, share = _numbers(operation, peaks)
        lines.append(Line(operation.name, [
            Cell(runs.seconds_text(seconds), seconds), Cell(charts.number(intensity) if intensity is not None else "-", intensity or 0),
            Cell(charts.number(flops / 1e9), flops), Cell(charts.number(rate / 1e9), rate),
            Cell(f"{100 * share:.1f} %" if share != "" else "-", share or 0)]))
    return Table(["operation", "an epoch", "flop/byte", "Gflop/s", "GB/s", "of the roof"], lines, summary=f"{title}: as numbers")


def _colours(rows):
    """The colours of the operations that take most time on the page, by name."""
    sums = {}
    for operations in rows:
        for operation in operations:
            if operation.drawn:
                sums[operation.name] = sums.get(operation.name, 0) + operation.seconds
    most = sorted(sorted(sums, key=lambda name: -sums[name])[:len(charts.DISTINCT)])
    return dict(zip(most, charts.DISTINCT))


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
    known = [(row, operations_of(row), peaks_of(row, given)) for row in rows.pooled if row.get("status") == "ok"]
    known = [part for part in known if any(operation.drawn for operation in part[1])]
    if not known:
        return None
    shown = _unlike_first(rows.pooled, known)[:MOST_PANELS]
    colours = _colours(operations for _, operations, _ in shown)
    figures = [_panel(bar_name(row, rows.pooled), operations, peaks, colours) for row, operations, peaks in shown]
    tables = [_table(bar_name(row, rows.pooled), operations, peaks) for row, operations, peaks in shown]
    roofless = any(peaks is None for _, _, peaks in shown)
    lines = [[row["case_id"], operation.name, *_numbers(operation, peaks)] for row, operations, peaks in known for operation in operations]
    return section(rows, "roofline", "Operations against the roofline",
                   [Figures(figures, charts.areas({**colours, "other operations": REST}), "dashed: the roof")] + tables,
                   "operations without arithmetic, which only move (they are among the numbers); what caches save or read again, since a byte "
                   "counts once; which limit holds a device whose ranks share cores and memory. The larger a point, the more of the time; in "
                   "predicted rows points lie where the cost model puts them. On device cuda without --trace operations share their time "
                   "equally, so their heights say nothing."
                   + (" No roof is known for some: --cluster FILE, as strobe calibrate writes it, draws it." if roofless else "")
                   + more(len(known) - MOST_PANELS, "cases"),
                   ["case_id", "operation", "seconds", "flops", "bytes", "flops_per_byte", "flops_per_second", "bytes_per_second",
                    "share_of_roof"], lines)


def whole_epochs(rows):
    """All operations of an epoch together as shares of the peaks."""
    some = [row for row in rows if isinstance(row.get("roofline"), dict)]
    if not some:
        return None
    keys = list(dict.fromkeys(key for row in some for key in row["roofline"]))
    lines = [Line(row["case_id"], [Cell(_share(row["roofline"].get(key)), row["roofline"].get(key)) for key in keys])
             for row in some[:MOST_SHARES]]
    return section(rows, "peaks", "Shares of the device's peaks", [Table(["case", *keys], lines)],
                   "single operations: these are of whole epochs; a share near 1 says that the peak is what limits."
                   + more(len(some) - MOST_SHARES, "cases"),
                   ["case_id", *keys], [[row["case_id"], *(row["roofline"].get(key) for key in keys)] for row in some])


def _share(value):
    return "-" if value is None else f"{value:.4g}"
