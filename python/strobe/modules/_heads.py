"""Heads of Strobe's tasks that are more than one linear layer."""
from __future__ import annotations

import torch
from torch import Tensor, nn


class LinkDecoder(nn.Module):
    """The score of a link from the embeddings of its ends: w . relu(z_u W_s + z_v W_d + b) + b'."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.source, self.destination = nn.Linear(width, width), nn.Linear(width, width)
        self.output = nn.Linear(width, 1)

    def forward(self, source: Tensor, destination: Tensor) -> Tensor:
        """Scores [...] of embeddings [..., width], which broadcast."""
        score: Tensor = self.output(torch.relu(self.source(source) + self.destination(destination)))
        return score[..., 0]


class EventClassifier(nn.Module):
    """The class of an event from the embeddings of its ends."""

    def __init__(self, width: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.hidden, self.output = nn.Linear(2 * width, hidden), nn.Linear(hidden, classes)

    def forward(self, source: Tensor, destination: Tensor) -> Tensor:
        """Logits [B, classes]."""
        logits: Tensor = self.output(torch.relu(self.hidden(torch.cat([source, destination], -1))))
        return logits
