"""The code that all programs of this folder share: graphs, samples, processes, and how an epoch is measured and stated.

An epoch is one pass over all training steps or events, and as many updates as the program makes in it. Its time is the
wall time from one barrier of all processes to the next. Rank 0 states it (docs/howto/measure_programs.md).
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))
from strobe import binary  # noqa: E402


def converted(workload: str, ending: str) -> Path:
    """The workload as a file in a folder of its own. Raises CalledProcessError when Strobe refuses it."""
    program = os.environ.get("STROBE_PROGRAM", str(ROOT / "build" / "strobe"))
    target = Path(tempfile.mkdtemp(prefix="strobe-program-")) / f"graph.{ending}"
    subprocess.run([program, "convert", workload, str(target)], check=True, stdout=subprocess.DEVNULL)
    return target


def events_of(workload: str) -> np.ndarray:
    """Sources, targets and times [E, 3], in order of time."""
    path = converted(workload, "csv")
    rows = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1, 2), ndmin=2)
    shutil.rmtree(path.parent)
    return rows[np.argsort(rows[:, 2], kind="stable")]


def windows_of(workload: str, seconds: float) -> tuple[int, list[torch.Tensor]]:
    """Number of vertices, and per window of time its distinct edges [2, E] from source to target."""
    rows = events_of(workload)
    names, ends = np.unique(rows[:, :2].astype(np.int64), return_inverse=True)
    ends = ends.reshape(-1, 2)
    step = ((rows[:, 2] - rows[0, 2]) // seconds).astype(np.int64)
    return len(names), [torch.from_numpy(np.unique(ends[step == t], axis=0).T.copy()) for t in range(step[-1] + 1)]


def steps_of(workload: str) -> tuple[int, list[torch.Tensor]]:
    """The same of a workload that has steps of its own. The binary file holds rows of targets with their sources."""
    path = converted(workload, "strobe")
    description, sections = binary.read(path)
    vertices, edges, begin = description["vertices"], [], 0
    offsets = np.array(sections["row_offsets"]).reshape(-1, vertices + 1)
    for rows in offsets:
        degrees = np.diff(rows)
        sources = np.array(sections["columns"][begin : begin + degrees.sum()], dtype=np.int64)
        edges.append(torch.from_numpy(np.stack([sources, np.repeat(np.arange(vertices), degrees)])))
        begin += int(degrees.sum())
    shutil.rmtree(path.parent)
    return vertices, edges


class Graph:
    """Snapshots with degrees as features, and link-prediction samples: a tenth of a step's edges, as many non-edges."""

    def __init__(self, workload: str, window: float, seed: int, theta: float = 0.1):
        self.vertices, self.edges = windows_of(workload, window) if window else steps_of(workload)
        self.steps = len(self.edges) - 1  # the last step is the test's
        generator = torch.Generator().manual_seed(seed)
        self.features, self.pairs, self.labels = [], [], []
        for edge_index in self.edges[: self.steps]:
            degrees = [torch.bincount(end, minlength=self.vertices) for end in edge_index]
            self.features.append(torch.stack(degrees, 1).float())
            count = max(1, int(theta * edge_index.shape[1]))
            chosen = edge_index[:, torch.randperm(edge_index.shape[1], generator=generator)[:count]]
            others = torch.randint(0, self.vertices, (2, count), generator=generator)
            self.pairs.append(torch.cat([chosen, others], 1))
            self.labels.append(torch.cat([torch.ones(count), torch.zeros(count)]).long())

    @property
    def trained_edges(self) -> int:
        return sum(edge_index.shape[1] for edge_index in self.edges[: self.steps])


class FixedKernel:
    """The same work around the epochs of all programs: a product and a copy on all cores. Its time tells the machine's drift."""

    def __init__(self) -> None:
        self.square, self.target, self.source = torch.rand(768, 768), torch.zeros(2**24), torch.ones(2**24)

    def seconds(self) -> float:
        """The median of three."""
        threads, times = torch.get_num_threads(), []
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        for _ in range(3):
            begin = time.perf_counter()
            torch.mm(self.square, self.square)
            self.target.copy_(self.source)
            times.append(time.perf_counter() - begin)
        torch.set_num_threads(threads)
        return sorted(times)[1]


def measure(epoch: Callable[[], float], rank: int, **work: int) -> None:
    """Trains as many epochs as Strobe asks for, and states each one's time, loss and work.

    The metric `fixed_kernel_seconds` is the mean of that kernel's times before and after the epoch, when the other
    processes wait.
    """
    target = os.environ.get("STROBE_EPOCH_FILE")
    kernel = FixedKernel() if rank == 0 else None
    for _ in range(int(os.environ.get("STROBE_EPOCHS", "5"))):
        before = kernel.seconds() if kernel else 0.0
        if dist.is_initialized():
            dist.barrier()
        begin = time.perf_counter()
        loss = epoch()
        if dist.is_initialized():
            dist.barrier()
        seconds = time.perf_counter() - begin
        if kernel is None:
            continue
        metrics = {"fixed_kernel_seconds": (before + kernel.seconds()) / 2}
        line = json.dumps({"epoch_seconds": seconds, "loss": loss, "metrics": metrics, **work})
        if target:
            with open(target, "a", encoding="utf-8") as file:
                file.write(line + "\n")
        else:
            print(line, flush=True)


def _process(rank: int, ranks: int, store: str, train: Callable[..., None], arguments: Any) -> None:
    threads = int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0))))
    torch.set_num_threads(max(1, threads // ranks))
    torch.manual_seed(arguments.seed)
    if ranks > 1:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    train(rank, ranks, arguments)
    if ranks > 1:
        dist.destroy_process_group()


def start(train: Callable[..., None], arguments: Any) -> None:
    """Calls train(rank, ranks, arguments) in as many processes of this machine, over gloo; alone in this one."""
    if arguments.ranks == 1:
        _process(0, 1, "", train, arguments)
        return
    with tempfile.TemporaryDirectory(prefix="strobe-store-") as folder:
        given = (arguments.ranks, f"{folder}/store", train, arguments)
        torch.multiprocessing.spawn(_process, given, nprocs=arguments.ranks)  # type: ignore[no-untyped-call]
