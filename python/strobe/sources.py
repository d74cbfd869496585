"""Graphs of other libraries as columns. A library is recognised by what its objects have, and never imported here."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from strobe import columns

# The names under which libraries have what an event has, in the order in which they are looked for.
KNOWN = {
    "source": ("source", "src", "sources", "u", "from", "user_id", "head"),
    "target": ("target", "dst", "targets", "destination", "destinations", "v", "i", "to", "item_id", "tail"),
    "time": ("time", "t", "timestamp", "timestamps", "ts", "date", "times", "edge_time", "edge_timestamp"),
    "weight": ("weight", "w", "weights", "edge_weight"),
    "labels": ("labels", "label", "y", "edge_label", "state_label"),
}
_FEATURES = ("features", "feat", "msg", "edge_feat", "edge_attr", "edge_features")


@dataclasses.dataclass
class Found:
    """Columns [E] of events by name, features [E, F], a table of vertices, and arguments of `from_events`."""

    events: Mapping[str, Any]
    features: Any = None
    vertices: Mapping[str, Any] | None = None
    how: dict[str, Any] = dataclasses.field(default_factory=dict)

    def column(self, name: str) -> Any:
        """The column of that name. Raises ValueError."""
        if str(name) not in self.events:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(self.events)}")
        return self.events[str(name)]


def choose(found: Found, asked: Mapping[str, str | None]) -> dict[str, str | None]:
    """The column for each argument: the one that was asked for, else the first with a known name.

    Weights and labels may be missing. Raises ValueError.
    """
    chosen: dict[str, str | None] = {}
    for key, name in asked.items():
        if name is not None:
            found.column(name)
            chosen[key] = str(name)
            continue
        chosen[key] = next((known for known in KNOWN[key] if known in found.events), None)
        if chosen[key] is None and key in ("source", "target", "time"):
            raise ValueError(f"which column is the {key}? Say {key}=; there are {', '.join(map(str, found.events))}")
    return chosen


def columns_of(data: Any) -> Found:
    """The events of a graph or table. Raises ValueError for what has none."""
    if all(hasattr(data, name) for name in ("src", "dst", "t")) and hasattr(data, "msg"):
        return _temporal_data(data)
    if hasattr(data, "edata") and hasattr(data, "edges"):
        return _dgl(data)
    tgb = getattr(data, "dataset", data)
    if hasattr(tgb, "full_data"):
        return _tgb(tgb.full_data)
    events = dict(columns.table(data))
    if "edge_index" in events and np.ndim(events["edge_index"]) == 2:
        pairs = np.asarray(events.pop("edge_index"))
        if pairs.shape[0] != 2:
            pairs = pairs.T
        events.update(source=pairs[0], target=pairs[1])
    features = next((events[name] for name in _FEATURES if name in events), None)
    return Found(events, features)


def _temporal_data(data: Any) -> Found:
    """torch_geometric.data.TemporalData: src, dst, t [E], msg [E, F], y [E]."""
    events = {name: value for name, value in data.to_dict().items() if value is not None and name != "msg"}
    features = data.msg if data.msg is not None and data.msg.numel() > 0 else None
    return Found(events, features)


def _dgl(graph: Any) -> Found:
    """A DGL graph of one kind of edge: a time and features in `edata`, features of vertices in `ndata`."""
    if len(graph.etypes) != 1 or len(graph.ntypes) != 1:
        raise ValueError(f"the DGL graph has {len(graph.etypes)} kinds of edges and {len(graph.ntypes)} of vertices; "
                         "give one subgraph, such as graph[etype]")
    source, target = graph.edges(order="eid")
    events = {**{name: value for name, value in graph.edata.items() if not name.startswith("_")},
              "source": source, "target": target}
    features = next((events.pop(name) for name in _FEATURES if name in events), None)
    own = next((graph.ndata[name] for name in _FEATURES if name in graph.ndata), None)
    vertices = None if own is None else {"name": np.arange(graph.num_nodes()), "feature": columns.matrix(own)}
    return Found(events, features, vertices)


def _tgb(full: Mapping[str, Any]) -> Found:
    """The `full_data` of a TGB data set of links: sources, destinations, timestamps, edge_feat, w, edge_label."""
    # The label of a link is 1 for each link that exists, so it says nothing.
    events = {name: full[name] for name in ("sources", "destinations", "timestamps", "w") if full.get(name) is not None}
    return Found(events, full.get("edge_feat"))


def steps_of(data: Any) -> dict[str, Any] | None:
    """The steps of an iterator of PyTorch Geometric Temporal, as arguments of `from_steps`; None for anything else.

    Its targets belong to the step that they are given with.
    """
    if not hasattr(data, "snapshot_count") or not hasattr(data, "__getitem__"):
        return None
    snapshots = [data[step] for step in range(data.snapshot_count)]
    steps: dict[str, Any] = {"edges": [one.edge_index for one in snapshots]}
    if all(one.edge_attr is not None for one in snapshots):
        steps["weights"] = [one.edge_attr for one in snapshots]
    if all(one.x is not None for one in snapshots):
        steps["features"] = np.stack([columns.matrix(one.x) for one in snapshots])
    if all(one.y is not None and one.y.dim() == 1 for one in snapshots):
        steps["targets"] = np.stack([one.y.detach().cpu().numpy() for one in snapshots])
    return steps
