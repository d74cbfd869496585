#!/usr/bin/env python3
"""The two-layer TM-GCN epoch of tmgcn.py (forward and backward, no loss, no optimiser) in PyTorch on a GPU.

    bench/peers/gpu_epoch.py [--device cuda] [--epochs 20] [--json FILE]

Two forms: `steps` as one writes it first (autograd, one CSR product per snapshot), and `block`, the fastest form that
we found (all snapshots as one block-diagonal CSR with its transpose stored, shifted additions, gradients by hand). It
checks that both give the same gradients. Times are medians between device events, after three epochs of warm-up. Exit status:
0 measured, 1 the forms disagree, 5 PyTorch, SciPy or the device is missing.
"""

import argparse
import json
import statistics
import sys
import time


class Block:
    """One product for all steps; gradients by hand."""

    def __init__(self, torch, tmgcn, matrix, inputs, device):
        self.torch, self.inputs = torch, inputs
        self.steps, self.window = tmgcn.STEPS, tmgcn.WINDOW
        self.a, self.turned = (tmgcn.products.csr_on(m, device) for m in (matrix, matrix.T.tocsr()))
        self.weights = tmgcn.window_weights().to(device)

    def _window_sum(self, h, reverse):
        out = h.clone()
        for shift in range(1, self.window):
            if reverse:
                out[:-shift] += h[shift:]
            else:
                out[shift:] += h[:-shift]
        return out

    def epoch(self):
        torch, i = self.torch, self.inputs
        h1 = torch.relu(i["x"] @ i["w1"])
        smoothed = self._window_sum(h1.view(self.steps, -1, h1.shape[1]), False) * self.weights
        sums = self.a @ smoothed.view(h1.shape)
        y = torch.relu(sums @ i["w2"])
        dz = i["dy"] * (y > 0)
        dw2 = sums.T @ dz
        dsmoothed = (self.turned @ (dz @ i["w2"].T)).view(self.steps, -1, h1.shape[1])
        dh1 = self._window_sum(dsmoothed * self.weights, True).view(h1.shape) * (h1 > 0)
        return i["x"].T @ dh1, dw2


def make_steps(tmgcn, blocks, inputs, device):
    """tmgcn.Idiomatic with everything on the device."""
    form = tmgcn.Idiomatic(blocks, inputs)
    form.blocks = [tmgcn.products.csr_on(b, device) for b in blocks]
    form.turned = [tmgcn.products.csr_on(b.T.tocsr(), device) for b in blocks]
    form.m = form.m.to(device)
    return form


def timed(torch, form, device, epochs):
    for _ in range(3):
        form.epoch()
    seconds = []
    for _ in range(epochs):
        if device == "cpu":
            begin = time.perf_counter()
            form.epoch()
            seconds.append(time.perf_counter() - begin)
            continue
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        form.epoch()
        end.record()
        end.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return seconds


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--device", default="cuda", choices=["cuda", "cpu"], help="cpu is for checking this script")
    options.add_argument("--epochs", type=int, default=20)
    options.add_argument("--json", help="also write the numbers to this file")
    arguments = options.parse_args()
    try:
        import scipy.sparse
        import tmgcn
        import torch
    except ImportError as error:
        print(f"PyTorch not measured: {error}", file=sys.stderr)
        return 5
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print(f"PyTorch not measured: torch {torch.__version__} sees no GPU", file=sys.stderr)
        return 5
    blocks = tmgcn.make_graph()
    inputs = {name: value.to(arguments.device) for name, value in tmgcn.make_inputs().items()}
    block = Block(torch, tmgcn, scipy.sparse.block_diag(blocks, format="csr"), inputs, arguments.device)
    steps = make_steps(tmgcn, blocks, inputs, arguments.device)
    for mine, theirs in zip(block.epoch(), steps.epoch()):
        if not torch.allclose(mine, theirs, rtol=1e-3, atol=1e-3 * float(theirs.abs().max())):
            print("the two PyTorch forms give different gradients", file=sys.stderr)
            return 1
    rows = {}
    for name, form in (("block", block), ("steps", steps)):
        seconds = timed(torch, form, arguments.device, arguments.epochs)
        rows[name] = {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds)}
        print(f"{name}: median {1e3 * rows[name]['median_s']:.3f} ms, min {1e3 * min(seconds):.3f} ms")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "cuda": torch.version.cuda, "device": arguments.device,
                       "epochs": arguments.epochs, "forms": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
