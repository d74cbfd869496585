"""Other people's programs in the same rounds: known ratios are found, and what is seen from outside is true."""
import importlib.util
import json
import math
import sys
import unittest
import unittest.mock

import numpy as np
from fixtures import TINY, InFolder

import strobe
from strobe.measuring import Program
from strobe.stating import Epoch

# Spins for a known time. The factor of each process comes from a list of normal deviates, so that rounds differ as
# processes do. `counter` is a file with one line for each process so far.
SPINS = """
import math, pathlib, sys, time
import strobe
base, counter, edges, deviates = float(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3]), eval(sys.argv[4])
done = len(counter.read_text().splitlines()) if counter.exists() else 0
counter.write_text((counter.read_text() if done else "") + "1\\n")
seconds = base * math.exp(0.03 * deviates[done % len(deviates)])
for epoch in strobe.epochs(edges=edges, updates=1):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
"""

OUTSIDE = """
import os, socket, time
import strobe
held = bytearray(os.urandom(1 << 20) * 80)
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
other, _ = server.accept()
for epoch in strobe.epochs(edges=10):
    sent, begin = 0, time.process_time()
    while (done := (time.process_time() - begin) / 0.15) < 1:  # evenly, since the counters may be read a little late
        if sent < 1_000_000 * done:
            client.sendall(bytes(10_000))
            left = 10_000
            while left:
                left -= len(other.recv(left))
            sent += 10_000
"""

TORCH = """
import torch
import strobe
torch.manual_seed(1)
adjacency = torch.rand(200, 200) < 0.05
matrix = adjacency.float() / adjacency.sum(1, keepdim=True).clamp(min=1)
features, target = torch.rand(200, 8), torch.rand(200, 1)
layer = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for epoch in strobe.epochs(edges=int(adjacency.sum()), updates=1):
    optimizer.zero_grad()
    loss = ((matrix @ layer(features) - target) ** 2).mean()
    loss.backward()
    optimizer.step()
    epoch.loss = loss
"""


class Programs(InFolder):
    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def spinning(self, name, seconds, edges, random):
        deviates = [float(one) for one in random.standard_normal(40)]
        return Program([sys.executable, str(self.script("spins.py", SPINS)), str(seconds),
                        str(self.folder / f"{name}.count"), str(edges), repr(deviates)], name=name)

    def test_the_interval_of_a_known_ratio_holds_it(self):
        for seed, ratio, edges in ((1, 1.0, 100), (2, 1.3, 100), (3, 1.5, 200)):
            random = np.random.default_rng(seed)
            programs = {f"base{seed}": self.spinning(f"base{seed}", 0.01, 100, random),
                        f"other{seed}": self.spinning(f"other{seed}", 0.01 * ratio, edges, random)}
            run = strobe.measure(programs, workload=TINY, epochs=3, rounds=7, out=self.folder / f"r{seed}",
                                 progress=False)
            found = json.loads(self.strobe("compare", str(run.path), "--by", "strategy", "--json"))["questions"][0]
            true = ratio * 100 / edges
            contenders = {one["value"]: one for one in found["contenders"]}
            second = found["contenders"][1]
            expected = true if second["value"].startswith("other") else 1 / true
            self.assertEqual(found["unit"], "epoch" if edges == 100 else "edge")
            self.assertLessEqual(second["times_the_fastest"]["ci99_low"], expected, (seed, contenders))
            self.assertGreaterEqual(second["times_the_fastest"]["ci99_high"], expected, (seed, contenders))

    def test_memory_processor_and_bytes_are_those_of_the_program(self):
        path = self.script("outside.py", OUTSIDE)
        measured = Program([sys.executable, str(path)], name="outside")
        run = strobe.measure(measured, workload=TINY, epochs=3, rounds=1, out=self.folder / "o", progress=False)
        row = run.rows.iloc[0]
        alone = 80 * 2**20
        self.assertGreater(row["program_peak_bytes"], alone)
        self.assertLess(row["program_peak_bytes"], alone + 400 * 2**20)  # the package's own imports
        self.assertAlmostEqual(row["program_processor_seconds"], 0.15, delta=0.05)
        self.assertGreater(row["program_network_bytes"], 0.8e6)
        try:
            own = strobe.measure(Program([sys.executable, str(path)], network="own"), workload=TINY, epochs=3, rounds=1,
                                 out=self.folder / "own", progress=False).rows.iloc[0]
        except strobe.StrobeError as error:
            self.skipTest(str(error))
        self.assertGreater(own["program_network_bytes"], 0.8e6)
        self.assertLess(own["program_network_bytes"], 1.3e6, "headers and acknowledgements, and no other program")

    def test_a_function_of_a_module_is_measured_beside_a_strategy(self):
        self.script("trains.py", "import strobe\n\ndef train():\n    for epoch in strobe.epochs(cells=480, edges=900, "
                                 "updates=1):\n        epoch.loss = 0.5\n        sum(range(10**5))\n")
        spec = importlib.util.spec_from_file_location("trains", self.folder / "trains.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["trains"] = module
        spec.loader.exec_module(module)
        run = strobe.measure(module.train, workload=TINY, strategy="sequential", epochs=2, rounds=2,
                             out=self.folder / "f", progress=False)
        self.assertEqual(sorted(run.rows["strategy"]), ["external", "sequential"])
        self.assertEqual(list(run.rows["status"]), ["ok", "ok"])
        self.assertIn("train", run.compare(by="strategy").to_string())
        with self.assertRaisesRegex(ValueError, "cannot import this function"):
            strobe.measure(lambda: None, workload=TINY)

    def test_an_epoch_that_fails_is_not_stated(self):
        file = self.folder / "stated"
        with unittest.mock.patch.dict("os.environ", {"STROBE_EPOCH_FILE": str(file), "RANK": "1"}):
            with self.assertRaises(KeyError), strobe.epoch(edges=3):
                raise KeyError
            with strobe.epoch(edges=3) as epoch:
                epoch.metrics["mrr"] = 0.5
        line = json.loads(file.read_text())
        self.assertEqual({key: line[key] for key in line if key != "epoch_seconds"},
                         {"rank": 1, "edges": 3, "metrics": {"mrr": 0.5}})
        self.assertFalse(math.isnan(epoch.seconds))
        with self.assertRaisesRegex(TypeError, "unknown work edgs"):
            Epoch(edgs=3)

    def test_stated_numbers_are_those_of_json(self):
        for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
            file = self.folder / name
            set_to = {"STROBE_EPOCH_FILE": str(file), name: "2"}
            with unittest.mock.patch.dict("os.environ", set_to, clear=True), strobe.epoch(edges=np.int64(3)) as epoch:
                epoch.loss, epoch.metrics["mrr"] = np.float32("nan"), float("inf")
            line = json.loads(file.read_text(), parse_constant=self.fail)
            self.assertEqual({key: line[key] for key in line if key != "epoch_seconds"},
                             {"rank": 2, "edges": 3, "loss": None, "metrics": {"mrr": None}})

    def test_names_of_a_mapping_are_those_of_its_programs(self):
        program = Program("true", name="own")
        with unittest.mock.patch("strobe.measuring.run") as run:
            strobe.measure({"one": program, "two": program, "three": "true"}, workload=TINY)
            strobe.measure(program, workload=TINY)
        names = [[one.part()["program"] for one in call.kwargs["strategy"]] for call in run.call_args_list]
        self.assertEqual(names, [["one", "two", "three"], ["own"]])

    def test_a_measured_program_measures_nothing(self):
        with unittest.mock.patch.dict("os.environ", {"STROBE_EPOCH_FILE": "x"}), \
                self.assertRaisesRegex(RuntimeError, "__name__ == '__main__'"):
            strobe.measure("true", workload=TINY)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_a_program_of_pytorch_is_measured(self):
        run = strobe.measure(Program([sys.executable, str(self.script("train.py", TORCH))], name="torch"),
                             workload=TINY, epochs=4, rounds=2, out=self.folder / "t", progress=False)
        losses = list(run.epochs["loss"])
        self.assertEqual(len(losses), 5)
        self.assertLess(losses[-1], losses[0])
        self.assertEqual(run.rows.iloc[0]["strategy.program"], "torch")


if __name__ == "__main__":
    unittest.main()
