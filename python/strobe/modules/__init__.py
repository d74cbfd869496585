"""The built-in models of Strobe as plain modules of PyTorch, to evaluate, train on or serve trained weights.

import strobe, strobe.modules
run = strobe.run(workload="ucsocial", model="t-gcn", save_model="model.safetensors")
module = run.to_torch()                      # a strobe.modules.TGCN with the trained weights
z = module([(x, edge_index), ...])           # [T, N, width]

Each module has the options of the model in Strobe that change its equations, under the same names, and no others.
"""
from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from torch import nn

from strobe.modules._events import JODIE, TGAT, EventModule, Events, TGNAttn
from strobe.modules._gated import DCRNN, TGCN, DySAT
from strobe.modules._heads import EventClassifier, LinkDecoder
from strobe.modules._snapshots import CDGCN, MPNNLSTM, TMGCN, EvolveGCNH, EvolveGCNO, SnapshotModule
from strobe.weights import NotFitting

__all__ = ["CDGCN", "DCRNN", "JODIE", "MPNNLSTM", "TGAT", "TGCN", "TMGCN", "DySAT", "EventClassifier", "EventModule",
           "Events", "EvolveGCNH", "EvolveGCNO", "LinkDecoder", "SnapshotModule", "TGNAttn"]

_MODULES: dict[str, type[SnapshotModule | EventModule]] = {
    one.strobe_model: one for one in (CDGCN, DCRNN, DySAT, EvolveGCNH, EvolveGCNO, JODIE, MPNNLSTM, TGAT, TGCN, TGNAttn,
                                      TMGCN)}
# The weights whose first rows belong to the features.
_FIRST = ("layer1.gcn.weight", "gcn1.weight", "structural.weight", "layer1.weight", "layer1.gate.weight", "gate.weight")


def _widths(model: str, options: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Numbers of features: of vertices, or of vertices and events."""
    if issubclass(_MODULES[model], EventModule):
        edge = next((shapes[name][0] for name in ("attention.edge", "layer1.edge") if name in shapes), 0)
        if model == "jodie":
            edge = shapes["memory.weight_x"][0] - 2 * options["memory"] - options["time"]
        return shapes.get("features.weight", (0,))[0], edge
    rows = next(shapes[name][0] for name in _FIRST if name in shapes)
    if model == "dcrnn":
        rows = rows // (1 + options["hops"] * (2 if options["directions"] == "both" else 1))
    return (rows - options["hidden"] if model == "dcrnn" or options.get("conv") == "xh" else rows,)


def build(model: str | None, options: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]],
          where: str) -> SnapshotModule | EventModule:
    """The module for weights of these shapes, with random weights. Raises NotFitting."""
    if model not in _MODULES:
        known = ", ".join(sorted(_MODULES))
        raise NotFitting(f"{where}: strobe.modules has no module of model {model}; give one. It has {known}")
    if options.get("path"):
        raise NotFitting(f"{where}: parts of this {model} are captured; give a module that has them, such as "
                         "torch.nn.ModuleDict({\"message\": ..., \"updater\": ...})")
    try:
        widths = _widths(model, options, shapes)
    except (KeyError, StopIteration) as error:
        raise NotFitting(f"{where}: is no whole file of model {model}; it lacks {error}") from None
    kind = _MODULES[model]
    used = {name: value for name, value in options.items() if name in inspect.signature(kind).parameters}
    try:
        module = kind(*widths, **used)
    except ValueError as error:
        raise NotFitting(f"{where}: {error}") from None
    if "head.weight" in shapes:
        module.head = nn.Linear(shapes["head.weight"][0], shapes["head.weight"][1])
    if "decoder.source" in shapes:
        module.decoder = LinkDecoder(module.width)
    if "classifier.hidden" in shapes:
        module.classifier = EventClassifier(module.width, shapes["classifier.hidden"][1],
                                            shapes["classifier.output"][1])
    return module
