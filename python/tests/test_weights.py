"""Weights from runs into modules that PyTorch users have, and back: layers of PyTorch Geometric, metrics, refusals."""
import json
import os
import pathlib
import re
import unittest

import numpy as np
import pandas as pd
from fixtures import TINY, InFolder

import strobe

try:
    import torch
    from torch_geometric.nn import GATConv, GCNConv

    from strobe import modules
except ImportError:
    modules = None

if modules is not None:
    class GatedGCN(torch.nn.Module):
        """T-GCN of one convolution a gate, with GCNConv, as PyTorch Geometric Temporal writes it."""

        def __init__(self, features, hidden):
            super().__init__()
            self.hidden = hidden
            for gate in "rzh":
                self.add_module(f"conv_{gate}", GCNConv(features, hidden))
                self.add_module(f"linear_{gate}", torch.nn.Linear(2 * hidden, hidden))

        def forward(self, steps):
            h, outputs = torch.zeros(len(steps[0][0]), self.hidden, dtype=steps[0][0].dtype), []
            for x, edges, weights in steps:
                def gate(name, state, x=x, edges=edges, weights=weights):
                    read = getattr(self, f"conv_{name}")(x, edges, weights)
                    return getattr(self, f"linear_{name}")(torch.cat([read, state], 1))
                r, z = torch.sigmoid(gate("r", h)), torch.sigmoid(gate("z", h))
                h = z * h + (1 - z) * torch.tanh(gate("h", r * h))
                outputs.append(h)
            return torch.stack(outputs)

    NAMES = {"gcn1": "first", "gcn2": "second", "norm1": "norms.0", "norm2": "norms.1", "lstm1": "lower",
             "lstm2": "upper", "head": "top"}

    class StackedLSTM(torch.nn.Module):
        """MPNN-LSTM with GCNConv, BatchNorm1d and nn.LSTM over the whole timeline, under names of its own."""

        def __init__(self, features, hidden):
            super().__init__()
            self.first, self.second = GCNConv(features, hidden), GCNConv(hidden, hidden)
            self.norms = torch.nn.ModuleList(torch.nn.BatchNorm1d(hidden, track_running_stats=False) for _ in range(2))
            self.lower, self.upper = torch.nn.LSTM(2 * hidden, hidden), torch.nn.LSTM(hidden, hidden)
            self.top = torch.nn.Linear(2 * hidden + features, 1)

        def forward(self, steps):
            read = []
            for x, edges, weights in steps:
                first = self.norms[0](torch.relu(self.first(x, edges, weights)))
                read.append(torch.cat([first, self.norms[1](torch.relu(self.second(first, edges, weights)))], 1))
            lower, _ = self.lower(torch.stack(read))
            upper, _ = self.upper(lower)
            return torch.cat([lower, upper, torch.stack([x for x, *_ in steps])], 2)

    class Structural(torch.nn.Module):
        """DySAT with GATConv and PyTorch's own attention over time."""

        def __init__(self, features, hidden, heads, positions):
            super().__init__()
            self.structural = GATConv(features, hidden // heads, heads, bias=False)
            self.temporal = torch.nn.Module()
            self.temporal.positions = torch.nn.Parameter(torch.randn(positions, hidden))
            self.temporal.query_key_value = torch.nn.Linear(hidden, 3 * hidden, bias=False)
            self.temporal.dense = torch.nn.Linear(hidden, hidden)
            self.heads = heads

        def forward(self, steps):
            x = torch.stack([torch.nn.functional.elu(self.structural(x, edges)) for x, edges, _ in steps], 1)
            read = self.temporal.query_key_value(x + self.temporal.positions[:len(steps)])
            parts = read.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            o = torch.nn.functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
            return (torch.relu(self.temporal.dense(o)) + o).transpose(0, 1)


class _WithSteps(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw, vertices = np.random.default_rng(6), 20
        pairs = [(u, v) for u in range(vertices) for v in range(vertices) if u != v]
        # No loops and no parallel edges, which PyTorch Geometric treats in other ways.
        edges = [np.array([pairs[i] for i in draw.permutation(len(pairs))[:50]]).T.copy() for _ in range(8)]
        weights = [draw.integers(1, 9, 50) / 4 for _ in edges]
        features = draw.normal(size=(8, vertices, 3)).astype(np.float32)
        cls.targets = draw.normal(size=(8, vertices)).astype(np.float32).astype(np.float64)
        cls.workload = strobe.Workload.from_steps(edges, weights, features, cls.targets, feature_scale="none",
                                                  path=cls.folder / "steps.strobe")
        cls.steps = [(torch.tensor(x).double(), torch.tensor(e), torch.tensor(w))
                     for x, e, w in zip(features, edges, weights, strict=True)]
        cls.task = {"name": "vertex-regression", "train_share": 0.5}
        cls.count = 0

    def train(self, model, **more):
        type(self).count += 1
        self.stem = self.folder / f"run{self.count}"
        self.saved = f"{self.stem}.safetensors"
        return strobe.run(**{"workload": self.workload, "model": model, "task": self.task, "warmup": 0, "epochs": 2,
                             "precision": "fp64", "progress": False, "save_model": self.saved, "out": self.stem,
                             "dump_embeddings": f"{self.stem}.npy", **more})

    def losses(self, run):
        return json.loads((run.path / "summary.json").read_text())["rows"][0]["loss"]


@unittest.skipIf(modules is None, "needs PyTorch and PyTorch Geometric")
class Weights(_WithSteps):
    def expect_loaded(self, run, module, names=None, steps=8):
        z = run.to_torch(module.double(), names=names)(self.steps).detach().numpy()
        expected = np.load(f"{self.stem}.npy")[:steps]
        self.assertLess(np.abs(z[:steps] - expected).max() / np.abs(expected).max(), 1e-12)

    def test_layers_of_pytorch_geometric_and_pytorch_give_the_same_embeddings(self):
        torch.manual_seed(2)
        for model, module, names in (
                ("t-gcn:gcn_layers=1", GatedGCN(3, 6), None),
                ("mpnn-lstm", StackedLSTM(3, 6), NAMES),
                ("dysat:positions=20,structural_heads=3,temporal_heads=3", Structural(3, 6, 3, 20), None)):
            with self.subTest(model):
                task = {**self.task, "train_share": 0.9}  # of 8 steps 7; DySAT reads the last one in another way
                self.expect_loaded(self.train(model, task=task), module, names, 7)

    def test_a_module_is_the_start_and_names_are_those_of_the_call(self):
        torch.manual_seed(3)
        module = StackedLSTM(3, 6).double()
        kept = {"optimizer": {"name": "sgd", "rate": 0.0}, "epochs": 1}
        run = self.train("mpnn-lstm", weights=module, weight_names=NAMES, **kept)
        np.testing.assert_allclose(np.load(f"{self.stem}.npy"), module(self.steps).detach().numpy(), rtol=1e-12,
                                   atol=1e-13)
        trained = self.targets[:4] - module.top(module(self.steps))[:4, :, 0].detach().numpy()
        np.testing.assert_allclose(self.losses(run)[0], np.square(trained).mean(), rtol=1e-12)

    def test_the_metric_of_a_run_is_that_of_its_module(self):
        run = self.train("t-gcn", epochs=4, optimizer="adam:rate=0.05")
        module = run.to_torch()
        error = module.head(module(self.steps))[4:, :, 0].detach().numpy() - self.targets[4:]
        np.testing.assert_allclose(run.rows["rmse"][0], np.sqrt(np.square(error).mean()), rtol=1e-12)

    def test_links_are_told_apart_as_in_the_run(self):
        drawn = self.folder / "samples.csv"
        run = self.train("cd-gcn", task="link-prediction:theta=0.5", dump_samples=drawn, epochs=5,
                         optimizer="adam:rate=0.05")
        module, table = run.to_torch(), pd.read_csv(drawn)
        table = table[(table["split"] == "test") & table["candidate_of"].isna()]
        step, source, target = (torch.tensor(table[one].to_numpy()) for one in ("step", "source", "target"))
        z, label = module(self.steps), table["label"].to_numpy()
        logits = module.head(torch.cat([z[step, source], z[step, target]], 1)).detach().numpy()
        margin = logits[:, 1] - logits[:, 0]
        apart = margin[label == 1][:, None] - margin[label == 0]
        self.assertEqual(run.rows["accuracy"][0], ((margin > 0) == label).mean())
        self.assertAlmostEqual(run.rows["auc"][0], (np.sign(apart) / 2 + 0.5).mean(), places=12)

    def test_a_step_of_gradient_descent_is_that_of_pytorch(self):
        descent = {"optimizer": {"name": "sgd", "rate": 0.1}, "epochs": 1}
        torch.manual_seed(4)
        for module in (modules.TMGCN(3, pairs=2), modules.CDGCN(3), modules.EvolveGCNO(3), modules.EvolveGCNH(3),
                       modules.TGCN(3), modules.MPNNLSTM(3), modules.DySAT(3), modules.DCRNN(3)):
            model = {"name": module.strobe_model, **module.options}
            with self.subTest(module.strobe_model):
                module.head = torch.nn.Linear(module.width, 1)
                module.double()
                after = self.train(model, weights=module, **descent).to_torch()
                trained = [one for one in module.parameters() if one.requires_grad]
                error = module.head(module(self.steps))[:4, :, 0] - torch.tensor(self.targets[:4])
                step = torch.autograd.grad(error.square().mean(), trained)
                self.assertGreater(max(float(one.abs().max()) for one in step), 1e-3)
                with torch.no_grad():
                    for parameter, gradient in zip(trained, step, strict=True):
                        parameter -= 0.1 * gradient
                torch.testing.assert_close(dict(module.named_parameters()), dict(after.named_parameters()), rtol=1e-10,
                                           atol=1e-12)

    def test_training_goes_on_where_it_was(self):
        for precision, starts in (("fp64", 4), ("fp32", 1)):
            whole = self.losses(self.train("evolve-gcn-h", epochs=3, precision=precision))
            first = self.train("evolve-gcn-h", epochs=2, precision=precision)
            self.assertEqual(self.losses(first), whole[:2])
            module = first.to_torch()
            for start in (module, module.state_dict(), first, first.path.with_suffix(".safetensors"))[:starts]:
                with self.subTest(precision, start=type(start).__name__):
                    again = self.train("evolve-gcn-h", weights=start, epochs=1, precision=precision)
                    self.assertEqual(self.losses(again), whole[2:])

    def test_dysat_reads_untrained_steps_and_degrees_as_the_run(self):
        self.expect_loaded(self.train("dysat"), modules.DySAT(3))
        ends = torch.cat([edges for _, edges, _ in self.steps], 1)
        counted = strobe.Workload.from_events(*ends, np.repeat(np.arange(8), 50), time_unit="step",
                                              path=self.folder / "degrees.strobe", window="1")
        run = self.train("dysat", workload=counted)
        degrees = [torch.stack([torch.bincount(ends, minlength=20) for ends in edges.flip(0)], 1).double()
                   for _, edges, _ in self.steps]
        expected = np.load(f"{self.stem}.npy")
        z = run.to_torch()([(x, edges) for x, (_, edges, _) in zip(degrees, self.steps, strict=True)][:len(expected)])
        self.assertLess(np.abs(z.detach().numpy() - expected).max() / np.abs(expected).max(), 1e-12)


@unittest.skipIf(modules is None, "needs PyTorch and PyTorch Geometric")
class HeadsOfEvents(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw = np.random.default_rng(8)
        cls.ends = draw.integers(0, 15, (2, 200))
        time = np.cumsum(draw.choice([1, 2, 5, 9], 200)) / 16
        cls.labels = draw.integers(0, 2, 200)
        cls.workload = strobe.Workload.from_events(*cls.ends, time, labels=cls.labels, path=cls.folder / "e.strobe")
        cls.events = modules.Events(*map(torch.tensor, cls.ends), torch.tensor(time - time[0]))

    def train(self, name, model, **more):
        return strobe.run(workload=self.workload, model=model, epochs=3, warmup=0, precision="fp64", progress=False,
                          optimizer="adam:rate=0.01", save_model=self.folder / f"{name}.safetensors",
                          out=self.folder / name, **more)

    def test_destinations_have_the_ranks_of_the_run(self):
        samples, ranks = self.folder / "samples.csv", self.folder / "ranks.csv"
        for name, model in (("tgn", "tgn-attn:memory=8,time=6,neighbours=4"), ("jodie", "jodie:memory=8,time=6")):
            with self.subTest(name):
                run = self.train(name, model, strategy="sequential:batch=20", task="future-links:batch=13",
                                 dump_samples=samples, dump_ranks=ranks)
                table = pd.read_csv(samples).query("group == -1").sort_values(["event", "place"])
                others = torch.zeros(200, int(table["place"].max()) + 1, dtype=torch.long)
                others[table["event"].to_numpy(), table["place"].to_numpy()] = torch.tensor(table["vertex"].to_numpy())
                count = table.groupby("event").size()
                parts = [int(table[table["part"] == part]["event"].min()) for part in ("validation", "test")]
                module = run.to_torch()
                z = module(self.events, others, 13, parts).detach()
                scores = module.decoder(z[:, :1], z[:, 1:]).detach().numpy()
                judged = pd.read_csv(ranks)
                self.assertEqual(len(judged), 60)
                for row in judged.itertuples():
                    own, rest = scores[row.event, 0], scores[row.event, 1:1 + count[row.event]]
                    same = np.abs(rest - own) < 1e-12
                    self.assertEqual(row.rank, 1 + (rest[~same] > own).sum() + same.sum() / 2)

    def test_classes_of_events_are_told_as_in_the_run(self):
        run = self.train("classes", "tgat:hidden=8,time=6,neighbours=4", strategy="sequential:batch=20",
                         task="event-classification:batch=13,split=60/20/20")
        module = run.to_torch()
        z = module(self.events, batch=13, again=(120, 160)).detach()
        said = module.classifier(z[:, 0], z[:, 1]).argmax(1).numpy()
        self.assertAlmostEqual(run.rows["f1_micro"][0], (said == self.labels)[160:].mean(), places=12)

    def test_snapshot_models_have_the_decoder_too(self):
        windows = self.workload.with_options(window_events=25)
        run = strobe.run(workload=windows, model="tm-gcn", task="future-links", epochs=1, progress=False,
                         save_model=self.folder / "windows.safetensors", out=self.folder / "windows")
        module, saved = run.to_torch(), strobe.weights.read_weights(self.folder / "windows.safetensors").weights
        np.testing.assert_array_equal(module.decoder.source.weight.detach().numpy().T,
                                      saved["decoder.source"].astype(np.float32))


PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "howto" / "export_weights.md"


@unittest.skipIf(modules is None or not PAGE.exists(), "needs PyTorch, PyTorch Geometric and the documents")
class Pages(InFolder):
    def test_the_examples_of_the_page_run(self):
        before, session = os.getcwd(), {}
        os.chdir(self.folder)
        try:
            for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S):
                exec(compile(block, str(PAGE), "exec"), session)
        finally:
            os.chdir(before)
        self.assertEqual(tuple(session["z"].shape), (10, 50, 6))
        self.assertIsInstance(session["module"], modules.TGCN)
        saved = strobe.weights.read_weights(self.folder / "tm-gcn.safetensors").weights
        first = session["mine"]["first"].lin.weight.detach().numpy()
        np.testing.assert_array_equal(first, saved["layer1.weight"].T.astype(np.float32))


@unittest.skipIf(modules is None, "needs PyTorch and PyTorch Geometric")
class Refusals(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.file = cls.folder / "m.safetensors"
        cls.kept = strobe.run(workload=TINY, model="mpnn-lstm", epochs=1, save_model=cls.file, out=cls.folder / "o",
                             progress=False)

    def expect(self, call, *words):
        with self.assertRaises(strobe.NotFitting) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def module(self):
        return modules.MPNNLSTM(2)

    def test_what_does_not_fit_is_named_with_what_was_expected(self):
        module = self.module()
        module.gcn1 = torch.nn.Linear(2, 6, bias=False)
        module.lstm2 = torch.nn.LSTMCell(5, 6)
        module.more = torch.nn.Linear(1, 1, bias=False)
        before = module.lstm1.weight_ih.clone()
        self.expect(lambda: self.kept.to_torch(module), "weights of mpnn-lstm", "gcn1.bias is missing, [1, 6]",
                    "lstm2.weight_ih is [24, 5], and [24, 6] is needed", "more.weight [1, 1] has no counterpart")
        self.assertTrue(torch.equal(before, module.lstm1.weight_ih))
        self.expect(lambda: self.kept.to_torch(self.module(), names={"conv": "x"}), "'conv'")

    def test_another_model_is_named(self):
        self.expect(lambda: self.kept.to_torch(modules.TGCN(2)), "weights of mpnn-lstm", "t-gcn")
        self.expect(lambda: self.kept.to_torch(modules.MPNNLSTM(2, output="h2")),
                    "output is all there and h2 in the module")
        self.kept.to_torch(modules.MPNNLSTM(2, dropout=0.5))
        with self.assertRaisesRegex(strobe.InvalidRequest, "mpnn-lstm"):
            strobe.run(workload=TINY, model="t-gcn", weights=self.file, progress=False, out=self.folder / "other")

    def test_files_that_are_none_are_named(self):
        path = self.folder / "text.safetensors"
        for content in (b"", b"no safetensors, but a text of some length", b"\x02\0\0\0\0\0\0\0[]",
                        self.file.read_bytes()[:-8]):
            path.write_bytes(content)
            self.expect(lambda: strobe.to_torch(path), str(path), "no safetensors file")
        self.expect(lambda: strobe.to_torch(self.folder / "nowhere"), "nowhere: No such file")
        unsaved = strobe.run(workload=TINY, epochs=1, out=self.folder / "unsaved", progress=False)
        self.expect(unsaved.to_torch, "save_model=")
        unnamed = strobe.weights.read_weights(self.file).weights
        strobe.captured._write_safetensors(path, unnamed)
        self.expect(lambda: strobe.to_torch(path, torch.nn.Linear(1, 1)), "does not say which model")
        self.expect(lambda: strobe.to_torch(path, modules.TGCN(2)), "no whole file of model t-gcn",
                    "lacks 'gru.hidden_weight'")
        del unnamed["lstm1.bias"]
        strobe.captured._write_safetensors(path, {**unnamed, "gcn3.weight": np.zeros((1, 1))})
        self.expect(lambda: strobe.to_torch(path, self.module()), "missing: lstm1.bias; unknown: gcn3.weight")

    def test_a_start_that_does_not_fit_is_refused_before_training(self):
        out = self.folder / "refused"

        def start(weights, **more):
            return lambda: strobe.run(**{"workload": TINY, "model": "mpnn-lstm", "epochs": 1, "out": out,
                                         "progress": False, "weights": weights, **more})

        self.expect(start(self.module()), "trains mpnn-lstm", "head.weight is missing, [2, 28]")
        fitting = self.kept.to_torch()
        self.expect(start(fitting, model=["mpnn-lstm", "t-gcn"]), "2 models")
        self.expect(start(fitting.state_dict(), model="mpnn-lstm:hidden=7"), "[28, 7] is needed")
        self.expect(start(fitting, model="mpnn-lstm:output=h2"), "output is h2 there and all in the module")
        self.expect(start(fitting, model="t-gcn"), "trains t-gcn, and the module is mpnn-lstm")
        for given in (5, [fitting], {"model": fitting.state_dict()}, {"head.weight": "text"}):
            self.expect(start(given), type(given).__name__)
        self.expect(start(fitting, strategy={"name": "external", "command": "true"}), "external reads no weights")
        fitting.rows = 3  # which a run has too
        self.assertIsInstance(start(fitting, out=self.folder / "rows")(), strobe.Run)
        with torch.no_grad():
            fitting.gcn1.weight[0, 0] = float("nan")
        self.expect(start(fitting), "no finite numbers: gcn1.weight")
        with self.assertRaises(strobe.InvalidRequest) as caught:
            start(self.module(), load_model=self.file)()
        self.assertEqual(caught.exception.pointer, "/weights")
        self.assertFalse(out.exists())

    def test_combinations_that_cannot_run_need_no_weights(self):
        run = strobe.run(workload=TINY, model="mpnn-lstm", epochs=1, warmup=0, strategy=["sequential", "vertex"],
                         ranks=[1, 2], weights=self.kept.to_torch(), out=self.folder / "several", progress=False)
        self.assertEqual(sorted(run.rows["status"]), ["ok", "ok", "ok", "skipped"])

    def test_weights_that_a_run_did_not_train_are_refused(self):
        def run(name, **more):
            return strobe.run(**{"workload": TINY, "model": "t-gcn", "epochs": 1, "warmup": 0, "progress": False,
                                 "save_model": self.folder / "same.safetensors", "out": self.folder / name, **more})

        first = run("first")
        self.assertIsInstance(first.to_torch(), modules.TGCN)
        with self.assertRaises(strobe.CaseFailed) as caught:
            run("stopped", epochs=10 ** 6, time_limit="100ms")
        self.expect(caught.exception.run.to_torch, "timeout", "same.safetensors was not written")
        run("second", seed=2)
        self.expect(first.to_torch, "another run has written", "same.safetensors")
        self.expect(run("checkpoint", save_model=None, checkpoint=self.folder / "c.safetensors").to_torch,
                    "kept no weights; give its checkpoint", "c.safetensors")
        self.expect(lambda: strobe.to_torch(modules.TGCN(2)), "a TGCN")


del _WithSteps

if __name__ == "__main__":
    unittest.main()
