"""Vertices divided among processes: each has a range of them, and the rows that its edges read are sent before they are
read, snapshot by snapshot, by all_to_all of torch.distributed. The gradient goes the same way back."""

import torch
import torch.distributed as dist
from torch_geometric.nn.conv.gcn_conv import gcn_norm


class Exchange(torch.autograd.Function):
    """Rows [own, F] to rows [own + halo, F]."""

    @staticmethod
    def forward(ctx, rows, part):  # type: ignore[no-untyped-def]
        ctx.part, ctx.own = part, rows.shape[0]
        return torch.cat([rows, part.swap(rows[part.send], part.sent, part.taken)])

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        part = ctx.part
        back = part.swap(gradient[ctx.own :].contiguous(), part.taken, part.sent)
        return gradient[: ctx.own].index_add(0, part.send, back), None


class Rows:
    """The rows that edges into the vertices of this process read: its own, and then its halo.

    All processes read the whole edge list, so each knows what the others need.
    """

    def __init__(self, edges: torch.Tensor, vertices: int, rank: int, ranks: int):
        begins = torch.tensor([vertices * r // ranks for r in range(ranks + 1)])
        owner = torch.bucketize(torch.arange(vertices), begins, right=True) - 1
        first, last = int(begins[rank]), int(begins[rank + 1])
        needs = [edges[0][(owner[edges[1]] == r) & (owner[edges[0]] != r)].unique() for r in range(ranks)]
        self.mine = owner[edges[1]] == rank
        halo = needs[rank]
        place = torch.full((vertices,), -1)
        place[first:last] = torch.arange(last - first)
        place[halo] = last - first + torch.arange(len(halo))
        self.edge_index = torch.stack([place[edges[0][self.mine]], edges[1][self.mine] - first])
        sends = [need[owner[need] == rank] - first for need in needs]
        self.send, self.sent = torch.cat(sends), [len(rows) for rows in sends]
        self.taken = [int((owner[halo] == r).sum()) for r in range(ranks)]
        self.own, self.rows = slice(first, last), last - first

    @staticmethod
    def swap(rows: torch.Tensor, sent: list[int], taken: list[int]) -> torch.Tensor:
        result = rows.new_empty(sum(taken), rows.shape[1])
        dist.all_to_all_single(result, rows.contiguous(), taken, sent)
        return result

    def extend(self, rows: torch.Tensor) -> torch.Tensor:
        return Exchange.apply(rows, self)  # type: ignore[no-any-return, no-untyped-call]


class Part(Rows):
    """One snapshot's edges into the vertices of this process. Weights are those of the whole graph's normalisation."""

    def __init__(self, edge_index: torch.Tensor, vertices: int, rank: int, ranks: int):
        whole, weight = gcn_norm(edge_index, None, vertices)
        super().__init__(whole, vertices, rank, ranks)
        self.edge_weight = weight[self.mine]
