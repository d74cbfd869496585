"""Trains a model of snapshots for link prediction: alone, data parallel over steps, or with divided vertices.

    python3 snapshots.py --model t-gcn --workload chess --window 2678400
    python3 snapshots.py --model evolve-gcn-o --workload uniform:vertices=2000,steps=17,density=4 --way vertex --ranks 2

- alone: one process, one backward pass and one update an epoch.
- ddp: each process trains a run of the steps, from a state of zero; DistributedDataParallel averages gradients.
- vertex: each process has a range of vertices; rows are exchanged for each snapshot, gradients are summed.
"""

import argparse
from typing import Any

import torch
import torch.distributed as dist
from cells import make
from parts import Part, Rows
from shared import Graph, measure, start


class Program(torch.nn.Module):
    """The loss over some steps; `parts` has each step's share of the vertices, and `ends` the rows that its pairs read.

    Both are None where a process has all vertices.
    """

    def __init__(self, graph: Graph, name: str, width: int, parted: bool):
        super().__init__()
        self.graph = graph
        self.model, embedded = make(name, graph.vertices, graph.steps, width, parted)
        self.head = torch.nn.Linear(2 * embedded, 2)

    def forward(self, steps: range, parts: list[Part] | None = None, ends: list[Rows] | None = None) -> torch.Tensor:
        graph, losses = self.graph, []
        samples = sum(len(labels) for labels in graph.labels)
        for t, rows in zip(steps, self.model(graph, steps, parts), strict=True):
            pairs, labels = graph.pairs[t], graph.labels[t]
            if ends is not None:  # the process that has a pair's second end scores it
                rows, pairs, labels = ends[t].extend(rows), ends[t].edge_index, labels[ends[t].mine]
            scores = self.head(torch.cat([rows[pairs[0]], rows[pairs[1]]], 1))
            losses.append(torch.nn.functional.cross_entropy(scores, labels, reduction="sum"))
        return torch.stack(losses).sum() / samples


def train(rank: int, ranks: int, arguments: Any) -> None:
    graph = Graph(arguments.workload, arguments.window, arguments.seed)
    program: torch.nn.Module = Program(graph, arguments.model, arguments.width, arguments.way == "vertex")
    steps, parts, ends = range(graph.steps), None, None
    if arguments.way == "vertex":
        parts = [Part(graph.edges[t], graph.vertices, rank, ranks) for t in steps]
        ends = [Rows(graph.pairs[t], graph.vertices, rank, ranks) for t in steps]
    optimizer = torch.optim.Adam(program.parameters(), lr=0.001)
    if arguments.way == "ddp":
        steps = range(graph.steps * rank // ranks, graph.steps * (rank + 1) // ranks)
        program = torch.nn.parallel.DistributedDataParallel(program)

    def epoch() -> float:
        optimizer.zero_grad()
        loss = program(steps, parts, ends)
        loss.backward()
        if parts is not None:
            for parameter in program.parameters():
                if parameter.grad is not None:
                    dist.all_reduce(parameter.grad)
        optimizer.step()
        total = loss.detach()
        if ranks > 1:
            dist.all_reduce(total)
        return float(total)

    measure(epoch, rank, edges=graph.trained_edges, updates=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--window", type=float, default=0, help="seconds of a step; 0: the workload has steps")
    parser.add_argument("--way", choices=["alone", "ddp", "vertex"], default="alone")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    start(train, parser.parse_args())
