"""Published protocols of future-links, checked against NumPy, scikit-learn and TGB's public evaluator (py-tgb)."""
import json
import os
import pathlib
import pickle
import unittest

import numpy as np
import pandas as pd
from fixtures import InFolder

from strobe import tgb_negatives

try:
    import torch
    from tgb.linkproppred.evaluate import Evaluator
    from tgb.linkproppred.negative_generator import NegativeEdgeGenerator
    from tgb.linkproppred.negative_sampler import NegativeEdgeSampler
    from torch_geometric.data import TemporalData
except ImportError:
    Evaluator = None

try:
    from sklearn.metrics import average_precision_score, roc_auc_score
except ImportError:
    average_precision_score = None

JODIE = ["--model", "jodie:memory=6,time=4", "--precision", "fp64", "--epochs", "2"]
NEEDS_TGB = unittest.skipIf(Evaluator is None, "needs py-tgb, torch and torch_geometric")
NEEDS_SKLEARN = unittest.skipIf(average_precision_score is None, "needs scikit-learn")


def events(seed, count=900, people=40, things=25):
    """Events with ties in time, sorted by time; sources and destinations are numbered together by first appearance."""
    rng = np.random.default_rng(seed)
    ts = np.sort(rng.integers(0, count // 3, count)) * 10 + 1000
    src, dst = rng.integers(0, people, count), rng.integers(0, things, count) + (people if seed % 2 else 0)
    dst = np.where(dst == src, (dst + 1) % (people + things), dst)
    numbers = {}
    for pair in zip(src, dst, strict=True):
        for name in pair:
            numbers.setdefault(int(name), len(numbers))
    table = pd.DataFrame({"ts": ts, "src": [f"v{name}" for name in src], "dst": [f"v{name}" for name in dst],
                          "w": rng.integers(1, 9, count)})
    return table, np.array([numbers[int(v)] for v in src]), np.array([numbers[int(v)] for v in dst]), ts


def masks(ts):
    """The parts of TGN, DyGLib and TGB, by numpy.quantile."""
    validation, test = np.quantile(ts, [0.7, 0.85])
    return ts <= validation, (ts > validation) & (ts <= test), ts > test


def own_negatives(src, dst, ts, part, seed, most=7):
    """Negatives in the form of TGB's pickles, of uneven number."""
    rng, table = np.random.default_rng(seed), {}
    for s, d, t in zip(src[part], dst[part], ts[part], strict=True):
        hit = dst[(src == s) & (ts == t)]
        free = np.setdiff1d(np.unique(dst), hit)
        table[np.int64(s), np.int64(d), np.int64(t)] = rng.choice(free, rng.integers(1, most), replace=False)
    return table


class Stored(InFolder):
    """Data in TGB's layout, with pickles of negatives and the file that the converter makes of them."""

    seed = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        table, cls.src, cls.dst, cls.ts = events(cls.seed)
        table.to_csv(cls.folder / "tgbl-made_edgelist.csv", index=False)
        cls.train, cls.validation, cls.test = masks(cls.ts)
        cls.make_pickles()
        cls.digest = tgb_negatives.convert([cls.folder / "val.pkl", cls.folder / "test.pkl"], cls.folder / "n.npz")

    @classmethod
    def make_pickles(cls):
        for name, part in (("val", cls.validation), ("test", cls.test)):
            (cls.folder / f"{name}.pkl").write_bytes(pickle.dumps(own_negatives(cls.src, cls.dst, cls.ts, part, 5)))

    @classmethod
    def row(cls, out, *words, task="future-links:protocol=tgb,negatives_file=n.npz"):
        cls.strobe("run", "--workload", "tgbl-made_edgelist.csv", "--task", task, "--out", out, *words)
        return json.loads((cls.folder / out / "summary.json").read_text())["rows"][0]

    def scores(self, file):
        with np.load(self.folder / file) as arrays:
            return dict(arrays)

    def mean_rank(self, positive, negative):
        """MRR in the middle of ties, by counting; -inf fills up."""
        ranks = 1 + (negative > positive[:, None]).sum(1) + 0.5 * (negative == positive[:, None]).sum(1)
        return np.mean(1 / ranks)


class TgbProtocolTest(Stored):
    def check_row(self, row, file):
        scores = self.scores(file)
        for prefix, part in (("", self.test), ("validation_", self.validation)):
            self.assertEqual(len(scores[f"{prefix}y_pred_pos"]), part.sum())
            mrr = self.mean_rank(scores[f"{prefix}y_pred_pos"], scores[f"{prefix}y_pred_neg"])
            self.assertAlmostEqual(mrr, row["metrics"][f"{prefix}mrr"][-1], delta=1e-12)
        self.assertEqual(row["negatives_sha256"], self.digest)
        self.assertEqual(row["task"]["protocol"], "tgb")

    def test_candidates_are_the_stored_ones(self):
        row = self.row("o", *JODIE, "--dump-samples", "s.csv", "--dump-scores", "s.npz")
        self.check_row(row, "s.npz")
        samples = pd.read_csv(self.folder / "s.csv")
        ids = samples["id"] if "id" in samples else samples["vertex"]
        for name, part in (("val", "validation"), ("test", "test")):
            table = pickle.loads((self.folder / f"{name}.pkl").read_bytes())
            of_part = samples[samples["part"] == part]
            for event, own in of_part.groupby("event"):
                key = (self.src[event], self.dst[event], self.ts[event])
                self.assertEqual(list(ids[own.index]), list(table[key]))
            self.assertEqual(of_part["event"].nunique(), getattr(self, "validation" if name == "val" else "test").sum())

    def test_events_on_several_ranks_give_the_file_of_one(self):
        one = self.row("one", *JODIE, "--strategy", "event_batch:batch=40", "--dump-scores", "one.npz")
        two = self.row("two", *JODIE, "--strategy", "event_batch:batch=20,i=2", "--ranks", "2", "--dump-scores",
                       "two.npz")
        self.check_row(one, "one.npz")
        self.check_row(two, "two.npz")
        first, second = self.scores("one.npz"), self.scores("two.npz")
        for name, values in first.items():
            np.testing.assert_allclose(values, second[name], rtol=1e-9, atol=1e-12)

    def test_snapshots_on_any_number_of_ranks_give_one_file(self):
        words = ["--model", "t-gcn:hidden=5", "--precision", "fp64", "--epochs", "2"]
        for strategy, ranks in (("sequential", 1), ("snapshot", 2), ("vertex", 3)):
            row = self.row(strategy, *words, "--strategy", strategy, "--ranks", str(ranks), "--dump-scores",
                           f"{strategy}.npz", "--set", "workload.window=200")
            self.check_row(row, f"{strategy}.npz")
        first = self.scores("sequential.npz")
        for strategy in ("snapshot", "vertex"):
            for name, values in self.scores(f"{strategy}.npz").items():
                np.testing.assert_allclose(values, first[name], rtol=1e-8, atol=1e-10)

    def test_stopped_and_resumed_training_writes_the_same_scores(self):
        more = [*JODIE[:-1], "4"]
        self.row("whole", *more, "--dump-scores", "whole.npz")
        self.row("half", *JODIE, "--checkpoint", "c.safetensors")
        self.row("rest", *more, "--checkpoint", "c.safetensors", "--resume-training", "--dump-scores", "rest.npz")
        self.assertEqual((self.folder / "whole.npz").read_bytes(), (self.folder / "rest.npz").read_bytes())

    def test_options_against_the_protocol_are_refused(self):
        for option in ("ties=optimistic", "candidates=49", "split=80/10/10", "kept_out=0.2", "self_pairs=left_out"):
            with self.assertRaisesRegex(AssertionError, "protocol=tgb fixes"):
                self.row("x", *JODIE, task=f"future-links:protocol=tgb,negatives_file=n.npz,{option}")
        same = self.row("same", *JODIE, task="future-links:protocol=tgb,negatives_file=n.npz,ties=average,"
                                             "split=0.7/0.15/0.15,candidates=all")
        self.assertEqual(same["task"], self.row("same2", *JODIE)["task"])
        with self.assertRaisesRegex(AssertionError, "strobe.tgb_negatives"):
            self.row("x", *JODIE, task="future-links:protocol=tgb")
        with self.assertRaisesRegex(AssertionError, "stored negatives are for protocol=tgb"):
            self.row("x", *JODIE, task="future-links:negatives_file=n.npz")
        with self.assertRaisesRegex(AssertionError, "presence"):
            self.row("x", "--model", "t-gcn:hidden=5", "--set", "workload.window=200", "--presence", "seen")

    def test_negatives_of_other_data_are_refused(self):
        table = own_negatives(self.src, self.dst, self.ts, self.validation, 5)
        tests = own_negatives(self.src, self.dst, self.ts, self.test, 5)
        some = next(iter(tests))
        wrong = {"times from": [table], "has no negatives in the file": [table, {**tests}],
                 "is no validation or test event": [table, {**tests, (some[0], some[0], some[2]): np.array([1])}],
                 "is no vertex": [table, {**tests, some: np.array([123456])}],
                 "its own destination": [table, {**tests, some: np.array([some[1]])}]}
        gone = next(key for key in tests if sum(other[2] == key[2] for other in tests) > 1)
        del wrong["has no negatives in the file"][1][gone]
        for message, tables in wrong.items():
            paths = [self.folder / f"w{i}.pkl" for i in range(len(tables))]
            for path, one in zip(paths, tables, strict=True):
                path.write_bytes(pickle.dumps(one))
            tgb_negatives.convert(paths, self.folder / "wrong.npz")
            with self.assertRaisesRegex(AssertionError, message):
                self.row("x", *JODIE, task="future-links:protocol=tgb,negatives_file=wrong.npz")

    def test_times_of_dates_may_be_a_time_zone_away(self):
        whole = self.row("zone0", *JODIE)
        shift = {(s, d, t + (18000 if t < 2500 else 14400)): found for name in ("val", "test") for (s, d, t), found
                 in pickle.loads((self.folder / f"{name}.pkl").read_bytes()).items()}
        (self.folder / "shift.pkl").write_bytes(pickle.dumps(shift))
        tgb_negatives.convert([self.folder / "shift.pkl"], self.folder / "shift.npz")
        shifted = self.row("zone", *JODIE, task="future-links:protocol=tgb,negatives_file=shift.npz")
        self.assertEqual(whole["metrics"]["mrr"], shifted["metrics"]["mrr"])


class JodieFormTest(Stored):
    """The form of tgbl-wiki: TGB puts the items after the largest user."""

    @classmethod
    def setUpClass(cls):
        InFolder.setUpClass.__func__(cls)
        rng = np.random.default_rng(8)
        count, users = 1200, 30
        user, item = rng.permutation(count) % users, rng.permutation(count) % 20
        cls.ts = np.sort(rng.integers(0, 300, count))
        lines = [f"{u},{i},{t}.0,0,0.5,1.5" for u, i, t in zip(user, item, cls.ts, strict=True)]
        (cls.folder / "tgbl-made_edgelist.csv").write_text(
            "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n" + "\n".join(lines) + "\n")
        cls.src, cls.dst = user, item + user.max() + 1
        cls.train, cls.validation, cls.test = masks(cls.ts)
        cls.make_pickles()
        tgb_negatives.convert([cls.folder / "val.pkl", cls.folder / "test.pkl"], cls.folder / "n.npz")

    def test_items_are_numbered_after_users(self):
        row = self.row("o", *JODIE, "--dump-samples", "s.csv", "--dump-scores", "s.npz")
        scores = self.scores("s.npz")
        mrr = self.mean_rank(scores["y_pred_pos"], scores["y_pred_neg"])
        self.assertAlmostEqual(mrr, row["metrics"]["mrr"][-1], delta=1e-12)
        samples = pd.read_csv(self.folder / "s.csv")
        ids = samples["id"] if "id" in samples else samples["vertex"]
        table = pickle.loads((self.folder / "test.pkl").read_bytes())
        for event, own in samples[samples["part"] == "test"].groupby("event"):
            key = (self.src[event], self.dst[event], self.ts[event])
            self.assertEqual(list(ids[own.index]), list(table[key]))


class TgbWithLoopsTest(TgbProtocolTest):
    """Vertices that are sources and destinations."""

    seed = 2


@NEEDS_TGB
class PublicEvaluatorTest(Stored):
    """py-tgb draws the negatives, reads them again and evaluates the scores."""

    @classmethod
    def make_pickles(cls):
        def data(part):
            return TemporalData(src=torch.as_tensor(cls.src[part]), dst=torch.as_tensor(cls.dst[part]),
                                t=torch.as_tensor(cls.ts[part]))
        generator = NegativeEdgeGenerator("made", int(cls.dst.min()), int(cls.dst.max()), 20, "hist_rnd", 3, 0.5,
                                          data(cls.train))
        for name, part in (("val", cls.validation), ("test", cls.test)):
            generator.generate_negative_samples(data(part), name, str(cls.folder))
            os.replace(cls.folder / f"made_{name}_ns.pkl", cls.folder / f"{name}.pkl")

    def test_public_evaluator_finds_the_same_mrr(self):
        evaluator = Evaluator("tgbl-wiki")
        for model in (JODIE, ["--model", "t-gcn:hidden=5", "--epochs", "2", "--set", "workload.window=200"]):
            row = self.row(model[1].split(":")[0], *model, "--dump-scores", "e.npz")
            scores = self.scores("e.npz")
            for prefix in ("", "validation_"):
                found = evaluator.eval({"y_pred_pos": scores[f"{prefix}y_pred_pos"],
                                        "y_pred_neg": scores[f"{prefix}y_pred_neg"], "eval_metric": ["mrr"]})
                own = row["metrics"][f"{prefix}mrr"][-1]
                # The evaluator rounds each reciprocal rank and their mean to fp32.
                self.assertAlmostEqual(float(found["mrr"]), own, delta=2**-23)
                exact = self.mean_rank(scores[f"{prefix}y_pred_pos"], scores[f"{prefix}y_pred_neg"])
                self.assertAlmostEqual(exact, own, delta=1e-12)

    def test_public_sampler_reads_the_same_negatives(self):
        self.row("s", *JODIE, "--dump-samples", "s.csv")
        samples = pd.read_csv(self.folder / "s.csv")
        ids = samples["id"] if "id" in samples else samples["vertex"]
        sampler = NegativeEdgeSampler("made")
        for name, part, mask in (("val", "validation", self.validation), ("test", "test", self.test)):
            sampler.load_eval_set(str(self.folder / f"{name}.pkl"), name)
            lists = sampler.query_batch(self.src[mask], self.dst[mask], self.ts[mask], split_mode=name)
            own = samples[samples["part"] == part].groupby("event")
            self.assertEqual([list(ids[table.index]) for _, table in own], lists)


@NEEDS_SKLEARN
class BatchProtocolsTest(InFolder):
    """DyGLib and TGN: new nodes, negatives and means over batches, all found once more from the dumped files."""

    def run_protocol(self, protocol, seed):
        _, src, dst, ts = events(seed, 2600)
        name = f"{protocol}{seed}"
        pd.DataFrame({"src": src, "dst": dst, "time": ts}).to_csv(self.folder / f"{name}.csv", index=False)
        self.strobe("run", "--workload", f"{name}.csv", "--task", f"future-links:protocol={protocol}", *JODIE, "--seed",
                    str(seed), "--out", name, "--dump-samples", "s.csv", "--dump-scores", "s.npz")
        row = json.loads((self.folder / name / "summary.json").read_text())["rows"][0]
        samples = pd.read_csv(self.folder / "s.csv")
        samples["id"] = samples["id"] if "id" in samples else samples["vertex"]
        with np.load(self.folder / "s.npz") as arrays:
            return row, samples, dict(arrays), src, dst, ts

    def drawn(self, seed, src, dst, count):
        """RandEdgeSampler and NegativeEdgeSampler."""
        state, drawn = np.random.RandomState(seed), []
        sources, destinations = np.unique(src), np.unique(dst)
        for first in range(0, count, 200):
            size = min(200, count - first)
            state.randint(0, len(sources), size)
            drawn.extend(destinations[state.randint(0, len(destinations), size)])
        return drawn

    def check_means(self, row, name, positive, negative):
        for metric, measure in (("ap", average_precision_score), ("auc", roc_auc_score)):
            means = []
            for first in range(0, len(positive), 200):
                pair = positive[first:first + 200], negative[first:first + 200]
                truth = np.concatenate([np.ones(len(pair[0])), np.zeros(len(pair[1]))])
                means.append(measure(truth, np.concatenate(pair)))
            self.assertAlmostEqual(np.mean(means), row["metrics"][name + metric][-1], delta=1e-12)

    def check(self, protocol, seed):
        row, samples, scores, src, dst, ts = self.run_protocol(protocol, seed)
        train, validation, test = masks(ts)
        trained = samples[samples["part"] == "training"]["event"].unique()
        self.assertTrue(train[trained].all())
        nodes, seen = set(src) | set(dst), set(src[trained]) | set(dst[trained])
        new = nodes - seen
        kept = {v for e in np.flatnonzero(train) if e not in set(trained) for v in (src[e], dst[e])} & new
        self.assertLessEqual(len(kept), int(0.1 * len(nodes)))
        self.assertGreaterEqual(len(new), int(0.1 * len(nodes)))
        has_new = np.array([s in new or d in new for s, d in zip(src, dst, strict=True)])
        self.assertEqual(sorted(trained), list(np.flatnonzero(train & ~has_new)))
        for prefix, part, mask, random in (("validation_", "validation", validation, 0), ("", "test", test, 2)):
            lists = [list(own["id"]) for _, own in samples[samples["part"] == part].groupby("event")]
            apart = has_new[mask]
            self.assertEqual([own[0] for own in lists], self.drawn(random, src, dst, mask.sum()))
            with_new = mask & has_new
            self.assertEqual([own[1] for own in lists if len(own) > 1],
                             self.drawn(random + 1, src[with_new], dst[with_new], with_new.sum()))
            self.assertEqual([len(own) > 1 for own in lists], list(apart))
            positive, negative = scores[f"{prefix}y_pred_pos"], scores[f"{prefix}y_pred_neg"]
            self.check_means(row, prefix, positive, negative[:, 0])
            self.check_means(row, f"{prefix}inductive_", positive[apart], negative[apart, 1])
        self.assertEqual(row["task"]["protocol"], protocol)

    def test_dyglib(self):
        for seed in (1, 2):
            self.check("dyglib", seed)

    def test_tgn(self):
        self.check("tgn", 3)

    def test_models_of_snapshots_and_other_options_are_refused(self):
        words = ["run", "--workload", "ucsocial", "--out", "x", "--epochs", "1"]
        for task, message in (("protocol=dyglib,batch=100", "protocol=dyglib fixes batch=200"),
                              ("protocol=tgn,kept_out=0.2", "protocol=tgn fixes kept_out=0.1"),
                              ("protocol=tgn,negatives=any", "protocol=tgn fixes negatives=targets")):
            with self.assertRaisesRegex(AssertionError, message):
                self.strobe(*words, *JODIE[:2], "--task", f"future-links:{task}")
        with self.assertRaisesRegex(AssertionError, "take a model of events"):
            self.strobe(*words, "--model", "t-gcn", "--task", "future-links:protocol=tgn")


class RunsNothing:
    """Pickles as a call of a program."""

    def __reduce__(self):
        return pathlib.Path.touch, (pathlib.Path("touched"),)


class ConverterTest(InFolder):
    def refused(self, content, message):
        path = self.folder / "bad.pkl"
        path.write_bytes(content)
        with self.assertRaisesRegex(tgb_negatives.NotNegatives, message):
            tgb_negatives.convert([path], self.folder / "out.npz")
        self.assertFalse((self.folder / "out.npz").exists())

    def test_programs_and_objects_in_pickles_are_refused(self):
        self.refused(pickle.dumps({(1, 2, 3): RunsNothing()}), "no pickle of numbers")
        self.assertFalse(pathlib.Path("touched").exists())
        self.refused(pickle.dumps({(1, 2, 3): np.array([RunsNothing], dtype=object)}), "no pickle of numbers")
        self.refused(b"cos\nsystem\n(S'true'\ntR.", "system")
        self.refused(b"cbuiltins\neval\n(S'1'\ntR.", "eval")
        self.refused(b"nothing", "no pickle of numbers")

    def test_other_contents_are_refused(self):
        self.refused(pickle.dumps([1, 2]), "no dictionary")
        self.refused(pickle.dumps({}), "no dictionary")
        self.refused(pickle.dumps({(1, 2, 3, 4): np.array([1])}), "is not \\(source, destination, time\\)")
        self.refused(pickle.dumps({(1, 2, 3): np.array([1.5])}), "no whole numbers")
        self.refused(pickle.dumps({(1, 2, 3): np.array([-1])}), "no whole numbers")
        self.refused(pickle.dumps({(1, 2, 3): np.array([], dtype=int)}), "has no negatives")

    def test_every_protocol_of_pickle_gives_the_same_file(self):
        table = {(np.int64(i % 7), np.int64(30 + i), np.float64(100 - i)): np.arange(i % 5 + 1).astype(
            np.float64 if i % 2 else np.int64) for i in range(40)}
        digests = set()
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            (self.folder / "a.pkl").write_bytes(pickle.dumps(table, protocol=protocol))
            digests.add(tgb_negatives.convert([self.folder / "a.pkl"], self.folder / "a.npz"))
        self.assertEqual(len(digests), 1)
        with np.load(self.folder / "a.npz") as arrays:
            self.assertTrue((np.diff(arrays["time"]) > 0).all())
            for q, (s, d, t) in enumerate(zip(arrays["source"], arrays["target"], arrays["time"], strict=True)):
                own = arrays["negatives"][arrays["first"][q]:arrays["first"][q + 1]]
                np.testing.assert_array_equal(own, table[s, d, t])

    def test_one_query_in_two_files_is_refused(self):
        for name in "ab":
            (self.folder / f"{name}.pkl").write_bytes(pickle.dumps({(1, 2, 3): np.array([4])}))
        with self.assertRaisesRegex(tgb_negatives.NotNegatives, "is in both files"):
            tgb_negatives.convert([self.folder / "a.pkl", self.folder / "b.pkl"], self.folder / "out.npz")


if __name__ == "__main__":
    unittest.main()
