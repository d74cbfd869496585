"""Sparse matrices of one step, as edges and their values."""
from __future__ import annotations

import dataclasses

import torch
from torch import Tensor


@dataclasses.dataclass
class Matrix:
    """[N, N] with a value for each edge; row v lists the sources of the edges to v. Parallel edges add."""

    edges: Tensor
    values: Tensor
    vertices: int

    def product(self, x: Tensor) -> Tensor:
        """A x, [N, F]."""
        result = x.new_zeros(self.vertices, x.shape[1])
        return result.index_add(0, self.edges[1], self.values[:, None] * x[self.edges[0]])

    def transposed(self) -> Matrix:
        """The edges turned round."""
        return Matrix(self.edges.flip(0), self.values, self.vertices)

    def row_sums(self) -> Tensor:
        """Sum of each row, [N]."""
        return self.values.new_zeros(self.vertices).index_add(0, self.edges[1], self.values)

    def walk(self) -> Matrix:
        """Rows scaled to sum 1; empty rows stay empty."""
        sums = self.row_sums()
        scale = torch.where(sums != 0, 1 / torch.where(sums != 0, sums, 1), 0)
        return Matrix(self.edges, self.values * scale[self.edges[1]], self.vertices)

    def normalised(self) -> Matrix:
        """D^-1/2 (A + I) D^-1/2, D the row sums of A + I."""
        loops = torch.arange(self.vertices, device=self.edges.device)
        whole = Matrix(torch.cat([self.edges, torch.stack([loops, loops])], 1),
                       torch.cat([self.values, self.values.new_ones(self.vertices)]), self.vertices)
        scale = whole.row_sums().rsqrt()
        return dataclasses.replace(whole, values=scale[whole.edges[1]] * whole.values * scale[whole.edges[0]])

    def joined(self) -> Matrix:
        """Parallel edges as one."""
        key, place = torch.unique(self.edges[1] * self.vertices + self.edges[0], return_inverse=True)
        values = self.values.new_zeros(len(key)).index_add(0, place, self.values)
        return Matrix(torch.stack([key % self.vertices, key // self.vertices]), values, self.vertices)


def matrix(x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Matrix:
    """A of one step with the features x [N, F]; without weights each edge counts 1."""
    values = x.new_ones(edge_index.shape[1]) if edge_weight is None else edge_weight.to(x.dtype)
    return Matrix(edge_index, values, x.shape[0])


def sum_of(steps: list[Matrix], factors: list[float]) -> Matrix:
    """The sum of matrices, each times a factor."""
    return Matrix(torch.cat([one.edges for one in steps], 1),
                  torch.cat([one.values * factor for one, factor in zip(steps, factors, strict=True)]),
                  steps[-1].vertices)
