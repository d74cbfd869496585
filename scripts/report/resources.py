"""Bytes by purpose, by case and by rank, and memory against its limit."""
import math
from html import escape

from report import recorded, runs, svg
from report.sections import MOST_BARS, section
from shared import looks

MOST_HEAT_ROWS = 200
MOST_RANK_MAPS = 6
MOST_RANKS = 64
MOST_TIMELINES = 6
MOST_TIMELINE_RANKS = 8


def heat_map(rows):
    """Bytes by purpose of each case, darker where more of all bytes of the page."""
    kinds = [kind for kind in dict.fromkeys(k for row in rows for k in (row.get("sent_bytes") or {})) if kind != "total"]
    kinds = [kind for kind in kinds if any((row.get("sent_bytes") or {}).get(kind) for row in rows)]
    cases = [row for row in rows if row.get("sent_bytes") and sum(row["sent_bytes"].get(kind) or 0 for kind in kinds)]
    if not kinds or not cases:
        return ""
    most = max(row["sent_bytes"].get(kind) or 0 for row in cases for kind in kinds)
    lines = []
    for row in cases[:MOST_HEAT_ROWS]:
        cells = ""
        for kind in kinds:
            value = row["sent_bytes"].get(kind) or 0
            share = math.log1p(value) / math.log1p(most)
            cells += f'<td class="heat" style="--share:{share:.3f}" data-value="{value}">{runs.bytes_text(value) if value else ""}</td>'
        lines.append(f"<tr><th title='{escape(row['case_id'], True)}'>{escape(runs.strategy_label(row, rows))}: "
                     f"{escape(runs.rest_label(row, rows))}</th>{cells}</tr>")
    head = "".join(f"<th>{escape(kind)}</th>" for kind in kinds)
    return section(rows, "Bytes an epoch, by purpose", f'<table class="sortable"><thead><tr><th>case</th>{head}</tr></thead>'
                   f'<tbody>{"".join(lines)}</tbody></table>',
                   "which ranks they go between, and whether they hide behind computing. They equal the plan to the byte; the "
                   "colour is logarithmic."
                   + (f" {len(cases) - MOST_HEAT_ROWS} more cases are in the CSV." if len(cases) > MOST_HEAT_ROWS else ""),
                   ["case_id", *kinds], [[row["case_id"], *(row["sent_bytes"].get(kind) for kind in kinds)] for row in cases])


def _rank_map(title, ranks, kinds):
    """One case: ranks across, purposes down, darker where more."""
    most = max(own.get(kind, 0) for own in ranks.values() for kind in kinds)
    left, width, height = 92, min(40.0, 400 / len(ranks)), 24
    parts, said = [], []
    for j, kind in enumerate(kinds):
        y = 6 + j * height
        parts.append(f'<text x="{left - 6}" y="{y + 16}" text-anchor="end">{escape(kind)}</text>')
        row = [own.get(kind, 0) for own in ranks.values()]
        said.append(f"{kind}: {runs.bytes_text(min(row))} to {runs.bytes_text(max(row))} a rank")
        for i, (rank, value) in enumerate(zip(ranks, row)):
            share = math.log1p(value) / math.log1p(most)
            parts.append(f'<rect class="cell" x="{left + i * width:.1f}" y="{y}" width="{width:.1f}" height="{height}" '
                         f'fill-opacity="{0.05 + 0.9 * share:.2f}"><title>rank {rank}, {escape(kind)}: {runs.bytes_text(value)}</title></rect>')
    every = max(1, math.ceil(len(ranks) / 16))
    bottom = 6 + len(kinds) * height
    for i, rank in list(enumerate(ranks))[::every]:
        parts.append(f'<text x="{left + (i + 0.5) * width:.1f}" y="{bottom + 14}" text-anchor="middle">{rank}</text>')
    parts.append(f'<text x="{left + len(ranks) * width / 2:.1f}" y="{bottom + 30}" text-anchor="middle">rank</text>')
    return (f'<figure><svg role="img" viewBox="0 0 510 {bottom + 36}" aria-label="{escape(title, True)}"><title>{escape(title)}</title>'
            f'<desc>{escape("; ".join(said))}</desc>{"".join(parts)}</svg><figcaption>{escape(title)}; darkest: {runs.bytes_text(most)}</figcaption></figure>')


def by_rank(rows):
    """The bytes that each rank sends by purpose, in the cases that send most, from the samples of their ranks."""
    sending = [row for row in rows if row.get("status") == "ok" and 1 < (row.get("ranks") or 1) <= MOST_RANKS
               and (row.get("sent_bytes") or {}).get("total")]
    sending.sort(key=lambda row: -row["sent_bytes"]["total"])
    chosen = sending[:MOST_RANK_MAPS]
    maps, lines = [], []
    for row in chosen:
        folder = rows.folders.get(row.get("run"))
        ranks = recorded.sent_by_rank(folder, {row["case_id"]}).get(row["case_id"]) if folder else None
        kinds = [kind for kind in row["sent_bytes"] if kind != "total" and ranks and any(own.get(kind) for own in ranks.values())]
        if not kinds:
            continue
        maps.append(_rank_map(f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}", ranks, kinds))
        lines += [[row["case_id"], rank, kind, own.get(kind, 0)] for rank, own in ranks.items() for kind in kinds]
    body = f"<div class='grid'>{''.join(maps)}</div>" if maps else ""
    return section(rows, "Bytes an epoch, by rank and purpose", body,
                   "whom a rank sends to (strobe run --dry-run --byte-matrix writes that). The mean of the measured epochs, darkest where "
                   "most of the case, logarithmic."
                   + (f" Only the {MOST_RANK_MAPS} cases that send most are drawn." if len(sending) > MOST_RANK_MAPS else ""),
                   ["case_id", "rank", "purpose", "bytes"], lines, "samples.jsonl")


def memory_limit(row):
    """Bytes that the fullest rank may have, as the row's share says; None where there is no limit."""
    share, peaks = row.get("device_memory_share"), row.get("peak_bytes")
    if not share or not isinstance(peaks, dict):
        return None
    peak = max([*(peaks.get("device") or []), 0]) or max([*(peaks.get("host") or []), 0])
    return peak / share if peak else None


def memory(rows):
    bars, lines = [], []
    for row in rows:
        peaks = row.get("peak_bytes")
        if not isinstance(peaks, dict):
            continue
        device, host = max(peaks.get("device") or [0]), max(peaks.get("host") or [0])
        share = row.get("device_memory_share")
        name = f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}"
        bars.append((name, {"device": device, "host": host}, f"({100 * share:.2g} % of the limit)" if share else ""))
        lines.append([row["case_id"], device, host, share if share is not None else ""])
    if not bars:
        return ""
    style = {"device": (looks.BLUE, ""), "host": (looks.GREY, "")}
    return section(rows, "Most memory of any rank", svg.legend(style) + svg.stacked_bars("Peak memory", bars[:MOST_BARS], ("device", "host"),
                                                                                         style, runs.bytes_text),
                   "how it changes during an epoch (of runs with --trace that stands below); device and host are peaks of their own and "
                   "need not fall together."
                   + (f" {len(bars) - MOST_BARS} more cases are in the CSV." if len(bars) > MOST_BARS else ""),
                   ["case_id", "device_bytes", "host_bytes", "share_of_limit"], lines)


def _timeline(title, ranks, limit):
    fullest = sorted(ranks, key=lambda rank: -max(value for _, value in ranks[rank]))[:MOST_TIMELINE_RANKS]
    style = {f"rank {rank}": (colour, "") for rank, colour in zip(sorted(fullest), svg.DISTINCT)}
    begin = min(ranks[rank][0][0] for rank in fullest)
    ends = [time - begin for rank in fullest for time, _ in ranks[rank]]
    top = max(value for rank in fullest for _, value in ranks[rank])
    near = limit if limit and limit < 4 * top else None  # a limit far above would press the curves onto the axis
    axes = svg.Axes((0, max(ends)), (0, max(top, near or 0) / 1e6), width=420, height=260)
    axes.grid("seconds, the last two epochs", "live, MB")
    if near:
        axes.level(near / 1e6, "limit")
    for rank in sorted(fullest):
        axes.line([(time - begin, value / 1e6) for time, value in ranks[rank]], style[f"rank {rank}"], f"rank {rank}", marks=False)
    words = title if not limit or near else f"{title} (limit {runs.bytes_text(limit)})"
    return (f"<figure>{axes.drawing('Memory over time: ' + title)}{svg.legend(style)}"
            f"<figcaption>{escape(words)}</figcaption></figure>")


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
            row = own[case]
            out.append(_timeline(f"{runs.strategy_label(row, rows)}: {runs.rest_label(row, rows)}", ranks, memory_limit(row)))
            lines += [[case, rank, time, value] for rank, points in ranks.items() for time, value in svg.thin(points)]
    body = f"<div class='grid'>{''.join(out)}</div>" if out else ""
    return section(rows, "Memory over time", body,
                   f"cases without a trace, earlier epochs, more than {MOST_TIMELINES} cases, and of each all but the {MOST_TIMELINE_RANKS} fullest ranks. "
                   "Accounted memory when an operation was given to the device; what the allocator keeps beside live tensors is not in it.",
                   ["case_id", "rank", "seconds", "live_bytes"], lines, "trace")
