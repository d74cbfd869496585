"""The event models of docs/reference/event_models.md in float64, written from that document alone: many rows at a
time, gradients by PyTorch."""

import math

import numpy as np
import torch

DEFAULTS = {"memory": 100, "hidden": 100, "time": 100, "heads": 2, "neighbours": 10, "embedding": 0,
            "attention": "neighbours", "key_dt": "memory", "mail_dt": "mail_minus_memory", "output": "plain",
            "loss": "cross_entropy", "intra_batch_history": "sampler", "pair_history": 0, "history": "batch",
            "time_encoding": "trained"}
# The last place of each code of a place; places are 0 (nowhere), 1, 2, ...
LAST_PLACES = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]


def time_code(dt, frequency, phase):
    return torch.cos(dt[..., None] * frequency[0] + phase[0])


def gru(x, s, w):
    d = s.shape[1]
    gi, gh = x @ w["weight_x"] + w["bias_x"], s @ w["weight_h"] + w["bias_h"]
    r = torch.sigmoid(gi[:, :d] + gh[:, :d])
    z = torch.sigmoid(gi[:, d : 2 * d] + gh[:, d : 2 * d])
    n = torch.tanh(gi[:, 2 * d :] + r * gh[:, 2 * d :])
    return (1 - z) * n + z * s


def layer_norm(x, gain, shift):
    centred = x - x.mean(1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(1, keepdim=True) + 1e-5) * gain + shift


def attend(h, h_slots, features, delta, found, w, options):
    """h [R, d], h_slots [R, k, d'], features [R, k, d_e], delta and found [R, k] -> [R, F]."""
    heads = options["heads"]
    rows, k = found.shape
    q = torch.cat([h, time_code(torch.zeros(rows), w["frequency"], w["phase"])], 1) @ w["query"] + w["query_bias"]
    kv = h_slots @ w["vertex"] + time_code(delta, w["frequency"], w["phase"]) @ w["time"] + w["bias"]
    if "edge" in w:
        kv = kv + features @ w["edge"]
    width = q.shape[1]
    keys, values = (part.reshape(rows, k, heads, width // heads) for part in kv.split(width, 2))
    dots = (q.reshape(rows, 1, heads, -1) * keys).sum(3)
    if options["attention"] == "neighbours":
        scores = dots / found.sum(1).clamp(min=1).sqrt()[:, None, None]
    elif options["attention"] == "head":
        scores = dots / math.sqrt(width // heads)
    else:
        scores = torch.nn.functional.leaky_relu(dots, 0.2)
    scores = scores.masked_fill(~found[:, :, None], -1e300)
    p = torch.softmax(scores, 1) * found[:, :, None]  # a row without neighbours becomes 0
    a = (p[..., None] * values).sum(1).reshape(rows, width)
    if options["output"] == "plain":
        return a
    return layer_norm(torch.relu(torch.cat([a, h], 1) @ w["merge"] + w["merge_bias"]), w["gain"], w["shift"])


def attention_shapes(layer, merge, d, time, d_e, width, merged):
    shapes = {"frequency": (1, time), "phase": (1, time), "query": (d + time, width), "query_bias": (1, width),
              "vertex": (d, 2 * width), "edge": (d_e, 2 * width), "time": (time, 2 * width), "bias": (1, 2 * width)}
    if not d_e:
        del shapes["edge"]
    shapes = {f"{layer}.{name}": shape for name, shape in shapes.items()}
    if merged:
        shapes.update(zip(merge, [(width + d, width), (1, width), (1, width), (1, width)]))
    return shapes


MERGE = ["merge.weight", "merge.bias", "merge.gain", "merge.shift"]


class Model:
    def __init__(self, options, stream):
        self.options, self.stream = {**DEFAULTS, **options}, stream
        self.width = self.options["embedding"] or self.options["hidden" if options["name"] == "tgat" else "memory"]
        self.events_of = [[] for _ in range(stream.vertices)]
        for e, (u, v) in enumerate(zip(stream.source, stream.destination)):
            for vertex in {u, v}:
                self.events_of[vertex].append(e)

    def shapes(self):
        f = self.width
        return {**self.own_shapes(), **self.feature_shapes(),
                "decoder.source": (f, f), "decoder.source_bias": (1, f), "decoder.destination": (f, f),
                "decoder.destination_bias": (1, f), "decoder.output": (f, 1), "decoder.output_bias": (1, 1),
                **({"decoder.pair": (256, f), "decoder.recency": (41, f)} if self.options["pair_history"] else {})}

    def feature_shapes(self):
        if self.stream.vertex_features is None:
            return {}
        d = self.options["hidden" if self.options["name"] == "tgat" else "memory"]
        return {"features.weight": (self.stream.vertex_features.shape[1], d), "features.bias": (1, d)}

    def with_features(self, h, vertices):
        """h [R, d] plus the part of its vertices' features."""
        if self.stream.vertex_features is None:
            return h
        w = self.part("features")
        return h + self.stream.vertex_features[torch.from_numpy(vertices)] @ w["weight"] + w["bias"]

    def part(self, name):
        part = {key[len(name) + 1 :]: value for key, value in self.weights.items() if key.startswith(name + ".")}
        if self.options["time_encoding"] == "fixed":
            part.update({key: value.detach() for key, value in part.items() if key in ("frequency", "phase")})
        return part

    def neighbours(self, vertices, times, begin):
        """The other ends and the events [R, k] of the most recent events, and which slots are filled."""
        k, stream = self.options["neighbours"], self.stream
        other, event = np.zeros((2, len(vertices), k), dtype=int)
        found = np.zeros((len(vertices), k), dtype=bool)
        end = begin if self.options["intra_batch_history"] == "none" else len(stream.time)
        for row, (vertex, t) in enumerate(zip(vertices, times)):
            recent = [e for e in self.events_of[vertex] if stream.time[e] < t and e < end][-k:]
            event[row, : len(recent)], found[row, : len(recent)] = recent, True
            ends = stream.source[recent] + stream.destination[recent] - vertex if recent else []
            other[row, : len(recent)] = ends
        return other, event, torch.from_numpy(found)

    def known(self, vertex, before):
        """The events of the vertex that the decoder knows."""
        return [e for e in self.events_of[vertex] if e < before][-self.options["pair_history"] :]

    def pair_codes(self, event, begin, row):
        """The rows of both tables for the source of an event with each candidate of `row`."""
        stream = self.stream
        before = begin if self.options["history"] == "batch" else int((stream.time < stream.time[event]).sum())
        source = stream.source[event]
        recent = self.known(source, before)[::-1]
        hit = list(dict.fromkeys(stream.destination[e] for e in recent if stream.source[e] == source))
        hit_by = list(dict.fromkeys(stream.source[e] for e in recent if stream.source[e] != source))
        codes = []
        for candidate in row:
            places = [1 + others.index(candidate) if candidate in others else 0 for others in (hit, hit_by)]
            first, second = np.searchsorted(LAST_PLACES, places)
            hits = [e for e in self.known(candidate, before) if stream.destination[e] == candidate]
            age = min(39, math.floor(2 * math.log2(before - hits[-1]) + 1e-9)) if hits else 40
            codes.append((16 * first + second, age))
        return codes

    def batch(self, begin, candidates):
        """Loss, logits [B, C], and embeddings of the sources and then of the candidates event by event."""
        size, count = candidates.shape
        roots = np.concatenate([self.stream.source[begin : begin + size], candidates.reshape(-1)])
        t = self.stream.time[begin : begin + size]
        z = self.embed(roots, np.concatenate([t, np.repeat(t, count)]), begin)
        w = self.part("decoder")
        left = z[:size] @ w["source"] + w["source_bias"]
        right = (z[size:] @ w["destination"] + w["destination_bias"]).reshape(size, count, -1)
        if self.options["pair_history"]:
            pairs = [self.pair_codes(begin + i, begin, row) for i, row in enumerate(candidates)]
            chosen = torch.tensor(np.array(pairs)).unbind(2)
            right = right + w["pair"][chosen[0]] + w["recency"][chosen[1]]
        logits = (torch.relu(left[:, None] + right) @ w["output"] + w["output_bias"])[:, :, 0]
        if self.options["loss"] == "cross_entropy":
            loss = (torch.logsumexp(logits, 1) - logits[:, 0]).mean()
        else:
            sign = torch.tensor([-1.0] + [1.0] * (count - 1))
            loss = torch.nn.functional.softplus(logits * sign).sum(1).mean()
        return loss, logits, z

    def write(self, begin, candidates):
        """Models without memory write nothing."""

    def state(self):
        return {}


class WithMemory(Model):
    def __init__(self, options, stream):
        super().__init__(options, stream)
        n, d = stream.vertices, self.options["memory"]
        self.memory, self.updated = torch.zeros(n, d), torch.zeros(n)
        self.mails, self.mail_time = torch.zeros(n, 2 * d), torch.zeros(n)
        self.mail_event = np.full(n, -1)

    def state(self):
        return {"memory": self.memory, "updated": self.updated, "mails": self.mails, "mail_time": self.mail_time,
                "mail_event": torch.from_numpy(self.mail_event).double()}

    def memory_input_width(self):
        return 2 * self.options["memory"] + self.options["time"] + self.stream.features.shape[1]

    def read(self, vertices, asked):
        """Memory and its time as of step 4, for every pair of a vertex and the time at which it is asked."""
        w, s, last = self.part("memory"), self.memory[vertices], self.updated[vertices]
        t_mail, event = self.mail_time[vertices], self.mail_event[vertices]
        until = t_mail if self.options["mail_dt"] == "mail_minus_memory" else torch.from_numpy(asked)
        code = time_code(until - last, w["frequency"], w["phase"])
        x = torch.cat([self.mails[vertices], code, self.stream.features[torch.from_numpy(np.maximum(event, 0))]], 1)
        mailed = torch.from_numpy(event >= 0)
        return torch.where(mailed[:, None], self.cell(x, s, w), s), torch.where(mailed, t_mail, last)

    def write(self, begin, candidates):
        """With mail_dt=event_minus_memory, both halves of a mail are read at the time of its event."""
        size, count = candidates.shape
        rows = np.column_stack([np.arange(size), size + count * np.arange(size)])  # of the event's ends among the roots
        ends = np.column_stack([self.stream.source[begin : begin + size], candidates[:, 0]])
        own, other = rows.reshape(-1), rows[:, ::-1].reshape(-1)
        vertices, from_end = np.unique(ends.reshape(-1)[::-1], return_index=True)
        last = 2 * size - 1 - from_end  # of several mails to a vertex, the last one stays
        self.memory[vertices], self.updated[vertices] = self.s[own[last]], self.t[own[last]]
        self.mails[vertices] = torch.cat([self.s[own[last]], self.s[other[last]]], 1)
        self.mail_event[vertices] = begin + last // 2
        self.mail_time[vertices] = torch.from_numpy(self.stream.time[begin + last // 2])


class TgnAttn(WithMemory):
    def own_shapes(self):
        o, d_e = self.options, self.stream.features.shape[1]
        d, time = o["memory"], o["time"]
        return {"memory.frequency": (1, time), "memory.phase": (1, time),
                "memory.weight_x": (self.memory_input_width(), 3 * d), "memory.weight_h": (d, 3 * d),
                "memory.bias_x": (1, 3 * d), "memory.bias_h": (1, 3 * d),
                **attention_shapes("attention", MERGE, d, time, d_e, self.width, o["output"] == "merge")}

    def cell(self, x, s, w):
        return gru(x, s, w)

    def embed(self, roots, times, begin):
        other, event, found = self.neighbours(roots, times, begin)
        asked = np.concatenate([times, self.stream.time[event].reshape(-1)])
        vertices = np.concatenate([roots, other.reshape(-1)])
        s, updated = self.read(vertices, asked)
        count = len(roots)
        self.s, self.t = s[:count].detach(), updated[:count]
        h = self.with_features(s, vertices)
        memory_time = updated[count:].reshape(event.shape)
        before = memory_time if self.options["key_dt"] == "memory" else torch.from_numpy(self.stream.time[event])
        w = self.part("attention")
        if self.options["output"] == "merge":
            w.update(zip(["merge", "merge_bias", "gain", "shift"], (self.weights[name] for name in MERGE)))
        return attend(h[:count], h[count:].reshape(*event.shape, -1), self.stream.features[torch.from_numpy(event)],
                      torch.from_numpy(times)[:, None] - before, found, w, self.options)


class Jodie(WithMemory):
    def own_shapes(self):
        d, time = self.options["memory"], self.options["time"]
        return {"memory.frequency": (1, time), "memory.phase": (1, time),
                "memory.weight_x": (self.memory_input_width(), d), "memory.weight_h": (d, d), "memory.bias": (1, d),
                "projection.slope": (1, d), "projection.shift": (1, d)}

    def cell(self, x, s, w):
        return torch.tanh(x @ w["weight_x"] + s @ w["weight_h"] + w["bias"])

    def embed(self, roots, times, begin):
        s, updated = self.read(roots, times)
        self.s, self.t = s.detach(), updated
        t, w = torch.from_numpy(times), self.part("projection")
        return self.with_features(s, roots) * (1 + ((t - updated) / (t + 1))[:, None] * w["slope"] + w["shift"])


class Tgat(Model):
    def __init__(self, options, stream):
        super().__init__({**options, "output": "merge", "key_dt": "edge"}, stream)

    def own_shapes(self):
        o, d_e = self.options, self.stream.features.shape[1]
        shapes = {}
        for layer, d in (("layer1", o["hidden"]), ("layer2", self.width)):
            merge = [f"{layer}.{name}" for name in ("merge", "merge_bias", "gain", "shift")]
            shapes.update(attention_shapes(layer, merge, d, o["time"], d_e, self.width, True))
        return shapes

    def layer(self, name, h, h_slots, times, event, found):
        delta = torch.from_numpy(times[:, None] - self.stream.time[event])
        features = self.stream.features[torch.from_numpy(event)]
        return attend(h, h_slots, features, delta, found, self.part(name), self.options)

    def embed(self, roots, times, begin):
        other, event, found = self.neighbours(roots, times, begin)
        vertices = np.concatenate([roots, other.reshape(-1)])
        asked = np.concatenate([times, self.stream.time[event].reshape(-1)])
        other1, event1, found1 = self.neighbours(vertices, asked, begin)
        every = np.concatenate([vertices, other1.reshape(-1)])
        h0, inner = self.with_features(torch.zeros(len(every), self.options["hidden"]), every), len(vertices)
        h = self.layer("layer1", h0[:inner], h0[inner:].reshape(*event1.shape, -1), asked, event1, found1)
        count = len(roots)
        return self.layer("layer2", h[:count], h[count:].reshape(*event.shape, -1), times, event, found)


MODELS = {"tgn-attn": TgnAttn, "jodie": Jodie, "tgat": Tgat}
