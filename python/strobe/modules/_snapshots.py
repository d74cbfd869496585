"""The snapshot models of Strobe as modules of PyTorch, which compute one step at a time."""
from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from strobe.modules._graphs import Matrix, matrix, sum_of

State = Any


class SnapshotModule(nn.Module):
    """A snapshot model. `step` computes one step from the state after the step before, None at first.

    `features` is the number of columns of x, `width` that of the embedding. To train in Strobe, the module also needs
    the layers of the task. For link prediction that is `module.head = nn.Linear(2 * module.width, 2)`, for regression
    and classification a `Linear` of the embedding. For future links it is
    `module.decoder = strobe.modules.LinkDecoder(module.width)`.
    """

    strobe_model = ""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__()
        self.options, self.width = options, width

    def step(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None,
             state: State = None) -> tuple[Tensor, State]:
        """The embedding [N, width] of one step and the state after it. x is [N, F], edge_index [2, E]."""
        return self.embed(x, matrix(x, edge_index, edge_weight), state)

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The same with the step's matrix."""
        raise NotImplementedError

    def forward(self, steps: Iterable[Sequence[Tensor]]) -> Tensor:
        """Embeddings [T, N, width] of steps (x, edge_index) or (x, edge_index, edge_weight), from no state on."""
        state, outputs = None, []
        for one in steps:
            x, edge_index, *edge_weight = one
            z, state = self.step(x, edge_index, edge_weight[0] if edge_weight else None, state)
            outputs.append(z)
        return torch.stack(outputs)


def with_one_bias(cell: nn.RNNCellBase) -> nn.RNNCellBase:
    """The cell with its second bias fixed at zero. Both would move in training, and Strobe has their sum alone."""
    nn.init.zeros_(cell.bias_hh)
    cell.bias_hh.requires_grad_(False)
    return cell


class _Smoothed:
    """The last steps of a window, and their sum under the M-transform."""

    def __init__(self, window: int, m: str) -> None:
        self.window, self.fades = window, m == "inverse_distance"

    def add(self, past: list[Any], now: Any) -> tuple[list[Any], list[float]]:
        """The window that ends now, and the factor of each of its steps."""
        kept = [*past, now][-self.window:]
        return kept, [1 / (len(kept) - i) if self.fades else 1 / len(kept) for i in range(len(kept))]

    def rows(self, past: list[Tensor], now: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The window's sum of rows, and the window."""
        kept, factors = self.add(past, now)
        return torch.stack([factor * one for factor, one in zip(factors, kept, strict=True)]).sum(0), kept


class TMGCN(SnapshotModule):
    """TM-GCN: graph convolutions `layer1` and `layer2`, with an M-transform over time."""

    strobe_model = "tm-gcn"

    def __init__(self, features: int, hidden: int = 6, output: int = 6, window: int = 5, pairs: int = 1,
                 network: str = "esdg", m: str = "row_mean", last_activation: str = "relu") -> None:
        super().__init__(output, hidden=hidden, output=output, window=window, pairs=pairs, network=network, m=m,
                         last_activation=last_activation)
        self.layer1 = nn.Linear(features, output if network == "linear" else hidden, bias=False)
        if network != "linear":
            self.layer2 = nn.Linear(hidden, output, bias=False)
        self._smooth = _Smoothed(window, m)

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state has the window's matrices, features and rows of each layer."""
        o = self.options
        matrices, features, first, second = state or ([], [], [], [])
        matrices, factors = self._smooth.add(matrices, a)
        operator = sum_of(matrices, factors).normalised()
        x, features = self._smooth.rows(features, x)
        y = self.layer1(operator.product(x))
        if o["network"] == "linear":
            return y, (matrices, features, first, second)
        if o["network"] == "selu":
            return self.layer2(operator.product(functional.selu(y))), (matrices, features, first, second)
        y, first = self._smooth.rows(first, torch.relu(y))
        z = self.layer2(operator.product(y))
        z = torch.relu(z) if o["last_activation"] == "relu" else z
        if o["pairs"] == 2:
            z, second = self._smooth.rows(second, z)
        return z, (matrices, features, first, second)


class CDGCN(SnapshotModule):
    """CD-GCN: layers `layer1` and so on, of a graph convolution `gcn` with a skip connection, and an `lstm`."""

    strobe_model = "cd-gcn"

    def __init__(self, features: int, hidden: int = 6, output: int = 6, layers: int = 2,
                 concat: str = "aggregated") -> None:
        super().__init__(output, hidden=hidden, output=output, layers=layers, concat=concat)
        for place in range(layers):
            inputs, width = hidden if place else features, output if place + 1 == layers else hidden
            layer = nn.ModuleDict({"gcn": nn.Linear(inputs, hidden, bias=False),
                                   "lstm": with_one_bias(nn.LSTMCell(inputs + hidden, width))})
            self.add_module(f"layer{place + 1}", layer)

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state has the LSTMs' states."""
        operator, states = a.normalised(), state or [None] * self.options["layers"]
        following = []
        for place, before in enumerate(states):
            layer = self.get_submodule(f"layer{place + 1}")
            aggregated = operator.product(x)
            left = x if self.options["concat"] == "input" else aggregated
            y = torch.relu(torch.cat([left, layer["gcn"](aggregated)], 1))
            following.append(layer["lstm"](y, before))
            x = following[-1][0]
        return x, following


class _MatrixCell(nn.Module):
    """An LSTM or GRU over the columns of a matrix [F, G], with a bias of each column."""

    def __init__(self, rows: int, columns: int, kind: str) -> None:
        super().__init__()
        self.count = 4 if kind == "lstm" else 3
        bound = 1 / math.sqrt(rows)
        self.weight_x = nn.Parameter(torch.empty(self.count * rows, rows).uniform_(-bound, bound))
        self.weight_h = nn.Parameter(torch.empty(self.count * rows, rows).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(self.count * rows, columns).uniform_(-bound, bound))

    def forward(self, x: Tensor, h: Tensor, memory: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The next matrix, and the LSTM's memory."""
        of_x, of_h = self.weight_x @ x + self.bias, self.weight_h @ h
        if self.count == 4:
            enter, forget, candidate, leave = (of_x + of_h).chunk(4)
            memory = torch.zeros_like(h) if memory is None else memory
            memory = forget.sigmoid() * memory + enter.sigmoid() * candidate.tanh()
            return leave.sigmoid() * memory.tanh(), memory
        update, reset, candidate = of_x.chunk(3)
        of_update, of_reset, _ = of_h.chunk(3)
        update, reset = (update + of_update).sigmoid(), (reset + of_reset).sigmoid()
        candidate = (candidate + self.weight_h.chunk(3)[2] @ (reset * h)).tanh()
        return (1 - update) * h + update * candidate, None


class _EvolvingLayer(nn.Module):
    """Weights at the start, and the cell that evolves them."""

    def __init__(self, inputs: int, outputs: int, kind: str) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))
        self.evolve = _MatrixCell(inputs, outputs, kind)


class EvolveGCNO(SnapshotModule):
    """EvolveGCN-O: graph convolutions `layer1` and `layer2` whose weights follow a matrix LSTM or GRU."""

    strobe_model = "evolve-gcn-o"

    def __init__(self, features: int, hidden: int = 6, output: int = 6, edge_life: int = 5, cell: str = "lstm",
                 backpropagation: str = "full", last_activation: str = "relu",
                 **more: Any) -> None:
        super().__init__(output, hidden=hidden, output=output, edge_life=edge_life, cell=cell,
                         backpropagation=backpropagation, last_activation=last_activation, **more)
        self.layer1 = _EvolvingLayer(features, hidden, cell)
        self.layer2 = _EvolvingLayer(hidden, output, cell)

    def summary(self, layer: int, x: Tensor, a: Matrix, w: Tensor) -> Tensor:
        """The matrix that the cell reads, [F, G]."""
        return w

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state has the matrices that still live, and weights and memory of both layers."""
        matrices, before = state or ([], [(self.layer1.weight, None), (self.layer2.weight, None)])
        matrices = [*matrices, a][-self.options["edge_life"]:]
        whole = sum_of(matrices, [1.0] * len(matrices))
        operator, following = whole.normalised(), []
        for number, (layer, (w, memory)) in enumerate(zip((self.layer1, self.layer2), before, strict=True)):
            w, memory = layer.evolve(self.summary(number, x, whole, w), w, memory)
            x = operator.product(x) @ w
            if number == 0 or self.options["last_activation"] == "relu":
                x = torch.relu(x)
            if self.options["backpropagation"] == "detached":
                w, memory = w.detach(), None if memory is None else memory.detach()
            following.append((w, memory))
        return x, (matrices, following)


class EvolveGCNH(EvolveGCNO):
    """EvolveGCN-H: the cell reads the vertices with the largest score, by the direction `score` of the layer."""

    strobe_model = "evolve-gcn-h"

    def __init__(self, features: int, hidden: int = 6, output: int = 6, edge_life: int = 5, cell: str = "gru",
                 backpropagation: str = "full", last_activation: str = "relu", gate: str = "tanh",
                 mask: str = "connected") -> None:
        super().__init__(features, hidden, output, edge_life, cell, backpropagation, last_activation, gate=gate,
                         mask=mask)
        for layer, inputs in ((self.layer1, features), (self.layer2, hidden)):
            layer.score = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, 1)))

    def summary(self, layer: int, x: Tensor, a: Matrix, w: Tensor) -> Tensor:
        """The chosen rows times tanh of their score, transposed. Ties go to the smaller vertex."""
        direction = (self.layer1, self.layer2)[layer].score
        score = (x @ direction)[:, 0] / direction.norm()
        allowed = torch.ones(len(x), dtype=torch.bool, device=x.device)
        if self.options["mask"] != "none":
            edges = a.edges[:, (a.edges[0] != a.edges[1]) & (a.values != 0)]
            allowed = torch.zeros_like(allowed)
            allowed[edges[1] if self.options["mask"] == "connected" else edges.flatten()] = True
        vertices = allowed.nonzero()[:, 0]
        if not len(vertices):
            return torch.zeros_like(w)
        order = vertices[torch.sort(score[vertices], descending=True, stable=True).indices]
        chosen = order[torch.arange(w.shape[1], device=x.device).clamp(max=len(order) - 1)]
        rows = x[chosen]
        if self.options["gate"] == "tanh":
            rows = rows * torch.tanh(score[chosen])[:, None]
        return rows.T


class MPNNLSTM(SnapshotModule):
    """MPNN-LSTM: graph convolutions `gcn1` and `gcn2` with `norm1` and `norm2`, then `lstm1` and `lstm2`."""

    strobe_model = "mpnn-lstm"

    def __init__(self, features: int, hidden: int = 6, output: str = "all", state: str = "carried", window: int = 1,
                 batch_norm: bool = True, dropout: float = 0.0) -> None:
        super().__init__(2 * hidden + features if output == "all" else hidden, hidden=hidden, output=output,
                         state=state, window=window, batch_norm=batch_norm, dropout=dropout)
        self.gcn1, self.gcn2 = nn.Linear(features, hidden), nn.Linear(hidden, hidden)
        if batch_norm:
            # Each step has its own mean and variance, in evaluation too.
            self.norm1 = nn.BatchNorm1d(hidden, track_running_stats=False)
            self.norm2 = nn.BatchNorm1d(hidden, track_running_stats=False)
        self.lstm1, self.lstm2 = (with_one_bias(nn.LSTMCell(inputs, hidden)) for inputs in (2 * hidden, hidden))

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state has the LSTMs' states and the number of steps."""
        o, operator = self.options, a.normalised()
        first, second, steps = state or (None, None, 0)
        if o["state"] == "reset" and steps % o["window"] == 0:
            first = second = None
        convolved, y = [], x
        for number in ("1", "2"):
            y = torch.relu(self.get_submodule("gcn" + number)(operator.product(y)))
            y = self.get_submodule("norm" + number)(y) if o["batch_norm"] else y
            y = functional.dropout(y, o["dropout"], self.training)
            convolved.append(y)
        first = self.lstm1(torch.cat(convolved, 1), first)
        second = self.lstm2(first[0], second)
        z = torch.cat([first[0], second[0], x], 1) if o["output"] == "all" else second[0]
        return z, (first, second, steps + 1)
