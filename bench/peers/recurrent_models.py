"""TM-GCN, CD-GCN, T-GCN, MPNN-LSTM and DCRNN in PyTorch, in the fastest form that we found, on the graphs of
bench/models.cpp.

All snapshots are one block-diagonal CSR, multiplied by the faster of two products (products.py), with the transpose stored; the LSTM is nn.LSTM batched over all vertices; the GRU (reset before the product, which nn.GRU does not
have) takes the input halves of all steps and gates in one product and loops over the steps. DCRNN takes the hops of the
features once before training and those of the state with each step's own matrix. The rest is autograd. An
epoch is the forward pass, and the backward pass from a given gradient of the embeddings.

A Product made for a device puts its model there. Random numbers are drawn on the CPU and moved, so that a form has the
same weights and features on every device.
"""

import numpy as np
import scipy.sparse
import torch

from products import product_of

SHAPES = {
    "narrow": {"vertices": 16384, "steps": 64, "density": 3, "width": 6},
    "wide": {"vertices": 4096, "steps": 32, "density": 8, "width": 64},
}
WINDOW, FEATURES = 5, 2


def make_matrix(vertices, steps, density, seed=1):
    """Per step the union of the last w random snapshots with the diagonal, rows scaled to 1; block-diagonal."""
    rng = np.random.default_rng(seed)
    snapshots = [rng.integers(0, vertices, size=(2, density * vertices)) for _ in range(steps)]
    blocks = []
    for t in range(steps):
        pairs = np.concatenate(snapshots[max(0, t - WINDOW + 1) : t + 1], axis=1)
        rows = np.concatenate([pairs[0], np.arange(vertices)])
        columns = np.concatenate([pairs[1], np.arange(vertices)])
        keys = np.unique(rows.astype(np.int64) * vertices + columns)
        block = scipy.sparse.csr_matrix(
            (np.ones(len(keys), np.float32), (keys // vertices, keys % vertices)), shape=(vertices, vertices)
        )
        block.data /= np.repeat(np.diff(block.indptr), np.diff(block.indptr)).astype(np.float32)
        blocks.append(block)
    return scipy.sparse.block_diag(blocks, format="csr")


class Product:
    """A x as an autograd function, with the transpose stored; on the CPU, or on the device that is named."""

    def __init__(self, matrix, threads, device=None):
        self.matrix, self.threads, self.device = matrix, threads, device
        forward, backward = (product_of(m, threads, device) for m in (matrix, matrix.T.tocsr()))

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return forward.multiply(x)

            @staticmethod
            def backward(ctx, dy):
                return backward.multiply(dy)

        self.apply = Function.apply


class Peer:
    """The common part of the models: shapes, the product, the features (taken as A x where a model precomputes it)."""

    def __init__(self, shape, product):
        torch.manual_seed(3)
        self.steps, self.vertices, self.width = shape["steps"], shape["vertices"], shape["width"]
        self.product, self.device = product, torch.device(product.device or "cpu")
        rows = self.steps * self.vertices
        self.x = (torch.rand(rows, FEATURES) - 0.3).to(self.device)
        self.leaves, self.modules = [], []

    def weight(self, *size):
        w = ((torch.rand(*size) - 0.5) * 0.4).to(self.device).requires_grad_()
        self.leaves.append(w)
        return w

    def lstm(self, inputs, width):
        module = torch.nn.LSTM(inputs, width).to(self.device)
        self.modules.append(module)
        return lambda x: module(x.view(self.steps, self.vertices, -1))[0].reshape(-1, width)

    def prepare(self, columns):
        self.dy = (torch.rand(self.steps * self.vertices, columns) - 0.5).to(self.device)

    def epoch(self):
        for leaf in self.leaves:
            leaf.grad = None
        for module in self.modules:
            module.zero_grad(set_to_none=True)
        self.forward().backward(self.dy)

    def gradients(self):
        """The gradients of every parameter after the last epoch."""
        return [leaf.grad for leaf in self.leaves] + [p.grad for module in self.modules for p in module.parameters()]


class CdGcn(Peer):
    def __init__(self, shape, product):
        super().__init__(shape, product)
        h = self.width
        self.w1, self.w2 = self.weight(FEATURES, h), self.weight(h, h)
        self.lstm1, self.lstm2 = self.lstm(FEATURES + h, h), self.lstm(2 * h, h)
        self.prepare(h)

    def forward(self):
        y = torch.relu(torch.cat([self.x, self.x @ self.w1], 1))
        a = self.product.apply(self.lstm1(y))
        return self.lstm2(torch.relu(torch.cat([a, a @ self.w2], 1)))


class TGcn(Peer):
    def __init__(self, shape, product):
        super().__init__(shape, product)
        h = self.width
        self.w1, self.b1 = self.weight(FEATURES, 3 * h), self.weight(3 * h)
        self.w2, self.b2 = [self.weight(h, h) for _ in range(3)], self.weight(3 * h)
        self.v, self.b = [self.weight(h, h) for _ in range(3)], self.weight(3 * h)
        self.u_gates, self.u_new = self.weight(h, 2 * h), self.weight(h, h)
        self.prepare(h)

    def forward(self):
        h = self.width
        y = torch.relu(torch.addmm(self.b1, self.x, self.w1))
        c = self.product.apply(y)
        # No activation lies between the two matrices of a gate, so their product is taken first.
        both = [self.w2[g] @ self.v[g] for g in range(3)]
        bias = torch.cat([self.b2[g * h : (g + 1) * h] @ self.v[g] for g in range(3)]) + self.b
        inputs = torch.cat([c[:, g * h : (g + 1) * h] @ both[g] for g in range(3)], 1) + bias
        state = torch.zeros(self.vertices, h, device=self.device)
        states = []
        for step in inputs.view(self.steps, self.vertices, 3 * h).unbind(0):
            r, z = torch.sigmoid(torch.addmm(step[:, : 2 * h], state, self.u_gates)).chunk(2, 1)
            fresh = torch.tanh(torch.addmm(step[:, 2 * h :], r * state, self.u_new))
            state = fresh + z * (state - fresh)
            states.append(state)
        return torch.cat(states)


class MpnnLstm(Peer):
    def __init__(self, shape, product):
        super().__init__(shape, product)
        h = self.width
        self.w1, self.b1, self.w2, self.b2 = self.weight(FEATURES, h), self.weight(h), self.weight(h, h), self.weight(h)
        self.norms = [(self.weight(h), self.weight(h)) for _ in range(2)]
        self.ax = product.apply(self.x)  # once, before training
        self.lstm1, self.lstm2 = self.lstm(2 * h, h), self.lstm(h, h)
        self.prepare(2 * h + FEATURES)

    def normalise(self, y, norm):
        cells = y.view(self.steps, self.vertices, -1)
        variance, mean = torch.var_mean(cells, 1, unbiased=False, keepdim=True)
        return ((cells - mean) * torch.rsqrt(variance + 1e-5) * norm[0] + norm[1]).view(y.shape)

    def forward(self):
        x1 = self.normalise(torch.relu(torch.addmm(self.b1, self.ax, self.w1)), self.norms[0])
        x2 = self.normalise(torch.relu(torch.addmm(self.b2, self.product.apply(x1), self.w2)), self.norms[1])
        h1 = self.lstm1(torch.cat([x1, x2], 1))
        return torch.cat([h1, self.lstm2(h1), self.x], 1)


class TmGcn(Peer):
    def __init__(self, shape, product):
        super().__init__(shape, product)
        h = self.width
        self.w1, self.w2 = self.weight(FEATURES, h), self.weight(h, h)
        terms = torch.arange(1, self.steps + 1).clamp(max=WINDOW)
        self.shares = (1.0 / terms).view(-1, 1, 1).to(self.device)
        self.prepare(h)

    def forward(self):
        h = torch.relu(self.x @ self.w1).view(self.steps, self.vertices, -1)
        sums = torch.nn.functional.pad(h, (0, 0, 0, 0, WINDOW - 1, 0))
        smoothed = sum(sums[d : d + self.steps] for d in range(WINDOW)) * self.shares
        return torch.relu(self.product.apply(smoothed.view(-1, self.width)) @ self.w2)


class Dcrnn(Peer):
    HOPS = 2

    def __init__(self, shape, product):
        super().__init__(shape, product)
        h, n, a = self.width, self.vertices, product.matrix
        terms = 1 + 2 * self.HOPS
        self.of_x, self.bias = self.weight(terms * FEATURES, 3 * h), self.weight(3 * h)
        self.gates_of_h, self.new_of_h = self.weight(terms * h, 2 * h), self.weight(terms * h, h)
        both = [product, Product(a.T.tocsr(), product.threads, product.device)]
        self.terms_of_x = self.diffuse(both, self.x)  # once, before training
        blocks = [a[t * n : (t + 1) * n, t * n : (t + 1) * n].tocsr() for t in range(self.steps)]
        self.walks = [[Product(m, product.threads, product.device) for m in (b, b.T.tocsr())] for b in blocks]
        self.prepare(h)

    def diffuse(self, walks, z):
        terms = [z]
        for walk in walks:
            last = z
            for _ in range(self.HOPS):
                last = walk.apply(last)
                terms.append(last)
        return torch.cat(terms, 1)

    def forward(self):
        h = self.width
        inputs = torch.addmm(self.bias, self.terms_of_x, self.of_x).view(self.steps, self.vertices, -1)
        state, states = torch.zeros(self.vertices, h, device=self.device), []
        for walks, step in zip(self.walks, inputs.unbind(0)):
            r, u = torch.sigmoid(torch.addmm(step[:, : 2 * h], self.diffuse(walks, state), self.gates_of_h)).chunk(2, 1)
            fresh = torch.tanh(torch.addmm(step[:, 2 * h :], self.diffuse(walks, r * state), self.new_of_h))
            state = fresh + u * (state - fresh)
            states.append(state)
        return torch.cat(states)


MODELS = {"tm-gcn": TmGcn, "cd-gcn": CdGcn, "t-gcn": TGcn, "mpnn-lstm": MpnnLstm, "dcrnn": Dcrnn}
