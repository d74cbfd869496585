"""Models of PyTorch: each is captured, compared with PyTorch, and trained under several strategies."""
import json
import unittest
from unittest import mock

import numpy as np
from fixtures import InFolder

import strobe

try:
    import torch
    import torch_geometric.nn as pyg
    import torch_models as models
except ImportError:
    models = None


@unittest.skipIf(models is None, "needs PyTorch and PyTorch Geometric")
class Captured(InFolder):
    def capture(self, module, features=3, weighted=False, **states):
        example = {"x": torch.zeros(3, features), "edge_index": torch.tensor([[0, 1], [1, 2]])}
        if weighted:
            example["edge_weight"] = torch.ones(2)
        example.update({name: torch.zeros(3, one) if isinstance(one, int) else one for name, one in states.items()})
        torch.manual_seed(1)
        return strobe.from_torch(module, example, self.folder / type(module).__name__)

    def expect_as_pytorch(self, module, exact=True, **how):
        """Loss and gradients are PyTorch's, and all strategies have equal losses."""
        with self.subTest(repr(module)):
            model = self.capture(module, **how)
            self.assertLess(model.check.loss, 1e-10)
            self.assertLess(model.check.gradients, 1e-10)
            if exact:
                self.expect_exact(model, how.get("features", 3))

    def expect_exact(self, model, features):
        """Equal losses of all strategies, on a graph with `features` features."""
        draw = np.random.default_rng(3)
        edges = [draw.integers(0, 20, (2, 50)) for _ in range(6)]
        workload = strobe.Workload.from_steps(edges, features=draw.normal(size=(6, 20, features)),
                                              path=self.folder / "graph.strobe")
        kept = {"workload": workload, "model": model, "epochs": 2, "warmup": 0, "precision": "fp64"}
        suite = {"name": "exact", "cases": [{**kept, "strategy": strategy, "ranks": ranks} for strategy, ranks in (
            ("sequential", 1), ("snapshot", 2), ("vertex", 3), ("chunk", 2))]}
        run = strobe.run(suite, progress=False, out=self.folder / f"run{len(list(self.folder.iterdir()))}")
        losses = [row["loss"] for row in json.loads((run.path / "summary.json").read_text())["rows"]]
        self.assertEqual(len(losses), 4)
        for other in losses[1:]:
            np.testing.assert_allclose(other, losses[0], rtol=1e-10)

    def test_models_agree_with_pytorch_and_are_exact_under_every_strategy(self):
        for module, weighted, states in ((models.TGCN(3, 5), True, {"h": 5}), (models.GCNGRU(3, 5), False, {"h": 5}),
                                         (models.SageLSTM(3, 5), False, {"h": 5, "c": 5}),
                                         (models.JointTGCN(3, 5), True, {"h": 5}), (models.TwoGCN(3, 5), False, {})):
            with self.subTest(type(module).__name__):
                model = self.capture(module, weighted=weighted, **states)
                self.assertLess(model.check.loss, 1e-10)
                self.assertLess(model.check.gradients, 1e-10)
                self.assertIn("as PyTorch over 4 steps", repr(model))
                self.expect_exact(model, 3)

    def test_layers_of_attention_agree_with_pytorch(self):
        layers = models.EdgeConvs
        for module, states in ((layers(pyg.GATConv(3, 4, heads=3)), {}),
                               (layers(pyg.GATv2Conv(3, 2, heads=2)), {}),
                               (layers(pyg.TransformerConv(3, 4, heads=2)), {}),
                               (layers(pyg.GATConv(3, 3, heads=2), state=6), {"h": 6})):
            self.expect_as_pytorch(module, **states)
        for module in (models.Attention(3, 5), layers(pyg.GATConv(3, 4, heads=2, concat=False, bias=False)),
                       layers(pyg.GATConv(3, 2, heads=2, add_self_loops=False, residual=True)),
                       layers(pyg.GATv2Conv(3, 4, heads=2, share_weights=True, add_self_loops=False)),
                       layers(pyg.GCNConv(3, 4), pyg.GATConv(4, 2, heads=4)),
                       layers(pyg.TransformerConv(3, 2, heads=3, concat=False, root_weight=False),
                              pyg.SAGEConv(2, 4))):
            self.expect_as_pytorch(module, exact=False)

    def test_attention_by_hand_agrees_with_pytorch(self):
        self.expect_as_pytorch(models.HandAttention(3, 5))
        self.expect_as_pytorch(models.HandTransformer(3, 6))

    def test_random_attention_of_several_widths_agrees_with_pytorch(self):
        draw = np.random.default_rng(11)
        for seed in range(6):
            torch.manual_seed(seed)
            features, heads, width, more = (int(one) for one in draw.integers(1, 6, 4))
            first = [pyg.GATConv, pyg.GATv2Conv, pyg.TransformerConv][seed % 3](features, width, heads=heads)
            second = [pyg.GATv2Conv, pyg.GATConv, pyg.TransformerConv][seed % 3](width * heads, more, heads=2)
            self.expect_as_pytorch(models.EdgeConvs(first, second), exact=False, features=features)
            self.expect_as_pytorch(models.HandAttention(features, width), exact=False, features=features)

    def test_weights_that_evolve_agree_with_pytorch(self):
        module = models.EvolvingWeights(3, 4)
        self.expect_as_pytorch(module, w=module.initial_weight)
        module = models.HandEvolving(3, 5)
        self.expect_as_pytorch(module, w1=module.first, c1=module.carry, w2=module.second, h=5)

    def test_chebyshev_filters_agree_with_pytorch(self):
        for order in (1, 2, 4):
            self.expect_as_pytorch(models.ChebGRU(3, 4, order), exact=order == 4, weighted=True, h=4)
        self.expect_as_pytorch(models.HandCheb(3, 5))
        self.expect_as_pytorch(models.EdgeConvs(pyg.ChebConv(3, 4, 3, normalization="rw")), exact=False)

    def test_a_bias_after_a_sum_agrees_with_pytorch(self):
        self.expect_as_pytorch(models.BiasOfSum(3, 5))

    def test_operations_without_a_counterpart_are_named_with_their_line(self):
        for module, reason, states in (
                (models.Softmax(3, 5), "_softmax", {}),
                (models.StateAttention(4), "this attention reads a state", {"h": 4}),
                (models.OtherAttention("tanh"), "tanh", {}), (models.OtherAttention("weighted"), "attention", {}),
                (models.OtherAttention("unnormalised"), "no such sum", {}),
                (models.OtherAttention("wrong total"), "no such gathering", {}),
                (models.TwoKindsOfEdges(3, 4), "other neighbours", {}),
                (models.EdgeConvs(pyg.GCNConv(3, 4), pyg.TransformerConv(4, 4)), "an aggregation by 'laplacian'", {}),
                (models.TimeAttention(4), "it makes (1, 11, 4)", {})):
            with self.subTest(reason), self.assertRaises(strobe.NotCaptured) as caught:
                self.capture(module, **states)
            text = str(caught.exception)
            self.assertIn("torch_models.py:", text)
            self.assertIn(reason, text)

    def test_a_wrong_number_of_states_is_refused(self):
        with self.assertRaisesRegex(ValueError, "returns 0 states"):
            self.capture(models.GCNGRU(3, 5), h=5, c=5)

    def test_operations_that_are_captured_agree_with_pytorch(self):
        for function in (models.turned_weight, models.named_as_an_operation, models.column, models.single_number,
                         models.whole_in_place, models.onto_zeros):
            with self.subTest(function.__name__):
                check = self.capture(models.Operations(function)).check
                self.assertLess(max(check.loss, check.gradients), 1e-10)

    def test_operations_that_would_be_captured_wrongly_are_refused(self):
        for function, reason in ((models.part_in_place, "a part of it was changed in place"),
                                 (models.constant_in_place, "a constant in place"),
                                 (models.onto_ones, "other than zeros"), (models.scaled_sum, "scales what it adds"),
                                 (models.scaled_columns, "tanh.*multiplied by a row of weights"),
                                 (models.scaled_result, "the result: .*multiplied by a row of weights"),
                                 (models.negative_slope, "slope is negative")):
            with self.subTest(function.__name__), self.assertRaisesRegex(strobe.NotCaptured, reason):
                self.capture(models.Operations(function))

    def test_weights_that_strobe_cannot_train_are_refused_by_name(self):
        module = models.Operations(models.named_as_an_operation)
        module.v1.requires_grad_(False)
        with self.assertRaisesRegex(strobe.NotCaptured, "'v1'.*frozen"):
            self.capture(module)
        module.v1.requires_grad_(True).data[0, 0] = np.nan
        with self.assertRaisesRegex(strobe.NotCaptured, "'v1'.*no finite number"):
            self.capture(module)
        module = models.GCNGRU(3, 5)
        module.head = module.first
        del module.first
        module.__class__ = type("Renamed", (models.GCNGRU,), {"first": property(lambda self: self.head)})
        with self.assertRaisesRegex(ValueError, "'head.*rename"):
            self.capture(module, h=5)

    def test_a_failed_check_leaves_the_files_that_are_there(self):
        model = self.capture(models.TwoGCN(3, 5))
        before = {file.name: file.read_bytes() for file in model.path.iterdir()}
        for loss, gradients in ((np.nan, 0.0), (0.0, np.nan), (1.0, 0.0)):
            with (mock.patch("strobe.captured._compare", return_value=strobe.captured.Check(4, loss, gradients)),
                  self.assertRaises(strobe.NotEqual)):
                self.capture(models.TwoGCN(3, 5))
        self.assertEqual({file.name: file.read_bytes() for file in model.path.iterdir()}, before)
        self.assertEqual([one.name for one in self.folder.iterdir() if one.name.startswith(".")], [])

    def test_a_file_that_was_changed_is_not_equal(self):
        from strobe import captured

        module = models.GCNGRU(3, 5)
        model = self.capture(module, h=5)
        text = json.loads((model.path / "model.json").read_text())
        next(one for one in text["operations"] if one["kind"] == "tanh")["kind"] = "sigmoid"
        (model.path / "model.json").write_text(json.dumps(text))
        example = {"x": torch.zeros(3, 3), "edge_index": torch.tensor([[0, 1], [1, 2]]), "h": torch.zeros(3, 5)}
        weights = captured.read_safetensors(model.path / "weights.safetensors")
        check = captured._compare(captured._copy(module), example, text, weights, model.path)
        self.assertGreater(check.loss, 1e-5)


if __name__ == "__main__":
    unittest.main()
