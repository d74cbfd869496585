#!/usr/bin/env python3
"""Trains tgn-attn (docs/reference/event_models.md, every option at its default) in PyTorch as fast as it goes on a CPU,
and prints events per second, sampling and optimiser included.

    bench/peers/event_training.py [--memory 100] [--events 60000] [--batch 600] [--rounds 3] [--json [FILE]]

The stream is synthetic; time codes are as wide as memory; one negative, ten neighbours, cross-entropy, Adam, float32.
Two forms compute the same: `slots` projects every neighbour that was found, `roots` projects queries and averages
instead, which needs fewer operations and larger intermediate products. Both are measured, the faster one counts.
Exit status: 0 measured, 2 wrong request, 5 PyTorch is not installed (apt: python3-torch, or pip: torch)."""

import argparse
import json
import statistics
import sys
import time

import fast_settings

VERTICES, SOURCES, HEADS, NEIGHBOURS, RATE = 9000, 8000, 2, 10, 1e-4


def parse():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("memory", 100), ("events", 60000), ("batch", 600), ("rounds", 3), ("threads", 2)):
        options.add_argument(f"--{name}", type=int, default=default)
    options.add_argument("--json", nargs="?", const="-", help="also write the numbers to this file, or print them")
    arguments = options.parse_args()
    if min(arguments.memory, arguments.events, arguments.batch, arguments.rounds, arguments.threads) < 1:
        options.error("numbers must be at least 1")
    if arguments.memory < 2 or arguments.memory % HEADS:
        options.error(f"--memory must be a multiple of {HEADS}")
    return arguments


def make_stream(events):
    """Few of the 8000 sources and 1000 destinations have most events, and half of the events repeat one of before."""
    random = np.random.default_rng(1)
    source = (SOURCES * random.random(events) ** 2).astype(np.int64)
    destination = SOURCES + ((VERTICES - SOURCES) * random.random(events) ** 2).astype(np.int64)
    last = {}
    again = random.random(events) < 0.5
    for e in range(events):
        u = int(source[e])
        if again[e] and u in last:
            destination[e] = last[u]
        last[u] = int(destination[e])
    times = np.floor(np.cumsum(random.exponential(2.6e6 / events, events)))  # a month, as the Wikipedia data
    return source, destination, times - times[0]


class Sampler:
    """T-CSR: the events of every vertex in time order, found by one binary search over (vertex, time)."""

    def __init__(self, source, destination, times):
        events = len(times)
        ends, others = np.concatenate([source, destination]), np.concatenate([destination, source])
        event = np.tile(np.arange(events), 2)
        order = np.lexsort((event, ends))
        self.span = times[-1] + 1
        self.key = ends[order] * self.span + times[event[order]]
        self.other = others[order].astype(np.int64)
        self.start = np.searchsorted(ends[order], np.arange(VERTICES + 1))

    def recent(self, vertices, t):
        """Neighbours [R, k], and which were found."""
        end = np.searchsorted(self.key, vertices * self.span + t)
        position = end[:, None] - np.arange(1, NEIGHBOURS + 1)
        found = position >= self.start[vertices][:, None]
        return self.other[np.maximum(position, 0)], found


class Training:
    def __init__(self, d, stream, batch, form):
        self.d, self.stream, self.size, self.form = d, stream, batch, form
        self.sampler = Sampler(*stream)
        self.shapes = {
            "memory.frequency": (d,), "memory.phase": (d,), "memory.x": (3 * d, 3 * d), "memory.h": (3 * d, d),
            "memory.bias_x": (3 * d,), "memory.bias_h": (3 * d,), "frequency": (d,), "phase": (d,),
            "query": (2 * d, d), "query_bias": (d,), "vertex": (d, 2 * d), "time": (d, 2 * d), "bias": (2 * d,),
            "source": (d, d), "source_bias": (d,), "destination": (d, d), "destination_bias": (d,),
            "output": (d, 1), "output_bias": (1,)}
        generator, parts = torch.Generator().manual_seed(1), []
        for name, shape in self.shapes.items():
            if name.endswith("frequency"):
                parts.append(10.0 ** torch.linspace(0, -9, d))
            elif len(shape) == 1:
                parts.append(torch.zeros(shape))
            else:
                bound = (6 / sum(shape)) ** 0.5
                parts.append(((2 * torch.rand(shape, generator=generator) - 1) * bound).flatten())
        # One tensor for all weights: the optimiser then takes a dozen operations and not a dozen for each of them.
        self.flat = torch.cat(parts).requires_grad_()
        self.optimizer = torch.optim.Adam([self.flat], lr=RATE)
        self.number = np.empty(VERTICES, dtype=np.int64)
        self.last = np.empty(VERTICES, dtype=np.int64)

    def reset(self):
        # The first half of a mail is the vertex' own memory as it was written with it, so only the other half is kept.
        self.memory, self.mail = torch.zeros(VERTICES, self.d), torch.zeros(VERTICES, self.d)
        self.updated, self.mail_time = np.zeros(VERTICES), np.zeros(VERTICES)
        self.mailed = np.zeros(VERTICES, dtype=bool)

    def weights(self):
        sizes = [int(np.prod(shape)) for shape in self.shapes.values()]
        parts = self.flat.split(sizes)
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts)}

    def update(self, w, mailed, rest):
        """s' of the vertices with a mail, then the memory of the others, and the times of all."""
        index = torch.from_numpy(mailed)
        dt = torch.from_numpy((self.mail_time[mailed] - self.updated[mailed]).astype(np.float32))
        s = self.memory.index_select(0, index)
        code = torch.cos(torch.addcmul(w["memory.phase"], dt[:, None], w["memory.frequency"]))
        x = torch.cat([s, self.mail.index_select(0, index), code], 1)
        new = torch.gru_cell(x, s, w["memory.x"], w["memory.h"], w["memory.bias_x"], w["memory.bias_h"])
        times = np.concatenate([self.mail_time[mailed], self.updated[rest]])
        return torch.cat([new, self.memory.index_select(0, torch.from_numpy(rest))]), times

    def slots(self, w, h, q, neighbours, delta, found):
        """Keys and values of the neighbours that were found; those of a vertex are computed once."""
        rows, d = len(q), self.d
        root = torch.from_numpy(found.nonzero()[0])
        place = torch.from_numpy(found.reshape(-1).nonzero()[0])
        code = torch.cos(torch.addcmul(w["phase"], torch.from_numpy(delta[found])[:, None], w["frequency"]))
        index = torch.from_numpy(neighbours[found])
        kv = torch.addmm(w["bias"], code, w["time"]) + (h @ w["vertex"]).index_select(0, index)
        scores = (q.index_select(0, root) * kv[:, :d]).view(-1, HEADS, d // HEADS).sum(2)
        padded = torch.full((rows * NEIGHBOURS, HEADS), -1e30).index_copy(0, place, scores)
        scale = torch.from_numpy(np.sqrt(np.maximum(found.sum(1), 1)).astype(np.float32))
        p = torch.softmax(padded.view(rows, NEIGHBOURS, HEADS) / scale[:, None, None], 1)
        p = p.view(-1, HEADS).index_select(0, place)
        weighed = (kv[:, d:].reshape(-1, HEADS, d // HEADS) * p[:, :, None]).view(-1, d)
        return torch.zeros(rows, d).index_add(0, root, weighed)

    def roots(self, w, h, q, neighbours, delta, found):
        """q . (x W) = (q W') . x and the mean of x W is that of x times W: no product per neighbour. The bias of keys
        is the same for all neighbours of a root and drops out of the softmax."""
        rows, d, part = len(q), self.d, self.d // HEADS
        code = torch.cos(torch.addcmul(w["phase"], torch.from_numpy(delta)[:, :, None], w["frequency"]))
        x = torch.cat([h.index_select(0, torch.from_numpy(neighbours.reshape(-1))).view(rows, NEIGHBOURS, d), code], 2)
        both = torch.cat([w["vertex"], w["time"]])
        turned = both[:, :d].reshape(2 * d, HEADS, part).permute(1, 2, 0)
        asked = torch.bmm(q.view(rows, HEADS, part).transpose(0, 1), turned).transpose(0, 1)
        scale = torch.from_numpy(np.sqrt(np.maximum(found.sum(1), 1)).astype(np.float32))
        scores = torch.bmm(asked, x.transpose(1, 2)) / scale[:, None, None]
        filled = torch.from_numpy(found)[:, None, :]
        p = torch.softmax(scores.masked_fill(~filled, -1e30), 2) * filled
        mean = torch.bmm(p, x).transpose(0, 1)
        a = torch.bmm(mean, both[:, d:].reshape(2 * d, HEADS, part).transpose(0, 1))
        a = a.transpose(0, 1).reshape(rows, d)
        return a + w["bias"][d:] * torch.from_numpy(found[:, :1].astype(np.float32))

    def loss(self, begin, end, negatives):
        source, destination, times = (column[begin:end] for column in self.stream)
        size = end - begin
        roots, t = np.concatenate([source, destination, negatives]), np.tile(times, 3)
        neighbours, found = self.sampler.recent(roots, t)
        touched = np.zeros(VERTICES, dtype=bool)
        touched[roots] = True
        touched[neighbours[found]] = True
        mailed, rest = (touched & self.mailed).nonzero()[0], (touched & ~self.mailed).nonzero()[0]
        self.number[mailed] = np.arange(len(mailed))
        self.number[rest] = np.arange(len(mailed), len(mailed) + len(rest))
        w = self.weights()
        h, updated = self.update(w, mailed, rest)
        places = np.where(found, self.number[neighbours], 0)
        of_roots = self.number[roots]
        delta = (t[:, None] - updated[places]).astype(np.float32)
        own = h.index_select(0, torch.from_numpy(of_roots))
        # The time code of a root is that of 0 for all of them, so that its part of the query is one row.
        constant = w["query_bias"] + torch.cos(w["phase"]) @ w["query"][self.d :]
        q = torch.addmm(constant, own, w["query"][: self.d])
        z = getattr(self, self.form)(w, h, q, places, delta, found)
        left = torch.addmm(w["source_bias"], z[:size], w["source"])
        right = torch.addmm(w["destination_bias"], z[size:], w["destination"]).view(2, size, -1)
        logits = (torch.relu(left + right).view(2 * size, -1) @ w["output"] + w["output_bias"]).view(2, size)
        loss = torch.nn.functional.softplus(logits[1] - logits[0]).mean()  # the cross-entropy of two candidates
        self.write(source, destination, times, h.detach(), updated, of_roots)
        return loss

    def write(self, source, destination, times, h, updated, of_roots):
        size = len(times)
        ends = np.stack([source, destination], 1).reshape(-1)  # in the order of events, so that the last stays
        self.last[ends] = np.arange(2 * size)
        keep = (self.last[ends] == np.arange(2 * size)).nonzero()[0]
        vertices, rows = ends[keep], of_roots[: 2 * size].reshape(2, size).T
        own, other, index = rows.reshape(-1)[keep], rows[:, ::-1].reshape(-1)[keep], torch.from_numpy(vertices)
        self.memory.index_copy_(0, index, h.index_select(0, torch.from_numpy(own)))
        self.mail.index_copy_(0, index, h.index_select(0, torch.from_numpy(other)))
        self.updated[vertices], self.mail_time[vertices], self.mailed[vertices] = updated[own], times[keep // 2], True

    def sweep(self, events, step=True):
        """Seconds of one pass over the events; the loss of the last batch is kept."""
        random = np.random.default_rng(2)
        begun = time.perf_counter()
        self.reset()
        for begin in range(0, events, self.size):
            end = min(begin + self.size, events)
            loss = self.loss(begin, end, random.integers(SOURCES, VERTICES, end - begin))
            self.flat.grad = None
            loss.backward()
            if step:
                self.optimizer.step()
        self.final = float(loss.detach())
        return time.perf_counter() - begun


def product_rate():
    """GFLOP/s of a product of 1000 x 1000: with the reference BLAS that Debian's PyTorch comes with it is below 10, and
    events per second then tell nothing of PyTorch."""
    a, seconds = torch.rand(1000, 1000), []
    for _ in range(3):
        begun = time.perf_counter()
        torch.mm(a, a)
        seconds.append(time.perf_counter() - begun)
    return 2 / min(seconds)


def agree(forms, events):
    """The forms compute the same gradients; a comparison of different work would mean nothing."""
    gradients = []
    for form in forms.values():
        form.sweep(min(events, 5 * form.size), step=False)
        gradients.append(form.flat.grad)
    if not torch.allclose(*gradients, rtol=1e-3, atol=1e-3 * float(gradients[0].abs().max())):
        sys.exit("the forms do not compute the same gradients")


def prepare(threads):
    """Loads NumPy and PyTorch and says how they run here; the rate of products of matrices, GFLOP/s, or None where
    they are not installed."""
    fast_settings.apply()
    global np, torch
    try:
        import numpy as np
        import torch
    except ImportError as error:
        print(f"PyTorch peer not measured: {error}. Install python3-torch.", file=sys.stderr)
        return None
    torch.set_num_threads(threads)
    rate = product_rate()
    print(f"{fast_settings.described()}; PyTorch {torch.__version__}; products of matrices at {rate:.0f} GFLOP/s")
    if rate < 10:
        print("this PyTorch has no fast BLAS (Debian: apt-get install libopenblas0-openmp)", file=sys.stderr)
    return rate


def make_forms(memory, stream, batch):
    """Both forms, after a check that they compute the same."""
    forms = {form: Training(memory, stream, batch, form) for form in ("slots", "roots")}
    agree(forms, len(stream[0]))
    return forms


def main():
    arguments = parse()
    rate = prepare(arguments.threads)
    if rate is None:
        return 5
    stream = make_stream(arguments.events)
    forms = make_forms(arguments.memory, stream, arguments.batch)
    seconds = {name: [] for name in forms}
    for _ in range(arguments.rounds):
        for name, form in forms.items():
            seconds[name].append(form.sweep(arguments.events))
    rates = {name: arguments.events / statistics.median(values) for name, values in seconds.items()}
    best = max(rates, key=rates.get)
    for name, value in rates.items():
        print(f"{name}: {value:.0f} events/s, loss of the last batch {forms[name].final:.4f}")
    print(f"fastest: {best}, {rates[best]:.0f} events/s (memory {arguments.memory}, batch {arguments.batch}, "
          f"{arguments.threads} threads, PyTorch {torch.__version__})")
    if arguments.json:
        report = {**vars(arguments), "events_per_second": rates, "fastest": best, "seconds": seconds, "gflops": rate,
                  "torch": torch.__version__}
        text = json.dumps(report, indent=2)
        if arguments.json == "-":
            print(text)
        else:
            with open(arguments.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
