#!/usr/bin/env python3
"""Training with stale halos (DGC, SIGMOD'23, section 5.2), without ranks and messages: one dense product whose columns
of other owners are copies. Vertices belong to even ranges. A cell that a vertex of another owner reads is compared with
its copy, and D is the largest of these distances. A cell whose distance is above theta is sent to all of its readers;
the first epoch sends all. Readers of other cells see the copy, a constant. With stale_gradient=always the gradient
passes through the copy as if it were the value.
usage: stale.py            writes tests/golden/CASE.safetensors for every case of stale_cases.json
       stale.py --check    computes them again and compares with the committed files (relative 1e-12)"""

import math

import torch

import cd_gcn
import common
import tm_gcn
from generate import write_or_check

WIDE = 8  # bytes of a value and a distance


def gap_bytes(rows):
    """Bytes of the distances between the true entries of a list, 7 bits a byte."""
    total = gap = 0
    for row in rows:
        if row:
            total += 1 + sum(gap >= 1 << 7 * more for more in (1, 2, 3))
        gap = 0 if row else gap + 1
    return total


def subset_bytes(rows):
    """Bytes that tell a reader which rows come: of up to 64 rows their bit set, of more 8 bytes and the shortest list."""
    bits = (len(rows) + 7) // 8
    if len(rows) <= 64:
        return bits
    if all(rows) or not any(rows):
        return 8
    return 8 + min(bits, gap_bytes(rows), gap_bytes([not row for row in rows]))


class Halo:
    """The halo of one layer: products of a [T, N, N] with x [T, N, F] read through it."""

    def __init__(self, a, ranks, options):
        vertices = a.shape[1]
        sizes = [vertices // ranks + (r < vertices % ranks) for r in range(ranks)]
        owner = torch.repeat_interleave(torch.arange(ranks), torch.tensor(sizes))
        other = owner[:, None] != owner[None, :]
        self.own, self.across = a * ~other, a * other
        # readers[t, u, q]: whether rank q reads u at t without owning it.
        entries = self.across != 0
        self.readers = torch.stack([entries[:, owner == q].any(1) for q in range(ranks)], dim=2)
        self.read = self.readers.any(2)
        # For each sender and reader the cells that go from one to the other, by time and then by vertex.
        self.pairs = {}
        for t, u, q in self.readers.nonzero().tolist():
            self.pairs.setdefault((int(owner[u]), q), []).append((t, u))
        self.overhead = 2 * (ranks - 1) * WIDE
        self.options, self.copies = options, None

    def share(self, losses):
        if self.options["stale"] == "static":
            return self.options["stale_theta"]
        fallen = (losses[0] - losses[-1]) / losses[0]
        return 1 / (1 + math.exp(fallen if self.options.get("stale_sign") == "printed" else -fallen))

    def product(self, x, losses):
        now = x.detach()
        if self.copies is None:
            sent = self.read.clone()
        else:
            distance = ((now - self.copies) ** 2).sum(2).sqrt()
            sent = self.read & (distance > self.share(losses) * distance[self.read].max())
        self.count(sent, x.shape[2])
        self.copies = now.clone() if self.copies is None else torch.where(sent[:, :, None], now, self.copies)
        if self.options.get("stale_gradient") == "always":
            seen = x + (self.copies - now)
        else:
            seen = torch.where(sent[:, :, None], x, self.copies)
        return self.own @ x + self.across @ seen

    def count(self, sent, width):
        """The epoch's bytes, in both directions, as a share of the bytes of an epoch that sends all."""
        slots, rows = int(self.readers.sum()), int(self.readers[sent].sum())
        exact = 2 * slots * width * WIDE
        back = slots if self.options.get("stale_gradient") == "always" else rows
        named = sum(subset_bytes([bool(sent[cell]) for cell in cells]) for cells in self.pairs.values())
        later = self.overhead + named + (rows + back) * width * WIDE
        self.sent_share = 1.0 if self.copies is None else later / exact


def tm_gcn_embed(adjacency, features, cells, weights, options, halo):
    o = {**tm_gcn.DEFAULTS, **options}
    a = common.laplacian(common.m_transform(adjacency, o["window"], cells), cells)
    first = torch.relu(a @ common.m_transform(features, o["window"], cells) @ weights["layer1.weight"])
    return halo(a, common.m_transform(first, o["window"], cells)) @ weights["layer2.weight"]


def cd_gcn_embed(adjacency, features, cells, weights, options, halo):
    a, x = common.laplacian(adjacency, cells), features
    starts = [cells.starts(t) for t in range(len(x))]
    for layer in (1, 2):
        w = {name: weights[f"layer{layer}.{name}"]
             for name in ("gcn.weight", "lstm.input_weight", "lstm.hidden_weight", "lstm.bias")}
        aggregated = a @ x if layer == 1 else halo(a, x)
        y = torch.relu(torch.cat([aggregated, aggregated @ w["gcn.weight"]], dim=2))
        x = common.lstm(y, w["lstm.input_weight"], w["lstm.hidden_weight"], w["lstm.bias"], starts)
    return x


MODELS = {"tm-gcn": (tm_gcn, tm_gcn_embed), "cd-gcn": (cd_gcn, cd_gcn_embed)}


def compute(case):
    graph = common.Graph()
    cells = common.Cells(graph.runs, "all")
    task = common.LinkPrediction(cells)
    module, embed = MODELS[case["model"]["name"]]
    options = {key: value for key, value in case["model"].items() if key != "name"}
    shapes, width = module.shapes(graph.features.shape[2], options)
    weights = common.draw_weights({**shapes, **task.shapes(width)}, case["seed"])
    tensors = {f"weight.{name}": value.detach().clone() for name, value in weights.items()}
    adjacency, features = graph.first(task.steps)
    cells = cells.first(task.steps)
    halos, losses, shares = [], [], []
    optimizer = torch.optim.SGD(weights.values(), lr=case["rate"])

    def through(a, x):
        if not halos:
            halos.append(Halo(a, case["ranks"], case["stale"]))
        return halos[0].product(x, losses)

    for _ in range(case["epochs"]):
        optimizer.zero_grad()
        loss = task.loss(embed(adjacency, features, cells, weights, options, through), weights)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        shares.append(halos[0].sent_share)
    tensors["loss"] = torch.tensor(losses).reshape(-1, 1)
    tensors["sent_share"] = torch.tensor(shares).reshape(-1, 1)
    return {**tensors, **{f"after.{name}": value.detach().clone() for name, value in weights.items()}}


if __name__ == "__main__":
    write_or_check(__doc__, "stale_cases.json", compute)
