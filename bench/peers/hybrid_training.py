#!/usr/bin/env python3
"""Updates of DynaHB's batches with Strobe and with PyTorch, interleaved (A B A B ...): DBoV, DBoS and hybrid batches of
T-GCN, and the ratios of their times.

    bench/peers/hybrid_training.py build/strobe [--vertices 20000] [--steps 40] [--density 3] [--rounds 5]
        [--updates 30] [--threads 1]

Both train on one file of events. An update draws its batch, makes it, and takes one step of Adam; both make batches
inline and keep none. Draws differ, sizes do not: the mean number of entries must agree within 5 %. Before anything is
timed both train on the whole graph from the same weights, and their losses must agree over six updates to 1 part in
1,000, or the script ends with status 1.

PyTorch's form: A~ X once before training; one block-diagonal matrix over all steps, from which a batch takes its rows at
once; columns marked in a vector of flags and re-encoded by one look-up; the product by SciPy's kernels or PyTorch's own,
whichever a trial on the batches finds faster; the input halves of all gates and steps in one product; Adam in its fused
form. The states are those of the targets alone, as in Strobe.

Ratios are medians over rounds. Exit status: 0 measured, 1 results differ, 2 wrong request, 5 PyTorch or SciPy is not
installed.
"""

import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import warnings

import fast_settings
import strobe_bench

fast_settings.apply()
try:
    import numpy as np
    import scipy.sparse
    import torch
except ImportError as error:
    print(f"Peers not measured: {error}. Install PyTorch and SciPy.", file=sys.stderr)
    sys.exit(5)

HIDDEN, RATE, CHECKED = 6, 0.01, 6
SHAPES = {
    "layer1.gcn.weight": (2, 3 * HIDDEN), "layer1.gcn.bias": (1, 3 * HIDDEN),
    "layer2.gcn.weight": (3 * HIDDEN, HIDDEN), "layer2.gcn.bias": (3, HIDDEN),
    "gru.input_weight": (3 * HIDDEN, HIDDEN), "gru.hidden_weight": (3 * HIDDEN, HIDDEN), "gru.bias": (3, HIDDEN),
    "head.weight": (HIDDEN, 1), "head.bias": (1, 1),
}  # fmt: skip
KINDS = {"dbov": (0.05, 1.0), "dbos": (1.0, 0.2), "hybrid": (0.05, 0.2)}


def write_events(arguments, path):
    """`density` times as many random events a step as vertices, as a file and as arrays. Each pair comes once a step."""
    n, rng, parts = arguments.vertices, np.random.default_rng(11), []
    for t in range(arguments.steps):
        keys = np.unique(rng.integers(0, n * n, size=arguments.density * n))
        if t == 0:  # so that every vertex is there, under its own number
            keys = np.unique(np.concatenate([keys, np.arange(n) * n + (np.arange(n) + 1) % n]))
        parts.append(np.stack([np.full(len(keys), t), keys // n, keys % n]))
    events = np.concatenate(parts, 1)
    np.savetxt(path, events[[1, 2, 0]].T, fmt="%d", delimiter=",", header="source,target,step", comments="")
    return events


class Graph:
    """The steps of the events, as the model and the task read them."""

    def __init__(self, events, arguments):
        (step, source, target), n, steps = events, arguments.vertices, arguments.steps
        a = scipy.sparse.csr_matrix((np.ones(len(step)), (step * n + target, step * n + source)), shape=(steps * n,) * 2)
        degrees = np.stack([np.asarray(a.sum(1)).ravel(), np.asarray(a.sum(0)).ravel()], 1)
        scale = scipy.sparse.diags(1 / np.sqrt(1 + degrees[:, 0]))
        self.matrix = (scale @ (a + scipy.sparse.identity(steps * n)) @ scale).tocsr().astype(np.float32)
        self.matrix.sort_indices()
        self.vertices, self.steps = n, steps
        self.x = (self.matrix @ degrees).astype(np.float32)  # A~ X
        behind = np.concatenate([np.diff(a.indptr)[n:], np.zeros(n)])
        self.wanted = torch.from_numpy(np.log1p(behind).astype(np.float32))
        self.active = torch.from_numpy(degrees.sum(1) > 0)
        self.features = torch.from_numpy(self.x)


class Multiplied(torch.autograd.Function):
    """A batch's matrix times x by SciPy's kernels; the transpose is the same arrays read by columns."""

    @staticmethod
    def forward(ctx, x, matrix):
        ctx.matrix = matrix
        return torch.from_numpy(matrix @ x.detach().numpy())

    @staticmethod
    def backward(ctx, dy):
        return torch.from_numpy(ctx.matrix.T @ dy.numpy()), None


def by_torch(x, matrix):
    parts = [torch.from_numpy(part) for part in (matrix.indptr, matrix.indices, matrix.data)]
    return torch.sparse_csr_tensor(*parts, size=matrix.shape) @ x


class Peer:
    """T-GCN with a head for vertex regression."""

    def __init__(self, graph, weights, product=Multiplied.apply):
        self.graph, self.product = graph, product
        self.weights = {name: torch.from_numpy(value.copy()).requires_grad_() for name, value in weights.items()}
        self.adam = torch.optim.Adam(list(self.weights.values()), lr=RATE, betas=(0.9, 0.999), eps=1e-8, fused=True)
        self.flags = np.zeros(graph.vertices * graph.steps, dtype=bool)
        self.place = np.zeros(graph.vertices * graph.steps, dtype=np.int32)
        self.entries = 0

    def batch(self, targets, first, count):
        """Rows of the targets at the window's steps, the matrix over what they read, and that."""
        n = self.graph.vertices
        rows = (np.arange(first, first + count)[:, None] * n + targets).ravel()
        taken = self.graph.matrix[rows]
        begin, end = first * n, (first + count) * n
        self.flags[taken.indices] = True
        cells = np.flatnonzero(self.flags[begin:end]) + begin
        self.flags[begin:end] = False
        self.place[cells] = np.arange(len(cells), dtype=np.int32)
        columns = self.place[taken.indices]
        matrix = scipy.sparse.csr_matrix((taken.data, columns, taken.indptr), shape=(len(rows), len(cells)))
        self.entries += matrix.nnz
        rows = torch.from_numpy(rows)
        return rows, matrix, self.graph.features[torch.from_numpy(cells)]

    def loss(self, targets, first, count):
        w, h = self.weights, HIDDEN
        rows, matrix, x = self.batch(targets, first, count)
        c = self.product(torch.relu(torch.addmm(w["layer1.gcn.bias"], x, w["layer1.gcn.weight"])), matrix)
        # No activation lies between the two matrices of a gate, so their product is taken first.
        second, inputs = w["layer2.gcn.weight"].view(3, h, h), w["gru.input_weight"].view(3, h, h)
        both = torch.block_diag(*torch.bmm(second, inputs).unbind(0))
        bias = (torch.bmm(w["layer2.gcn.bias"].unsqueeze(1), inputs).squeeze(1) + w["gru.bias"]).view(-1)
        gates = torch.addmm(bias, c, both).view(count, len(targets), 3 * h)
        hidden = w["gru.hidden_weight"].view(3, h, h)
        of_gates, of_new = torch.cat([hidden[0], hidden[1]], 1), hidden[2]
        state, states = torch.zeros(len(targets), h), []
        for step in gates.unbind(0):
            r, z = torch.sigmoid(torch.addmm(step[:, : 2 * h], state, of_gates)).chunk(2, 1)
            fresh = torch.tanh(torch.addmm(step[:, 2 * h :], r * state, of_new))
            state = torch.lerp(fresh, state, z)
            states.append(state)
        outputs = torch.addmm(w["head.bias"], torch.cat(states), w["head.weight"]).squeeze(1)
        chosen = self.graph.active[rows]
        return torch.nn.functional.mse_loss(outputs[chosen], self.graph.wanted[rows][chosen])

    def update(self, targets, first, count):
        self.adam.zero_grad(set_to_none=True)
        loss = self.loss(targets, first, count)
        loss.backward()
        self.adam.step()
        return loss.detach()


def write_weights(weights, path):
    header, at = {}, 0
    for name, value in weights.items():
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [at, at + value.nbytes]}
        at += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for value in weights.values()))


def found(tree, key):
    """The first value of that key anywhere in a tree of JSON."""
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    if isinstance(tree, dict) and key in tree:
        return tree[key]
    return next((value for value in (found(child, key) for child in children) if value is not None), None)


def strobe(arguments, path, strategy, *more):
    command = [arguments.binary, "run", "--workload", path, "--model", f"t-gcn:hidden={HIDDEN}", "--task",
               "vertex-regression", "--optimizer", f"adam:rate={RATE}", "--threads", str(arguments.threads), "--ranks",
               "1", "--strategy", strategy, "--json", *more]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        out = [] if "--dry-run" in more else ["--out", os.path.join(folder, "run")]
        done = subprocess.run(command + out, capture_output=True, text=True, env=fast_settings.environment_without())
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def strategy_of(kind):
    vertices, steps = KINDS[kind]
    return (f"hybrid_batch:vertices={vertices:.0%},snapshots={steps:.0%},generator=inline,reservoir=false,"
            "evaluate_every=1000000")  # fmt: skip


def same_losses(arguments, path, graph, weights, trained):
    """Whether both have the same losses when they train on everything."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        write_weights(weights, file.name)
        row = strobe(arguments, path, "hybrid_batch:vertices=100%,snapshots=100%,generator=inline,reservoir=false",
                     "--epochs", str(CHECKED), "--warmup", "0", "--load-model", file.name)  # fmt: skip
    peer = Peer(graph, weights)
    ours = [peer.update(np.arange(graph.vertices), 0, trained).item() for _ in range(CHECKED)]
    theirs = found(row, "loss")
    print("losses on everything, PyTorch and Strobe:", *(f"{a:.6f} {b:.6f}," for a, b in zip(ours, theirs)))
    return all(abs(a / b - 1) < 1e-3 for a, b in zip(ours, theirs))


def timed(peer, kind, trained, updates, rng):
    """Median seconds of an update, after a few that warm up; mean entries of a batch."""
    vertices, steps = KINDS[kind]
    size, count = round(vertices * peer.graph.vertices), round(steps * trained)
    seconds = []
    for i in range(updates + 3):
        begin = time.perf_counter()
        every = size == peer.graph.vertices
        targets = np.arange(size) if every else np.sort(rng.choice(peer.graph.vertices, size, replace=False))
        peer.update(targets, int(rng.integers(0, trained - count + 1)), count)
        if i >= 3:
            seconds.append(time.perf_counter() - begin)
        else:
            peer.entries = 0
    return statistics.median(seconds), peer.entries / updates


def compare(arguments, path, graph, weights, trained, kind):
    """One line of the table, and whether batches were as large."""
    rng = np.random.default_rng(5)
    products = {"scipy": Multiplied.apply, "torch": by_torch}
    trial = {name: timed(Peer(graph, weights, way), kind, trained, 5, rng)[0] for name, way in products.items()}
    way = min(trial, key=trial.get)
    typical = found(strobe(arguments, path, strategy_of(kind), "--dry-run"), "typical_batch")
    own, other, entries = [], [], []
    for _ in range(arguments.rounds):
        row = strobe(arguments, path, strategy_of(kind), "--epochs", str(arguments.updates), "--warmup", "3")
        own.append(found(row, "epoch_seconds")["median"])
        seconds, count = timed(Peer(graph, weights, products[way]), kind, trained, arguments.updates, rng)
        other.append(seconds)
        entries.append(count)
    mean = statistics.mean(entries)
    ratios = sorted(b / a for a, b in zip(own, other))
    print(f"{kind:7} entries {typical['entries']:.0f} and {mean:.0f}  strobe {1e3 * statistics.median(own):.3f} ms  "
          f"torch ({way}) {1e3 * statistics.median(other):.3f} ms  ratio {statistics.median(ratios):.2f} "
          f"({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)  # fmt: skip
    same = abs(mean / typical["entries"] - 1) < 0.05
    return {"kind": kind, "same": same, "strobe": own, "torch": other, "entries": [typical["entries"], mean]}, same


def main():
    options = strobe_bench.parser(__doc__, rounds=5)
    for name, value in (("vertices", 20000), ("steps", 40), ("density", 3)):
        options.add_argument(f"--{name}", type=int, default=value)
    options.add_argument("--updates", type=int, default=30)
    arguments = strobe_bench.parsed(options)
    torch.set_num_threads(arguments.threads)
    warnings.filterwarnings("ignore", message="Sparse")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "events.csv")
        graph = Graph(write_events(arguments, path), arguments)
        trained = found(strobe(arguments, path, strategy_of("dbov"), "--dry-run"), "training_steps")
        rng = np.random.default_rng(1)
        weights = {name: ((rng.random(shape) - 0.5) * 0.6).astype(np.float32) for name, shape in SHAPES.items()}
        print(f"{graph.vertices} vertices, {graph.steps} steps, {trained} trained on; {torch.__version__}, SciPy "
              f"{scipy.__version__}, {arguments.threads} threads; {fast_settings.described()}", flush=True)  # fmt: skip
        if not same_losses(arguments, path, graph, weights, trained):
            return 1
        same = True
        for kind in KINDS:
            line, agrees = compare(arguments, path, graph, weights, trained, kind)
            lines.append(line)
            same = same and agrees
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)
    return 0 if same else 1


sys.exit(main())
