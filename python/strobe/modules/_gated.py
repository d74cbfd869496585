"""T-GCN, DCRNN and DySAT as modules of PyTorch."""
from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from strobe.modules._graphs import Matrix
from strobe.modules._snapshots import SnapshotModule, State

_GATES = ("r", "z", "h")


def _gru(gates: Tensor, state: Tensor, candidate: Callable[[Tensor], Tensor]) -> Tensor:
    """The next state u h + (1 - u) tanh(candidate(r h)). r and u are the sigmoids of the halves of `gates`."""
    reset, update = torch.sigmoid(gates).chunk(2, 1)
    return update * state + (1 - update) * torch.tanh(candidate(reset * state))


class TGCN(SnapshotModule):
    """T-GCN: a GRU whose gates read graph convolutions of the features.

    With gcn_layers=1, names and equations are those of TGCN in PyTorch Geometric Temporal. With more, `conv_r.0` is the
    first convolution of the gate r. `gates="shared"` has one `conv`. `conv="xh"` has `gate` and `candidate`.
    """

    strobe_model = "t-gcn"

    def __init__(self, features: int, hidden: int = 6, gcn_layers: int = 2, gates: str = "own",
                 conv: str = "x") -> None:
        super().__init__(hidden, hidden=hidden, gcn_layers=gcn_layers, gates=gates, conv=conv)
        if conv == "xh":
            self.gate = nn.Linear(features + hidden, 2 * hidden)
            self.candidate = nn.Linear(features + hidden, hidden)
            nn.init.ones_(self.gate.bias)
            return
        for name in [f"conv_{gate}" for gate in _GATES] if gates == "own" else ["conv"]:
            layers = [nn.Linear(hidden if place else features, hidden) for place in range(gcn_layers)]
            self.add_module(name, layers[0] if gcn_layers == 1 else nn.ModuleList(layers))
        for gate in _GATES:
            self.add_module(f"linear_{gate}", nn.Linear(2 * hidden, hidden))

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state is the hidden state [N, hidden]."""
        operator = a.normalised()
        h = x.new_zeros(len(x), self.options["hidden"]) if state is None else state
        if self.options["conv"] == "xh":
            gates = self.gate(operator.product(torch.cat([x, h], 1)))
            h = _gru(gates, h, lambda reset: self.candidate(operator.product(torch.cat([x, reset], 1))))
            return h, h
        read = {gate: self._convolved(gate, x, operator) for gate in _GATES}

        def gate(name: str, of: Tensor) -> Tensor:
            return self.get_submodule(f"linear_{name}")(torch.cat([read[name], of], 1))

        h = _gru(torch.cat([gate("r", h), gate("z", h)], 1), h, lambda reset: gate("h", reset))
        return h, h

    def _convolved(self, gate: str, x: Tensor, operator: Matrix) -> Tensor:
        found = self.get_submodule(f"conv_{gate}" if self.options["gates"] == "own" else "conv")
        for place, layer in enumerate(found if isinstance(found, nn.ModuleList) else [found]):
            x = layer(operator.product(torch.relu(x) if place else x))
        return x


class DCRNN(SnapshotModule):
    """DCRNN: layers `layer1` and so on, a GRU whose `gate` and `candidate` read random walks of several hops."""

    strobe_model = "dcrnn"

    def __init__(self, features: int, hidden: int = 6, layers: int = 1, hops: int = 2, directions: str = "both",
                 terms: str = "powers", supports: str = "walks", state: str = "carried") -> None:
        super().__init__(hidden, hidden=hidden, layers=layers, hops=hops, directions=directions, terms=terms,
                         supports=supports, state=state)
        count = 1 + hops * (2 if directions == "both" else 1)
        for place in range(layers):
            rows = count * ((hidden if place else features) + hidden)
            self.add_module(f"layer{place + 1}", nn.ModuleDict({"gate": nn.Linear(rows, 2 * hidden),
                                                            "candidate": nn.Linear(rows, hidden)}))

    def _walks(self, a: Matrix) -> list[Matrix]:
        o = self.options
        walks = [a.transposed().walk()] * (o["directions"] != "in") + [a.walk()] * (o["directions"] != "out")
        return [walk.transposed() for walk in walks] if o["supports"] == "transposed" else walks

    def _terms(self, walks: list[Matrix], z: Tensor) -> Tensor:
        """[z | S z | ...], the hops of each walk."""
        parts, begin = [z], z
        for walk in walks:
            chain = [begin]
            for hop in range(self.options["hops"]):
                following = walk.product(chain[-1])
                if self.options["terms"] != "powers" and hop > 0:
                    following = 2 * following - chain[-2]
                chain.append(following)
            parts += chain[1:]
            if self.options["terms"] == "carried" and len(chain) > 1:
                begin = chain[-2]
        return torch.cat(parts, 1)

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state has the hidden state of each layer."""
        walks, following = self._walks(a), []
        for place in range(self.options["layers"]):
            layer = self.get_submodule(f"layer{place + 1}")
            fresh = state is None or self.options["state"] == "none"
            h, of_x = x.new_zeros(len(x), self.width) if fresh else state[place], self._terms(walks, x)

            def candidate(reset: Tensor, layer: nn.Module = layer, of_x: Tensor = of_x) -> Tensor:
                return layer["candidate"](torch.cat([of_x, self._terms(walks, reset)], 1))

            x = _gru(layer["gate"](torch.cat([of_x, self._terms(walks, h)], 1)), h, candidate)
            following.append(x)
        return x, following


class _StructuralAttention(nn.Module):
    """Attention over sources and the vertex itself, with the names of GATConv in PyTorch Geometric."""

    def __init__(self, features: int, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.lin = nn.Linear(features, hidden, bias=False)
        for name in ("att_src", "att_dst"):
            self.register_parameter(name, nn.Parameter(nn.init.xavier_uniform_(
                torch.empty(1, heads, hidden // heads))))

    def forward(self, x: Tensor, a: Matrix, weighted: bool, dropout: float) -> Tensor:
        f = self.lin(x).reshape(len(x), self.heads, -1)
        operator = a.normalised().joined()
        source, target = operator.edges
        logits = (f * self.att_dst).sum(2)[target] + (f * self.att_src).sum(2)[source]
        logits = functional.leaky_relu(logits * operator.values[:, None] if weighted else logits, 0.2)
        highest = logits.new_full((len(x), self.heads), -math.inf).scatter_reduce(
            0, target[:, None].expand_as(logits), logits.detach(), "amax")
        powers = torch.exp(logits - highest[target])
        sums = torch.zeros_like(highest).index_add(0, target, powers)
        share = functional.dropout(powers / sums[target], dropout, self.training)
        return functional.elu(torch.zeros_like(f).index_add(0, target, share[:, :, None] * f[source])).flatten(1)


class _TemporalAttention(nn.Module):
    """Attention of a vertex over its past, then relu(o W + b) + o."""

    def __init__(self, hidden: int, heads: int, positions: int) -> None:
        super().__init__()
        self.heads = heads
        self.positions = nn.Parameter(nn.init.xavier_uniform_(torch.empty(positions, hidden)))
        self.query_key_value = nn.Linear(hidden, 3 * hidden, bias=False)
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, past: Tensor, trained: int, divisor: float, dropout: float) -> Tensor:
        """The past [T, N, hidden] ends with the present step."""
        steps = torch.arange(len(past), device=past.device).clamp(max=trained - 1)
        parts = self.query_key_value(past + self.positions[steps][:, None]).unflatten(2, (3, self.heads, -1))
        query, key, value = parts[-1, :, 0], parts[:, :, 1], parts[:, :, 2]
        share = torch.softmax((query * key).sum(3) / divisor, 0)
        o = (functional.dropout(share, dropout, self.training)[..., None] * value).sum(0).flatten(1)
        return torch.relu(self.dense(o)) + o


class DySAT(SnapshotModule):
    """DySAT: attention over neighbours (`structural`), then over a vertex's own past (`temporal`).

    Steps after the first `trained_steps` take the position vector of the last of these; by default all steps count.
    `all_steps` is the number of steps that scale="sqrt_T" divides by. With `log1p`, x is read as sign(x) log(1 + |x|),
    as Strobe reads degrees.
    """

    strobe_model = "dysat"

    def __init__(self, features: int, hidden: int = 6, structural_heads: int = 2, temporal_heads: int = 2,
                 positions: int = 512, scale: str = "sqrt_d", logits: str = "pattern", structural_dropout: float = 0.0,
                 temporal_dropout: float = 0.0, trained_steps: int | None = None, all_steps: int | None = None,
                 log1p: bool = False) -> None:
        super().__init__(hidden, hidden=hidden, structural_heads=structural_heads, temporal_heads=temporal_heads,
                         positions=positions, scale=scale, logits=logits, structural_dropout=structural_dropout,
                         temporal_dropout=temporal_dropout)
        self.trained_steps, self.all_steps, self.log1p = trained_steps or positions, all_steps, log1p
        self.structural = _StructuralAttention(features, hidden, structural_heads)
        self.temporal = _TemporalAttention(hidden, temporal_heads, positions)

    def embed(self, x: Tensor, a: Matrix, state: State) -> tuple[Tensor, State]:
        """The state has the structural embeddings of all steps so far."""
        o = self.options
        under_root = self.all_steps if o["scale"] == "sqrt_T" else o["hidden"] // o["temporal_heads"]
        if under_root is None:
            raise ValueError("scale=\"sqrt_T\" divides by the number of all steps; set all_steps")
        x = torch.copysign(torch.log1p(x.abs()), x) if self.log1p else x
        past = [*(state or []), self.structural(x, a, o["logits"] == "weighted", o["structural_dropout"])]
        return self.temporal(torch.stack(past), self.trained_steps, math.sqrt(under_root), o["temporal_dropout"]), past
