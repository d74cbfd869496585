"""The operations of graph attention in PyTorch on the stored entries of a sparse matrix, without its products.

Values of entries are tensors [nnz, heads] in the order of the matrix's rows. Every row and every column has an entry.
"""

import numpy as np
import torch

from products import FasterOf, csr_on


def make_entries(a, turned, order, device=None):
    """`order` says where each entry of the transpose lies in `a`. Without a device: on the CPU, sums by NumPy."""
    return Entries(a, turned, order) if device is None else DeviceEntries(a, turned, order, device)


class Entries:
    """On the CPU."""

    def __init__(self, a, turned, order):
        counts = np.diff(a.indptr)
        self.counts, self.order = torch.from_numpy(counts), torch.from_numpy(order)
        self.rows = torch.from_numpy(np.repeat(np.arange(a.shape[0]), counts))
        self.columns = torch.from_numpy(a.indices.astype(np.int64))
        self.starts, self.turned_starts = a.indptr[:-1], turned.indptr[:-1]
        self.slopes = (1.0, 0.2)

    def sums(self, p):
        """[rows, heads]: the sum over each row's entries."""
        return torch.from_numpy(np.add.reduceat(p.numpy(), self.starts, axis=0))

    def turned_sums(self, p):
        """The sum over each column's entries."""
        return torch.from_numpy(np.add.reduceat(self.turn(p).numpy(), self.turned_starts, axis=0))

    def spread(self, of_rows):
        """Each row's value at each of its entries."""
        return of_rows.repeat_interleave(self.counts, 0)

    def turn(self, p):
        """The values in the transpose's order."""
        return p[self.order]

    def dots(self, left, right):
        """Per entry (i, j) and head the product of left[i] and right[j], both [rows, heads, depth]."""
        return (left.index_select(0, self.rows) * right.index_select(0, self.columns)).sum(2)

    def values(self, p):
        """One head's values as the CPU's products take them."""
        return p.contiguous().numpy()


class DeviceEntries:
    """On a device: nothing waits for it, so that an epoch can be captured as a graph."""

    def __init__(self, a, turned, order, device):
        nnz = len(order)

        def place(array):
            return torch.from_numpy(array.astype(np.int32)).to(device)

        def sums_over(indices, offsets):
            # A matrix of ones; row i holds the entries that are summed to i.
            ones = torch.ones(nnz, device=device)
            return torch.sparse_csr_tensor(offsets, indices, ones, size=(a.shape[0], nnz))

        self.rows = place(np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)))
        self.columns, self.order = place(a.indices), place(order)
        self.pattern = csr_on(a, device)
        starts, turned_starts = place(a.indptr), place(turned.indptr)
        by_row, by_column = sums_over(place(np.arange(nnz)), starts), sums_over(self.order, turned_starts)
        # Tensors, because a number would be moved to the device in every epoch by some versions of PyTorch.
        self.slopes = torch.tensor([1.0, 0.2]).to(device).unbind(0)
        self.sums = FasterOf(lambda p: self._segments(p, starts), lambda p: by_row @ p)
        self.turned_sums = FasterOf(lambda p: self._segments(self.turn(p), turned_starts), lambda p: by_column @ p)
        self.dots = FasterOf(self._dots_by_gathers, self._dots_by_samples)

    @staticmethod
    def _segments(p, offsets):
        return torch.segment_reduce(p, "sum", offsets=offsets, axis=0, unsafe=True)

    def _dots_by_gathers(self, left, right):
        return (left.index_select(0, self.rows) * right.index_select(0, self.columns)).sum(2)

    def _dots_by_samples(self, left, right):
        heads = range(left.shape[1])
        return torch.stack([torch.sparse.sampled_addmm(self.pattern, left[:, h], right[:, h].t(), beta=0).values()
                            for h in heads], 1)

    def spread(self, of_rows):
        return of_rows.index_select(0, self.rows)

    def turn(self, p):
        return p.index_select(0, self.order)

    def values(self, p):
        return p.contiguous()
