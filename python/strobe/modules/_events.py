"""The event models of Strobe as modules of PyTorch: the equations of docs/reference/event_models.md."""
from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from strobe.modules._snapshots import with_one_bias


class Events:
    """A stream of events in the order of their times.

    `source` and `destination` are numbers of vertices [E], `time` is in seconds since the first event [E], `features`
    [E, d_e] and `vertex_features` [N, d_v] are those of events and vertices, where there are some.
    """

    def __init__(self, source: Tensor, destination: Tensor, time: Tensor, features: Tensor | None = None,
                 vertex_features: Tensor | None = None) -> None:
        self.source, self.destination, self.time = source, destination, time.double()
        self.features, self.vertex_features = features, vertex_features
        self.vertices = 1 + int(torch.cat([source, destination]).max())
        if vertex_features is not None:
            self.vertices = max(self.vertices, len(vertex_features))
        if (self.time.diff() < 0).any():
            raise ValueError("events are not in the order of their times")
        numbers = torch.arange(len(source), device=source.device)
        apart = source != destination  # a self-loop counts once
        self._owner = torch.cat([source, destination[apart]])
        key, order = (self._owner * len(source) + torch.cat([numbers, numbers[apart]])).sort()
        self._key, self._event = key, torch.cat([numbers, numbers[apart]])[order]

    def recent(self, vertices: Tensor, times: Tensor, count: int, end: int) -> tuple[Tensor, Tensor, Tensor]:
        """Other ends, events and whether there is one [R, count], for the last events before each time and `end`."""
        until = torch.searchsorted(self.time, times.contiguous()).clamp(max=end)
        first = torch.searchsorted(self._key, vertices * len(self.source))
        last = torch.searchsorted(self._key, vertices * len(self.source) + until)
        place = last[:, None] - count + torch.arange(count, device=vertices.device)
        found = place >= first[:, None]
        event = self._event[place.clamp(min=0)] * found
        other = (self.source[event] + self.destination[event] - vertices[:, None]) * found
        return other, event, found

    def edge_features(self, event: Tensor, like: Tensor) -> Tensor:
        """Features of events [..., d_e]; no columns without features."""
        if self.features is None:
            return like.new_zeros(*event.shape, 0)
        return self.features.to(like)[event]


class _Clock(nn.Linear):
    """cos(dt w + b)."""

    def __init__(self, width: int) -> None:
        super().__init__(1, width)
        with torch.no_grad():
            powers = torch.arange(width, dtype=torch.float64) / max(width - 1, 1)
            self.weight.copy_(10 ** (-9 * powers)[:, None])
            self.bias.zero_()

    def forward(self, dt: Tensor) -> Tensor:
        return torch.cos(super().forward(dt[..., None]))


class TemporalAttention(nn.Module):
    """Attention of roots over their neighbours' vectors, features and times."""

    def __init__(self, inputs: int, edge: int, time: int, width: int, heads: int, scale: str, merges: bool,
                 dropout: float) -> None:
        super().__init__()
        if width % heads:
            raise ValueError(f"{heads} heads do not divide {width} columns")
        self.heads, self.scale, self.dropout = heads, scale, dropout
        self.time = _Clock(time)
        self.query = nn.Linear(inputs + time, width)
        self.key, self.value = (nn.Linear(inputs + edge + time, width) for _ in range(2))
        if merges:
            self.merge, self.norm = nn.Linear(width + inputs, width), nn.LayerNorm(width)

    def forward(self, roots: Tensor, slots: Tensor, edge: Tensor, delta: Tensor, found: Tensor) -> Tensor:
        """Roots are [R, d], slots [R, k, d], edge [R, k, d_e], delta and found [R, k]."""
        now = self.time(delta.new_zeros(len(roots)))
        query = self.query(torch.cat([roots, now], 1)).unflatten(1, (self.heads, -1))
        read = torch.cat([slots, edge, self.time(delta)], 2)
        key, value = (layer(read).unflatten(2, (self.heads, -1)) for layer in (self.key, self.value))
        scores = (query[:, None] * key).sum(3)
        if self.scale == "neighbours":
            scores = scores / found.sum(1).clamp(min=1).to(scores).sqrt()[:, None, None]
        elif self.scale == "head":
            scores = scores / math.sqrt(query.shape[2])
        else:
            scores = functional.leaky_relu(scores, 0.2)
        lowest = torch.finfo(scores.dtype).min
        # A root without neighbours gets zeros.
        share = torch.softmax(scores.masked_fill(~found[:, :, None], lowest), 1) * found[:, :, None]
        share = functional.dropout(share, self.dropout, self.training)
        seen = (share[..., None] * value).sum(1).flatten(1)
        if not hasattr(self, "merge"):
            return seen
        mixed = torch.relu(self.merge(torch.cat([seen, roots], 1)))
        return self.norm(functional.dropout(mixed, self.dropout, self.training))


@dataclasses.dataclass
class Memory:
    """The state of vertices: memory [N, d] and its time, mails [N, 2 d], their time and event (-1: none)."""

    rows: Tensor
    updated: Tensor
    mails: Tensor
    mail_time: Tensor
    mail_event: Tensor


class EventModule(nn.Module):
    """An event model. `width` is that of the embeddings. Widths of features are 0 where the data have none."""

    strobe_model = ""
    memory_width = 0
    memory_state: Memory | None = None

    def __init__(self, width: int, inputs: int, vertex_features: int, **options: Any) -> None:
        super().__init__()
        self.options, self.width, self.inputs = options, width, inputs
        if options.get("sampling", "recent") != "recent" or options.get("static", "none") != "none":
            raise ValueError(f"strobe.modules has {self.strobe_model} with sampling=recent and static=none alone")
        if vertex_features:
            self.features = nn.Linear(vertex_features, inputs)

    def embed(self, events: Events, begin: int, roots: Tensor, times: Tensor) -> Tensor:
        """Embeddings [R, width] of vertices at times. `begin` is the first event of the batch."""
        raise NotImplementedError

    def remember(self, events: Events, begin: int, end: int) -> None:
        """Writes memory and mails of the ends of events. The roots of `embed` began with their sources, then ends."""

    def forget(self, events: Events) -> None:
        """Empties memory and mails."""

    def batch(self, events: Events, begin: int, end: int, others: Tensor | None = None) -> Tensor:
        """Embeddings [B, 2 + C, width] of sources, destinations and `others` [B, C] of events, which memory then knows.

        Nothing flows back into memory of earlier batches.
        """
        source, destination = events.source[begin:end], events.destination[begin:end]
        columns = torch.stack([source, destination], 1)
        columns = columns if others is None else torch.cat([columns, others.to(columns)], 1)
        times = events.time[begin:end].repeat(columns.shape[1])
        z = self.embed(events, begin, columns.T.flatten(), times)
        self.remember(events, begin, end)
        return z.unflatten(0, (columns.shape[1], end - begin)).transpose(0, 1)

    def forward(self, events: Events, others: Tensor | None = None, batch: int = 200,
                again: Iterable[int] = ()) -> Tensor:
        """Embeddings [E, 2 + C, width] of all events, in batches from empty memory on.

        Batches begin again at the events `again`, such as the first of validation and test.
        """
        self.forget(events)
        count, parts = len(events.source), []
        begins = sorted({0, *again, count})
        for first, last in itertools.pairwise(begins):
            for begin in range(first, last, batch):
                end = min(begin + batch, last)
                parts.append(self.batch(events, begin, end, None if others is None else others[begin:end]))
        return torch.cat(parts)

    def _with_features(self, h: Tensor, events: Events, vertices: Tensor) -> Tensor:
        if events.vertex_features is None:
            return h
        return h + self.features(events.vertex_features.to(h)[vertices])

    def _neighbours(self, events: Events, begin: int, vertices: Tensor,
                    times: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        end = begin if self.options["intra_batch_history"] == "none" else len(events.source)
        return events.recent(vertices, times, self.options["neighbours"], end)


class _Remembering(EventModule):
    """Memory of each vertex, by a recurrent cell from its last mail."""

    memory: nn.RNNCellBase

    def _make_memory(self, edge: int, cell: type[nn.GRUCell] | type[nn.RNNCell]) -> None:
        d, time = self.options["memory"], self.options["time"]
        self.memory_time, self.memory = _Clock(time), cell(2 * d + time + edge, d)

    def forget(self, events: Events) -> None:
        like, n, d = next(self.parameters()), events.vertices, self.options["memory"]
        times = torch.zeros(n, dtype=torch.float64, device=like.device)
        self.memory_state = Memory(like.new_zeros(n, d), times, like.new_zeros(n, 2 * d), times.clone(),
                                   torch.full((n,), -1, device=like.device))

    def _read(self, events: Events, vertices: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
        """Memory after the mails, and its time."""
        if self.memory_state is None:
            self.forget(events)
        state = self.memory_state
        assert state is not None
        rows, last, event = state.rows[vertices], state.updated[vertices], state.mail_event[vertices]
        mail_time = state.mail_time[vertices]
        until = mail_time if self.options["mail_dt"] == "mail_minus_memory" else asked
        mail = torch.cat([state.mails[vertices], self.memory_time((until - last).to(rows)),
                          events.edge_features(event.clamp(min=0), rows)], 1)
        mailed = event >= 0
        return (torch.where(mailed[:, None], self.memory(mail, rows), rows), torch.where(mailed, mail_time, last))

    def _keep(self, rows: Tensor, times: Tensor) -> None:
        """Keeps the memory of the roots as this batch saw it, for `remember`."""
        self._seen = rows.detach(), times

    def remember(self, events: Events, begin: int, end: int) -> None:
        state, count = self.memory_state, end - begin
        assert state is not None
        rows, times = self._seen
        ends = torch.cat([events.source[begin:end], events.destination[begin:end]])
        # The last of a vertex's mails stays.
        place = torch.arange(count, device=ends.device)
        number = torch.cat([2 * place, 2 * place + 1])
        last = torch.full((events.vertices,), -1, device=ends.device).scatter_reduce(0, ends, number, "amax")
        vertices = (last >= 0).nonzero()[:, 0]
        event, side = last[vertices] // 2, last[vertices] % 2
        own, other = event + count * side, event + count * (1 - side)
        state.rows[vertices], state.updated[vertices] = rows[own], times[own]
        state.mails[vertices] = torch.cat([rows[own], rows[other]], 1)
        state.mail_event[vertices], state.mail_time[vertices] = begin + event, events.time[begin + event]


class TGNAttn(_Remembering):
    """TGN with attention: `memory` is a GRUCell with the time encoding `memory_time`, `attention` its one layer."""

    strobe_model = "tgn-attn"

    def __init__(self, vertex_features: int, edge_features: int, memory: int = 100, time: int = 100,
                 neighbours: int = 10, heads: int = 2, embedding: int = 0, attention: str = "neighbours",
                 mail_dt: str = "mail_minus_memory", key_dt: str = "memory", output: str = "plain",
                 sampling: str = "recent", intra_batch_history: str = "sampler", dropout: float = 0.0,
                 static: str = "none") -> None:
        super().__init__(embedding or memory, memory, vertex_features, memory=memory, time=time, neighbours=neighbours,
                         heads=heads, embedding=embedding, attention=attention, mail_dt=mail_dt, key_dt=key_dt,
                         output=output, sampling=sampling, intra_batch_history=intra_batch_history, dropout=dropout,
                         static=static)
        self._make_memory(edge_features, nn.GRUCell)
        self.attention = TemporalAttention(memory, edge_features, time, self.width, heads, attention,
                                           output == "merge", dropout)

    def embed(self, events: Events, begin: int, roots: Tensor, times: Tensor) -> Tensor:
        """From the memory of roots and neighbours."""
        other, event, found = self._neighbours(events, begin, roots, times)
        vertices = torch.cat([roots, other.flatten()])
        rows, updated = self._read(events, vertices, torch.cat([times, events.time[event].flatten()]))
        count = len(roots)
        self._keep(rows[:count], updated[:count])
        h = self._with_features(rows, events, vertices)
        known = updated[count:].reshape(event.shape) if self.options["key_dt"] == "memory" else events.time[event]
        z: Tensor = self.attention(h[:count], h[count:].unflatten(0, event.shape), events.edge_features(event, h),
                                   (times[:, None] - known).to(h), found)
        return z


class JODIE(_Remembering):
    """JODIE: `memory` is an RNNCell, projected through the time since by `projection.slope` and `projection.shift`."""

    strobe_model = "jodie"

    def __init__(self, vertex_features: int, edge_features: int, memory: int = 100, time: int = 100,
                 mail_dt: str = "mail_minus_memory") -> None:
        super().__init__(memory, memory, vertex_features, memory=memory, time=time, mail_dt=mail_dt)
        self._make_memory(edge_features, nn.RNNCell)
        with_one_bias(self.memory)
        self.projection = nn.ParameterDict({"slope": torch.empty(memory).uniform_(-memory ** -0.5, memory ** -0.5),
                                            "shift": torch.zeros(memory)})

    def embed(self, events: Events, begin: int, roots: Tensor, times: Tensor) -> Tensor:
        """From the memory of the roots."""
        rows, updated = self._read(events, roots, times)
        self._keep(rows, updated)
        share = ((times - updated) / (times + 1)).to(rows)[:, None]
        h = self._with_features(rows, events, roots)
        return h * (1 + share * self.projection["slope"] + self.projection["shift"])


class TGAT(EventModule):
    """TGAT: two layers of attention, `layer1` over neighbours of neighbours and `layer2` over neighbours."""

    strobe_model = "tgat"

    def __init__(self, vertex_features: int, edge_features: int, hidden: int = 100, time: int = 100,
                 neighbours: int = 10, heads: int = 2, attention: str = "head", sampling: str = "recent",
                 intra_batch_history: str = "sampler", dropout: float = 0.0) -> None:
        super().__init__(hidden, hidden, vertex_features, hidden=hidden, time=time, neighbours=neighbours, heads=heads,
                         attention=attention, sampling=sampling, intra_batch_history=intra_batch_history,
                         dropout=dropout)
        self.layer1, self.layer2 = (TemporalAttention(hidden, edge_features, time, hidden, heads, attention, True,
                                                      dropout) for _ in range(2))

    def embed(self, events: Events, begin: int, roots: Tensor, times: Tensor) -> Tensor:
        """From the features of vertices alone."""
        other, event, found = self._neighbours(events, begin, roots, times)
        vertices = torch.cat([roots, other.flatten()])
        asked = torch.cat([times, events.time[event].flatten()])
        other1, event1, found1 = self._neighbours(events, begin, vertices, asked)
        every = torch.cat([vertices, other1.flatten()])
        like = next(self.parameters())
        h0 = self._with_features(like.new_zeros(len(every), self.inputs), events, every)
        h = self._layer(self.layer1, h0, len(vertices), events, asked, event1, found1)
        return self._layer(self.layer2, h, len(roots), events, times, event, found)

    @staticmethod
    def _layer(layer: TemporalAttention, h: Tensor, count: int, events: Events, times: Tensor, event: Tensor,
               found: Tensor) -> Tensor:
        z: Tensor = layer(h[:count], h[count:].unflatten(0, event.shape), events.edge_features(event, h),
                          (times[:, None] - events.time[event]).to(h), found)
        return z
