"""Bytes by purpose, by case and by rank, and memory against its limit."""
import math

from report import charts, recorded, runs
from report.parts import Cell, Figures, Line, Table, more, section
from report.sections import MOST_BARS, bar_chart, bar_name
from strobe_figures import looks
from strobe_figures import rows as r

MOST_HEAT_ROWS = 200
MOST_RANK_MAPS = 6
MOST_RANKS = 64
MOST_TIMELINES = 6
MOST_TIMELINE_RANKS = 8


def _heat_cell(value, most):
    return Cell(runs.bytes_text(value) if value else "", value, kind="heat", share=math.log1p(value) / math.log1p(most))


def heat_map(rows):
    """Bytes by purpose of each case, darker where more of all bytes of the page."""
    kinds = [kind for kind in dict.fromkeys(k for row in rows for k in (row.get("sent_bytes") or {})) if kind != "total"]
    kinds = [kind for kind in kinds if any((row.get("sent_bytes") or {}).get(kind) for row in rows)]
    cases = [row for row in rows.pooled if row.get("sent_bytes") and sum(row["sent_bytes"].get(kind) or 0 for kind in kinds)]
    if not kinds or not cases:
        return None
    most = max(row["sent_bytes"].get(kind) or 0 for row in cases for kind in kinds)
    lines = [Line(bar_name(row, rows.pooled), [_heat_cell(row["sent_bytes"].get(kind) or 0, most) for kind in kinds], title=row["case_id"])
             for row in cases[:MOST_HEAT_ROWS]]
    return section(rows, "bytes", "Bytes an epoch, by purpose", [Table(["case", *kinds], lines)],
                   "which ranks they go between, and whether they hide behind computing. They equal the plan to the byte; the "
                   "colour is logarithmic." + more(len(cases) - MOST_HEAT_ROWS, "cases"),
                   ["case_id", *kinds], [[row["case_id"], *(row["sent_bytes"].get(kind) for kind in kinds)] for row in cases])


def by_rank(rows):
    """The bytes that each rank sends by purpose, in the cases that send most, from the samples of their ranks."""
    sending = [row for row in rows if row.get("status") == "ok" and 1 < (row.get("ranks") or 1) <= MOST_RANKS
               and (row.get("sent_bytes") or {}).get("total")]
    sending.sort(key=lambda row: -row["sent_bytes"]["total"])
    tables, lines = [], []
    for row in sending[:MOST_RANK_MAPS]:
        folder = rows.folders.get(row.get("run"))
        ranks = recorded.sent_by_rank(folder, {row["case_id"]}).get(row["case_id"]) if folder else None
        kinds = [kind for kind in row["sent_bytes"] if kind != "total" and ranks and any(own.get(kind) for own in ranks.values())]
        if not kinds:
            continue
        most = max(own.get(kind, 0) for own in ranks.values() for kind in kinds)
        cells = {kind: [_heat_cell(own.get(kind, 0), most) for own in ranks.values()] for kind in kinds}
        tables.append(Table(["sent by rank", *map(str, ranks)], [Line(kind, own) for kind, own in cells.items()],
                            summary=f"{bar_name(row, rows)}; darkest: {runs.bytes_text(most)} a rank"))
        lines += [[row["case_id"], rank, kind, own.get(kind, 0)] for rank, own in ranks.items() for kind in kinds]
    return section(rows, "bytes-by-rank", "Bytes an epoch, by rank and purpose", tables,
                   "whom a rank sends to (strobe run --dry-run --byte-matrix writes that). The mean of the measured epochs, darkest where "
                   "most of the case, logarithmic."
                   + (f" Only the {MOST_RANK_MAPS} cases that send most are here." if len(sending) > MOST_RANK_MAPS else ""),
                   ["case_id", "rank", "purpose", "bytes"], lines, "samples.jsonl")


def memory_limit(row):
    """Bytes that the fullest rank may have, as the row's share says; None where there is no limit."""
    share, peaks = row.get("device_memory_share"), row.get("peak_bytes")
    if not share or not isinstance(peaks, dict):
        return None
    peak = max([*(peaks.get("device") or []), 0]) or max([*(peaks.get("host") or []), 0])
    return peak / share if peak else None


def _peaks(row):
    return [max(row["peak_bytes"].get(place) or [0]) for place in ("device", "host")]


def memory(rows):
    drawn = [row for row in rows.pooled if isinstance(row.get("peak_bytes"), dict) and any(_peaks(row))]
    if not drawn:
        return None
    names = [bar_name(row, rows.pooled) for row in drawn[:MOST_BARS]]
    colours = {"device": looks.BLUE, "host": looks.GREY}

    def draw(axes):
        factor, unit = r.byte_unit([sum(_peaks(row)) for row in drawn[:MOST_BARS]])
        begin = [0.0] * len(names)
        for place, colour in enumerate(colours.values()):
            wide = [factor * _peaks(row)[place] for row in drawn[:MOST_BARS]]
            axes.barh(range(len(names)), wide, 0.78, left=begin, color=colour)
            begin = [a + b for a, b in zip(begin, wide)]
        for place, (row, end) in enumerate(zip(drawn, begin)):
            share = row.get("device_memory_share")
            axes.annotate(f"{end:.3g}" + (f" ({100 * share:.2g} % of the limit)" if share else ""), (end, place), xytext=(3, 0),
                          textcoords="offset points", va="center", fontsize=7, color="#404040")
        looks.names_of_bars(axes, names)
        axes.set_xlim(0, 1.35 * max(begin))
        axes.set_xlabel(f"peak of the fullest rank [{unit}]")
    said = [f"{name}: {runs.bytes_text(sum(_peaks(row)))}" for name, row in zip(names, drawn)]
    return section(rows, "memory", "Most memory of any rank", [Figures([(bar_chart("Peak memory", names, draw, said), "")], charts.areas(colours))],
                   "how it changes during an epoch (of runs with --trace that stands below); device and host are peaks of their own and "
                   "need not fall together." + more(len(drawn) - MOST_BARS, "cases"),
                   ["case_id", "device_bytes", "host_bytes", "share_of_limit"],
                   [[row["case_id"], *_peaks(row), row["device_memory_share"] if row.get("device_memory_share") is not None else ""]
                    for row in drawn])


PARTS = ("state", "graph", "features", "buffers", "samples")


def _parts_of_fullest(row):
    """(measured, planned or None, process or None) of the rank with the most accounted memory; bytes by part."""
    own = row["memory_bytes"]
    sums = [sum(own[part][rank] for part in PARTS) for rank in range(len(own["state"]))]
    rank = sums.index(max(sums))
    planned, process = own.get("planned"), own.get("process")
    return ({part: own[part][rank] for part in PARTS}, planned and {part: planned[part][rank] for part in PARTS},
            process[rank] if process else None)


def memory_parts(rows):
    """The parts of the fullest rank's memory, with planned bytes below."""
    drawn = [row for row in rows.pooled if isinstance(row.get("memory_bytes"), dict)]
    if not drawn:
        return None
    lines, out = [], []
    for row in drawn[:MOST_HEAT_ROWS]:
        measured, planned, process = _parts_of_fullest(row)
        cells = [Cell(runs.bytes_text(measured[part]), measured[part],
                      small=f"planned {runs.bytes_text(planned[part])}" if planned else "") for part in PARTS]
        cells.append(Cell(runs.bytes_text(process) if process else "", process))
        lines.append(Line(bar_name(row, rows.pooled), cells, title=row["case_id"]))
        out.append([row["case_id"], *measured.values(), *((planned or {}).get(part, "") for part in PARTS), process or ""])
    return section(rows, "memory-parts", "What memory is for", [Table(["case", *PARTS, "process"], lines)],
                   "other moments than the peak of the fullest rank. The parts add up to its accounted memory; `process` is the most "
                   "private memory of its process, which holds the graph on the host too."
                   + more(len(drawn) - MOST_HEAT_ROWS, "cases"),
                   ["case_id", *(f"{part}_bytes" for part in PARTS), *(f"planned_{part}_bytes" for part in PARTS), "process_bytes"], out)


def _timeline(title, ranks, limit):
    fullest = sorted(sorted(ranks, key=lambda rank: -max(value for _, value in ranks[rank]))[:MOST_TIMELINE_RANKS])
    begin = min(ranks[rank][0][0] for rank in fullest)
    top = max(value for rank in fullest for _, value in ranks[rank])
    near = limit if limit and limit < 4 * top else None  # a limit far above would press the curves onto the axis
    points = {rank: charts.thin([(time - begin, value) for time, value in ranks[rank]]) for rank in fullest}

    def draw(axes):
        seconds, unit = r.time_unit([time for own in points.values() for time, _ in own])
        factor, byte_unit = r.byte_unit([max(top, near or 0)])
        for shade, own in zip(looks.shades(len(fullest)), points.values()):
            axes.plot([time * seconds for time, _ in own], [value * factor for _, value in own], color=shade, linewidth=1.3)
        if near:
            axes.axhline(near * factor, color="#606060", linestyle=(0, (4, 4)), linewidth=1)
            axes.annotate("limit", (0.5, near * factor), xycoords=("axes fraction", "data"), xytext=(0, -9), textcoords="offset points",
                          color="#404040")
        axes.set_xlabel(f"time in the last two epochs [{unit}]")
        axes.set_ylabel(f"live [{byte_unit}]")
    words = title if not limit or near else f"{title} (limit {runs.bytes_text(limit)})"
    said = [charts.said_of(f"rank {rank}", own) for rank, own in points.items()]
    return charts.chart("Memory over time: " + title, draw, said), f"{words}; ranks {', '.join(map(str, fullest))}, from dark to light"


def memory_over_time(rows):
    """From the traces of runs that have them."""
    by_run = {}
    for row in rows:
        by_run.setdefault(row.get("run"), {})[row["case_id"]] = row
    out, lines = [], []
    for run, own in by_run.items():
        folder = rows.folders.get(run)
        if folder is None or len(out) >= MOST_TIMELINES:
            continue
        for case, ranks in recorded.live_bytes(folder, own, MOST_TIMELINES - len(out)).items():
            out.append(_timeline(bar_name(own[case], rows), ranks, memory_limit(own[case])))
            lines += [[case, rank, time, value] for rank, points in ranks.items() for time, value in charts.thin(points)]
    return section(rows, "memory-over-time", "Memory over time", [Figures(out)] if out else [],
                   f"cases without a trace, earlier epochs, more than {MOST_TIMELINES} cases, and of each all but the {MOST_TIMELINE_RANKS} fullest ranks. "
                   "Accounted memory when an operation was given to the device; what the allocator keeps beside live tensors is not in it.",
                   ["case_id", "rank", "seconds", "live_bytes"], lines, "trace")
