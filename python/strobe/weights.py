"""Weights both ways: from a run into a PyTorch module, and from a module into the start of a run."""
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import pathlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from strobe import results
from strobe._layouts import Layout, Part, Shapes, is_of_task, layout
from strobe.captured import _write_safetensors
from strobe.errors import StrobeError
from strobe.program import Path

if TYPE_CHECKING:
    import torch

    from strobe.runs import Run

Array: TypeAlias = np.ndarray
Weights = dict[str, Array]
_KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
# Where PyTorch and PyTorch Geometric keep the same parameter: in LSTM and GRU, in GCNConv, in older GATConv.
_OTHER_NAMES = (*((f".{kind}_{of}", f".{kind}_{of}_l0") for kind in ("weight", "bias") for of in ("ih", "hh")),
                (".lin.weight", ".lin_src.weight"), (".weight", ".lin.weight"), (".bias", ".lin.bias"))


class NotFitting(StrobeError, ValueError):
    """Weights do not fit the model; the text names each weight, and what was expected."""


@dataclasses.dataclass
class WeightFile:
    """A safetensors file: `model` and `options` are None and empty where the file does not name them."""

    path: pathlib.Path
    model: str | None
    options: dict[str, Any]
    weights: Weights
    fp64: bool
    seed: str | None = None

    @property
    def shapes(self) -> Shapes:
        """Rows and columns of each weight."""
        return {name: value.shape for name, value in self.weights.items()}


def _tensor(content: bytes, entry: Mapping[str, Any]) -> Array:
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(content):
        raise ValueError("a tensor ends after the file")
    values = np.frombuffer(content[begin:end], _KINDS[entry["dtype"]])
    if entry["dtype"] == "BF16":
        values = (values.astype("<u4") << 16).view("<f4")
    return values.astype(np.float64).reshape(entry["shape"])


def read_weights(path: Path) -> WeightFile:
    """The weights of a safetensors file as float64. Raises NotFitting for a file that is none."""
    file = pathlib.Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise NotFitting(f"{file}: {error.strerror}") from None
    try:
        begin = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:begin])
        notes = header.pop("__metadata__", {})
        kinds = {entry["dtype"] for entry in header.values()} - set(_KINDS)
        if kinds:
            raise NotFitting(f"{file}: holds values of type {', '.join(sorted(kinds))}; known: {', '.join(_KINDS)}")
        weights = {name: _tensor(content[begin:], entry) for name, entry in header.items()}
        options = json.loads(notes.get("options", "{}"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotFitting(f"{file}: is no safetensors file; strobe.run(..., save_model=\"model.safetensors\") and "
                         "safetensors.torch.save_file write one") from None
    # A checkpoint has the optimiser's vectors too.
    kept = {name: value for name, value in weights.items() if not name.startswith(("optimizer.", "state."))}
    fp64 = any(entry["dtype"] == "F64" for entry in header.values())
    return WeightFile(file, notes.get("model"), options, kept, fp64, notes.get("seed"))


def _is_stored(source: Any) -> bool:
    """Whether the weights are those of a run or a file, and not of a module or its state_dict."""
    from strobe.runs import Run

    return isinstance(source, (str, os.PathLike, Run))


def _folder_of(source: Run | Path) -> pathlib.Path:
    return pathlib.Path(source if isinstance(source, (str, os.PathLike)) else source.path)


def _stored(source: Run | Path) -> WeightFile:
    """The weights of a run, or of the file itself. Raises NotFitting where they are not those that the run trained."""
    folder = _folder_of(source)
    if not folder.is_dir():
        return read_weights(folder)
    try:
        plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise NotFitting(f"{folder}: is no run directory, because it has no plan.json") from None
    outputs, case = plan.get("outputs", {}), plan["cases"][0]
    if not outputs.get("save_model"):
        kept = outputs.get("checkpoint")
        advice = f"give its checkpoint {kept}" if kept else "give save_model=\"model.safetensors\" to strobe.run"
        raise NotFitting(f"{folder}: the run kept no weights; {advice}")
    row = results.read(folder).iloc[0]
    if row["status"] != "ok":
        # An earlier run may have left a file of this name.
        raise NotFitting(f"{folder}: weights of a case that is {row['status']} are not taken: {row.get('reason')}; "
                         f"to take those of a file, give its name, such as {outputs['save_model']}")
    file, model = read_weights(outputs["save_model"]), case["model"]
    of_run = file.model == model["name"] and file.seed in (None, str(case["seed"])) and all(
        model.get(name, value) == value for name, value in file.options.items())
    if not of_run:
        raise NotFitting(f"{file.path}: another run has written this file since {folder}; keep each run's weights in a "
                         "file of its own")
    return file


def _renamed(theirs: str, names: Mapping[str, str]) -> str:
    """The name in the module. `names` has layers by their name in strobe.modules; the longest one counts."""
    known = [layer for layer in names if theirs == layer or theirs.startswith(layer + ".")]
    layer = max(known, key=len, default="")
    return names[layer] + theirs[len(layer):] if known else theirs


def _found(theirs: str, names: Mapping[str, str], known: Mapping[str, Any]) -> str | None:
    """The name under which the module has the parameter."""
    wanted = _renamed(theirs, names)
    for ending, other in (("", ""), *_OTHER_NAMES):
        if wanted.endswith(ending) and wanted[:len(wanted) - len(ending)] + other in known:
            return wanted[:len(wanted) - len(ending)] + other
    return None


def _fits(shape: tuple[int, ...], expected: tuple[int, int]) -> bool:
    """Whether a parameter has these rows and columns.

    A vector is a row, and so are the heads of an attention, [1, H, C]. Weights that evolve may be [1, F, G].
    """
    if len(shape) == 2:
        return shape == expected
    return expected == (1, int(np.prod(shape, dtype=int))) or shape == (1, *expected)


def _block_shapes(part: Part, shapes: Shapes) -> list[tuple[int, int]]:
    return [(len(range(*block.rows.indices(shapes[block.name][0]))),
             len(range(*block.columns.indices(shapes[block.name][1])))) for block in part.blocks]


def _expected(part: Part, shapes: Shapes) -> tuple[int, int]:
    blocks = _block_shapes(part, shapes)
    rows, columns = sum(one[0] for one in blocks), blocks[0][1]
    return (columns, rows) if part.turned else (rows, columns)


@dataclasses.dataclass
class _Pairs:
    """Parts of a layout with the names of the module's parameters."""

    parts: list[tuple[Part, str]]
    shapes: Shapes

    def into_module(self, ours: Weights) -> Weights:
        """The values of the module's parameters [rows, columns]."""
        values = {}
        for part, name in self.parts:
            stacked = np.concatenate([ours[block.name][block.rows, block.columns] for block in part.blocks])
            values[name] = np.zeros_like(stacked) if part.second else stacked.T if part.turned else stacked
        return values

    def from_module(self, theirs: Mapping[str, Array]) -> Weights:
        """The weights of Strobe."""
        ours = {name: np.zeros(shape) for name, shape in self.shapes.items()}
        for part, name in self.parts:
            value = theirs[name].reshape(_expected(part, self.shapes))
            value, first = value.T if part.turned else value, 0
            for block, (rows, _) in zip(part.blocks, _block_shapes(part, self.shapes), strict=True):
                ours[block.name][block.rows, block.columns] += value[first:first + rows]
                first += rows
        return ours


def _paired(parts: Layout, shapes: Shapes, known: Mapping[str, tuple[int, ...]], names: Mapping[str, str], what: str,
            head: bool) -> _Pairs:
    """Finds every part in the module. `head`: whether it must have the task's head. Raises NotFitting."""
    pairs, wrong = [], []
    for part in parts:
        expected, name = _expected(part, shapes), _found(part.theirs, names, known)
        if name is not None and _fits(known[name], expected):
            pairs.append((part, name))
        elif name is not None:
            wrong.append(f"{name} is {list(known[name])}, and {list(expected)} is needed")
        elif head or part.captured or not (part.spare or is_of_task(part.theirs)):
            wrong.append(f"{_renamed(part.theirs, names)} is missing, {list(expected)}")
    used = {_found(part.theirs, names, known) for part in parts}
    if not any(part.captured for part in parts):  # a captured module may have weights that its call does not read
        wrong += [f"{name} {list(shape)} has no counterpart" for name, shape in known.items() if name not in used]
    unknown = [layer for layer in names if not any(_renamed(part.theirs, {layer: "?"}) != part.theirs
                                                   for part in parts)]
    wrong += [f"names has {layer!r}, which is no layer of the model" for layer in unknown]
    if wrong:
        raise NotFitting(f"{what}:\n  " + "\n  ".join(wrong))
    return _Pairs(pairs, shapes)


def _layout(model: str | None, options: Mapping[str, Any], shapes: Shapes, where: str) -> Layout:
    if model is None:
        raise NotFitting(f"{where}: does not say which model it is of; give a module of strobe.modules")
    try:
        parts = layout(model, options, shapes)
    except (KeyError, OSError, ValueError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise NotFitting(f"{where}: is no whole file of model {model}: {reason}") from None
    if parts is None:
        raise NotFitting(f"{where}: model {model} is not built in, so nothing is known about its layers")
    used = {block.name for part in parts for block in part.blocks}
    unknown, missing = sorted(set(shapes) - used), sorted(used - set(shapes))
    if unknown or missing:
        raise NotFitting(f"{where}: weights of {model} are {', '.join(sorted(used))}; " + "; ".join(
            f"{word}: {', '.join(found)}" for word, found in (("missing", missing), ("unknown", unknown)) if found))
    return parts


def _refuse_other(module: Any, model: str | None, options: Mapping[str, Any], there: str) -> None:
    """Raises NotFitting where a module of strobe.modules is not the model of a file or request."""
    own = getattr(module, "strobe_model", None)
    if own is None:
        return
    if model not in (None, own):
        raise NotFitting(f"{there} {model}, and the module is {own}")
    apart = [f"{name} is {options[name]} there and {value} in the module" for name, value in module.options.items()
             if options.get(name, value) != value and not name.endswith(("dropout", "backpropagation"))]
    if apart:
        raise NotFitting(f"{there} {own} with other options: " + "; ".join(apart))


def _read_as_in(source: Run | Path, module: Any) -> None:
    """Tells DySAT what the rows of the run say about its steps and features."""
    try:
        summary = (_folder_of(source) / "summary.json").read_text(encoding="utf-8")
    except OSError:
        return
    untrained = re.search(r"dysat reads steps (\d+) to \d+, which are not trained on", summary)
    if untrained:
        module.trained_steps = int(untrained[1])
    module.log1p = "feature_scale=log1p" in summary


def to_torch(source: Run | Path, module: torch.nn.Module | None = None, *,
             names: Mapping[str, str] | None = None) -> torch.nn.Module:
    """Loads trained weights into a PyTorch module, and returns it.

    `source` is a run with `save_model=`, or a file of `--save-model` or `--checkpoint`. Without a module, that of
    `strobe.modules` with the file's options and precision is made. `module` may be the one that `strobe.from_torch`
    captured, or any module with the layers of `strobe.modules`, of PyTorch or PyTorch Geometric. `names` maps a layer's
    name in `strobe.modules` to the one in the module. The head of the task is loaded where the module has one.
    Captured parts of an event model are a ModuleDict with their names, such as "message".

    Strobe has one bias where PyTorch's LSTMCell and RNNCell have two; the second becomes zero. Raises NotFitting, which
    names missing and further weights, and shapes that differ, before anything is changed. A captured module may have
    further weights. Weights of a run that was stopped or failed, and those that another run has written, are refused.
    """
    import torch

    if not _is_stored(source):
        raise NotFitting(f"weights come from a run or a file, and this is a {type(source).__name__}")
    file = _stored(source)
    if module is None:
        from strobe import modules

        module = modules.build(file.model, file.options, file.shapes, str(file.path))
        module.to(torch.float64 if file.fp64 else torch.float32)
    _refuse_other(module, file.model, file.options, f"{file.path} has weights of")
    # A file of other hands does not name its model.
    model = file.model or getattr(module, "strobe_model", None)
    parts = _layout(model, file.options if file.model else getattr(module, "options", {}), file.shapes, str(file.path))
    parameters = dict(module.named_parameters())
    known = {name: tuple(value.shape) for name, value in parameters.items()}
    what = f"the module does not fit {file.path}, which has weights of {model}"
    values = _paired(parts, file.shapes, known, names or {}, what, False).into_module(file.weights)
    if model == "dysat":
        _read_as_in(source, module)
    with torch.no_grad():
        for name, value in values.items():
            parameters[name].copy_(torch.from_numpy(value.copy()).reshape(parameters[name].shape))
    return module


def _parameters(source: Any) -> Weights:
    """The values of a module or a state_dict."""
    named = dict(source.named_parameters()) if hasattr(source, "named_parameters") else source
    if not isinstance(named, Mapping):
        raise NotFitting("weights are a PyTorch module, its state_dict, a run or a safetensors file, and this is a "
                         f"{type(source).__name__}")
    try:
        values = {name: np.asarray(value.detach().cpu().double().numpy() if hasattr(value, "detach") else value,
                                   np.float64) for name, value in named.items()}
    except (TypeError, ValueError):
        raise NotFitting(f"the {type(source).__name__} has entries that are no weights; give a state_dict") from None
    broken = [name for name, value in values.items() if not np.isfinite(value).all()]
    if broken:
        raise NotFitting(f"weights that are no finite numbers: {', '.join(broken)}")
    return values


def start_of(source: Any, plans: list[dict[str, Any]], names: Mapping[str, str] | None = None) -> pathlib.Path:
    """Writes the weights under Strobe's names, for the planned cases. Raises NotFitting.

    The file lies in the cache under its digest, so that a run that goes on later finds it.
    """
    from strobe.workloads import _cache

    plans = [plan for plan in plans if "skipped" not in plan]  # combinations that cannot run have no model
    if not all(plan.get("parameters") for plan in plans):
        raise NotFitting("strategy external reads no weights; leave it out, or weights")
    models = {json.dumps([plan["case"]["model"], plan["parameters"]], sort_keys=True) for plan in plans}
    if len(models) != 1:
        raise NotFitting(f"weights fit one model; the request has {len(models)} models or widths")
    model = dict(plans[0]["case"]["model"])
    shapes = {one["name"]: tuple(one["shape"]) for one in plans[0]["parameters"]}
    if _is_stored(source):
        file = _stored(source)
        if file.model is not None:
            return file.path.absolute()  # a file of Strobe, which the program compares with the request
        values, where = file.weights, str(file.path)
    else:
        values, where = _parameters(source), f"the {type(source).__name__}"
        _refuse_other(source, model["name"], model, "the request trains")
    ours = _of_strobe(values, shapes, where, model, names)
    data = b"".join(f"{name} {value.shape}".encode() + np.ascontiguousarray(value, "<f8").tobytes()
                    for name, value in ours.items())
    path = _cache() / f"{hashlib.sha256(data).hexdigest()[:32]}.safetensors"
    unfinished = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            _write_safetensors(unfinished, ours)
            os.replace(unfinished, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise StrobeError(f"cannot write {path}: {error.strerror}; set STROBE_CACHE_DIR") from error
    return path.absolute()


def _of_strobe(values: Weights, shapes: Shapes, where: str, model: dict[str, Any],
               names: Mapping[str, str] | None) -> Weights:
    """The weights under Strobe's names."""
    if set(values) == set(shapes) and all(values[name].shape == shapes[name] for name in shapes):
        return values
    parts = _layout(model["name"], model, shapes, where)
    known = {name: value.shape for name, value in values.items()}
    what = f"{where} does not fit the request, which trains {model['name']}"
    return _paired(parts, shapes, known, names or {}, what, True).from_module(values)
