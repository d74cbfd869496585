"""Snapshot models as their authors write them, with plain PyTorch and PyTorch Geometric layers."""
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import ChebConv, GATConv, GCNConv, SAGEConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import softmax


class TGCN(nn.Module):
    """Zhao et al.: each gate reads a graph convolution of the features and the state."""

    def __init__(self, f, h):
        super().__init__()
        self.conv_z, self.conv_r, self.conv_h = GCNConv(f, h), GCNConv(f, h), GCNConv(f, h)
        self.linear_z, self.linear_r, self.linear_h = nn.Linear(2 * h, h), nn.Linear(2 * h, h), nn.Linear(2 * h, h)

    def forward(self, x, edge_index, edge_weight, h):
        z = torch.sigmoid(self.linear_z(torch.cat([self.conv_z(x, edge_index, edge_weight), h], dim=1)))
        r = torch.sigmoid(self.linear_r(torch.cat([self.conv_r(x, edge_index, edge_weight), h], dim=1)))
        n = torch.tanh(self.linear_h(torch.cat([self.conv_h(x, edge_index, edge_weight), r * h], dim=1)))
        return z * h + (1 - z) * n


class GCNGRU(nn.Module):
    """Two graph convolutions, then a GRU."""

    def __init__(self, f, h):
        super().__init__()
        self.first, self.second, self.gru = GCNConv(f, h), GCNConv(h, h), nn.GRUCell(h, h)

    def forward(self, x, edge_index, h, **more):
        y = torch.relu(self.first(x, edge_index))
        return self.gru(torch.relu(self.second(y, edge_index)), h)


class SageLSTM(nn.Module):
    """A mean over neighbours, then an LSTM with two states and a linear embedding."""

    def __init__(self, f, h):
        super().__init__()
        self.conv, self.cell, self.out = SAGEConv(f, h), nn.LSTMCell(h, h), nn.Linear(h, 3)

    def forward(self, x, edge_index, h, c):
        h, c = self.cell(functional.leaky_relu(self.conv(x, edge_index), 0.2), (h, c))
        return self.out(h), h, c


class JointTGCN(nn.Module):
    """The gates convolve features and state together, with a dense matrix of plain PyTorch."""

    def __init__(self, f, h):
        super().__init__()
        self.gates, self.gate_bias = nn.Parameter(torch.randn(f + h, 2 * h) * 0.4), nn.Parameter(torch.ones(2 * h))
        self.new, self.new_bias = nn.Parameter(torch.randn(f + h, h) * 0.4), nn.Parameter(torch.zeros(h))

    def forward(self, x, edge_index, edge_weight, h):
        a = torch.eye(len(x), dtype=x.dtype).index_put((edge_index[1], edge_index[0]), edge_weight, accumulate=True)
        d = a.sum(1).rsqrt()
        a = d[:, None] * a * d[None, :]
        r, u = torch.sigmoid(a @ torch.cat([x, h], 1) @ self.gates + self.gate_bias).chunk(2, 1)
        return u * h + (1 - u) * torch.tanh(a @ torch.cat([x, r * h], 1) @ self.new + self.new_bias)


class TwoGCN(nn.Module):
    """Two graph convolutions with a normalisation of rows between them; no state."""

    def __init__(self, f, h):
        super().__init__()
        self.first, self.norm, self.second = GCNConv(f, h), nn.LayerNorm(h), GCNConv(h, 4)

    def forward(self, x, edge_index):
        return self.second(self.norm(functional.elu(self.first(x, edge_index))), edge_index)


class Attention(nn.Module):
    def __init__(self, f, h):
        super().__init__()
        self.conv = GATConv(f, h)

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


class Softmax(nn.Module):
    def __init__(self, f, h):
        super().__init__()
        self.linear = nn.Linear(f, h)

    def forward(self, x, edge_index):
        return torch.softmax(self.linear(x), dim=1)


class Operations(nn.Module):
    """One linear layer, then a function of (module, its output, edge_index)."""

    def __init__(self, function):
        super().__init__()
        self.linear, self.v1, self.row = nn.Linear(3, 4), nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.randn(4))
        self.single, self.function = nn.Parameter(torch.tensor(0.3)), function

    def forward(self, x, edge_index):
        return self.function(self, self.linear(x), edge_index)


def turned_weight(m, y, edges):
    return y @ torch.tanh(m.v1).t()


def named_as_an_operation(m, y, edges):
    return torch.tanh(y) @ m.v1


def column(m, y, edges):
    return y @ m.row.unsqueeze(1)


def single_number(m, y, edges):
    return y @ m.row.unsqueeze(1) + m.single


def whole_in_place(m, y, edges):
    y.view(-1, 4).tanh_()
    return y


def part_in_place(m, y, edges):
    y[:, :2].tanh_()
    return y


def constant_in_place(m, y, edges):
    return torch.ones(len(y), 4, dtype=y.dtype).add_(y)


def onto_zeros(m, y, edges):
    return torch.zeros(len(y), 4, dtype=y.dtype).index_add_(0, edges[1], y[edges[0]])


def onto_ones(m, y, edges):
    return torch.ones(len(y), 4, dtype=y.dtype).index_add_(0, edges[1], y[edges[0]])


def scaled_sum(m, y, edges):
    return torch.zeros(len(y), 4, dtype=y.dtype).index_add(0, edges[1], y[edges[0]], alpha=2)


def scaled_columns(m, y, edges):
    return torch.tanh(y * m.row)


def scaled_result(m, y, edges):
    return y * m.row


def negative_slope(m, y, edges):
    return functional.leaky_relu(y, -0.5)


class EdgeConvs(nn.Module):
    """Layers of PyTorch Geometric with attention, one after the other, and a GRU."""

    def __init__(self, *layers, state=0):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.gru = nn.GRUCell(state, state) if state else None

    def forward(self, x, edge_index, h=None):
        for layer in self.layers:
            x = functional.elu(layer(x, edge_index))
        return x if h is None else self.gru(x, h)


class HandAttention(nn.Module):
    """Velickovic et al. with one head, as in many tutorials: a vector times both ends of an edge side by side."""

    def __init__(self, f, h):
        super().__init__()
        self.w, self.a = nn.Linear(f, h, bias=False), nn.Linear(2 * h, 1)

    def forward(self, x, edge_index):
        loops = torch.arange(len(x)).repeat(2, 1)
        source, target = torch.cat([edge_index, loops], dim=1)
        y = self.w(x)
        e = functional.leaky_relu(self.a(torch.cat([y[source], y[target]], dim=1)), 0.2).squeeze(1)
        p = torch.exp(e - e.max())
        total = torch.zeros(len(x), dtype=x.dtype).index_add(0, target, p)
        p = p / total[target]
        return torch.zeros_like(y).index_add(0, target, p.unsqueeze(1) * y[source])


class HandTransformer(nn.Module):
    """Two heads of scaled products of queries and keys, with a softmax of PyTorch Geometric and a residual layer."""

    def __init__(self, f, h):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(f, h), nn.Linear(f, h, bias=False), nn.Linear(f, h)
        self.skip, self.norm = nn.Linear(f, h), nn.LayerNorm(h)

    def forward(self, x, edge_index):
        source, target = edge_index
        q, k, v = (layer(x).view(len(x), 2, -1) for layer in (self.q, self.k, self.v))
        score = (q[target] * k[source]).sum(-1) * q.shape[-1] ** -0.5
        p = softmax(score, target, num_nodes=len(x))
        y = torch.zeros_like(v).index_add(0, target, p.unsqueeze(-1) * v[source])
        return self.norm(y.reshape(len(x), -1) + self.skip(x))


class EvolvingWeights(nn.Module):
    """Pareja et al., variant O, as in PyTorch Geometric Temporal: a GRU whose input and state are a GCN's weights."""

    def __init__(self, f, h):
        super().__init__()
        self.initial_weight = nn.Parameter(torch.randn(1, f, f) * 0.5)
        self.recurrent, self.conv, self.out = nn.GRU(f, f, num_layers=1), GCNConv(f, f, bias=False), nn.Linear(f, h)
        del self.conv.lin

    def forward(self, x, edge_index, w):
        _, w = self.recurrent(w, w)
        x = x @ w.squeeze(0)
        norm, weight = gcn_norm(edge_index, None, len(x), dtype=x.dtype)
        return self.out(torch.relu(self.conv.propagate(norm, x=x, edge_weight=weight))), w


class HandEvolving(nn.Module):
    """Two layers whose weights follow an LSTM cell of plain PyTorch; a GRU of the vertices comes after them."""

    def __init__(self, f, h):
        super().__init__()
        self.first, self.carry = nn.Parameter(torch.randn(f, f) * 0.5), nn.Parameter(torch.zeros(f, f))
        self.second, self.cell = nn.Parameter(torch.randn(f, h) * 0.5), nn.LSTMCell(f, f)
        self.mix, self.gru = nn.Parameter(torch.randn(f, f) * 0.3), nn.GRUCell(h, h)

    def forward(self, x, edge_index, w1, c1, w2, h):
        w1, c1 = self.cell(w1, (w1, c1))
        w2 = torch.tanh(self.mix @ w2) + w2
        a = torch.zeros(len(x), len(x), dtype=x.dtype).index_put((edge_index[1], edge_index[0]), x.new_ones(1))
        y = torch.relu(a @ (x @ w1))
        h = self.gru(torch.relu(a @ y @ w2), h)
        return h, w1, c1, w2, h


class ChebGRU(nn.Module):
    """Seo et al. as PyTorch Geometric Temporal has them: each gate adds two Chebyshev filters."""

    def __init__(self, f, h, k):
        super().__init__()
        self.x, self.h = nn.ModuleList(ChebConv(f, h, k) for _ in range(3)), nn.ModuleList(
            ChebConv(h, h, k) for _ in range(3))

    def forward(self, x, edge_index, edge_weight, h):
        z = torch.sigmoid(self.x[0](x, edge_index, edge_weight) + self.h[0](h, edge_index, edge_weight))
        r = torch.sigmoid(self.x[1](x, edge_index, edge_weight) + self.h[1](h, edge_index, edge_weight))
        n = torch.tanh(self.x[2](x, edge_index, edge_weight) + self.h[2](h * r, edge_index, edge_weight))
        return z * h + (1 - z) * n


class HandCheb(nn.Module):
    """Three terms of a filter with D^-1/2 A D^-1/2 of incoming edges, and one bias after their sum."""

    def __init__(self, f, h):
        super().__init__()
        self.w, self.bias = nn.ParameterList(torch.randn(f, h) * 0.4 for _ in range(3)), nn.Parameter(torch.randn(h))

    def forward(self, x, edge_index):
        source, target = edge_index
        degree = torch.zeros(len(x), dtype=x.dtype).index_add(0, target, torch.ones(len(source), dtype=x.dtype))
        root = torch.where(degree > 0, degree, torch.inf).rsqrt()

        def step(y):
            return torch.zeros_like(y).index_add(0, target, y[source] * (-root[source] * root[target])[:, None])

        first = step(x)
        second = 2 * step(first) - x
        return torch.tanh(x @ self.w[0] + first @ self.w[1] + second @ self.w[2] + self.bias)


class BiasOfSum(nn.Module):
    """Kipf and Welling's layer with a bias of its own, and a bias after sums in which no product stands alone."""

    def __init__(self, f, h):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(f, h, bias=False), nn.Linear(f, h, bias=False), nn.Parameter(torch.randn(h))
        self.d, self.conv = nn.Parameter(torch.randn(1, h)), SAGEConv(f, h, bias=False)

    def forward(self, x, edge_index):
        y = torch.tanh(self.a(x)) * torch.sigmoid(self.b(x)) + self.c
        return torch.tanh(self.conv(x, edge_index) + self.a(x) - y + self.d)


class StateAttention(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.conv = GATConv(h, h)

    def forward(self, x, edge_index, h):
        return self.conv(h, edge_index)


class TwoKindsOfEdges(nn.Module):
    """One attention with self-loops, and one without."""

    def __init__(self, f, h):
        super().__init__()
        self.loops, self.given = GATConv(f, h), GATConv(f, h, add_self_loops=False)

    def forward(self, x, edge_index):
        return self.loops(x, edge_index) + self.given(x, edge_index)


class TimeAttention(nn.Module):
    """Attention of PyTorch over a sequence, which is one step long."""

    def __init__(self, h):
        super().__init__()
        self.linear, self.attention = nn.Linear(3, h), nn.MultiheadAttention(h, 2)

    def forward(self, x, edge_index):
        x = self.linear(x).unsqueeze(0)
        return self.attention(x, x, x)[0].squeeze(0)


class OtherAttention(nn.Module):
    """Attention whose score, edges or normalisation Strobe does not have."""

    def __init__(self, what):
        super().__init__()
        self.what, self.q, self.v = what, nn.Linear(3, 1), nn.Linear(3, 4)

    def forward(self, x, edge_index):
        source, target = edge_index
        q, v = self.q(x), self.v(x)
        score = q[source] + q[target]
        if self.what == "tanh":
            score = torch.tanh(score)
        if self.what == "weighted":
            score = score * torch.arange(len(source), dtype=x.dtype)[:, None]
        p = torch.exp(score)
        ends = source if self.what == "wrong total" else target
        if self.what != "unnormalised":
            p = p / torch.zeros(len(x), 1, dtype=x.dtype).index_add(0, target, p)[ends]
        else:
            p = torch.zeros(len(x), 1, dtype=x.dtype).index_add(0, target, score)[ends]
        return torch.zeros_like(v).index_add(0, target, p * v[source])
