#!/usr/bin/env python3
"""Golden fixtures from an independent PyTorch implementation of every model: weights, embeddings, loss and gradients on
the graph of graph.csv, in float64.
usage: generate.py            writes tests/golden/CASE.safetensors for every case of cases.json
       generate.py --check    computes them again and compares with the committed files (relative 1e-12)
Needs PyTorch; on Debian: apt-get install python3-torch."""

import importlib
import json
import sys

import common


def make_task(name, graph):
    if name == "golden-pairs":
        return common.LinkPrediction()
    if name == "golden-weighted-pairs":
        return common.LinkPrediction(weighted=True)
    if name == "vertex-regression":
        return common.DegreeRegression(graph)
    raise ValueError(f"no golden task is called {name}")


def compute(case, graph):
    """The tensors of one case."""
    options = {key: value for key, value in case["model"].items() if key != "name"}
    model = importlib.import_module(case["model"]["name"].replace("-", "_"))
    task = make_task(case["task"], graph)
    shapes, width = model.shapes(graph.features.shape[2], options)
    weights = common.draw_weights({**shapes, **task.shapes(width)}, case["seed"])
    adjacency, features = graph.first(task.steps)
    embeddings = model.embed(adjacency, features, weights, options)
    loss = task.loss(embeddings, weights)
    loss.backward()
    tensors = {f"weight.{name}": value for name, value in weights.items()}
    tensors.update({f"gradient.{name}": value.grad for name, value in weights.items()})
    tensors["embeddings"] = embeddings.reshape(-1, width)
    tensors["loss"] = loss.reshape(1, 1)
    return tensors


def check_live(name, tensors):
    """A fixture of zeros would agree with anything."""
    for key, value in tensors.items():
        dead = not bool(value.abs().max() > 0)
        if dead or not bool(value.isfinite().all()):
            raise SystemExit(f"{name}: {key} is all zero or not finite; choose another seed")


def differences(name, tensors, path):
    stored, _ = common.read_safetensors(path)
    if stored.keys() != tensors.keys():
        return [f"{name}: other tensors are stored: {sorted(stored.keys() ^ tensors.keys())}"]
    wrong = []
    for key, value in tensors.items():
        apart = (stored[key] - value.detach()).abs().max() / value.detach().abs().max()
        if not apart <= 1e-12:
            wrong.append(f"{name}: {key} differs by {float(apart):.3g} of its largest value")
    return wrong


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        raise SystemExit(__doc__)
    graph, wrong = common.Graph(), []
    cases = json.loads((common.GOLDEN / "cases.json").read_text())["cases"]
    for case in cases:
        tensors = compute(case, graph)
        check_live(case["name"], tensors)
        path = common.GOLDEN / f"{case['name']}.safetensors"
        if check:
            wrong += differences(case["name"], tensors, path)
        else:
            common.write_safetensors(path, tensors, {"case": json.dumps(case)})
    print("\n".join(wrong) if wrong else f"{len(cases)} fixtures {'agree' if check else 'written'}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
