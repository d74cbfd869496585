"""Sparse products for the PyTorch peers: y = A x for a CSR matrix A and a dense x [columns, F], fp32.

Two ways. The first product of each size and width tries both, and the faster one is kept:

- SciPy's compiled kernel with the rows split over threads (it releases the GIL inside it);
- PyTorch's own CSR product with 32-bit indices, where PyTorch is built with MKL (pip's packages are, Debian's is not).

On another device there is PyTorch's own product alone (DeviceProduct).
"""

import concurrent.futures
import time
import warnings

import numpy as np
import scipy.sparse
import torch

_pools = {}
_chosen = {}  # (power of two of the non-zeros, width, whether the values change) -> "scipy" or "torch"


def _pool(threads):
    if threads not in _pools:
        _pools[threads] = concurrent.futures.ThreadPoolExecutor(threads)
    return _pools[threads]


def csr_on(matrix, device):
    """A SciPy CSR matrix as a CSR tensor on `device`."""
    # 32-bit indices halve what a product reads of the matrix.
    parts = [torch.from_numpy(a.astype(np.int32)).to(device) for a in (matrix.indptr, matrix.indices)]
    return torch.sparse_csr_tensor(*parts, torch.from_numpy(matrix.data).to(device), size=matrix.shape)


def product_of(matrix, threads, device=None):
    """The product with `matrix`. Without a device: on the CPU, the faster of its two ways."""
    return SparseProduct(matrix, threads) if device is None else DeviceProduct(matrix, device)


def has_torch_product():
    return torch.backends.mkl.is_available()


def chosen():
    """The chosen ways, for the line of versions: {"2^24 x 6": "torch", ...}."""
    return {f"2^{size} x {width}{' new values' if new else ''}": way for (size, width, new), way in sorted(_chosen.items())}


class SparseProduct:
    """One matrix; `multiply(x)` gives A x as a new tensor, or in `out` [rows, F] where the way allows it."""

    def __init__(self, matrix, threads):
        self.matrix, self.threads = matrix, threads
        cuts = np.searchsorted(matrix.indptr, np.linspace(0, matrix.nnz, threads + 1))
        cuts[0], cuts[-1] = 0, matrix.shape[0]
        self.parts = []
        for begin, end in zip(cuts[:-1], cuts[1:]):
            first, last = matrix.indptr[begin], matrix.indptr[end]
            offsets = (matrix.indptr[begin : end + 1] - first).astype(np.int32)
            self.parts.append((int(begin), int(end), offsets, slice(int(first), int(last))))
        if has_torch_product():
            self.offsets = torch.from_numpy(matrix.indptr.astype(np.int32))
            self.columns = torch.from_numpy(matrix.indices.astype(np.int32))
            self.own = self._with_values(matrix.data)

    def _with_values(self, values):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CSR tensors are called a beta feature
            return torch.sparse_csr_tensor(self.offsets, self.columns, torch.from_numpy(values), size=self.matrix.shape,
                                           check_invariants=False)

    def _by_torch(self, x, values):
        return (self.own if values is None else self._with_values(values)) @ x

    def _by_scipy(self, x, values):
        out = torch.zeros(self.matrix.shape[0], x.shape[1])
        data = self.matrix.data if values is None else values
        source, target, width = x.numpy().ravel(), out.numpy(), x.shape[1]

        def one(part):
            begin, end, offsets, entries = part
            scipy.sparse._sparsetools.csr_matvecs(
                end - begin, self.matrix.shape[1], width, offsets, self.matrix.indices[entries], data[entries], source,
                target[begin:end].ravel())

        list(_pool(self.threads).map(one, self.parts))
        return out

    def multiply(self, x, values=None):
        """`values` [nnz] (NumPy, in the matrix's order) replace the matrix's own."""
        x = x.detach().contiguous()
        if not has_torch_product():
            return self._by_scipy(x, values)
        key = (int(self.matrix.nnz).bit_length(), x.shape[1], values is not None)
        if key not in _chosen:
            _chosen[key] = self._try(x, values)
        return self._by_torch(x, values) if _chosen[key] == "torch" else self._by_scipy(x, values)

    def _try(self, x, values):
        seconds = {}
        for name, way in (("scipy", self._by_scipy), ("torch", self._by_torch)):
            way(x, values)
            times = []
            for _ in range(3):
                begin = time.perf_counter()
                way(x, values)
                times.append(time.perf_counter() - begin)
            seconds[name] = min(times)
        return min(seconds, key=seconds.get)


class DeviceProduct:
    """One matrix on a device, multiplied by PyTorch's CSR product."""

    def __init__(self, matrix, device):
        self.own = csr_on(matrix, device)

    def multiply(self, x, values=None):
        """`values` [nnz] (a tensor on the device, in the matrix's order) replace the matrix's own."""
        a = self.own
        if values is not None:
            a = torch.sparse_csr_tensor(a.crow_indices(), a.col_indices(), values, size=a.shape)
        return a @ x.detach().contiguous()


class FasterOf:
    """Several functions of tensors with the same result: a call takes the fastest, found by trial at the first use of
    each size. One that this device or this PyTorch does not know is left out."""

    def __init__(self, *ways):
        self.ways, self.chosen = ways, {}

    def __call__(self, *tensors):
        key = tuple(tuple(t.shape) for t in tensors)
        if key not in self.chosen:
            # Where none works, the first is taken and says why.
            self.chosen[key] = min(self.ways, key=lambda way: self._seconds(way, tensors))
        return self.chosen[key](*tensors)

    @staticmethod
    def _seconds(way, tensors):
        wait = torch.cuda.synchronize if tensors[0].is_cuda else lambda: None
        times = []
        for _ in range(4):
            wait()
            begin = time.perf_counter()
            try:
                way(*tensors)
            except (RuntimeError, TypeError, AttributeError):
                return float("inf")
            wait()
            times.append(time.perf_counter() - begin)
        return min(times[1:])
