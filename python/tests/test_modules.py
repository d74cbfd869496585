"""strobe.modules gives the embeddings of the program: with trained weights, and with PyTorch's own as the start."""
import inspect
import unittest

import numpy as np
import pandas as pd
from fixtures import InFolder

import strobe

try:
    import torch

    from strobe import modules
except ImportError:
    modules = None

SNAPSHOTS = [
    ("tm-gcn", {}), ("tm-gcn", {"m": "inverse_distance", "pairs": 2, "window": 3, "last_activation": "none"}),
    ("tm-gcn", {"network": "linear"}), ("tm-gcn", {"network": "selu", "hidden": 4}),
    ("cd-gcn", {}), ("cd-gcn", {"concat": "input", "layers": 3, "output": 4}),
    ("evolve-gcn-o", {}), ("evolve-gcn-o", {"cell": "gru", "last_activation": "none", "edge_life": 2, "output": 4}),
    ("evolve-gcn-o", {"backpropagation": "detached"}),
    ("evolve-gcn-h", {}), ("evolve-gcn-h", {"cell": "lstm", "mask": "linked", "gate": "none"}),
    ("evolve-gcn-h", {"mask": "none", "output": 30}),
    ("t-gcn", {}), ("t-gcn", {"gcn_layers": 1}), ("t-gcn", {"gates": "shared", "gcn_layers": 3}),
    ("t-gcn", {"conv": "xh"}), ("mpnn-lstm", {}), ("mpnn-lstm", {"state": "reset", "window": 3, "output": "h2"}),
    ("mpnn-lstm", {"batch_norm": False}), ("dysat", {}),
    ("dysat", {"logits": "weighted", "scale": "sqrt_T", "structural_heads": 3}),
    ("dcrnn", {}), ("dcrnn", {"terms": "carried", "supports": "transposed", "layers": 2}),
    ("dcrnn", {"terms": "chebyshev", "directions": "in", "hops": 3}),
    ("dcrnn", {"state": "none", "hops": 0, "directions": "out"})]
_TGN = {"memory": 8, "time": 6, "neighbours": 4}
_TGAT = {"hidden": 8, "time": 6, "neighbours": 4}
EVENTS = [
    ("tgn-attn", _TGN),
    ("tgn-attn", {**_TGN, "output": "merge", "attention": "head", "key_dt": "edge", "embedding": 6}),
    ("tgn-attn", {**_TGN, "attention": "leaky", "mail_dt": "event_minus_memory", "intra_batch_history": "none"}),
    ("jodie", {"memory": 8, "time": 6}), ("jodie", {"memory": 8, "time": 6, "mail_dt": "event_minus_memory"}),
    ("tgat", _TGAT), ("tgat", {**_TGAT, "attention": "neighbours", "heads": 4})]
# Options that change no equation, or that the modules leave to the program.
WITHOUT_EFFECT = {"precompute", "gate_bias", "loss", "static_epochs", "static_rate", "path"}


class _Equal(InFolder):
    """Runs of the program next to modules."""

    seeds = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.in_fp32 = set()  # models that were also compared in fp32

    def run_of(self, model, precision="fp64", **more):
        """A run that leaves its weights and embeddings."""
        type(self).seeds += 1
        stem = self.folder / f"run{self.seeds}"
        run = strobe.run(workload=self.workload, model=model, warmup=0, precision=precision, progress=False,
                         save_model=f"{stem}.safetensors", dump_embeddings=f"{stem}.npy", out=stem,
                         **{**self.task, **more})
        return run, np.load(f"{stem}.npy").astype(np.float64)

    def expect_equal(self, module, run, expected, tolerance):
        with torch.no_grad():
            z = self.embeddings(module, run, expected).double().numpy()
        self.assertEqual(z.shape, expected.shape)
        self.assertGreater(np.abs(expected).max(), 0)
        self.assertLess(np.abs(z - expected).max() / np.abs(expected).max(), tolerance)

    def expect_both_ways(self, name, options):
        """A run at rest gives the embeddings of the module where it starts, and of the module that it is read into."""
        model, module = {"name": name, **options}, modules._MODULES[name](*self.features, **options).double().eval()
        self.add_head(module)
        with torch.no_grad():  # weights that the program never drew, biases included
            for parameter in module.parameters():
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=self.draw))
        for precision, tolerance in (("fp64", 1e-12), *([] if name in self.in_fp32 else [("fp32", self.fp32)])):
            run, started = self.run_of(model, precision, weights=module, epochs=1,
                                       optimizer={"name": "sgd", "rate": 0.0})
            loaded = run.to_torch().eval()
            self.assertIs(type(loaded), type(module))
            self.expect_equal(loaded, run, started, tolerance)
            if precision == "fp64":
                if name == "dysat":
                    module.trained_steps = loaded.trained_steps  # of the run, not of the weights
                self.expect_equal(module, run, started, tolerance)
        self.in_fp32.add(name)


@unittest.skipIf(modules is None, "needs PyTorch")
class Snapshots(_Equal):
    fp32 = 1e-6

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graphs = [cls.graph(seed, weighted=seed != 6) for seed in (5, 6, 7)]
        cls.workload, cls.steps = cls.graphs[0]
        cls.task, cls.features = {"task": {"name": "vertex-regression", "train_share": 0.6}}, [3]
        cls.draw = torch.Generator().manual_seed(3)

    @classmethod
    def graph(cls, seed, weighted):
        """A random graph of 9 steps, with loops and parallel edges, as a workload and as tensors."""
        draw = np.random.default_rng(seed)
        edges = [draw.integers(0, 20, (2, 45)) for _ in range(9)]
        weights = [draw.integers(1, 9, 45) / 4 if weighted else np.ones(45) for _ in range(9)]
        features = draw.normal(size=(9, 20, 3)).astype(np.float32)
        workload = strobe.Workload.from_steps(edges, weights if weighted else None, features,
                                              draw.normal(size=(9, 20)), path=cls.folder / f"steps{seed}.strobe",
                                              feature_scale="none")
        return workload, [tuple(map(torch.tensor, one)) for one in zip(features, edges, weights, strict=True)]

    @staticmethod
    def add_head(module):
        module.head = torch.nn.Linear(module.width, 1).double()

    def embeddings(self, module, run, expected):
        like = next(module.parameters())
        module.all_steps = len(expected)
        return module([(x.to(like), edges, weights.to(like)) for x, edges, weights in self.steps[:len(expected)]])

    def test_embeddings_are_those_of_the_program_both_ways(self):
        for number, (name, options) in enumerate(SNAPSHOTS):
            self.workload, self.steps = self.graphs[number % len(self.graphs)]
            with self.subTest(name, **options):
                self.expect_both_ways(name, options)

    def test_one_step_after_the_other_is_the_whole(self):
        module = modules.TGCN(3, hidden=4)
        state, steps = None, [(x, edges) for x, edges, _ in self.steps]
        for t, (x, edges) in enumerate(steps):
            z, state = module.step(x, edges, state=state)
            torch.testing.assert_close(z, module(steps)[t])

    def test_modules_have_the_options_and_defaults_of_the_program(self):
        table = strobe.names("models").set_index("name")["parameters"]
        for name, kind in modules._MODULES.items():
            defaults = {one["name"]: one["default"] for one in table[name]}
            own = {key: one.default for key, one in inspect.signature(kind).parameters.items()
                   if one.default is not inspect.Parameter.empty}
            own = {key: value for key, value in own.items() if key not in ("trained_steps", "all_steps", "log1p")}
            self.assertEqual(own, {key: value for key, value in defaults.items() if key not in WITHOUT_EFFECT}, name)


class _EventsTest(_Equal):
    fp32 = 1e-5  # fp32 knows the cosine of a time of t seconds to about t * 1e-7

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw, count, vertices = np.random.default_rng(cls.seed), 150, 17
        cls.ends = draw.integers(0, vertices, (2, count))
        cls.ends[:, :vertices] = np.arange(vertices)
        cls.ends[1, :vertices] = np.roll(np.arange(vertices), 3)
        cls.ends[1, 40] = cls.ends[0, 40]
        time = np.cumsum(draw.choice([0, 1, 2, 5, 9], count)) / 16
        of_events, of_vertices = draw.integers(-16, 17, (count, 3)) / 8, draw.integers(-16, 17, (vertices, 4)) / 8
        known = {}
        if cls.with_features:
            table = pd.DataFrame(of_vertices, columns=list("abcd")).assign(name=np.arange(vertices))
            known = {"features": of_events, "vertices": table}
        cls.workload = strobe.Workload.from_events(*cls.ends, time, path=cls.folder / "events.strobe", **known)
        cls.events = modules.Events(*map(torch.tensor, cls.ends), torch.tensor(time - time[0]),
                                    *map(torch.tensor, (of_events, of_vertices) if cls.with_features else ()))
        cls.task = {"strategy": {"name": "sequential", "batch": 20}, "task": {"name": "future-links", "batch": 13}}
        cls.draw, cls.features = torch.Generator().manual_seed(4), [4, 3] if cls.with_features else [0, 0]

    @staticmethod
    def add_head(module):
        module.decoder = modules.LinkDecoder(module.width).double()

    def run_of(self, model, precision="fp64", **more):
        self.samples = self.folder / "samples.csv"
        return super().run_of(model, precision, dump_samples=self.samples, **more)

    def embeddings(self, module, run, expected):
        table = pd.read_csv(self.samples).query("place == 0 and group <= 0").sort_values("group")
        negative = table.groupby("event")["vertex"].first().sort_index().to_numpy()
        begins = [int(table[table["part"] == part]["event"].min()) for part in ("validation", "test")]
        return module(self.events, torch.tensor(negative)[:, None], 13, begins)

    def test_embeddings_are_those_of_the_program_both_ways(self):
        for name, options in EVENTS:
            with self.subTest(name, **options):
                self.expect_both_ways(name, options)


@unittest.skipIf(modules is None, "needs PyTorch")
class EventsWithFeatures(_EventsTest):
    seed, with_features = 1, True


@unittest.skipIf(modules is None, "needs PyTorch")
class EventsAlone(_EventsTest):
    seed, with_features = 2, False

    def test_what_modules_lack_is_refused_by_name(self):
        run, _ = self.run_of({"name": "tgn-attn", **_TGN, "sampling": "uniform"}, epochs=1)
        with self.assertRaisesRegex(strobe.NotFitting, "sampling=recent"):
            run.to_torch()


del _EventsTest, _Equal

if __name__ == "__main__":
    unittest.main()
