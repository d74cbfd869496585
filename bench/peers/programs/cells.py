"""The models, with the layers of PyTorch Geometric, PyTorch Geometric Temporal and DGL as their users call them.

PyTorch Geometric Temporal imports torch_sparse, which has no wheel for new versions of PyTorch. Its cells need only the
name of a class from it, for which PyTorch Geometric has a stand-in.
"""

import importlib.util
import sys
import types

import torch
from torch_geometric import typing as pyg_typing
from torch_geometric.nn import GATConv

if importlib.util.find_spec("torch_sparse") is None:
    stand_in = types.ModuleType("torch_sparse")
    stand_in.SparseTensor = pyg_typing.SparseTensor  # type: ignore[attr-defined]
    sys.modules["torch_sparse"] = stand_in
from torch_geometric_temporal.nn.recurrent import MPNNLSTM, TGCN, EvolveGCNH, EvolveGCNO, GConvGRU


class Gated(torch.nn.Module):
    """GConvGRU or T-GCN: one call for each snapshot, the state handed on."""

    def __init__(self, cell: torch.nn.Module):
        super().__init__()
        self.cell = cell

    def forward(self, graph, steps, parts):  # type: ignore[no-untyped-def]
        state, results = None, []
        for t in steps:
            if parts is None:
                state = self.cell(graph.features[t], graph.edges[t], None, state)
            else:
                state = self.in_part(graph.features[t], parts[t], state)
            results.append(torch.relu(state))
        return results

    def in_part(self, features, part, state):  # type: ignore[no-untyped-def]
        """T-GCN, whose convolutions read features alone, on the rows of one process."""
        cell, rows = self.cell, part.extend(features[part.own])
        state = rows.new_zeros(part.rows, cell.out_channels) if state is None else state
        convolved = [conv(rows, part.edge_index, part.edge_weight)[: part.rows]
                     for conv in (cell.conv_z, cell.conv_r, cell.conv_h)]
        update = torch.sigmoid(cell.linear_z(torch.cat([convolved[0], state], 1)))
        reset = torch.sigmoid(cell.linear_r(torch.cat([convolved[1], state], 1)))
        fresh = torch.tanh(cell.linear_h(torch.cat([convolved[2], state * reset], 1)))
        return update * state + (1 - update) * fresh


class DglGated(torch.nn.Module):
    """T-GCN with DGL's GraphConv: a graph object for each snapshot, made once."""

    def __init__(self, width: int):
        import dgl
        from dgl.nn import GraphConv

        super().__init__()
        self.dgl, self.width, self.graphs = dgl, width, {}
        self.convolutions = torch.nn.ModuleList([GraphConv(2, width) for _ in range(3)])
        self.gates = torch.nn.ModuleList([torch.nn.Linear(2 * width, width) for _ in range(3)])

    def snapshot(self, graph, t):  # type: ignore[no-untyped-def]
        if t not in self.graphs:
            made = self.dgl.graph(tuple(graph.edges[t]), num_nodes=graph.vertices)
            self.graphs[t] = self.dgl.add_self_loop(made)
        return self.graphs[t]

    def forward(self, graph, steps, parts):  # type: ignore[no-untyped-def]
        state, results = torch.zeros(graph.vertices, self.width), []
        for t in steps:
            snapshot = self.snapshot(graph, t)
            update, reset, fresh = (conv(snapshot, graph.features[t]) for conv in self.convolutions)
            update = torch.sigmoid(self.gates[0](torch.cat([update, state], 1)))
            reset = torch.sigmoid(self.gates[1](torch.cat([reset, state], 1)))
            fresh = torch.tanh(self.gates[2](torch.cat([fresh, state * reset], 1)))
            state = update * state + (1 - update) * fresh
            results.append(torch.relu(state))
        return results


class Evolving(torch.nn.Module):
    """EvolveGCN of two layers. A linear layer widens the features, because its weights are square."""

    def __init__(self, make, width: int):  # type: ignore[no-untyped-def]
        super().__init__()
        self.widen = torch.nn.Linear(2, width)
        self.layers = torch.nn.ModuleList([make(width) for _ in range(2)])

    def forward(self, graph, steps, parts):  # type: ignore[no-untyped-def]
        results = []
        for layer in self.layers:
            layer.weight = None
        for t in steps:
            rows = graph.features[t] if parts is None else graph.features[t][parts[t].own]
            rows = self.widen(rows)
            for layer in self.layers:
                if parts is None:
                    rows = torch.relu(layer(rows, graph.edges[t]))
                else:
                    whole = layer(parts[t].extend(rows), parts[t].edge_index, parts[t].edge_weight)
                    rows = torch.relu(whole[: parts[t].rows])
            results.append(rows)
        return results


class Mpnn(torch.nn.Module):
    """MPNN-LSTM with windows of one snapshot, as in the library's example."""

    def __init__(self, vertices: int, width: int):
        super().__init__()
        self.layer = MPNNLSTM(2, width, vertices, 1, 0.0)

    def forward(self, graph, steps, parts):  # type: ignore[no-untyped-def]
        weights = [torch.ones(edges.shape[1]) for edges in graph.edges]
        return [self.layer(graph.features[t], graph.edges[t], weights[t]) for t in steps]


class Dysat(torch.nn.Module):
    """Attention over neighbours, then over each vertex's own past (Sankar et al., WSDM'20), two heads each."""

    def __init__(self, width: int, positions: int):
        super().__init__()
        self.structural = GATConv(2, width // 2, heads=2)
        self.position = torch.nn.Parameter(torch.zeros(positions, width))
        self.temporal = torch.nn.MultiheadAttention(width, 2, batch_first=True)
        self.merge = torch.nn.Linear(width, width)

    def forward(self, graph, steps, parts):  # type: ignore[no-untyped-def]
        rows = [torch.nn.functional.elu(self.structural(graph.features[t], graph.edges[t])) for t in steps]
        past = torch.stack(rows, 1) + self.position[: len(rows)]  # [N, T, F]
        later = torch.triu(torch.ones(len(rows), len(rows), dtype=torch.bool), 1)
        attended, _ = self.temporal(past, past, past, attn_mask=later, need_weights=False)
        return list((torch.relu(self.merge(attended)) + past).unbind(1))


def make(name: str, vertices: int, steps: int, width: int, parted: bool) -> tuple[torch.nn.Module, int]:
    """The model and the width of its embeddings."""
    if name == "evolve-gcn-o":
        return Evolving(lambda w: EvolveGCNO(w, normalize=not parted), width), width
    if name == "t-gcn":
        cell = TGCN(2, width)
        for conv in (cell.conv_z, cell.conv_r, cell.conv_h):
            conv.normalize = not parted
        return Gated(cell), width
    if parted:  # a layer that reads hidden rows of neighbours in its own code has no place for an exchange
        raise SystemExit(f"{name} is not written for divided vertices; use evolve-gcn-o or t-gcn")
    if name == "gconvgru":
        return Gated(GConvGRU(2, width, K=2)), width
    if name == "dgl-t-gcn":
        return DglGated(width), width
    if name == "evolve-gcn-h":
        return Evolving(lambda w: EvolveGCNH(vertices, w), width), width
    if name == "mpnn-lstm":
        return Mpnn(vertices, width), 2 * width + 2
    if name == "dysat":
        return Dysat(width, steps), width
    raise SystemExit(f"unknown model {name}; programs.json names them")
