"""Trains TGN of PyTorch Geometric on events, as the library's example does: LastNeighborLoader, TGNMemory, TransformerConv.

    python3 events.py --model tgn --workload ucsocial
    python3 events.py --model tgn --workload ucsocial --way batches --ranks 2

Batches of 200 events in order of time, one random negative for each event, one update a batch. With several processes each
trains a run of the events with a memory of its own, and DistributedDataParallel averages gradients.
"""

import argparse
from typing import Any

import torch
from shared import events_of, measure, start
from torch_geometric.nn import TransformerConv
from torch_geometric.nn.models.tgn import IdentityMessage, LastAggregator, LastNeighborLoader, TGNMemory

BATCH, NEIGHBOURS, MESSAGE = 200, 10, 1  # a message has one feature, because the memory cannot do without any


class Events:
    """The training events: the first 70 % by time, vertices numbered from 0."""

    def __init__(self, workload: str):
        rows = torch.from_numpy(events_of(workload))
        names, ends = rows[:, :2].long().unique(return_inverse=True)
        self.vertices, count = len(names), int(0.7 * len(rows))
        self.source, self.target = ends[:count, 0].contiguous(), ends[:count, 1].contiguous()
        self.time = (rows[:count, 2] - rows[0, 2]).long()
        self.message = torch.ones(count, MESSAGE)
        self.first, self.last = int(self.target.min()), int(self.target.max())  # negatives lie between them

    def __len__(self) -> int:
        return len(self.source)


class Tgn(torch.nn.Module):
    """The loss of a batch. Memory and neighbours take the batch in afterwards, so no event predicts itself."""

    def __init__(self, events: Events, width: int):
        super().__init__()
        self.events = events
        self.memory = TGNMemory(events.vertices, MESSAGE, width, width, IdentityMessage(MESSAGE, width, width),
                                LastAggregator())
        self.convolution = TransformerConv(width, width // 2, heads=2, dropout=0.1, edge_dim=MESSAGE + width)
        self.source, self.target = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.final = torch.nn.Linear(width, 1)
        self.neighbours = LastNeighborLoader(events.vertices, NEIGHBOURS)
        self.place = torch.empty(events.vertices, dtype=torch.long)

    def restart(self) -> None:
        """Forgets all events. The next ones are numbered from 0."""
        self.memory.reset_state()
        self.neighbours.reset_state()

    def embed(self, vertices: torch.Tensor, first: int) -> torch.Tensor:
        """Embeddings of distinct vertices and of their neighbours; `place` says in which row. Events begin at `first`."""
        vertices, edges, numbers = self.neighbours(vertices)
        self.place[vertices] = torch.arange(len(vertices))
        memory, updated = self.memory(vertices)
        when, message = self.events.time[first + numbers], self.events.message[first + numbers]
        code = self.memory.time_enc((updated[edges[0]] - when).to(memory.dtype))
        return self.convolution(memory, edges, torch.cat([code, message], -1))  # type: ignore[no-any-return]

    def scores(self, rows: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        both = self.source(rows[self.place[source]]) + self.target(rows[self.place[target]])
        return self.final(both.relu())  # type: ignore[no-any-return]

    def forward(self, batch: slice, first: int) -> torch.Tensor:
        events = self.events
        source, target = events.source[batch], events.target[batch]
        others = torch.randint(events.first, events.last + 1, target.shape)
        rows = self.embed(torch.cat([source, target, others]).unique(), first)
        right, wrong = self.scores(rows, source, target), self.scores(rows, source, others)
        criterion = torch.nn.functional.binary_cross_entropy_with_logits
        loss = criterion(right, torch.ones_like(right)) + criterion(wrong, torch.zeros_like(wrong))
        self.memory.update_state(source, target, events.time[batch], events.message[batch])
        self.neighbours.insert(source, target)
        return loss


def train(rank: int, ranks: int, arguments: Any) -> None:
    events = Events(arguments.workload)
    model = Tgn(events, arguments.width)
    program: torch.nn.Module = model
    if ranks > 1:  # each process keeps its own memory
        program = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
    optimizer = torch.optim.Adam(program.parameters(), lr=0.0001)
    each = len(events) // ranks  # as many for all, because they average every update
    first = each * rank
    batches = [slice(begin, min(begin + BATCH, first + each)) for begin in range(first, first + each, BATCH)]

    def epoch() -> float:
        program.train()
        model.restart()
        total = 0.0
        for batch in batches:
            optimizer.zero_grad()
            loss = program(batch, first)
            loss.backward()
            optimizer.step()
            model.memory.detach()
            total += float(loss.detach())
        return total / len(batches)

    measure(epoch, rank, events=each * ranks, updates=len(batches))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["tgn"], default="tgn")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--window", type=float, default=0, help="0: events have times of their own")
    parser.add_argument("--way", choices=["batches"], default="batches")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--width", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    start(train, parser.parse_args())
