#!/usr/bin/env python3
"""Golden fixtures of event-classification with several classes per event, from PyTorch in float64: the classifier of
docs/reference/event_tasks.md on random embeddings of the two ends, logits, loss, every gradient and F1-micro.
usage: several_classes.py            writes tests/golden/events/several-classes-K.safetensors for K = 1, 5 and 64 classes
       several_classes.py --check    computes them again and compares with the committed files (relative 1e-10)"""

import sys

import torch

import generate
import graphs

EVENTS, WIDTH = 9, 4
WEIGHTS = ("hidden", "hidden_bias", "output", "output_bias")


def compute(classes):
    generator = torch.Generator().manual_seed(classes)
    shapes = [(EVENTS, WIDTH), (EVENTS, WIDTH), (2 * WIDTH, WIDTH), (1, WIDTH), (WIDTH, classes), (1, classes)]
    # Rounded to float32, so that both precisions start from the same values.
    start = [torch.randn(shape, generator=generator).float().double().requires_grad_() for shape in shapes]
    sources, destinations, hidden, hidden_bias, output, output_bias = start
    truth = (torch.rand(EVENTS, classes, generator=generator) < 0.4).double()
    truth[2], truth[3] = 0, 1  # events with no class and with every class
    logits = torch.relu(torch.cat([sources, destinations], 1) @ hidden + hidden_bias) @ output + output_bias
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="none").sum(1).mean()
    gradients = torch.autograd.grad(loss, start)
    said = logits > 0
    right, wrong, missed = ((a & b).sum() for a, b in ((said, truth > 0), (said, truth == 0), (~said, truth > 0)))
    f1_micro = (2 * right / (2 * right + wrong + missed)).double()
    names = ("sources", "destinations", *(f"classifier.{name}" for name in WEIGHTS))
    tensors = {**dict(zip(names, start)), **{f"gradient.{name}": value for name, value in zip(names, gradients)},
               "truth": truth, "logits": logits, "loss": loss.reshape(1, 1), "f1_micro": f1_micro.reshape(1, 1)}
    return {name: value.detach().clone() for name, value in tensors.items()}


def main():
    failed = False
    for classes in (1, 5, 64):
        path, tensors = graphs.EVENTS / f"several-classes-{classes}.safetensors", compute(classes)
        if "--check" in sys.argv[1:]:
            off = generate.difference(tensors, generate.common.read_safetensors(path)[0])
            failed = failed or not off <= 1e-10
            print(f"{path.stem}: {off:.1e}")
        else:
            generate.common.write_safetensors(path, tensors, {"torch": torch.__version__})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
