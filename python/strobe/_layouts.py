"""Which values of a PyTorch module are which of a model's weights in Strobe, for every built-in model."""
from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Shapes = Mapping[str, tuple[int, ...]]
_ALL = slice(None)


class Block(NamedTuple):
    """Rows and columns of a weight of Strobe."""

    name: str
    rows: slice = _ALL
    columns: slice = _ALL


@dataclasses.dataclass(frozen=True)
class Part:
    """A parameter of the module: blocks of Strobe one below the other, perhaps transposed.

    A `second` bias is added to the first one by PyTorch's cells. Strobe has their sum. A part may be of a `captured`
    module. A module that is loaded may lack a `spare` one.
    """

    theirs: str
    blocks: tuple[Block, ...]
    turned: bool = False
    second: bool = False
    captured: bool = False
    spare: bool = False


Layout = list[Part]


def _same(ours: str, theirs: str | None = None, turned: bool = False, second: bool = False) -> Part:
    return Part(theirs or ours, (Block(ours),), turned, second)


def _dense(shapes: Shapes, theirs: str, weight: str, bias: str) -> Layout:
    """A Linear; without a bias where Strobe has none."""
    return [_same(weight, f"{theirs}.weight", True), *([_same(bias, f"{theirs}.bias")] if bias in shapes else [])]


def _cell(theirs: str, weight_x: str, weight_h: str, biases: tuple[str, str]) -> Layout:
    """LSTMCell, GRUCell or RNNCell. Both biases have one name where Strobe has one."""
    return [_same(weight_x, f"{theirs}.weight_ih", True), _same(weight_h, f"{theirs}.weight_hh", True),
            _same(biases[0], f"{theirs}.bias_ih"), _same(biases[1], f"{theirs}.bias_hh",
                                                         second=biases[0] == biases[1])]


def _lstm(name: str) -> Layout:
    return _cell(name, f"{name}.input_weight", f"{name}.hidden_weight", (f"{name}.bias", f"{name}.bias"))


def _linears(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    """Models of dense layers alone: TM-GCN, DCRNN and T-GCN with conv=xh."""
    return [_same(name, turned=name.endswith("weight")) for name in shapes]


def _cd_gcn(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    layers = [f"layer{number}" for number in range(1, options["layers"] + 1)]
    return [part for layer in layers for part in (_same(f"{layer}.gcn.weight", turned=True), *_lstm(f"{layer}.lstm"))]


def _mpnn_lstm(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    parts: Layout = []
    for layer in (1, 2):
        parts += _dense(shapes, f"gcn{layer}", f"gcn{layer}.weight", f"gcn{layer}.bias")
        if options["batch_norm"]:
            parts += [_same(f"norm{layer}.gain", f"norm{layer}.weight"),
                      _same(f"norm{layer}.shift", f"norm{layer}.bias")]
        parts += _lstm(f"lstm{layer}")
    return parts


def _t_gcn(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    """The names of TGCN in PyTorch Geometric Temporal, whose equations are those of gcn_layers=1."""
    if options["conv"] == "xh":
        return _linears(options, shapes)
    h, layers = shapes["gru.hidden_weight"][1], options["gcn_layers"]
    parts: Layout = []
    for block, gate in enumerate(("r", "z", "h")):
        own, gate_rows = slice(block * h, (block + 1) * h), slice(block, block + 1)
        if options["gates"] == "own" or block == 0:
            name = f"conv_{gate}" if options["gates"] == "own" else "conv"
            for layer in range(layers):
                weight, bias = f"layer{layer + 1}.gcn.weight", f"layer{layer + 1}.gcn.bias"
                conv = name if layers == 1 else f"{name}.{layer}"
                place = {"columns": own} if layer == 0 else {"rows": own}
                parts.append(Part(f"{conv}.weight", (Block(weight, **place),), turned=True))
                parts.append(Part(f"{conv}.bias", (Block(bias, columns=own) if layer == 0 else
                                                   Block(bias, rows=gate_rows),)))
        parts.append(Part(f"linear_{gate}.weight", (Block("gru.input_weight", own), Block("gru.hidden_weight", own)),
                          turned=True))
        parts.append(Part(f"linear_{gate}.bias", (Block("gru.bias", gate_rows),)))
    return parts


def _dysat(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    """The structural attention has the names of GATConv in PyTorch Geometric."""
    return [_same("structural.weight", "structural.lin.weight", True), _same("structural.left", "structural.att_dst"),
            _same("structural.right", "structural.att_src"), _same("temporal.positions"),
            _same("temporal.query_key_value", "temporal.query_key_value.weight", True),
            *_dense(shapes, "temporal.dense", "temporal.dense.weight", "temporal.dense.bias")]


def _evolve(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    return [_same(name) for name in shapes]


def _clock(theirs: str, prefix: str) -> Layout:
    """cos(t w + b), a Linear of one column."""
    return [_same(f"{prefix}.frequency", f"{theirs}.weight", True), _same(f"{prefix}.phase", f"{theirs}.bias")]


def _attention(prefix: str, merge: tuple[str, ...], shapes: Shapes) -> Layout:
    """Keys and values are layers of their own, over [vertex | edge | time]."""
    width = shapes[f"{prefix}.query"][1]
    read = [name for name in ("vertex", "edge", "time") if f"{prefix}.{name}" in shapes]
    parts = _clock(f"{prefix}.time", prefix) + _dense(shapes, f"{prefix}.query", f"{prefix}.query",
                                                      f"{prefix}.query_bias")
    for name, half in (("key", slice(0, width)), ("value", slice(width, 2 * width))):
        parts += [Part(f"{prefix}.{name}.weight", tuple(Block(f"{prefix}.{one}", columns=half) for one in read), True),
                  Part(f"{prefix}.{name}.bias", (Block(f"{prefix}.bias", columns=half),))]
    if merge[0] in shapes:
        parts += _dense(shapes, f"{prefix}.merge", merge[0], merge[1])
        parts += [_same(merge[2], f"{prefix}.norm.weight"), _same(merge[3], f"{prefix}.norm.bias")]
    return parts


def _features(shapes: Shapes) -> Layout:
    return _dense(shapes, "features", "features.weight", "features.bias") if "features.weight" in shapes else []


def _described(options: Mapping[str, Any]) -> Any:
    """The file of a captured model."""
    path = pathlib.Path(options["path"])
    return json.loads((path / "model.json" if path.is_dir() else path).read_text(encoding="utf-8"))


def _of_capture(weight: Mapping[str, Any]) -> Part:
    return dataclasses.replace(_same(weight["name"], turned=bool(weight.get("transposed"))), captured=True)


def _tgn_attn(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    """With `path`, parts are captured. Parts of tgn-attn itself are then spare."""
    captured: Layout = []
    if options.get("path"):
        captured = [_of_capture(one) for part in _described(options)["parts"].values() for one in part["weights"]]
    own = _clock("memory_time", "memory")
    if not captured or "memory.weight_x" in shapes:
        own += _cell("memory", "memory.weight_x", "memory.weight_h", ("memory.bias_x", "memory.bias_h"))
    own += [_same("static.table", "static.weight")] if "static.table" in shapes else []
    own += _features(shapes)
    if not captured or "attention.query" in shapes:
        own += _attention("attention", ("merge.weight", "merge.bias", "merge.gain", "merge.shift"), shapes)
    elif "attention.frequency" in shapes:
        own += _clock("attention.time", "attention")
    return [*captured, *(dataclasses.replace(part, spare=bool(captured)) for part in own)]


def _jodie(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    return [*_clock("memory_time", "memory"),
            *_cell("memory", "memory.weight_x", "memory.weight_h", ("memory.bias", "memory.bias")), *_features(shapes),
            *[_same(f"projection.{name}") for name in ("slope", "shift")]]


def _tgat(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    parts = _features(shapes)
    for layer in ("layer1", "layer2"):
        merge = tuple(f"{layer}.{name}" for name in ("merge", "merge_bias", "gain", "shift"))
        parts += _attention(layer, merge, shapes)
    return parts


def _captured(options: Mapping[str, Any], shapes: Shapes) -> Layout:
    return [_of_capture(one) for one in _described(options)["weights"]]


_MODELS: dict[str, Callable[[Mapping[str, Any], Shapes], Layout]] = {
    "captured": _captured, "cd-gcn": _cd_gcn, "dcrnn": _linears, "dysat": _dysat, "evolve-gcn-h": _evolve,
    "evolve-gcn-o": _evolve, "jodie": _jodie, "mpnn-lstm": _mpnn_lstm, "t-gcn": _t_gcn, "tgat": _tgat,
    "tgn-attn": _tgn_attn, "tm-gcn": _linears}

# Heads of the tasks: their layers, as weights of Strobe.
_HEADS = {"head": ("head.weight", "head.bias"),
          **{layer: (layer, f"{layer}_bias") for layer in (
              "decoder.source", "decoder.destination", "decoder.output", "classifier.hidden", "classifier.output")}}


def is_of_task(name: str) -> bool:
    """Whether a weight of Strobe or of a module belongs to the head of the task."""
    return name.split(".")[0] in ("head", "decoder", "classifier")


def layout(model: str, options: Mapping[str, Any], shapes: Shapes) -> Layout | None:
    """Parts of the model's weights, and of the task's head. None for a model that is not built in."""
    if model not in _MODELS:
        return None
    own = {name: shape for name, shape in shapes.items() if not is_of_task(name)}
    heads = [part for theirs, (weight, bias) in _HEADS.items() if weight in shapes
             for part in _dense(shapes, theirs, weight, bias)]
    return _MODELS[model](options, own) + heads
