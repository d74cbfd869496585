"""Parts of event models as their authors write them, with plain PyTorch layers."""
import math

import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    """A message function with a hidden layer."""

    def __init__(self, width, inputs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, 9), nn.LeakyReLU(0.1), nn.Linear(9, width), nn.LayerNorm(width))

    def forward(self, memory, other_memory, edge_features, time_encoding):
        return self.net(torch.cat([memory, other_memory, edge_features, time_encoding], dim=1))


class Mean(nn.Module):
    """Rows that read each other, which no message may do."""

    def forward(self, memory, other_memory, edge_features, time_encoding):
        return memory - memory.mean(0)


class Narrow(nn.Module):
    """An updater whose result is narrower than memory."""

    def forward(self, message, memory):
        return torch.tanh(memory[:, :5])


class Multihead(nn.Module):
    """PyTorch's own attention over padded neighbours, then a merging layer, as in the code of TGN's authors."""

    def __init__(self, w, t, e):
        super().__init__()
        self.attention = nn.MultiheadAttention(w + t, 2, dropout=0.1, kdim=w + e + t, vdim=w + e + t)
        self.first, self.second = nn.Linear(w + t + w, 5), nn.Linear(5, 4)

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        query = torch.cat([root, root_time], dim=1).unsqueeze(0)
        key = torch.cat([neighbours, edge_features, times], dim=2).permute(1, 0, 2)
        none = padding.all(dim=1, keepdim=True)
        padding = padding.clone()
        padding[none.squeeze(1), 0] = False  # a softmax over nothing is no number
        seen, _ = self.attention(query, key, key, key_padding_mask=padding)
        seen = seen.squeeze(0).masked_fill(none, 0)
        return self.second(torch.relu(self.first(torch.cat([seen, root], dim=1))))


class ByHand(nn.Module):
    """Several heads by hand, a skip connection and a normalisation."""

    def __init__(self, w, t, e):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(w + t, 6), nn.Linear(w + e + t, 6), nn.Linear(w + e + t, 6)
        self.skip, self.norm = nn.Linear(w, 6, bias=False), nn.LayerNorm(6)

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        rows, slots = padding.shape
        seen = torch.cat([neighbours, edge_features, times], dim=-1)
        q = self.query(torch.cat([root, root_time], dim=1)).view(rows, 1, 3, 2)
        k, v = (layer(seen).view(rows, slots, 3, 2) for layer in (self.key, self.value))
        scores = ((q * k).sum(-1) / math.sqrt(2)).masked_fill(padding.unsqueeze(-1), -1e10)
        mixed = (torch.softmax(scores, dim=1).unsqueeze(-1) * v).sum(1).reshape(rows, 6)
        return self.norm(mixed.masked_fill(padding.all(1, keepdim=True), 0) + self.skip(root))


class Additive(nn.Module):
    """Scores of a root and a neighbour by a layer of both, as in graph attention."""

    def __init__(self, w, t, e):
        super().__init__()
        self.of_slot, self.of_root, self.score = nn.Linear(w + e + t, 4), nn.Linear(w, 4), nn.Linear(8, 1)

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        seen, own = self.of_slot(torch.cat([neighbours, edge_features, times], dim=-1)), self.of_root(root)
        both = torch.cat([own.unsqueeze(1).expand_as(seen), seen], dim=-1)
        scores = functional.leaky_relu(self.score(both), 0.2).squeeze(-1).masked_fill(padding, -1e9)
        shares = torch.softmax(scores, dim=1).masked_fill(padding, 0)
        return torch.einsum("bk,bkd->bd", shares, seen) + own


class ScaledDotProduct(nn.Module):
    """PyTorch's function for attention; keys and values from one layer."""

    def __init__(self, w, t, e):
        super().__init__()
        self.query, self.both = nn.Linear(w, 4), nn.Linear(w + e + t, 8)

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        k, v = self.both(torch.cat([neighbours, edge_features, times], dim=-1)).chunk(2, dim=-1)
        q = self.query(root).unsqueeze(1)
        none = padding.all(1, keepdim=True)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=~padding.unsqueeze(1)).squeeze(1)
        return torch.cat([mixed.masked_fill(none, 0), torch.tanh(root)], dim=1)


class Shifted(nn.Module):
    """Weights that are added to neighbours, and to a sum of products of roots."""

    def __init__(self, w, t, e):
        super().__init__()
        self.of_slot, self.of_root = nn.Linear(w + e + t, 4), nn.Linear(w, 4, bias=False)
        self.shift, self.bias = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        seen = torch.tanh(self.of_slot(torch.cat([neighbours, edge_features, times], dim=-1))) + self.shift
        scores = (seen * self.of_root(root).unsqueeze(1)).sum(-1).masked_fill(padding, -1e9)
        mixed = (torch.softmax(scores, dim=1).unsqueeze(-1) * seen).sum(1).masked_fill(padding.all(1, keepdim=True), 0)
        return self.of_root(root) + mixed + self.bias


class Unmasked(ByHand):
    """Padding takes part in the softmax."""

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        return super().forward(root, root_time, neighbours, times, edge_features, torch.zeros_like(padding))


class Largest(nn.Module):
    """A maximum over neighbours."""

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        return neighbours.amax(1)


class NextRoot(nn.Module):
    """Each root reads another one."""

    def forward(self, root, root_time, neighbours, times, edge_features, padding):
        return root + root.flip(0)
