"""The one-pass partitioners as their papers print them, over dictionaries. Reads the file named first: {"graphs": [...]}.

A graph is {"vertices": n, "steps": [[[row, column], ...], ...], "parts": k, "rule": "ldg" or "fennel"}. Prints the part
of every vertex, a list for each graph.
"""
import json
import math
import sys


def merged(graph):
    """Weights of neighbours by vertex, work by vertex, and the number of entries off the diagonal."""
    n, entries = graph["vertices"], 0
    near = [{} for _ in range(n)]
    work = [len(graph["steps"])] * n
    for step in graph["steps"]:
        for v, u in step:
            work[v] += 1
            if u == v:
                continue
            entries += 1
            near[v][u] = near[v].get(u, 0) + 1
            near[u][v] = near[u].get(v, 0) + 1
    return near, work, entries


def parts_of(graph):
    near, work, entries = merged(graph)
    k, total = graph["parts"], sum(work)
    limit = int(1.03 * total / k)
    alpha = math.sqrt(k) * entries / (total * math.sqrt(total))
    members = [[] for _ in range(k)]
    owner = {}
    for v in range(graph["vertices"]):
        inside = [sum(w for u, w in near[v].items() if owner.get(u) == p) for p in range(k)]
        loads = [sum(work[u] for u in own) for own in members]
        able = [p for p in range(k) if loads[p] + work[v] <= limit]
        if graph["rule"] == "ldg":
            score = [inside[p] * (1 - loads[p] / limit) if limit else 0 for p in range(k)]
        else:
            score = [inside[p] / work[v] - 1.5 * alpha * math.sqrt(loads[p]) for p in range(k)]
        if able:
            owner[v] = min(able, key=lambda p: (-score[p], loads[p], p))
        else:
            owner[v] = min(range(k), key=lambda p: (loads[p], p))
        members[owner[v]].append(v)
    return [owner[v] for v in range(graph["vertices"])]


json.dump([parts_of(graph) for graph in json.load(open(sys.argv[1]))["graphs"]], sys.stdout)
