#!/usr/bin/env python3
"""Golden fixtures of the event models from an independent PyTorch implementation, in float64. They hold loss, logits,
embeddings, memory and mails for every batch of the first 70 events, and the gradients of batches 0, 1 and 6. A vertex
without a mail has mail_event -1, and zeros as its mail and mail_time. Training amplifies rounding, because frequencies
are multiplied by hundreds of seconds: the last batch of another implementation is 1e-12 away in float64.
usage: generate.py            writes tests/golden/events/CASE.safetensors for every case of cases.json
       generate.py --check    computes them again and compares with the committed files (relative 1e-10)
Needs PyTorch; on Debian: apt-get install python3-torch."""

import json
import sys
import zlib
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "generate"))
import common
import event_models
import graphs

WITH_GRADIENTS = (0, 1, 6)


def draw_weights(shapes, name):
    """Rounded to float32, so that both precisions start from the same values. Slow frequencies distinguish long
    times."""
    generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    weights = {}
    for key, shape in shapes.items():
        drawn = 0.3 * torch.randn(shape, generator=generator)
        if key.endswith(".frequency"):
            drawn = 10.0 ** (-3 * torch.arange(shape[1]) / (shape[1] - 1)) + 0.01 * drawn
        weights[key] = drawn.float().double().requires_grad_()
    return weights


def load(case, models=event_models.MODELS):
    stream = graphs.Stream(graphs.EVENTS / case["workload"])
    model = models[case["model"]["name"]]({**case["model"], **case.get("task", {})}, stream)
    model.weights = draw_weights(model.shapes(), case["name"])
    return model, graphs.read_candidates(graphs.EVENTS / case["candidates"], stream)


def compute(case, models=event_models.MODELS):
    model, candidates = load(case, models)
    tensors = {f"start.{name}": value.detach().clone() for name, value in model.weights.items()}
    for number, begin in enumerate(range(0, len(candidates), case["batch"])):
        part = candidates[begin : begin + case["batch"]]
        loss, logits, embeddings = model.batch(begin, part)
        gradients = torch.autograd.grad(loss, list(model.weights.values()), allow_unused=True)
        model.write(begin, part)
        found = {"loss": loss.reshape(1), "logits": logits, "embeddings": embeddings, **model.state()}
        for (name, value), gradient in zip(model.weights.items(), gradients):
            gradient = torch.zeros_like(value) if gradient is None else gradient
            if number in WITH_GRADIENTS:
                found[f"gradient.{name}"] = gradient
            with torch.no_grad():
                value -= case["rate"] * gradient
        tensors.update({f"batch{number}.{key}": value.detach().clone() for key, value in found.items()})
    return tensors


def difference(a, b):
    """Largest relative difference over the tensors of two cases."""
    assert a.keys() == b.keys() and all(a[key].shape == b[key].shape for key in a)
    return max(float((a[key] - b[key]).abs().max() / (1e-3 + b[key].abs().max())) for key in a)


def cases():
    return json.loads((graphs.EVENTS / "cases.json").read_text())


def main():
    failed = False
    for case in cases():
        path, tensors = graphs.EVENTS / case["fixture"], compute(case)
        if "--check" in sys.argv[1:]:
            off = difference(tensors, common.read_safetensors(path)[0])
            failed = failed or not off <= 1e-10
            print(f"{case['name']}: {off:.1e}")
        else:
            common.write_safetensors(path, tensors, {"case": case["name"], "torch": torch.__version__})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
