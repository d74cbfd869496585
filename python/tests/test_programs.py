"""The public programs of bench/peers/programs: their graphs are Strobe's; every way computes what one process does."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "bench" / "peers" / "programs"
PROGRAM = os.environ.get("STROBE_PROGRAM", str(ROOT / "build" / "strobe"))
NEEDED = ("torch", "torch_geometric", "torch_geometric_temporal")
EVENTS = "bursty_events:vertices=100,events=1500"
SMALL = "uniform:vertices=60,steps=7,density=3"


def losses(model: str, way: str, ranks: int, *, epochs: int = 3, workload: str = SMALL,
           script: str = "snapshots.py") -> list[float]:
    """The losses that a program states."""
    with tempfile.TemporaryDirectory() as folder:
        stated = pathlib.Path(folder) / "epochs"
        subprocess.run([sys.executable, "-W", "ignore", str(PROGRAMS / script), "--model", model, "--workload",
                        workload, "--way", way, "--ranks", str(ranks), "--width", "8"], check=True, timeout=900,
                       capture_output=True, env={**os.environ, "STROBE_PROGRAM": PROGRAM, "OMP_NUM_THREADS": "1",
                                                 "STROBE_EPOCHS": str(epochs), "STROBE_EPOCH_FILE": str(stated)})
        lines = [json.loads(line) for line in stated.read_text().splitlines()]
    assert len(lines) == epochs and all(line["epoch_seconds"] > 0 for line in lines), lines
    assert all(line["metrics"]["fixed_kernel_seconds"] > 0 for line in lines), lines
    return [line["loss"] for line in lines]


@unittest.skipUnless(all(importlib.util.find_spec(name) for name in NEEDED), "needs PyTorch Geometric Temporal")
class Programs(unittest.TestCase):
    def test_divided_vertices_give_the_losses_of_one_process(self) -> None:
        for model, ranks in (("t-gcn", 2), ("evolve-gcn-o", 3)):
            with self.subTest(model):
                for alone, divided in zip(losses(model, "alone", 1), losses(model, "vertex", ranks), strict=True):
                    self.assertAlmostEqual(alone, divided, delta=2e-5 * alone)

    def test_data_parallel_steps_without_state_give_the_first_loss_of_one_process(self) -> None:
        alone, parallel = losses("mpnn-lstm", "alone", 1), losses("mpnn-lstm", "ddp", 2)
        self.assertAlmostEqual(alone[0], parallel[0], delta=2e-5 * alone[0])

    def test_every_model_learns(self) -> None:
        for model in ("gconvgru", "evolve-gcn-h", "dysat"):
            with self.subTest(model):
                found = losses(model, "alone", 1, epochs=8)
                self.assertLess(found[-1], found[0])

    def test_the_program_of_events_learns_alone_and_with_two_memories(self) -> None:
        for ranks in (1, 2):
            with self.subTest(ranks):
                found = losses("tgn", "batches", ranks, epochs=20, workload=EVENTS, script="events.py")
                self.assertLess(sum(found[-5:]), sum(found[:5]))  # each epoch draws other negatives

    @unittest.skipUnless(importlib.util.find_spec("dgl"), "needs DGL")
    def test_the_program_with_dgl_learns(self) -> None:
        found = losses("dgl-t-gcn", "alone", 1, epochs=8)
        self.assertLess(found[-1], found[0])

    def test_graphs_are_those_of_strobe(self) -> None:
        sys.path.insert(0, str(PROGRAMS))
        os.environ["STROBE_PROGRAM"] = PROGRAM
        from shared import Graph

        known = json.loads((PROGRAMS / "programs.json").read_text())["graphs"]
        cases = [(SMALL, 0.0, SMALL)] + [(graph["workload"]["name"], float(graph["window_seconds"]),
                                          graph["workload"]["name"]) for graph in known.values()
                                         if "window_seconds" in graph]
        for workload, window, name in cases:
            with self.subTest(workload):
                graph = Graph(workload, window, 1)
                told = json.loads(subprocess.run([PROGRAM, "inspect", name, "--json"], check=True,
                                                 capture_output=True).stdout)
                self.assertEqual(graph.vertices, told["vertices"])
                self.assertEqual(len(graph.edges), told["steps"])
                self.assertEqual(sum(edges.shape[1] for edges in graph.edges), told["edges"])


if __name__ == "__main__":
    unittest.main()
