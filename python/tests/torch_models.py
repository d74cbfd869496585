"""Snapshot models as their authors write them, with plain PyTorch and PyTorch Geometric layers."""
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import GATConv, GCNConv, SAGEConv


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


def negative_slope(m, y, edges):
    return functional.leaky_relu(y, -0.5)
