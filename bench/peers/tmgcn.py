"""The two-layer TM-GCN epoch of bench/epoch.cpp in PyTorch, in two forms, on the same synthetic graph.

idiomatic: what one writes first - autograd, a torch CSR product per snapshot, torch.nn-style dense products.
fastest:   the fastest form that a skilled user finds - all snapshots as one block-diagonal CSR, the faster of two CSR
           products (products.py), the transpose stored, dense products by torch.mm (OpenBLAS or MKL), the M-transform as
           shifted additions, gradients written by hand.

Both compute: h1 = relu(x w1); m = M(h1); y = relu((A m) w2); and for a given dy the gradients of w1 and w2.
"""

import time

import numpy as np
import scipy.sparse
import torch

import fast_settings
import products
from products import SparseProduct

STEPS, VERTICES, DENSITY, WINDOW, INPUTS, HIDDEN = 64, 16384, 3, 5, 2, 6


def make_graph(seed=1):
    """Block-diagonal CSR [T N, T N]: per step the union of the last w random snapshots, with the diagonal."""
    rng = np.random.default_rng(seed)
    snapshots = [rng.integers(0, VERTICES, size=(2, DENSITY * VERTICES)) for _ in range(STEPS)]
    blocks = []
    for t in range(STEPS):
        pairs = np.concatenate(snapshots[max(0, t - WINDOW + 1) : t + 1], axis=1)
        diagonal = np.arange(VERTICES)
        rows, columns = np.concatenate([pairs[0], diagonal]), np.concatenate([pairs[1], diagonal])
        keys = np.unique(rows.astype(np.int64) * VERTICES + columns)
        block = scipy.sparse.csr_matrix(
            (np.ones(len(keys), np.float32), (keys // VERTICES, keys % VERTICES)), shape=(VERTICES, VERTICES)
        )
        block.data /= np.repeat(np.diff(block.indptr), np.diff(block.indptr)).astype(np.float32)
        blocks.append(block)
    return blocks


def make_inputs(seed=2):
    torch.manual_seed(seed)
    rows = STEPS * VERTICES
    return {
        "x": torch.rand(rows, INPUTS),
        "dy": torch.rand(rows, HIDDEN) - 0.5,
        "w1": torch.rand(INPUTS, HIDDEN) - 0.3,
        "w2": torch.rand(HIDDEN, HIDDEN) - 0.3,
    }


def window_weights():
    return torch.tensor([1.0 / min(WINDOW, t + 1) for t in range(STEPS)]).view(STEPS, 1, 1)


class Idiomatic:
    """Autograd and one torch sparse CSR product per step."""

    def __init__(self, blocks, inputs):
        self.blocks = [
            torch.sparse_csr_tensor(
                torch.from_numpy(b.indptr.astype(np.int64)),
                torch.from_numpy(b.indices.astype(np.int64)),
                torch.from_numpy(b.data),
                size=b.shape,
            )
            for b in blocks
        ]
        self.turned = [self._csr(b.T.tocsr()) for b in blocks]
        self.inputs = inputs
        self.w1 = inputs["w1"].clone().requires_grad_()
        self.w2 = inputs["w2"].clone().requires_grad_()
        self.m = torch.zeros(STEPS, STEPS)
        for t in range(STEPS):
            self.m[t, max(0, t - WINDOW + 1) : t + 1] = 1.0 / min(WINDOW, t + 1)

    @staticmethod
    def _csr(b):
        return torch.sparse_csr_tensor(
            torch.from_numpy(b.indptr.astype(np.int64)),
            torch.from_numpy(b.indices.astype(np.int64)),
            torch.from_numpy(b.data),
            size=b.shape,
        )

    def epoch(self):
        form = self

        class Product(torch.autograd.Function):
            """CSR product per step; its gradient is the product with the stored transpose."""

            @staticmethod
            def forward(ctx, h):
                return torch.stack([a @ h[t] for t, a in enumerate(form.blocks)])

            @staticmethod
            def backward(ctx, dy):
                return torch.stack([a @ dy[t].contiguous() for t, a in enumerate(form.turned)])

        self.w1.grad = self.w2.grad = None
        h1 = torch.relu(self.inputs["x"] @ self.w1)
        smoothed = (self.m @ h1.view(STEPS, -1)).view(STEPS, VERTICES, HIDDEN)
        y = torch.relu(Product.apply(smoothed).view(-1, HIDDEN) @ self.w2)
        y.backward(self.inputs["dy"])
        return self.w1.grad, self.w2.grad


class Fastest:
    """One block-diagonal matrix, gradients by hand."""

    def __init__(self, blocks, inputs, threads):
        a = scipy.sparse.block_diag(blocks, format="csr")
        self.forward, self.backward = SparseProduct(a, threads), SparseProduct(a.T.tocsr(), threads)
        self.inputs = inputs
        self.weights = window_weights()

    def _window_sum(self, h, reverse):
        """Sums over the window by shifted additions; `reverse` gives the transpose."""
        out = h.clone()
        for shift in range(1, WINDOW):
            if reverse:
                out[:-shift] += h[shift:]
            else:
                out[shift:] += h[:-shift]
        return out

    def epoch(self):
        shape = (STEPS, VERTICES, HIDDEN)
        with torch.no_grad():
            x, w1, w2, dy = (self.inputs[k] for k in ("x", "w1", "w2", "dy"))
            h1 = torch.mm(x, w1).relu_()
            smoothed = self._window_sum(h1.view(shape), False).mul_(self.weights).view(-1, HIDDEN)
            sums = self.forward.multiply(smoothed)
            y = torch.mm(sums, w2).relu_()
            dz = dy * (y > 0)
            dw2 = torch.mm(sums.t(), dz)
            dsmoothed = self.backward.multiply(torch.mm(dz, w2.t()))
            dh1 = self._window_sum(dsmoothed.view(shape) * self.weights, True).view(-1, HIDDEN)
            dw1 = torch.mm(x.t(), dh1 * (h1 > 0))
        return dw1, dw2


def timed(form):
    begin = time.perf_counter()
    form.epoch()
    return time.perf_counter() - begin


def versions():
    blas = [line.strip() for line in torch.__config__.show().splitlines() if "BLAS" in line or "MKL" in line]
    return {"torch": torch.__version__, "scipy": scipy.__version__, "numpy": np.__version__,
            "blas": "; ".join(blas)[:200], "torch_threads": torch.get_num_threads(), "products": products.chosen(), **fast_settings.described()}
