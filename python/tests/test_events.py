"""Parts of event models of PyTorch: each is captured, compared with PyTorch, and trained on several ranks."""
import json
import unittest

import numpy as np
from fixtures import InFolder

import strobe

try:
    import event_modules as modules
    import torch
    from torch import nn
    from torch_geometric.nn.models.tgn import IdentityMessage, TGNMemory, TimeEncoder
except ImportError:
    torch = None

@unittest.skipIf(torch is None, "needs PyTorch and PyTorch Geometric")
class Events(InFolder):
    def capture(self, memory=6, time=4, edge_features=2, **parts):
        return strobe.events_from_torch(self.folder / "mine", memory=memory, time=time, edge_features=edge_features,
                                        **parts)

    def expect_equal(self, model):
        self.assertLess(model.check.loss, 1e-12)
        self.assertLess(model.check.gradients, 1e-11)

    def test_parts_agree_with_pytorch(self):
        for seed, (w, t, e) in enumerate(((6, 4, 2), (3, 5, 0), (1, 1, 1))):
            torch.manual_seed(seed)
            inputs = 2 * w + e + t
            for parts in ({"updater": nn.RNNCell(inputs, w)}, {"message": modules.Mlp(5, inputs)},
                          {"message": modules.Mlp(7, inputs), "updater": nn.GRUCell(7, w),
                           "time_encoder": TimeEncoder(t)}):
                with self.subTest(seed=seed, parts=list(parts)):
                    self.expect_equal(self.capture(w, t, e, **parts))

    def test_the_memory_of_pytorch_geometric_can_be_taken_apart(self):
        memory = TGNMemory(5, 2, 6, 4, IdentityMessage(2, 6, 4), nn.Identity())
        model = self.capture(message=memory.msg_s_module, updater=memory.gru, time_encoder=memory.time_enc)
        self.expect_equal(model)
        self.assertIn("as PyTorch over 3 batches", repr(model))

    def test_embeddings_agree_with_pytorch(self):
        for seed, (w, t, e) in enumerate(((6, 4, 2), (3, 5, 0))):
            torch.manual_seed(seed)
            for embedding in (modules.Multihead(w, t, e), modules.ByHand(w, t, e), modules.Additive(w, t, e),
                              modules.ScaledDotProduct(w, t, e), modules.Shifted(w, t, e)):
                with self.subTest(type(embedding).__name__, seed=seed):
                    self.expect_equal(self.capture(w, t, e, embedding=embedding, updater=nn.GRUCell(2 * w + e + t, w)))

    def test_several_ranks_train_as_one(self):
        model = self.capture(message=modules.Mlp(7, 18), updater=nn.GRUCell(7, 6), neighbours=3,
                             embedding=modules.Multihead(6, 4, 2))
        draw = np.random.default_rng(3)
        workload = strobe.Workload.from_events(draw.integers(0, 20, 300), draw.integers(0, 20, 300), np.arange(300),
                                               features=draw.normal(size=(300, 2)), path=self.folder / "events.strobe")
        losses = []
        for strategy, ranks in (("sequential:batch=60", 1), ("event_batch:batch=30,i=2", 2)):
            run = strobe.run(workload=workload, model=model, strategy=strategy, task="future-links", ranks=ranks,
                             epochs=2, warmup=0, precision="fp64", progress=False, out=self.folder / f"on{ranks}")
            losses.append(json.loads((run.path / "summary.json").read_text())["rows"][0]["loss"])
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-10)

    def test_trained_weights_return_to_the_modules(self):
        draw = np.random.default_rng(3)
        workload = strobe.Workload.from_events(draw.integers(0, 20, 300), draw.integers(0, 20, 300), np.arange(300),
                                               features=draw.normal(size=(300, 2)), path=self.folder / "more.strobe")
        for parts in ({"message": modules.Mlp(7, 18), "updater": nn.GRUCell(7, 6)},
                      {"updater": nn.GRUCell(18, 6), "embedding": modules.Multihead(6, 4, 2)}):
            model = self.capture(**parts)
            how = {"workload": workload, "model": model, "task": "future-links", "strategy": "event_batch:batch=60",
                   "epochs": 1, "warmup": 0, "precision": "fp64", "progress": False, "optimizer": "sgd:rate=0.1",
                   "save_model": self.folder / f"{len(list(self.folder.iterdir()))}.safetensors"}
            run = strobe.run(**how, out=self.folder / f"weights{len(list(self.folder.iterdir()))}")
            module = nn.ModuleDict(parts).double()
            before = {name: one.clone() for name, one in module.named_parameters()}
            self.assertIs(run.to_torch(module), module)
            saved = strobe.weights.read_weights(how["save_model"]).weights
            described = json.loads((model.path / "model.json").read_text())["parts"].values()
            turned = {one["name"] for part in described for one in part["weights"] if one.get("transposed")}
            for name, one in module.named_parameters():
                self.assertTrue(name != "updater.weight_ih" or not torch.equal(one, before[name]))
                expected = saved[name].T if name in turned else saved[name]
                np.testing.assert_array_equal(one.detach().numpy(), expected.reshape(one.shape), name)
            with self.assertRaisesRegex(strobe.weights.NotFitting, "captured parts are .*updater; give a module"):
                run.to_torch()
            with self.assertRaisesRegex(strobe.weights.NotFitting, "updater.* is missing"):
                run.to_torch(nn.ModuleDict({"message": nn.Linear(2, 2)}))

    def test_what_cannot_be_captured_is_named(self):
        with self.assertRaisesRegex(strobe.NotCaptured, "message: aten.mean.* at .*event_modules.py:"):
            self.capture(message=modules.Mean())
        for embedding, reason in ((modules.Unmasked(6, 4, 2), "which slots are empty"),
                                  (modules.Largest(), r"aten.amax.default at .*event_modules.py:"),
                                  (modules.NextRoot(), r"aten.flip.default at .*event_modules.py:")):
            with self.assertRaisesRegex(strobe.NotCaptured, reason):
                self.capture(embedding=embedding)
        with self.assertRaisesRegex(strobe.NotCaptured, "no.* the cosine of a linear layer"):
            self.capture(time_encoder=nn.Linear(1, 4))
        with self.assertRaisesRegex(strobe.NotCaptured, "4 frequencies and 4 phases"):
            self.capture(time_encoder=TimeEncoder(5))
        shared = modules.Mlp(7, 18)
        shared.more = nn.GRUCell(7, 6)
        with self.assertRaisesRegex(strobe.NotCaptured, "updater: its weight 'weight_ih' is a weight of message too"):
            self.capture(message=shared, updater=shared.more)
        with self.assertRaisesRegex(ValueError, "no part is given"):
            self.capture()
        with self.assertRaisesRegex(ValueError, "returns 5 columns, and memory has 6"):
            self.capture(updater=modules.Narrow())

    def test_a_file_that_was_changed_is_not_equal(self):
        from strobe import _event_check, captured

        parts = {"updater": captured._copy(nn.GRUCell(18, 6))}
        model = self.capture(**parts)
        text = json.loads((model.path / "model.json").read_text())
        next(one for one in text["parts"]["updater"]["operations"] if one["kind"] == "tanh")["kind"] = "sigmoid"
        (model.path / "model.json").write_text(json.dumps(text))
        weights = captured.read_safetensors(model.path / "weights.safetensors")
        self.assertGreater(_event_check.compare(parts, text, weights, model.path).loss, 1e-5)


if __name__ == "__main__":
    unittest.main()
