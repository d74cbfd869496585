"""Data of other libraries as workloads, judged by what the program says of the same data as text."""
import datetime
import importlib.util
import json
import shutil
import sys
import types
import unittest
import warnings

import numpy as np
import pandas as pd
from fixtures import InFolder

import strobe

SEEDS = (1, 2, 3)
BATCHES = ["--strategy", "event_batch:batch=50"]
# The origin of the data, which differs; everything else is the same.
ORIGIN = {"workload", "parameters", "format", "source", "sha256", "licence", "notes", "explained"}


def events(seed, count=400, vertices=40, first=0):
    """Random events with repeated times, pairs and loops, in any order."""
    random = np.random.default_rng(seed)
    return pd.DataFrame({"source": random.integers(first, first + vertices, count) * 3,
                         "target": random.integers(first, first + vertices, count) * 3,
                         "time": random.integers(1_000_000_000, 1_000_000_000 + 40 * count, count),
                         "weight": random.choice([0.5, 1.0, 2.25, 0.1], count)})


def module(name):
    """An optional package, or a skipped test."""
    if importlib.util.find_spec(name) is None:
        raise unittest.SkipTest(f"{name} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module(name)


class Judged(InFolder):
    def text(self, frame, name="own.csv"):
        frame.to_csv(self.folder / name, index=False)
        return str(self.folder / name)

    def told(self, workload, *words):
        found = self.inspected(workload, *words)
        return {key: value for key, value in found.items() if key not in ORIGIN}

    def assert_same(self, workload, text, *words):
        """The program prints the same of both, with windows of every kind."""
        for window in ([], ["--window-count", "7"], ["--window-events", "60", "--weights", "file"], list(words)):
            self.assertEqual(self.told(workload.name, *window), self.told(text, *window))

    def losses(self, *words):
        self.strobe("run", *words, "--epochs", "2", "--json", "--out", str(self.folder / "trained"))
        row = json.loads((self.folder / "trained" / "summary.json").read_text())["rows"][0]
        shutil.rmtree(self.folder / "trained")
        return row["status"], row["loss"], row["metrics"]


class Tables(Judged):
    def test_arrays_are_the_events_of_the_same_csv(self):
        for seed in SEEDS:
            frame = events(seed)
            own = strobe.Workload.from_events(frame["source"].to_numpy(), frame["target"].to_numpy(),
                                              frame["time"].to_numpy(), frame["weight"].to_numpy())
            text = self.text(frame)
            self.assert_same(own, text)
            self.assertEqual(list(own.ids), sorted(set(frame["source"]) | set(frame["target"])))
            for words in (["--model", "tm-gcn"], ["--model", "jodie"]):
                tail = [] if words[1] == "jodie" else [":window_count=6,weights=file"]
                task = [*BATCHES, "--task", "future-links"] if words[1] == "jodie" else []
                mine, theirs = (self.losses("--workload", name + "".join(tail), *words, *task)
                                for name in (own.name, text))
                self.assertEqual(mine, theirs)
                self.assertEqual(mine[0], "ok")

    def test_names_and_dates_are_those_of_the_same_csv(self):
        for seed in SEEDS:
            frame = events(seed)
            people = [f"p{i:02d} é" for i in range(200)]
            named = frame.assign(source=[people[i] for i in frame["source"]],
                                 target=[people[i] for i in frame["target"]],
                                 time=pd.to_datetime(frame["time"], unit="s"))
            own = strobe.Workload.from_events(named["source"], named["target"], named["time"], named["weight"])
            self.assert_same(own, self.text(named), "--window", "1h:origin=midnight")
            self.strobe("convert", own.name, str(self.folder / "back.csv"))
            back, sorted_rows = pd.read_csv(self.folder / "back.csv"), named.sort_values("time", kind="stable")
            self.assertEqual(list(back["source"]), list(sorted_rows["source"]))
            self.assertEqual(list(back["target"]), list(sorted_rows["target"]))
            self.assertEqual(list(back["weight"]), list(sorted_rows["weight"]))
            self.assertEqual(list(own.vertices()["name"]), list(dict.fromkeys(
                name for pair in zip(named["source"], named["target"], strict=True) for name in pair)))
            self.assertEqual(strobe.Workload.open(own.name).names, own.names)

    def test_units_of_time_steps_and_two_sides(self):
        frame = events(4)
        whole = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"])
        for unit, factor in (("ms", 1000), ("us", 10**6), ("ns", 10**9)):
            scaled = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"] * factor,
                                                 time_unit=unit)
            self.assertEqual(scaled.name, whole.name)
        aware = [datetime.datetime.fromtimestamp(time, datetime.timezone(datetime.timedelta(hours=5)))
                 for time in frame["time"]]
        dated = strobe.Workload.from_events(frame["source"], frame["target"], aware)
        self.assertEqual(self.told(dated.name)["first_time"], frame["time"].min())
        stepped = frame.assign(step=frame["time"] % 9).drop(columns=["time", "weight"])
        own = strobe.Workload.from_events(stepped["source"], stepped["target"], stepped["step"], time_unit="step")
        self.assertEqual(self.told(own.name), self.told(self.text(stepped)))
        sides = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"], two_sided=True)
        self.assertEqual(self.told(sides.name)["vertices"], self.told(self.text(frame), "--ids", "offset")["vertices"])

    def test_features_and_labels_are_those_of_the_same_file_of_tgn(self):
        for seed in SEEDS:
            frame = events(seed, first=1).sort_values("time", kind="stable").reset_index(drop=True)
            random = np.random.default_rng(seed)
            features = random.normal(size=(len(frame), 5)).astype(np.float32)
            labels = random.integers(0, 2, len(frame))
            rows = pd.DataFrame({"": range(len(frame)), "u": frame["source"], "i": frame["target"], "ts": frame["time"],
                                 "label": labels, "idx": np.arange(1, len(frame) + 1)})
            rows.to_csv(self.folder / "ml_x.csv", index=False)
            np.save(self.folder / "ml_x.npy", np.vstack([np.zeros((1, 5), np.float32), features]))
            own = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"], features=features,
                                              labels=labels)
            theirs, mine = self.told(str(self.folder / "ml_x.csv")), self.told(own.name)
            self.assertEqual(mine, theirs)
            self.assertEqual((mine["edge_feature_width"], mine["labelled_events"] is None), (5, False))
            for model, task in (("jodie", "event-classification"), ("tgn-attn", "future-links")):
                words = ["--model", model, "--task", task, *BATCHES]
                mine, theirs = (self.losses("--workload", str(name), *words)
                                for name in (own.name, self.folder / "ml_x.csv"))
                self.assertEqual(mine, theirs)
                self.assertEqual(mine[0], "ok")

    def test_any_column_is_a_feature_and_a_table_of_vertices_is_joined_by_name(self):
        random = np.random.default_rng(7)
        frame = events(7)
        frame["kind"] = random.choice(["wire", "cash", "card"], len(frame))
        frame["urgent"] = random.choice([True, False], len(frame))
        frame["due"] = pd.to_datetime(frame["time"] + 60, unit="s")
        frame["judged"] = random.choice(["fraud", "good"], len(frame))
        for end in ("source", "target"):
            frame[end] = [f"v{i}" for i in frame[end]]
        names = sorted(set(frame["source"]) | set(frame["target"]))
        people = pd.DataFrame({"who": [*names, "nobody"], "age": np.arange(len(names) + 1.0),
                               "town": random.choice(["Ur", "Uruk"], len(names) + 1)})
        own = strobe.Workload.from_data(frame, features=["kind", "urgent", "due"], labels="judged", vertices=people,
                                        vertex_name="who")
        description, sections = strobe.binary.read(own.name)
        order = frame["time"].to_numpy().argsort(kind="stable")
        matrix = np.reshape(sections["edge_features"], (len(frame), 3))
        self.assertEqual([own.categories["kind"][int(code)] for code in matrix[:, 0]], list(frame["kind"].iloc[order]))
        self.assertEqual(list(matrix[:, 1]), list(frame["urgent"].iloc[order].astype(float)))
        self.assertEqual(list(matrix[:, 2]), list((frame["time"] - frame["time"].min()).iloc[order]),
                         "dates are exact from the first one on")
        self.assertEqual([own.categories["labels"][code] for code in sections["event_label"]],
                         list(frame["judged"].iloc[order]))
        table = np.reshape(sections["vertex_features"], (description["vertices"], 2))
        by_name = people.set_index("who")
        self.assertEqual(list(table[:, 0]), [by_name["age"][name] for name in own.names])
        self.assertEqual([own.categories["vertex.town"][int(code)] for code in table[:, 1]],
                         [by_name["town"][name] for name in own.names])
        self.assertEqual(strobe.Workload.open(own.name).categories, own.categories)
        self.assertEqual(self.told(own.name)["vertex_feature_width"], 2)
        with self.assertRaisesRegex(ValueError, "no line for"):
            strobe.Workload.from_data(frame, vertices=people.iloc[3:], vertex_name="who")

    def test_tables_and_files_of_other_libraries_are_the_same_workload(self):
        frame = events(5).assign(source=lambda f: f["source"].map("n{}".format),
                                 target=lambda f: f["target"].map("n{}".format))
        whole = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"], frame["weight"])
        np.savez(self.folder / "own.npz", src=frame["source"].to_numpy(str), dst=frame["target"].to_numpy(str),
                 t=frame["time"], weight=frame["weight"])
        given = [("a mapping", frame.to_dict("list")), ("csv", self.text(frame)), ("npz", self.folder / "own.npz")]
        if importlib.util.find_spec("pyarrow"):
            import pyarrow as arrow
            from pyarrow import feather, parquet

            table = arrow.Table.from_pandas(frame)
            parquet.write_table(table, self.folder / "own.parquet")
            feather.write_feather(table, self.folder / "own.feather")
            given += [("Arrow", table), ("Parquet", self.folder / "own.parquet"),
                      ("Feather", self.folder / "own.feather")]
            if importlib.util.find_spec("polars"):
                given.append(("polars", module("polars").from_pandas(frame)))
        for what, data in given:
            with self.subTest(what):
                self.assertEqual(strobe.Workload.from_data(data).name, whole.name)
        own = strobe.Workload.from_data(frame, path=self.folder / "own.strobe", window_count=6)
        run = strobe.run(workload=[own, own.with_options(window_count=3)], epochs=1, out=self.folder / "both",
                         progress=False)
        self.assertEqual(list(run.rows["workload.window_count"]), [6, 3])

    def test_impossible_values_are_refused(self):
        frame = events(6)
        good = {key: frame[key].to_numpy() for key in ("source", "target", "time")}
        for change, word in (({"source": frame["source"][:-1]}, "399 sources, 400 targets"),
                             ({"time": frame["time"].where(frame.index != 3)}, "time 3 is missing"),
                             ({"target": frame["target"].where(frame.index != 5)}, "event 5 has no"),
                             ({"weight": np.full(len(frame), np.inf)}, "no finite fp32"),
                             ({"features": np.full((len(frame), 2), np.nan)}, "no finite fp32"),
                             ({"labels": np.full(len(frame), 128)}, "from 0 to 127"),
                             ({"labels": np.full(len(frame), 0.5)}, "whole numbers"),
                             ({"time": frame["time"] + 0.5, "time_unit": "step"}, "steps are whole"),
                             ({"weight": frame["weight"][1:]}, "399 rows for 400")):
            with self.assertRaisesRegex(ValueError, word):
                strobe.Workload.from_events(**{**good, **change})
        with self.assertRaisesRegex(ValueError, "which column is the time"):
            strobe.Workload.from_data(frame.drop(columns="time"))
        with self.assertRaisesRegex(ValueError, "no table that Strobe knows"):
            strobe.Workload.from_data(3)


class Steps(Judged):
    def steps(self, seed, directed=True):
        random = np.random.default_rng(seed)
        count, vertices = 9, 20
        edges = [random.integers(0, vertices, (2, 30 + step)) for step in range(count)]
        weights = [random.choice([0.5, 1.0, 0.3], edge.shape[1]).astype(np.float32) for edge in edges]
        return edges, weights, random.normal(size=(count, vertices, 3)).astype(np.float32), \
            random.normal(size=(count, vertices)).astype(np.float32)

    def json_of(self, edges, weights, features, targets):
        """The same steps as a file of PyTorch Geometric Temporal, whose targets belong to the step before."""
        shifted = np.vstack([np.zeros_like(targets[:1]), targets[:-1]])
        told = {str(step): {"edges": edge.T.tolist(), "weights": weights[step].astype(float).tolist(),
                            "X": features[step].astype(float).tolist(), "y": shifted[step].astype(float).tolist()}
                for step, edge in enumerate(edges)}
        (self.folder / "steps.json").write_text(json.dumps({**told, "time_periods": len(edges)}))
        return str(self.folder / "steps.json")

    def test_steps_are_those_of_the_same_json(self):
        for seed in SEEDS:
            edges, weights, features, targets = self.steps(seed)
            targets[-1] = np.nan  # the file has none for its last step
            own = strobe.Workload.from_steps(edges, weights, features, targets)
            text = self.json_of(edges, weights, features, np.nan_to_num(targets))
            self.assertEqual(self.told(own.name), self.told(text))
            words = ["--model", "t-gcn", "--task", "vertex-regression"]
            mine, theirs = (self.losses("--workload", name, *words) for name in (own.name, text))
            self.assertEqual(mine, theirs)
            self.assertEqual(mine[0], "ok")

    def test_an_iterator_of_pytorch_geometric_temporal_has_the_same_steps(self):
        module("torch_geometric")
        spec = importlib.util.find_spec("torch_geometric_temporal")
        if spec is None:
            raise unittest.SkipTest("torch_geometric_temporal is not installed")
        # Its models need compiled packages that its iterators do without.
        package = types.ModuleType("torch_geometric_temporal")
        package.__path__ = list(spec.submodule_search_locations)
        sys.modules.setdefault("torch_geometric_temporal", package)
        signal = importlib.import_module("torch_geometric_temporal.signal")
        for seed in SEEDS:
            edges, weights, features, targets = self.steps(seed)
            own = strobe.Workload.from_steps(edges, weights, features, targets)
            iterator = signal.DynamicGraphTemporalSignal(edges, weights, list(features), list(targets))
            self.assertEqual(strobe.Workload.from_data(iterator).name, own.name)
            static = signal.StaticGraphTemporalSignal(edges[0], weights[0], list(features), list(targets))
            same = strobe.Workload.from_steps([edges[0]] * 9, [weights[0]] * 9, features, targets)
            self.assertEqual(strobe.Workload.from_data(static).name, same.name)
            self.assertEqual(self.told(same.name)["steps"], 9)

    def test_impossible_steps_are_refused(self):
        edges, weights, features, targets = self.steps(1)
        for change, word in (({"weights": weights[1:]}, "weights of 8 steps"), ({"edges": []}, "no steps"),
                             ({"features": features[:3]}, "features have the shape"),
                             ({"targets": targets[:, :4]}, "targets have the shape"),
                             ({"edges": [edge + 5 for edge in edges]}, "outside 0 to 19")):
            with self.assertRaisesRegex(ValueError, word):
                strobe.Workload.from_steps(**{"edges": edges, "weights": weights, "features": features,
                                              "targets": targets, **change})


class Graphs(Judged):
    def test_temporal_data_of_pytorch_geometric(self):
        torch, data = module("torch"), module("torch_geometric.data")
        for seed in SEEDS:
            frame = events(seed)
            message = np.random.default_rng(seed).normal(size=(len(frame), 4)).astype(np.float32)
            labels = np.arange(len(frame)) % 3
            graph = data.TemporalData(src=torch.tensor(frame["source"]), dst=torch.tensor(frame["target"]),
                                      t=torch.tensor(frame["time"]), msg=torch.tensor(message), y=torch.tensor(labels))
            own = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"], features=message,
                                              labels=labels)
            self.assertEqual(strobe.Workload.from_data(graph).name, own.name)
            self.assertEqual(self.told(own.name)["edges"], self.told(self.text(frame.drop(columns="weight")))["edges"])

    def test_a_graph_of_dgl(self):
        torch = module("torch")
        if importlib.util.find_spec("dgl") is None:
            raise unittest.SkipTest("dgl is not installed")
        # Its loaders need a library that is built for one version of torch; graphs do without.
        sys.modules.setdefault("dgl.graphbolt", types.ModuleType("dgl.graphbolt"))
        dgl = module("dgl")
        for seed in SEEDS:
            frame = events(seed)
            graph = dgl.graph((torch.tensor(frame["source"]), torch.tensor(frame["target"])))
            graph.edata["timestamp"] = torch.tensor(frame["time"])
            graph.edata["weight"] = torch.tensor(frame["weight"])
            graph.edata["feat"] = torch.ones(len(frame), 2)
            graph.ndata["feat"] = torch.arange(2.0 * graph.num_nodes()).reshape(-1, 2)
            got = strobe.Workload.from_data(graph)
            own = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"], frame["weight"],
                                              features=np.ones((len(frame), 2)))
            told = self.told(got.name)
            self.assertEqual({**told, "vertex_feature_width": 0}, self.told(own.name))
            self.assertEqual(told["vertex_feature_width"], 2)
            _, sections = strobe.binary.read(got.name)
            self.assertEqual(list(sections["vertex_features"][::2]), [2.0 * vertex for vertex in got.ids])

    def test_a_data_set_of_tgb(self):
        module("torch")
        if importlib.util.find_spec("tgb") is None:
            raise unittest.SkipTest("py-tgb is not installed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dataset = importlib.import_module("tgb.linkproppred.dataset")
        for seed in SEEDS:
            frame = events(seed).sort_values("time", kind="stable").reset_index(drop=True)
            # The loader with its own files apart: downloads are not for tests.
            loader = dataset.LinkPropPredDataset.__new__(dataset.LinkPropPredDataset)
            loader._full_data = {"sources": frame["source"].to_numpy(), "destinations": frame["target"].to_numpy(),
                                 "timestamps": frame["time"].to_numpy(float), "w": frame["weight"].to_numpy(),
                                 "edge_idxs": np.arange(len(frame)), "edge_label": np.ones(len(frame)),
                                 "edge_feat": np.ones((len(frame), 3), np.float32)}
            got = strobe.Workload.from_data(loader)
            own = strobe.Workload.from_events(frame["source"], frame["target"], frame["time"], frame["weight"],
                                              features=np.ones((len(frame), 3)))
            self.assertEqual(self.told(got.name), self.told(own.name))
            self.assertEqual({**self.told(got.name), "edge_feature_width": 0}, self.told(self.text(frame)))
