"""Epochs of EvolveGCN-O, EvolveGCN-H and DySAT as bench/models.cpp runs them (forward, and backward from a given gradient
of the embeddings), in PyTorch, in the fastest form known to us on a CPU:

- all snapshots as one block-diagonal CSR; its products the faster of two ways (products.py), the transpose stored for the
  backward pass; a product is one autograd function;
- dense layers of all steps as one batched product torch.bmm [T, N, F] x [T, F, G];
- the weights' recurrence as a Python loop over T steps on small matrices, input and state products in one;
- graph attention over the stored entries: logits by gathers, softmax by exp and sums per row, aggregation as a CSR product
  per head whose values are the attention weights, gradient written by hand;
- temporal attention as one torch.baddbmm over [N * heads, T, d] with a causal mask, softmax and torch.bmm.

A Graph made for a device puts its model there; random numbers are drawn on the CPU and moved, so that a form has the
same weights and features on every device.
"""

import functools

import numpy as np
import scipy.sparse
import torch

from entries import make_entries
from products import product_of

SHAPES = {"narrow": (64, 16384, 3, 6), "wide": (32, 4096, 8, 64)}  # T, N, density, width
WINDOW, INPUTS, HEADS = 5, 2, 2
MODELS = ("evolve-gcn-o", "evolve-gcn-h", "dysat")


class Graph:
    """Per step the union of the last w random snapshots with the diagonal, block-diagonal; and its transpose."""

    def __init__(self, steps, vertices, density, threads, seed=1, device=None):
        rng = np.random.default_rng(seed)
        snapshots = [rng.integers(0, vertices, size=(2, density * vertices)) for _ in range(steps)]
        blocks = []
        for t in range(steps):
            pairs = np.concatenate(snapshots[max(0, t - WINDOW + 1) : t + 1], axis=1)
            diagonal = np.arange(vertices)
            keys = np.unique(np.concatenate([pairs[0], diagonal]).astype(np.int64) * vertices + np.concatenate([pairs[1], diagonal]))
            block = scipy.sparse.csr_matrix((np.ones(len(keys), np.float32), (keys // vertices, keys % vertices)), shape=(vertices,) * 2)
            block.data /= np.repeat(np.diff(block.indptr), np.diff(block.indptr)).astype(np.float32)
            blocks.append(block)
        self.steps, self.vertices = steps, vertices
        self.a = scipy.sparse.block_diag(blocks, format="csr")
        # Where each entry of the transpose lies in the matrix.
        numbered = scipy.sparse.csr_matrix((np.arange(self.a.nnz, dtype=np.int64), self.a.indices, self.a.indptr), shape=self.a.shape)
        turned = numbered.T.tocsr()
        self.order = turned.data.copy()
        self.turned = scipy.sparse.csr_matrix((self.a.data[self.order], turned.indices, turned.indptr), shape=self.a.shape)
        self.device, self.wanted_device = torch.device(device or "cpu"), device
        self.products = {id(m): product_of(m, threads, device) for m in (self.a, self.turned)}

    @functools.cached_property
    def entries(self):
        """The arrays that attention needs, which take as much memory as the products."""
        return make_entries(self.a, self.turned, self.order, self.wanted_device)

    def product(self, matrix, x, values=None):
        """matrix x for x [rows, F]; `values` replace the matrix's own."""
        return self.products[id(matrix)].multiply(x, values)


def spmm(graph, x):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, h):
            return graph.product(graph.a, h)

        @staticmethod
        def backward(ctx, dy):
            return graph.product(graph.turned, dy)

    return Product.apply(x)


class Evolve:
    """EvolveGCN-O (LSTM) or -H (GRU on the best vertices); A x of the first layer is computed once."""

    def __init__(self, graph, width, with_summary):
        torch.manual_seed(2)
        self.graph, self.with_summary = graph, with_summary
        rows = graph.steps * graph.vertices
        self.x, self.dy = (torch.rand(rows, INPUTS) - 0.3).to(graph.device), (torch.rand(rows, width) - 0.5).to(graph.device)
        self.ax = graph.product(graph.a, self.x) if with_summary else self.x
        gates = 3 if with_summary else 4
        self.layers = []
        for inputs, outputs in ((INPUTS, width), (width, width)):
            shapes = {"start": (inputs, outputs), "wx": (gates * inputs, inputs), "wh": (gates * inputs, inputs),
                      "bias": (gates * inputs, outputs), "score": (inputs, 1)}
            drawn = {k: (torch.rand(s) - 0.5) * 2 * (6 / sum(s)) ** 0.5 for k, s in shapes.items()}
            self.layers.append({k: value.to(graph.device).requires_grad_() for k, value in drawn.items()})

    def evolve(self, layer, summary):
        h, f = layer["start"], layer["start"].shape[0]
        weights, c = [], torch.zeros_like(h)
        for t in range(self.graph.steps):
            if not self.with_summary:
                i, forget, g, o = torch.addmm(layer["bias"], self.merged, h).split(f)
                c = torch.sigmoid(forget) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            else:
                from_x = torch.addmm(layer["bias"], layer["wx"], summary[t])
                z, r = torch.sigmoid(torch.addmm(from_x[: 2 * f], layer["wh"][: 2 * f], h)).split(f)
                q = torch.tanh(torch.addmm(from_x[2 * f :], layer["wh"][2 * f :], r * h))
                h = h + z * (q - h)
            weights.append(h)
        return torch.stack(weights)

    def summarise(self, layer, x, k):
        p = layer["score"]
        score = (x @ (p / p.norm())).view(self.graph.steps, self.graph.vertices)
        best, at = score.topk(k, dim=1)
        flat = (at + torch.arange(self.graph.steps, device=x.device).unsqueeze(1) * self.graph.vertices).view(-1)
        rows = x.index_select(0, flat).view(self.graph.steps, k, -1) * torch.tanh(best).unsqueeze(2)
        return rows.transpose(1, 2)

    def epoch(self):
        for layer in self.layers:
            for value in layer.values():
                value.grad = None
        h = self.x
        for number, layer in enumerate(self.layers):
            self.merged = None if self.with_summary else layer["wx"] + layer["wh"]
            summary = self.summarise(layer, h, layer["start"].shape[1]) if self.with_summary else None
            weights = self.evolve(layer, summary)
            sums = self.ax if number == 0 else spmm(self.graph, h)
            h = torch.relu(torch.bmm(sums.view(self.graph.steps, self.graph.vertices, -1), weights)).view(-1, weights.shape[2])
        h.backward(self.dy)
        return self.gradients()

    def gradients(self):
        """The gradients after the last epoch, of every parameter that has one."""
        return [value.grad for layer in self.layers for value in layer.values() if value.grad is not None]


def graph_attention(graph, entries, f, left, right):
    """ELU is outside. f [rows, H, D]; left, right [H, D]."""

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx, f, left, right):
            l, r = (f * left).sum(2), (f * right).sum(2)
            logits = l.index_select(0, entries.rows).add_(r.index_select(0, entries.columns))
            slope = torch.where(logits > 0, *entries.slopes)
            p = torch.exp_(logits.mul_(slope))
            p /= entries.spread(entries.sums(p))
            heads = [graph.product(graph.a, f[:, h], entries.values(p[:, h])) for h in range(f.shape[1])]
            z = torch.stack(heads, 1)
            ctx.save_for_backward(f, left, right, p, slope, z)
            return z

        @staticmethod
        def backward(ctx, dz):
            f, left, right, p, slope, z = ctx.saved_tensors
            dp = entries.dots(dz, f)
            mean = (dz * z).sum(2)
            dlogits = (dp - entries.spread(mean)).mul_(p).mul_(slope)
            dl, dr = entries.sums(dlogits), entries.turned_sums(dlogits)
            weights = entries.turn(p)
            df = torch.stack([graph.product(graph.turned, dz[:, h], entries.values(weights[:, h])) for h in range(f.shape[1])], 1)
            df += dl.unsqueeze(2) * left + dr.unsqueeze(2) * right
            return df, (dl.unsqueeze(2) * f).sum(0), (dr.unsqueeze(2) * f).sum(0)

    return Attention.apply(f, left, right)


class Dysat:
    def __init__(self, graph, width):
        torch.manual_seed(2)
        self.graph, self.width, self.entries = graph, width, graph.entries
        rows = graph.steps * graph.vertices
        self.x, self.dy = (torch.rand(rows, INPUTS) - 0.3).to(graph.device), (torch.rand(rows, width) - 0.5).to(graph.device)
        shapes = {"w": (INPUTS, width), "left": (HEADS, width // HEADS), "right": (HEADS, width // HEADS), "positions": (graph.steps, 1, width),
                  "qkv": (width, 3 * width), "dense": (width, width), "bias": (width,)}
        self.parameters = {k: (torch.rand(s) - 0.5).to(graph.device).requires_grad_() for k, s in shapes.items()}
        self.mask = torch.full((graph.steps, graph.steps), float("-inf")).triu(1).to(graph.device)

    def epoch(self):
        w, steps, n, depth = self.parameters, self.graph.steps, self.graph.vertices, self.width // HEADS
        for value in w.values():
            value.grad = None
        f = (self.x @ w["w"]).view(-1, HEADS, depth)
        h = torch.nn.functional.elu(graph_attention(self.graph, self.entries, f, w["left"], w["right"])).view(steps, n, self.width)
        qkv = ((h + w["positions"]).view(-1, self.width) @ w["qkv"]).view(steps, n, 3, HEADS, depth)
        q, k, v = qkv.permute(2, 1, 3, 0, 4).reshape(3, n * HEADS, steps, depth)
        scores = torch.baddbmm(self.mask, q, k.transpose(1, 2), alpha=depth**-0.5)
        o = torch.bmm(torch.softmax(scores, 2), v).view(n, HEADS, steps, depth).permute(2, 0, 1, 3).reshape(-1, self.width)
        y = torch.relu(torch.addmm(w["bias"], o, w["dense"])) + o
        y.backward(self.dy)
        return self.gradients()

    def gradients(self):
        """The gradients of every parameter after the last epoch."""
        return [value.grad for value in self.parameters.values()]


def make(model, shape, threads, device=None):
    steps, vertices, density, width = SHAPES[shape]
    return on_graph(model, Graph(steps, vertices, density, threads, device=device), width)


def on_graph(model, graph, width):
    return Dysat(graph, width) if model == "dysat" else Evolve(graph, width, model == "evolve-gcn-h")
