"""Measures the time of eager PyTorch for the parts of a dynamic-graph program, for profiles in backends/software.

    python3 bench/peers/software_profile.py --out software.json        on a processor
    python3 bench/peers/software_profile.py --device cuda              on a GPU

Prints one JSON object: the machine, PyTorch's version, and per number its value and how it was found. Counts of
operations and of bytes come from PyTorch's dispatcher and hold on every device; times are the least of several rounds on this machine.
"""

import argparse
import json
import multiprocessing
import os
import pickle
import platform
import time

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

ROWS, WIDTH, ENTRIES = 250_000, 6, 1_000_000
FREE = {"view", "_unsafe_view", "t", "transpose", "detach", "alias", "expand", "select", "slice", "unbind", "split", "chunk",
        "unsafe_split", "unsafe_chunk", "squeeze", "unsqueeze", "reshape", "permute", "as_strided", "_to_copy_view"}


class Counter(TorchDispatchMode):
    """Operations that launch something, and the bytes of their operands and results."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.bytes = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function.overloadpacket.__name__ not in FREE:
            self.calls += 1
            for item in (*args, *(result if isinstance(result, (tuple, list)) else (result,))):
                if isinstance(item, torch.Tensor) and not item.is_sparse:
                    self.bytes += item.numel() * item.element_size()
        return result


def counted(program):
    with Counter() as counter:
        program()
    return counter


class Timer:
    def __init__(self, device, rounds):
        self.device, self.rounds = device, rounds

    def synchronise(self):
        if self.device != "cpu":
            torch.cuda.synchronize()

    def seconds(self, program):
        times = []
        program()
        for _ in range(self.rounds):
            self.synchronise()
            begin = time.perf_counter()
            program()
            self.synchronise()
            times.append(time.perf_counter() - begin)
        return min(times)  # other programs on the machine only make it longer


def issue(timer):
    """Between small operations with gradients that follow each other: 10 elements each."""
    x = torch.rand(10, device=timer.device, requires_grad=True)

    def chain():
        y = x
        for _ in range(1000):
            y = y + 1.0

    return timer.seconds(chain) / 1000


def coordinate_matrix(device, coalesced):
    generator = torch.Generator().manual_seed(1)
    indices = torch.randint(0, ROWS, (2, ENTRIES), generator=generator)
    matrix = torch.sparse_coo_tensor(indices, torch.rand(ENTRIES, generator=generator), (ROWS, ROWS)).to(device)
    return matrix.coalesce() if coalesced else matrix


def sparse_products(timer):
    """Per entry: a product in COO that is not coalesced compared with a compressed one, forward and of the gradient."""
    x = torch.rand(ROWS, WIDTH, device=timer.device, requires_grad=True)
    loose, sorted_ = coordinate_matrix(timer.device, False), coordinate_matrix(timer.device, True)
    compressed = sorted_.to_sparse_csr()
    entries = sorted_._nnz()
    with torch.no_grad():
        plain = timer.seconds(lambda: compressed @ x)
        forward = timer.seconds(lambda: torch.sparse.mm(loose, x))
        already = timer.seconds(lambda: torch.sparse.mm(sorted_, x))
        coalesce = timer.seconds(lambda: loose.coalesce())
        # The gradient multiplies by the transpose, which PyTorch no longer takes to be coalesced.
        backward = timer.seconds(lambda: torch.sparse.mm(sorted_.t(), x))
    return {
        "coo_seconds_per_entry": (max(0.0, forward - plain) / ENTRIES,
                                  f"product of {ENTRIES} entries that are not coalesced {forward:.4f} s, compressed {plain:.4f}, coalesce alone {coalesce:.4f}"),
        "coo_backward_seconds_per_entry": (max(0.0, backward - plain) / entries,
                                           f"product with the transpose of a coalesced matrix, as its gradient needs, {backward:.4f} s, compressed {plain:.4f}"),
    }


def compulsory_bytes(kind, steps, rows, inputs, hidden, backward):
    """As Strobe's operations state them: inputs and results once, with no gates kept."""
    outputs = (2 if kind == "lstm" else 1) * rows * steps * hidden
    given = rows * steps * inputs
    return 4 * ((given + outputs + rows * steps * hidden + given) if backward else (given + outputs))


def cell_loop(kind, x, cell):
    h = x.new_zeros(x.shape[1], x.shape[2])
    c = x.new_zeros(x.shape[1], x.shape[2])
    for t in range(x.shape[0]):
        if kind == "lstm":
            h, c = cell(x[t], (h, c))
        else:
            h = cell(x[t], h)
    return h


def recurrences(timer, rows=ROWS, width=WIDTH):
    """An eager loop over cells: time and traffic per byte that must move."""
    steps, results = 4, {}
    for kind, make in (("lstm", torch.nn.LSTMCell), ("gru", torch.nn.GRUCell)):
        cell = make(width, width).to(timer.device)
        x = torch.rand(steps, rows, width, device=timer.device, requires_grad=True)
        forward = timer.seconds(lambda: cell_loop(kind, x, cell))
        both = timer.seconds(lambda: cell_loop(kind, x, cell).sum().backward())
        state = cell_loop(kind, x, cell)
        ahead = counted(lambda: cell_loop(kind, x, cell))
        behind = counted(lambda: state.sum().backward())
        for name, seconds, counter, back in (("", forward, ahead, False), ("_backward", both - forward, behind, True)):
            must = compulsory_bytes(kind, steps, rows, width, width, back)
            said = f"{kind} of width {width}, {rows} rows, {steps} steps: {seconds:.4f} s, {counter.calls / steps:.1f} operations a step"
            results[f"{kind}{name}_seconds_per_byte"] = (seconds / must, said)
            results[f"{kind}{name}_bytes_per_byte"] = (counter.bytes / must, f"operands and results of the dispatched operations over compulsory bytes ({kind} as above)")
            results[f"calls.{kind}_sequence{name}"] = (counter.calls / steps, said)
    return results


def calls():
    """Operations of the framework for one graph convolution, dense layer, M-transform, loss and optimiser step."""
    a = coordinate_matrix("cpu", True)
    x = torch.rand(ROWS, WIDTH, requires_grad=True)
    w = torch.rand(WIDTH, WIDTH, requires_grad=True)
    labels = torch.randint(0, 2, (ROWS,))
    history = [torch.rand(ROWS, WIDTH, requires_grad=True) for _ in range(3)]
    optimizer = torch.optim.Adam([w])
    layer = torch.nn.Linear(WIDTH, WIDTH)
    programs = {
        "spmm": (lambda: torch.sparse.mm(a, x), "spmm_transposed"),
        "graph_convolution": (lambda: torch.relu(torch.sparse.mm(a, x) @ w), "graph_convolution_backward"),
        "dense": (lambda: torch.relu(layer(x)), "dense_backward"),
        "m_transform": (lambda: sum(history) / len(history), None),
        "softmax_cross_entropy": (lambda: torch.nn.functional.cross_entropy(x, labels), None),
    }
    counts = {}
    for name, (program, backward) in programs.items():
        kept = []
        counts[name] = counted(lambda: kept.append(program())).calls
        if backward is not None:
            counts[backward] = counted(lambda: kept[0].sum().backward()).calls
    (x @ w).sum().backward()
    counts["adam_step"] = counted(optimizer.step).calls
    return counts


def host_rows():
    """Drawing without replacement and building an index of a batch's rows on the host, per row."""
    random = np.random.default_rng(1)

    def program():
        chosen = random.choice(ROWS, size=ROWS // 10, replace=False)
        kept = np.isin(indices[0], chosen)
        return np.unique(indices[:, kept], return_inverse=True)

    indices = random.integers(0, ROWS, size=(2, ENTRIES))
    seconds = Timer("cpu", 5).seconds(program)
    return seconds / ENTRIES, f"choice of {ROWS // 10} of {ROWS} rows and the index of their {ENTRIES} candidate entries: {seconds:.4f} s"


def echo(rank, port, results):
    """Two processes that send each other small tensors, all posted one by one and then waited for, over gloo."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    sent, count, times = torch.zeros(16), 64, []
    taken = [torch.zeros(16) for _ in range(count)]
    for _ in range(30):
        torch.distributed.barrier()
        begin = time.perf_counter()
        requests = []
        for tensor in taken:
            requests += [torch.distributed.isend(sent, 1 - rank), torch.distributed.irecv(tensor, 1 - rank)]
        for request in requests:
            request.wait()
        times.append((time.perf_counter() - begin) / count)
    if rank == 0:
        results.put(min(times))
    torch.distributed.destroy_process_group()


def between_two(target):
    """Returns what target(rank, port, results) puts into `results`, run by two processes of this machine."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    port = 20000 + os.getpid() % 20000
    others = [context.Process(target=target, args=(rank, port, results)) for rank in range(2)]
    for other in others:
        other.start()
    found = results.get(timeout=120)
    for other in others:
        other.join()
    return found


def messages():
    return between_two(echo), "isend, irecv and wait of 64 bytes in a Python loop over 64 messages, gloo between two processes of one machine"


def serialisation():
    small, large = np.zeros(16, np.float32), np.zeros(4_000_000, np.float32)
    timer = Timer("cpu", 9)

    def many():
        for _ in range(1000):
            pickle.loads(pickle.dumps(small))

    message = timer.seconds(many) / 1000 / 2
    byte = timer.seconds(lambda: pickle.loads(pickle.dumps(large))) / large.nbytes / 2
    return message, byte


def saved_tensors():
    """Bytes that autograd keeps of a two-layer convolution over those of its inputs and outputs."""
    a = coordinate_matrix("cpu", True)
    x = torch.rand(ROWS, WIDTH, requires_grad=True)
    weights = [torch.rand(WIDTH, WIDTH, requires_grad=True) for _ in range(2)]
    kept = {}

    def keep(tensor):
        if not tensor.is_sparse:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        h = x
        for w in weights:
            h = torch.relu(torch.sparse.mm(a, h) @ w)
    own = ROWS * WIDTH * 4 * 4  # per layer the aggregated rows and the result, which Strobe keeps as well
    return max(1.0, sum(kept.values()) / own), "bytes of distinct tensors that autograd saved for two convolutions, over those of aggregated rows and results"


def context_bytes(device):
    if device == "cpu":
        return None
    free, total = torch.cuda.mem_get_info()
    return total - free - torch.cuda.memory_reserved()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    timer = Timer(arguments.device, arguments.rounds)
    numbers = {"issue_seconds": (issue(timer), "1000 additions to 10 elements with gradients, in a row")}
    numbers.update(sparse_products(timer))
    numbers.update(recurrences(timer))
    numbers["row_seconds"] = host_rows()
    numbers["message_seconds"] = messages()
    message, byte = serialisation()
    numbers["serialise_seconds_per_message"] = (message, "pickle of 64 bytes, one way")
    numbers["serialise_seconds_per_byte"] = (byte, "pickle of 16 MB, one way")
    numbers["saved_tensors_factor"] = saved_tensors()
    if (context := context_bytes(arguments.device)) is not None:
        numbers["context_bytes"] = (context, "memory that is taken beside PyTorch's own pool")
    name = torch.cuda.get_device_name() if arguments.device != "cpu" else open("/proc/cpuinfo").read().split("model name\t: ")[1].split("\n")[0]
    report = {
        "machine": f"{name}, {os.cpu_count()} cores, {platform.system()}",
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "device": arguments.device,
        "load": os.getloadavg()[0],
        "numbers": {key: {"value": value, "how": how} for key, (value, how) in numbers.items()},
        "calls": calls(),
    }
    text = json.dumps(report, indent=1)
    print(text)
    if arguments.out:
        with open(arguments.out, "w") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
