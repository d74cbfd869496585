"""Shared code of the golden fixtures: the small graph as dense float64 tensors, preprocessing by the papers' equations,
losses, and safetensors files. It takes no code from Strobe and reads none of its output."""

import csv
import json
import struct
from pathlib import Path

import torch

GOLDEN = Path(__file__).resolve().parent.parent
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


class Cells:
    """Which cells exist: exists [T, N]. begin [T, N] is the first step of each cell's sequence of consecutive steps, or
    -1 where the cell does not exist. seen: from a vertex's first edge on; lifetime: from its first edge to its last;
    active: at steps where it has an edge."""

    def __init__(self, runs, kind):
        touched = runs.any(2) | runs.any(1)
        come, stays = touched.cumsum(0) > 0, touched.flip(0).cumsum(0).flip(0) > 0
        self.exists = {"all": torch.ones_like(touched), "seen": come, "lifetime": come & stays, "active": touched}[kind]
        self.begin = torch.full(touched.shape, -1)
        for t, here in enumerate(self.exists):
            goes_on = self.exists[t - 1] & here if t > 0 else torch.zeros_like(here)
            self.begin[t] = torch.where(goes_on, self.begin[t - 1], torch.where(here, t, -1))

    def first(self, steps):
        self.exists, self.begin = self.exists[:steps], self.begin[:steps]
        return self

    def starts(self, t):
        """[N, 1]: whether a sequence begins at step t."""
        return (self.begin[t] == t)[:, None]

    def reach(self, window):
        """[T, T, N]: 1 where row v of step t reaches step s, at most window - 1 steps back and no further than to the
        beginning of its sequence; else 0."""
        t, s = torch.arange(len(self.begin))[:, None, None], torch.arange(len(self.begin))[None, :, None]
        return ((s <= t) & (s > t - window) & (s >= self.begin[:, None, :]) & self.exists[:, None, :]).double()

    def both_ends(self, a):
        """A without the entries of cells that do not exist."""
        return a * self.exists[:, :, None] * self.exists[:, None, :]


class Graph:
    """Adjacency [T, N, N] (entry = number of edges) and features [T, N, 2] (in-degree, out-degree). Rows are targets;
    with orientation out they are sources, with both either end."""

    def __init__(self, orientation="in", name="graph.csv"):
        with open(GOLDEN / name, newline="") as file:
            rows = [(int(r["source"]), int(r["target"]), int(r["step"])) for r in csv.DictReader(file)]
        self.vertices = 1 + max(max(u, v) for u, v, _ in rows)
        self.steps = 1 + max(t for _, _, t in rows)
        self.adjacency = torch.zeros(self.steps, self.vertices, self.vertices)
        for u, v, t in rows:
            self.adjacency[t, v, u] += 1.0
        self.features = torch.stack([self.adjacency.sum(2), self.adjacency.sum(1)], dim=2)
        self.runs = self.adjacency > 0  # [t, v, u]: whether the data have u -> v at t
        turned = self.adjacency.transpose(1, 2)
        loops = torch.diag_embed(torch.diagonal(turned, dim1=1, dim2=2))  # a loop is its own reverse
        self.adjacency = {"in": self.adjacency, "out": turned, "both": self.adjacency + turned - loops}[orientation]
        self.orientation = orientation

    def first(self, steps):
        return self.adjacency[:steps].clone(), self.features[:steps].clone()


def m_transform(x, window, cells):
    """y_t = sum of x_s over s in [t - window + 1, t], s >= b, divided by min(window, t - b + 1), b the step at which the
    sequence of the row's vertex began. x [T, N, ...]."""
    reach = cells.reach(window)
    return torch.einsum("tsv,sv...->tv...", reach / reach.sum(1, keepdim=True).clamp(min=1), x)


def fading_sum(x, window, cells):
    """y_t = sum of x_s / (t - s + 1) over s in [t - window + 1, t], s >= b. x [T, N, ...]."""
    distance = (torch.arange(len(x))[:, None] - torch.arange(len(x)) + 1).clamp(min=1)
    return torch.einsum("tsv,sv...->tv...", cells.reach(window) / distance[:, :, None], x)


def edge_life(a, life):
    """a_t plus the life - 1 snapshots before it."""
    return torch.stack([a[max(0, t - life + 1) : t + 1].sum(0) for t in range(len(a))])


def laplacian(a, cells):
    """D^-1/2 (A + I) D^-1/2 of each step, D = row sums of A + I, over the cells that exist."""
    with_loops = cells.both_ends(a) + torch.diag_embed(cells.exists.double())
    scale = torch.where(cells.exists, with_loops.sum(2), 1.0).rsqrt()
    return scale[:, :, None] * with_loops * scale[:, None, :]


def lstm(x, input_weight, hidden_weight, bias, starts):
    """PyTorch's LSTM cell (gates in, forget, candidate, out) along time, from a zero state at the first step and where
    starts [T, N, 1] says so. x [T, N, F]."""
    width = len(hidden_weight)
    h = c = torch.zeros(x.shape[1], width)
    outputs = []
    for step, anew in zip(x, starts):
        h, c = h.masked_fill(anew, 0.0), c.masked_fill(anew, 0.0)
        h, c = torch.lstm_cell(step, (h, c), input_weight.T, hidden_weight.T, bias[0], torch.zeros(4 * width))
        outputs.append(h)
    return torch.stack(outputs)


def draw_weights(shapes, seed):
    """Uniform in +-sqrt(6 / (rows + columns)), rounded to float32, so that both precisions start from the same values."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, (rows, columns) in shapes.items():
        bound = (6.0 / (rows + columns)) ** 0.5
        drawn = (2 * torch.rand(rows, columns, generator=generator) - 1) * bound
        weights[name] = drawn.float().double().requires_grad_()
    return weights


def read_samples():
    """u, v, step, label, weight of samples.csv, as tensors."""
    with open(GOLDEN / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    whole = [torch.tensor([int(r[key]) for r in rows]) for key in ("u", "v", "step", "label")]
    return (*whole, torch.tensor([float(r["weight"]) for r in rows]))


class LinkPrediction:
    """Mean cross-entropy of [z_u | z_v] W + b over the listed pairs of cells that exist; weighted by pair when
    `weighted`."""

    def __init__(self, cells, weighted=False):
        self.weighted = weighted
        samples = read_samples()
        self.steps = 1 + int(samples[2].max())
        exist = cells.exists[samples[2], samples[0]] & cells.exists[samples[2], samples[1]]
        self.u, self.v, self.step, self.label, self.weight = (column[exist] for column in samples)

    def shapes(self, width):
        return {"head.weight": (2 * width, 2), "head.bias": (1, 2)}

    def loss(self, z, weights):
        pairs = torch.cat([z[self.step, self.u], z[self.step, self.v]], dim=1)
        logits = pairs @ weights["head.weight"] + weights["head.bias"]
        each = torch.nn.functional.cross_entropy(logits, self.label, reduction="none")
        scale = self.weight if self.weighted else torch.ones_like(self.weight)
        return (each * scale).sum() / scale.sum()


class DegreeRegression:
    """Mean squared error of z W + b against log(1 + degree at the next step), over vertices with an edge at the step;
    the first 70 % of the steps. The degree counts distinct neighbours: sources, targets, or the sum of both; under
    orientation=both all that there are."""

    def __init__(self, graph, degree="in"):
        entering, leaving = graph.runs.sum(2).double(), graph.runs.sum(1).double()
        degrees = {"in": entering, "out": leaving, "both": entering + leaving}[degree]
        if graph.orientation == "both":
            degrees = (graph.runs | graph.runs.transpose(1, 2)).sum(2).double()
        self.steps = graph.steps - 1
        trained = int(0.7 * self.steps)
        self.active = (graph.runs.any(2) | graph.runs.any(1))[:trained]
        self.target = torch.log1p(degrees)[1 : trained + 1]

    def shapes(self, width):
        return {"head.weight": (width, 1), "head.bias": (1, 1)}

    def loss(self, z, weights):
        said = (z @ weights["head.weight"] + weights["head.bias"])[: len(self.active), :, 0]
        return ((said - self.target)[self.active] ** 2).mean()


def write_safetensors(path, tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().reshape(-1).tolist()
        content = struct.pack(f"<{len(values)}d", *values)
        header[name] = {"dtype": "F64", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header)
    text += " " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode() + data)


def read_safetensors(path):
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    metadata, tensors = header.pop("__metadata__"), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = struct.unpack_from(f"<{(end - begin) // 8}d", content, 8 + length + begin)
        tensors[name] = torch.tensor(values).reshape(entry["shape"])
    return tensors, metadata
