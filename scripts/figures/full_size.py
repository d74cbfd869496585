#!/usr/bin/env python3
"""Which parallelism is first at full size, by graph, cluster and number of GPUs, what does not fit, and what it costs.

Reads runs of suites/comparison/full_size.json, or a full_size.csv that an earlier call wrote. Writes full_size.md and full_size.csv and draws the seconds of a pass over
GPUs. A pass trains every training sample once: one update of full batches, many of hybrid batches and of events. Some
graphs of events are generated in part; a pass then counts all events that the paper prints.
"""

import argparse
import glob
import json
import os
import re
import sys

from strobe_figures import looks
from strobe_figures import parallelisms as p
from strobe_figures import rows as r

KINDS = p.KINDS[1:]
SHAPES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "workloads", "shapes", "*.json")
HEAD = ["graph", "cluster", "GPUs", "parallelism", "model", "status", "update_seconds", "updates_a_pass", "pass_seconds", "dollars_a_pass",
        "bytes_a_pass", "peak_GiB", "needs_GiB", "largest_phase", "phase_share"]
GIB = 2**30


def shapes():
    """{name: (vertices, events)} as the papers print them; vertices are cells over steps where nothing else is known."""
    known = {}
    for path in glob.glob(SHAPES):
        with open(path, encoding="utf-8") as file:
            shape = json.load(file)
        vertices = shape["vertices"] or (shape["active_cells"] and -(-shape["active_cells"] // shape["steps"]))
        known[shape["name"]] = (vertices, shape["events"] or shape["edges"])
    return known


def graph_of(row, known):
    """The paper's graph that the row's workload is or stands for, and how many events it has in all (None: as the row
    says). A scaled graph of steps stands for itself."""
    work = row["workload"]
    name, like = work["name"], work.get("like", "none")
    if name != "bursty_events":
        scale = work.get("scale", 1)
        return (f"{like}, {scale:g} of it" if like != "none" else name), None
    if like == "none":
        like = next((shape for shape, (vertices, _) in known.items() if vertices == work["vertices"]), name)
    return like, known[like][1] if like in known else None


def trained_share(row):
    return float(row["task"]["split"].split("/")[0]) / 100 if row["task"].get("split") else 1.0


def passes_of(row, events, cells):
    """How many epochs of the row train every training sample once; None where the row does not say."""
    work = row.get("epoch_work") or {}
    if p.kind_of(row) == "node memory":
        return trained_share(row) * events / work["events"] if events and work.get("events") else 1.0
    return cells / work["cells"] if cells and work.get("cells") else None


def status_of(row):
    """ok, no memory, or cannot: what a cell of the table says."""
    if row["status"] == "ok":
        return "ok"
    return "no memory" if row["status"] == "out_of_memory" or "GiB" in row["reason"] or "MiB" in row["reason"] else "cannot"


def line_of(row, known, cells):
    """One line of the csv: the row by the columns of HEAD."""
    graph, events = graph_of(row, known)
    needs = re.search(r"the least is ([\d.]+) GiB", row["reason"])
    line = dict.fromkeys(HEAD, None) | {"graph": graph, "cluster": p.cluster_of(row), "GPUs": row["ranks"], "parallelism": p.kind_of(row),
                                        "model": row["model"]["name"], "status": status_of(row),
                                        "needs_GiB": float(needs.group(1)) if needs else None}
    passes = passes_of(row, events, cells.get(graph)) if row["status"] == "ok" else None
    if passes is None:
        return line
    seconds, updates = row["epoch_seconds"]["median"], row["epoch_work"]["updates"]
    phase = max(r.PHASES, key=lambda name: row["phase_seconds"][name] or 0)
    total = sum(row["phase_seconds"][name] or 0 for name in r.PHASES)
    return line | {"update_seconds": seconds / updates, "updates_a_pass": passes * updates, "pass_seconds": passes * seconds,
                   "dollars_a_pass": passes * row["dollars_per_epoch"], "bytes_a_pass": passes * row["sent_bytes"]["total"],
                   "peak_GiB": max(row["peak_bytes"]["device"]) / GIB, "largest_phase": phase, "phase_share": row["phase_seconds"][phase] / total}


def lines_of(rows):
    """Lines of all rows. A graph's cells are those of an epoch of full batches. Where none fits, a hybrid batch says what
    share of them it has."""
    known, cells, shares = shapes(), {}, {}
    for row in rows:
        count, graph = (row.get("epoch_work") or {}).get("cells"), graph_of(row, known)[0]
        if count and p.kind_of(row) in ("snapshot", "vertex", "chunk"):
            cells[graph] = count
        elif count and p.kind_of(row) == "hybrid batch":
            sizes = [str(row["strategy"].get(key, "")) for key in ("vertices", "snapshots")]
            if all(size.endswith("%") for size in sizes):
                shares.setdefault(graph, count / (float(sizes[0][:-1]) * float(sizes[1][:-1]) / 1e4))
    return [line_of(row, known, shares | cells) for row in rows]


def recorded(path):
    """The lines of a full_size.csv."""
    def value(key, text):
        if text == "":
            return None
        return text if key in ("graph", "cluster", "parallelism", "model", "status", "largest_phase") else int(text) if key == "GPUs" else float(text)

    return [{key: value(key, line[key]) for key in HEAD} for line in r.read_csv(path, HEAD, "not a full_size.csv of scripts/figures/full_size.py")]


def read_lines(paths):
    """Lines of all runs and tables. Raises Refused where nothing can be compared."""
    rows = [row for path in paths if not path.endswith(".csv") for row in r.rows_in(path) if row.get("numerics") == "none"]
    lines = lines_of(rows) + [line for path in paths if path.endswith(".csv") for line in recorded(path)]
    if not any(line["pass_seconds"] for line in lines):
        raise r.Refused(f"{', '.join(paths)}: no case without values ended ok, so there is nothing to compare")
    return lines


def time_text(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def soonest_of_each(lines):
    """The line of each parallelism with the shortest pass, the shortest first."""
    best: dict[str, dict] = {}
    for line in sorted((line for line in lines if line["pass_seconds"]), key=lambda line: line["pass_seconds"]):
        best.setdefault(line["parallelism"], line)
    return list(best.values())


def place_text(lines):
    """The first of the lines of one place, its time of a pass, and how much longer the next takes."""
    fit = soonest_of_each(lines)
    if not fit:
        return "nothing fits" if any(line["status"] == "no memory" for line in lines) else ""
    ahead = f", {fit[1]['pass_seconds'] / fit[0]['pass_seconds']:.2g} x" if len(fit) > 1 else ""
    return f"{fit[0]['parallelism']} {time_text(fit[0]['pass_seconds'])}{ahead}"


def at(lines, **wanted):
    return [line for line in lines if all(line[key] == value for key, value in wanted.items())]


def table(head, body):
    return "\n".join(["| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head)] + body]) + "\n"


def places(lines):
    """Graphs and clusters of lines, all clusters of a graph after each other."""
    found = {(line["graph"], line["cluster"]) for line in lines}
    return [(graph, cluster) for graph in r.in_order(line["graph"] for line in lines)
            for cluster in r.in_order(line["cluster"] for line in lines) if (graph, cluster) in found]


def first_table(lines):
    """By graph and cluster, the parallelism that is first at each number of GPUs."""
    counts = sorted({line["GPUs"] for line in lines})
    body = [[graph, cluster] + [place_text(at(lines, graph=graph, cluster=cluster, GPUs=count)) for count in counts]
            for graph, cluster in places(lines)]
    return table(["graph", "cluster"] + [f"{count} GPU{'s' if count > 1 else ''}" for count in counts], body)


def kind_text(lines):
    """The fewest GPUs on which one parallelism fits, its shortest pass, why it is no shorter, and the cheapest, on one
    cluster."""
    fit = [line for line in lines if line["pass_seconds"]]
    if not fit:
        return "does not fit" if any(line["status"] == "no memory" for line in lines) else ""
    soonest, cheapest = (min(fit, key=lambda line: line[key]) for key in ("pass_seconds", "dollars_a_pass"))
    return (f"from {min(line['GPUs'] for line in fit)}; {time_text(soonest['pass_seconds'])} on {soonest['GPUs']}, "
            f"{100 * soonest['phase_share']:.0f} % {soonest['largest_phase']}, {soonest['bytes_a_pass'] / 1e9:.2g} GB, "
            f"{soonest['updates_a_pass']:.3g} updates; {cheapest['dollars_a_pass']:.2g} $ on {cheapest['GPUs']}")


def kinds_table(lines):
    body = [[graph, cluster] + [kind_text(at(lines, graph=graph, cluster=cluster, parallelism=kind)) for kind in KINDS]
            for graph, cluster in places(lines)]
    return table(["graph", "cluster"] + list(KINDS), body)


def report(lines):
    return ("# Parallelisms at full size, predicted\n\nFirst: the shortest pass over all training samples, and how many times as "
            "long the next takes. Full batches make one update in a pass, the others more, so a pass is work and not "
            f"progress.\n\n{first_table(lines)}\nBy parallelism: the fewest GPUs that fit; the shortest pass, its "
            f"largest phase, the bytes that all ranks send and its updates; the cheapest pass. Whole nodes are paid.\n\n{kinds_table(lines)}")


def shortest_by_count(lines):
    """[(GPUs, seconds of the shortest pass)] in order. A parallelism may have several ways to run on as many GPUs."""
    best: dict[int, float] = {}
    for line in lines:
        if line["pass_seconds"]:
            best[line["GPUs"]] = min(line["pass_seconds"], best.get(line["GPUs"], line["pass_seconds"]))
    return sorted(best.items())


def draw(lines, plt):
    """Seconds of a pass over GPUs, a panel for each graph: the fastest network solid, a slower one of the same GPU dashed."""
    clusters = r.in_order(line["cluster"] for line in lines)
    slow = [name for name in clusters if "Gb/s" in name]
    shown = [slow[0].partition(",")[0], slow[0]] if slow else clusters[-1:]
    graphs = r.in_order(line["graph"] for line in lines)
    figure, axes = looks.panels(plt.subplots, len(graphs), columns=3, size=(3.1, 2.5))
    styles = p.styles_of([(kind, "") for kind in KINDS])
    for place, graph in zip(axes, graphs):
        for kind in KINDS:
            colour, mark = styles[kind, ""]
            for cluster, dash in zip(shown, ("-", "--")):
                points = shortest_by_count(at(lines, graph=graph, parallelism=kind, cluster=cluster))
                if points:
                    place.plot(*zip(*points), dash, color=colour, marker=looks.MARKERS[mark], markersize=4, linewidth=1.3,
                               label=kind if dash == "-" else None)
        place.set_xscale("log", base=2)
        place.set_yscale("log")
        counts = sorted({line["GPUs"] for line in lines})
        place.set_xlim(counts[0] / 1.3, counts[-1] * 1.3)
        place.set_xticks(counts, [str(count) for count in counts])
        place.minorticks_off()
        place.set_xlabel("GPUs")
        place.set_ylabel("a pass [s]")
        looks.readable_log(place.yaxis)
        looks.title(place, graph)
    labels = {label: handle for place in axes for handle, label in zip(*place.get_legend_handles_labels())}
    looks.headline(figure, f"solid: {shown[0]}" + (f"; dashed: {shown[1]}" if len(shown) > 1 else ""))
    looks.legend_below(figure, [labels[kind] for kind in KINDS if kind in labels], [kind for kind in KINDS if kind in labels])
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directory, its summary.json, or a full_size.csv")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the report, the table and the figure (default: here)")
    parser.add_argument("--graphs", metavar="NAME", nargs="+", default=[], help="draw these graphs alone (default: all)")
    parser.add_argument("--name", default="full_size", help="name of the figure (default: full_size)")
    parser.add_argument("--show", action="store_true", help="print the report")
    options = parser.parse_args()
    lines = []

    def read():
        lines.extend(read_lines(options.runs))
        absent = [name for name in options.graphs if not at(lines, graph=name)]
        if absent:
            raise r.Refused(f"--graphs: {absent[0]} is not there; these are: {', '.join(r.in_order(line['graph'] for line in lines))}")
        return [line for line in lines if not options.graphs or line["graph"] in options.graphs]

    status = looks.write_figure(options.name, options.out, read, draw)
    if status == 0:
        text = report(lines)
        path = os.path.join(options.out, "full_size.md")
        r.write_whole(path, text.encode())
        print(path)
        status = r.write_table(os.path.join(options.out, "full_size.csv"), [HEAD] + [["" if line[key] is None else
                               f"{line[key]:.6g}" if isinstance(line[key], float) else line[key] for key in HEAD] for line in lines])
        if options.show:
            print(text)
    return status


if __name__ == "__main__":
    sys.exit(r.ending(main))
