#!/usr/bin/env python3
"""Compares event_models.py with a second implementation of every case. It computes root by root and event by event,
keeps memory and mails in dictionaries, and finds neighbours among all events. GRU, LayerNorm and losses are PyTorch's.
usage: check.py            exit status 1 if any number differs by more than relative 1e-10, gradients included"""

import sys

import torch
from torch.nn import functional

import event_models
import generate


def phi(dt, w, name, fixed=False):
    code = torch.cos(float(dt) * w[f"{name}.frequency"][0] + w[f"{name}.phase"][0])
    return code.detach() if fixed else code


class Naive:
    def phi(self, dt, w, name):
        return phi(dt, w, name, self.o["time_encoding"] == "fixed")

    def __init__(self, options, stream):
        self.name, self.stream = options["name"], stream
        self.o = {**event_models.DEFAULTS, **options}
        if self.name == "tgat":
            self.o.update(output="merge", key_dt="edge")
        self.shapes = event_models.MODELS[self.name](options, stream).shapes
        self.place_codes = [c for c, n in enumerate([1] * 5 + [2] * 2 + [4] * 2 + [8] * 2 + [16] * 2 + [32] * 2) for _ in range(n)]
        self.memory, self.updated, self.mails = {}, {}, {}
        self.none = [0.0] * self.o["memory"]

    def neighbours(self, vertex, t, begin):
        """(other end, event), the most recent first."""
        found = []
        for e in range(len(self.stream.time) - 1, -1, -1):
            u, v = int(self.stream.source[e]), int(self.stream.destination[e])
            early = self.stream.time[e] < t and (e < begin or self.o["intra_batch_history"] == "sampler")
            if early and vertex in (u, v) and len(found) < self.o["neighbours"]:
                found.append((v if u == vertex else u, e))
        return found

    def remembered(self, vertex, asked):
        """s' and its time."""
        s, last = torch.tensor(self.memory.get(vertex, self.none)), self.updated.get(vertex, 0.0)
        if vertex not in self.mails:
            return s, last
        own, other, t, e = self.mails[vertex]
        dt = (t if self.o["mail_dt"] == "mail_minus_memory" else asked) - last
        mail = torch.tensor(own + other)
        x, w = torch.cat([mail, self.phi(dt, self.weights, "memory"), self.stream.features[e]])[None], self.weights
        if self.name == "jodie":
            whole = torch.cat([x, s[None]], 1) @ torch.cat([w["memory.weight_x"], w["memory.weight_h"]])
            return torch.tanh(whole + w["memory.bias"])[0], t
        # PyTorch's cell has the same gates in the same order, and transposed weights.
        cell = torch.nn.GRUCell(x.shape[1], len(s))
        for name, value in (("weight_ih", w["memory.weight_x"].T), ("weight_hh", w["memory.weight_h"].T),
                            ("bias_ih", w["memory.bias_x"][0]), ("bias_hh", w["memory.bias_h"][0])):
            delattr(cell, name)
            setattr(cell, name, value)
        return cell(x, s[None])[0], t

    def seen(self, vertex, h):
        """h plus the part of the vertex' features, feature by feature."""
        if self.stream.vertex_features is None:
            return h
        row, w = self.stream.vertex_features[vertex], self.weights
        return h + sum(row[i] * w["features.weight"][i] for i in range(len(row))) + w["features.bias"][0]

    def attend(self, layer, h, slots):
        """slots: (h of the neighbour, features, time difference)."""
        w, o = self.weights, self.o
        q = torch.cat([h, self.phi(0, w, layer)]) @ w[f"{layer}.query"] + w[f"{layer}.query_bias"][0]
        width = len(q) // o["heads"]
        a = torch.zeros(len(q))
        if slots:
            each = []
            for h_w, f, dt in slots:
                kv = h_w @ w[f"{layer}.vertex"] + self.phi(dt, w, layer) @ w[f"{layer}.time"] + w[f"{layer}.bias"][0]
                each.append(kv + f @ w[f"{layer}.edge"] if len(f) else kv)
            parts = []
            for first in range(0, len(q), width):
                dots = torch.stack([q[first : first + width].dot(kv[first : first + width]) for kv in each])
                scores = {"neighbours": dots / len(slots) ** 0.5, "head": dots / width**0.5,
                          "leaky": functional.leaky_relu(dots, 0.2)}[o["attention"]]
                p = functional.softmax(scores, 0)
                parts.append(sum(c * kv[len(q) + first : len(q) + first + width] for c, kv in zip(p, each)))
            a = torch.cat(parts)
        if o["output"] == "plain":
            return a
        names = [f"{layer}.{name}" for name in ("merge", "merge_bias", "gain", "shift")]
        matrix, bias, gain, shift = (w[name] for name in (event_models.MERGE if layer == "attention" else names))
        norm = torch.nn.LayerNorm(len(q), eps=1e-5)
        del norm.weight, norm.bias
        norm.weight, norm.bias = gain[0], shift[0]
        return norm(torch.relu(torch.cat([a, h]) @ matrix + bias[0]))

    def embed(self, vertex, t, begin):
        if self.name == "jodie":
            h, last = self.remembered(vertex, t)
            w = self.weights
            return self.seen(vertex, h) * (1 + (t - last) / (t + 1) * w["projection.slope"][0] + w["projection.shift"][0])
        if self.name == "tgat":
            return self.tgat(2, vertex, t, begin)
        slots = []
        for other, e in self.neighbours(vertex, t, begin):
            h, last = self.remembered(other, self.stream.time[e])
            before = last if self.o["key_dt"] == "memory" else self.stream.time[e]
            slots.append((self.seen(other, h), self.stream.features[e], t - before))
        return self.attend("attention", self.seen(vertex, self.remembered(vertex, t)[0]), slots)

    def tgat(self, layer, vertex, t, begin):
        if layer == 0:
            return self.seen(vertex, torch.zeros(self.o["hidden"]))
        slots = []
        for other, e in self.neighbours(vertex, t, begin):
            t_e = self.stream.time[e]
            slots.append((self.tgat(layer - 1, other, t_e, begin), self.stream.features[e], t - t_e))
        return self.attend(f"layer{layer}", self.tgat(layer - 1, vertex, t, begin), slots)

    def past(self, source, candidate, event, begin):
        """The rows that the decoder adds for a pair's past. Walks backwards through all events, and counts."""
        limit, stream = self.o["pair_history"], self.stream
        early = [e for e in range(len(stream.time)) if (stream.time[e] < stream.time[event] if self.o["history"] == "event" else e < begin)]
        place, seen, met, left, age, own = [0, 0], [0, 0], set(), limit, 40, limit
        for e in reversed(early):
            u, v = int(stream.source[e]), int(stream.destination[e])
            if source in (u, v) and left > 0:
                left -= 1
                way = 0 if u == source else 1
                other = v if way == 0 else u
                if (way, other) not in met:
                    met.add((way, other))
                    seen[way] += 1
                    place[way] = seen[way] if other == candidate else place[way]
            if candidate in (u, v) and own > 0:
                own -= 1
                if v == candidate and age == 40:
                    age = 0
                    while 2 ** (age + 1) <= (len(early) - e) ** 2 and age < 39:
                        age += 1
        pair = sum(factor * (self.place_codes[p] if p < len(self.place_codes) else 15) for factor, p in zip((16, 1), place))
        return self.weights["decoder.pair"][pair] + self.weights["decoder.recency"][age]

    def batch(self, begin, candidates):
        w, sources, others, logits = self.weights, [], [], []
        for i, row in enumerate(candidates.tolist()):
            t = float(self.stream.time[begin + i])
            source = self.embed(int(self.stream.source[begin + i]), t, begin)
            sources.append(source)
            logits.append([])
            for candidate in row:
                z = self.embed(candidate, t, begin)
                others.append(z)
                inner = source @ w["decoder.source"] + w["decoder.source_bias"][0]
                inner = inner + z @ w["decoder.destination"] + w["decoder.destination_bias"][0]
                if self.o["pair_history"]:
                    inner = inner + self.past(int(self.stream.source[begin + i]), candidate, begin + i, begin)
                logits[-1].append(torch.relu(inner).dot(w["decoder.output"][:, 0]) + w["decoder.output_bias"][0, 0])
        logits = torch.stack([torch.stack(row) for row in logits])
        if self.o["loss"] == "cross_entropy":
            loss = functional.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long))
        else:
            truth = torch.zeros_like(logits)
            truth[:, 0] = 1
            loss = functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum") / len(logits)
        return loss, logits, torch.stack(sources + others)

    def write(self, begin, candidates):
        if self.name == "tgat":
            return
        memory, updated, mails = {}, {}, {}  # reads still see the state before this batch
        for e in range(begin, begin + len(candidates)):
            t = float(self.stream.time[e])
            ends = int(self.stream.source[e]), int(self.stream.destination[e])
            for own, other in (ends, ends[::-1]):
                (s, last), (s_other, _) = self.remembered(own, t), self.remembered(other, t)
                memory[own], updated[own] = s.tolist(), last
                mails[own] = (s.tolist(), s_other.tolist(), t, e)
        self.memory.update(memory)
        self.updated.update({vertex: float(last) for vertex, last in updated.items()})
        self.mails.update(mails)

    def state(self):
        if self.name == "tgat":
            return {}
        every = range(self.stream.vertices)
        nothing = (self.none, self.none, 0.0, -1)
        mails = [self.mails.get(vertex, nothing) for vertex in every]
        return {"memory": torch.tensor([self.memory.get(vertex, self.none) for vertex in every]),
                "updated": torch.tensor([self.updated.get(vertex, 0.0) for vertex in every]),
                "mails": torch.tensor([own + other for own, other, _, _ in mails]),
                "mail_time": torch.tensor([t for _, _, t, _ in mails]),
                "mail_event": torch.tensor([float(e) for _, _, _, e in mails])}


def main():
    failed, naive = False, dict.fromkeys(event_models.MODELS, Naive)
    for case in generate.cases():
        off = generate.difference(generate.compute(case), generate.compute(case, naive))
        failed = failed or not off <= 1e-10
        print(f"{case['name']}: {off:.1e}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
