"""Weights of captured models, from runs into modules and back."""
import json
import unittest

import numpy as np
from fixtures import InFolder

import strobe

try:
    import event_modules
    import torch
    import torch_geometric.nn as pyg
    import torch_models as models
    from torch import nn

    from strobe import modules
except ImportError:
    models = None


def losses(run):
    return json.loads((run.path / "summary.json").read_text())["rows"][0]["loss"]


@unittest.skipIf(models is None, "needs PyTorch and PyTorch Geometric")
class Snapshots(InFolder):
    count = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        draw, pairs = np.random.default_rng(6), [(u, v) for u in range(12) for v in range(12) if u != v]
        edges = [np.array([pairs[i] for i in draw.permutation(len(pairs))[:30]]).T.copy() for _ in range(6)]
        weights = [draw.integers(1, 9, 30) / 4 for _ in edges]
        features, targets = draw.normal(size=(6, 12, 3)).astype(np.float32), draw.normal(size=(6, 12))
        cls.workload = strobe.Workload.from_steps(edges, weights, features, targets, feature_scale="none",
                                                  path=cls.folder / "steps.strobe")
        cls.steps = [(torch.tensor(x).double(), torch.tensor(e), torch.tensor(w))
                     for x, e, w in zip(features, edges, weights, strict=True)]

    def capture(self, module, **states):
        example = {"x": torch.zeros(3, 3), "edge_index": torch.tensor([[0, 1], [1, 2]]), **states}
        return strobe.from_torch(module, example, self.folder / "captured", check=False)

    def train(self, model, **more):
        type(self).count += 1
        stem = self.folder / f"run{self.count}"
        return strobe.run(workload=self.workload, model=model, warmup=0, precision="fp64", progress=False, out=stem,
                          task={"name": "vertex-regression", "train_share": 0.5},
                          **{"epochs": 1, "save_model": f"{stem}.safetensors", **more})

    def test_training_goes_on_from_the_module_and_its_embeddings_are_those_of_the_run(self):
        torch.manual_seed(1)
        captured = self.capture(models.TGCN(3, 5), edge_weight=torch.ones(2), h=torch.zeros(3, 5))
        whole, embeddings = self.train(captured, epochs=2), self.folder / "z.npy"
        module = models.TGCN(3, 5).double()
        first = self.train(captured, dump_embeddings=embeddings)
        first.to_torch(module)
        h, outputs = torch.zeros(12, 5).double(), []
        for x, edges, weights in self.steps:
            h = module(x, edges, weights, h)
            outputs.append(h)
        np.testing.assert_allclose(np.load(embeddings), torch.stack(outputs).detach().numpy(), rtol=1e-10, atol=1e-12)
        module.head = nn.Linear(5, 1).double()
        first.to_torch(module)
        at_rest = {"name": "sgd", "rate": 0.0}
        self.assertEqual(losses(self.train(captured, weights=module, optimizer=at_rest))[0], losses(whole)[1])

    def test_every_kind_of_weight_goes_both_ways(self):
        """Attention, weights that evolve, are transposed or shared, and weights that the call does not read."""
        evolving, by_hand = models.EvolvingWeights(3, 4), models.HandEvolving(3, 5)
        for module, states in (
                (models.EdgeConvs(pyg.GATConv(3, 4, heads=3), pyg.GATv2Conv(12, 2, share_weights=True)), {}),
                (models.EdgeConvs(pyg.TransformerConv(3, 2, heads=3, concat=False, root_weight=False)), {}),
                (models.HandAttention(3, 5), {}), (evolving, {"w": evolving.initial_weight}),
                (by_hand, {"w1": by_hand.first, "c1": by_hand.carry, "w2": by_hand.second, "h": torch.zeros(3, 5)}),
                (models.Operations(models.turned_weight), {}), (models.Operations(models.column), {})):
            with self.subTest(repr(module)):
                captured = self.capture(module, **states)
                first = self.train(captured)
                saved = strobe.weights.read_weights(first.path.with_suffix(".safetensors")).weights
                module.head = nn.Linear(*saved["head.weight"].shape)
                module.double()
                before = [one.detach().clone() for one in module.parameters()]
                first.to_torch(module)
                self.assertTrue(any(not torch.equal(one, old)
                                    for one, old in zip(module.parameters(), before, strict=True)))
                rest = self.train(captured, weights=module.state_dict(), optimizer={"name": "sgd", "rate": 0.0})
                again = strobe.weights.read_weights(rest.path.with_suffix(".safetensors")).weights
                self.assertEqual(again.keys(), saved.keys())
                for name, value in saved.items():
                    np.testing.assert_array_equal(again[name], value, name)

    def test_a_weight_that_the_model_needs_is_missed(self):
        captured = self.capture(models.TwoGCN(3, 5))
        run = self.train(captured)
        other = models.TwoGCN(3, 5)
        del other.norm
        with self.assertRaisesRegex(strobe.NotFitting, r"norm.weight is missing, \[1, 5\]"):
            run.to_torch(other)


@unittest.skipIf(models is None, "needs PyTorch and PyTorch Geometric")
class Events(InFolder):
    def test_parts_of_an_event_model_go_both_ways(self):
        draw = np.random.default_rng(3)
        workload = strobe.Workload.from_events(draw.integers(0, 20, 150), draw.integers(0, 20, 150), np.arange(150),
                                               features=draw.normal(size=(150, 2)), path=self.folder / "events.strobe")

        def parts():
            return {"message": event_modules.Mlp(7, 18), "updater": nn.GRUCell(7, 6),
                    "embedding": event_modules.Multihead(6, 4, 2)}

        captured = strobe.events_from_torch(self.folder / "mine", memory=6, time=4, edge_features=2, neighbours=3,
                                            check=False, **parts())

        def train(name, **more):
            return strobe.run(workload=workload, model=captured, strategy="sequential:batch=60", task="future-links",
                              warmup=0, precision="fp64", progress=False, out=self.folder / name,
                              save_model=self.folder / f"{name}.safetensors", **more)

        whole, first = train("whole", epochs=2), train("first", epochs=1)
        with self.assertRaisesRegex(strobe.NotFitting, "captured parts are embedding, message, updater; give a module"):
            first.to_torch()
        module = nn.ModuleDict(parts()).double()
        first.to_torch(module)
        saved = strobe.weights.read_weights(self.folder / "first.safetensors").weights
        np.testing.assert_array_equal(module["updater"].weight_ih.detach().numpy().T, saved["updater.weight_ih"])
        with self.assertRaisesRegex(strobe.NotFitting, r"memory_time.weight is missing, \[4, 1\]"):
            train("refused", weights=module, epochs=1)
        module["memory_time"], module["attention"] = nn.Linear(1, 4), nn.ModuleDict({"time": nn.Linear(1, 4)})
        module["decoder"] = modules.LinkDecoder(4)
        first.to_torch(module.double())
        again = train("again", weights=module, epochs=1, optimizer={"name": "sgd", "rate": 0.0})
        self.assertEqual(losses(first), losses(whole)[:1])
        for name, value in strobe.weights.read_weights(self.folder / "again.safetensors").weights.items():
            np.testing.assert_array_equal(value, saved[name], name)
        self.assertEqual(again.rows["status"][0], "ok")


if __name__ == "__main__":
    unittest.main()
