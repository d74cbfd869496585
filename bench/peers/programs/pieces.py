"""Times of the installed PyTorch for single pieces of a program, for the group `measured` of a software profile.

Each is (value, unit, how it was found). No term of a prediction charges them; they show which piece a wrong one lacks.
"""

import bisect
import importlib.util
import os
import time
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from software_profile import between_two
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.nn.models.tgn import LastNeighborLoader
from torch_geometric.utils import scatter

VERTICES, EDGES, WIDTH, NEIGHBOURS, CALLS = 50_000, 400_000, 32, 10, 500
Piece = tuple[float, str, str]


def operations(timer: Any) -> dict[str, Piece]:
    """Large operations, and the gradient of small ones."""
    first, second, result = (torch.rand(2**24) for _ in range(3))
    square = torch.rand(2048, 2048)
    small = torch.rand(10, requires_grad=True)

    def chain() -> torch.Tensor:
        y = small
        for _ in range(1000):
            y = y + 1.0
        return y

    forward = timer.seconds(chain)
    both = timer.seconds(lambda: chain().sum().backward())
    return {
        "large_operation": (timer.seconds(lambda: torch.add(first, second, out=result)) / (3 * first.nbytes), "s/byte",
                            f"addition of two vectors of {first.numel()} elements, bytes read and written"),
        "dense_product": (timer.seconds(lambda: square @ square) / (2 * 2048.0**3), "s/FLOP",
                          "product of two square matrices of 2048 rows"),
        "small_gradient": (max(0.0, both - forward) / 1000, "s/operation",
                           f"backward of 1000 additions to 10 elements: {both:.4f} s with forward, {forward:.4f} without"),
    }


def formats(timer: Any) -> dict[str, Piece]:
    """One product of a snapshot with its features in each form that programs use, without gradients."""
    generator = torch.Generator().manual_seed(1)
    edges = torch.randint(0, VERTICES, (2, EDGES), generator=generator)
    rows = torch.rand(VERTICES, WIDTH, generator=generator)
    loose = torch.sparse_coo_tensor(edges.flip(0), torch.ones(EDGES), (VERTICES, VERTICES))
    merged = loose.coalesce()
    compressed = merged.to_sparse_csr()
    programs = {
        "csr_product": lambda: compressed @ rows,
        "coo_product": lambda: torch.sparse.mm(merged, rows),
        "coo_product_not_coalesced": lambda: torch.sparse.mm(loose, rows),
        "edge_list_product": lambda: scatter(rows[edges[0]], edges[1], 0, VERTICES),
    }
    said = f"{EDGES} entries, {VERTICES} rows of width {WIDTH}, without gradients"
    with torch.no_grad():
        return {name: (timer.seconds(program) / EDGES, "s/entry", said) for name, program in programs.items()}


def snapshot_move(timer: Any) -> dict[str, Piece]:
    """A snapshot from arrays of a file to tensors that a convolution reads."""
    ends = np.random.default_rng(1).integers(0, VERTICES, (EDGES, 2))

    def move() -> None:
        gcn_norm(torch.from_numpy(ends.T.copy()), None, VERTICES)

    return {"snapshot_move": (timer.seconds(move) / EDGES, "s/entry",
                              f"array of {EDGES} edges to a tensor of edges with normalised weights, in host memory")}


def sampling(timer: Any) -> dict[str, Piece]:
    """The most recent neighbours of a batch's vertices, in Python and by tensor operations."""
    random = np.random.default_rng(1)
    ends, others = (torch.from_numpy(random.integers(0, 5000, 60_000)) for _ in range(2))
    roots = torch.from_numpy(random.choice(5000, 600, replace=False))
    history: list[list[tuple[int, int]]] = [[] for _ in range(5000)]
    for t, (u, v) in enumerate(zip(ends.tolist(), others.tolist(), strict=True)):
        history[u].append((t, v))
        history[v].append((t, u))
    loader = LastNeighborLoader(5000, NEIGHBOURS)
    for begin in range(0, 60_000, 200):
        loader.insert(ends[begin : begin + 200], others[begin : begin + 200])

    def in_python() -> list[list[tuple[int, int]]]:
        found = []
        for root in roots.tolist():
            end = bisect.bisect_left(history[root], (60_000, 0))
            found.append(history[root][max(0, end - NEIGHBOURS) : end])
        return found

    drawn = sum(len(one) for one in in_python())
    installed = "pyg_lib is installed" if importlib.util.find_spec("pyg_lib") else "pyg_lib is not installed"
    said = f"{NEIGHBOURS} most recent neighbours of 600 of 5000 vertices after 60000 events"
    return {
        "python_sampling": (timer.seconds(in_python) / drawn, "s/neighbour", f"{said}: bisection in Python lists"),
        "native_sampling": (timer.seconds(lambda: loader(roots)) / drawn, "s/neighbour",
                            f"{said}: LastNeighborLoader, whose tensor operations run in C++; {installed}"),
    }


def _call(rank: int, port: int, results: Any) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    typical = []
    for count in (16, 2**22):
        tensor, other = torch.zeros(count), torch.zeros(count)
        half = [0, count] if rank == 0 else [count, 0]
        calls = {"exchange": lambda: dist.all_to_all_single(other, tensor, half, half),
                 "sum": lambda: dist.all_reduce(tensor)}
        for call in calls.values():
            times = []
            for _ in range(CALLS if count == 16 else 20):
                begin = time.perf_counter()
                call()
                times.append(time.perf_counter() - begin)
            typical.append(sorted(times)[len(times) // 2])
    if rank == 0:
        results.put(typical)
    dist.destroy_process_group()


def collectives() -> dict[str, tuple[float, str]]:
    """Exchanges and sums between two processes of this machine, one after the other, as programs call them."""
    exchange, added, large_exchange, large_sum = between_two(_call)
    said = "gloo between two processes of one machine, median call of many in a row"
    return {
        "exchange_seconds": (exchange, f"all_to_all_single of 64 bytes to the other, {said}"),
        "exchange_seconds_per_byte": (max(0.0, large_exchange - exchange) / 2**24, f"the same of 16 MiB, {said}"),
        "sum_seconds": (added, f"all_reduce of 64 bytes, {said}"),
        "sum_seconds_per_byte": (max(0.0, large_sum - added) / 2**24, f"the same of 16 MiB, {said}"),
    }


def all_pieces(timer: Any) -> dict[str, Piece]:
    return {**operations(timer), **formats(timer), **snapshot_move(timer), **sampling(timer)}
