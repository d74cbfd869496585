"""Runs through the package are those of the program: the same plans, refusals and rows; and they can be interrupted."""
import contextlib
import inspect
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from fixtures import TINY, InFolder

import strobe
from strobe import _keywords, request


class Requests(InFolder):
    def ids(self, *words):
        return [case["case_id"] for case in json.loads(self.strobe("run", *words, "--dry-run", "--json"))["cases"]]

    def test_keywords_and_options_describe_the_same_cases(self):
        for keywords, words in (
            ({"workload": TINY, "strategy": ["snapshot", "vertex:partitioner=hash"], "ranks": [1, 2]},
             ["--workload", TINY, "--vary", "strategy=snapshot,vertex:partitioner=hash", "--vary", "ranks=1,2"]),
            ({"workload": TINY, "model": {"name": "tm-gcn", "hidden": np.array([4, 8])}, "seed": range(1, 3)},
             ["--workload", TINY, "--vary", "model.hidden=4,8", "--vary", "seed=1,2"]),
            ({"workload": {"name": "ucsocial", "window": "1month"}, "strategy": "snapshot", "nb": 2,
              "rerun_last": False},
             ["--workload", "ucsocial:window=1month", "--strategy", "snapshot", "--nb", "2", "--rerun-last", "false"]),
            ({"workload": TINY, "optimizer": "adam:rate=0.5", "timeout": np.float64(3), "epochs": np.int64(7)},
             ["--workload", TINY, "--optimizer", "adam:rate=0.5", "--timeout", "3", "--epochs", "7"]),
        ):
            with self.subTest(keywords):
                self.assertEqual(sorted(case["case_id"] for case in strobe.cases(**keywords)), sorted(self.ids(*words)))

    def test_keywords_go_over_the_cases_of_a_suite(self):
        own = self.ids("smoke", "--vary", "epochs=1,2", "--set", "model.hidden=4")
        got = strobe.cases("smoke", epochs=[1, 2], model={"name": "tm-gcn", "hidden": 4})
        self.assertEqual([case["case_id"] for case in got], own)
        workload = {"name": "uniform", "steps": 8, "vertices": 60, "density": 3}
        text = {"name": "mine", "cases": [{"workload": workload, "strategy": "snapshot", "matrix": {"ranks": [1, 2]}}]}
        self.assertEqual([case["case"]["ranks"] for case in strobe.cases(text, epochs=2)], [1, 2])

    def test_a_wrong_keyword_fails_with_the_hint_and_a_pointer(self):
        for keywords, pointer, hint in (
            ({"modle": "tm-gcn"}, "/modle", "did you mean 'model'"),
            ({"model": {"name": "tm-gcn", "hiden": 3}}, "/model/hiden", "did you mean 'hidden'"),
            ({"strategy": ["snapshot", "vertx"]}, "/strategy", "did you mean 'vertex'"),
            ({"ranks": "two"}, "/ranks", "must be an integer"),
            ({"ranks": 999}, "/ranks", "strategy sequential runs on 1 rank"),
        ):
            with self.subTest(keywords), self.assertRaisesRegex(strobe.InvalidRequest, hint) as caught:
                strobe.run(workload=TINY, out=self.folder / "refused", progress=False, **keywords)
            self.assertEqual(caught.exception.pointer, pointer)
            self.assertEqual(caught.exception.status, 2)
            self.assertIsInstance(caught.exception, (strobe.StrobeError, ValueError))
        for command in (strobe.plan, strobe.inspect):
            with self.assertRaisesRegex(strobe.InvalidRequest, "unknown keyword"):
                command(TINY, no_such_keyword=3)

    def test_a_device_that_is_not_here_is_not_available(self):
        missing = [name for name in ("cuda", "nccl") if name not in set(strobe.names("devices")["name"])]
        for device in missing:
            with self.assertRaises((strobe.NotAvailable, strobe.InvalidRequest)):
                strobe.run(workload=TINY, device=device, progress=False)

    def test_the_keywords_are_those_that_the_program_knows(self):
        with self.assertRaises(strobe.InvalidRequest) as caught:
            strobe.cases(workload=TINY, nothing=1)
        known = set(str(caught.exception).partition("Known: ")[2].rstrip(".").split(", "))
        self.assertEqual(set(_keywords.CaseKeywords.__annotations__), known)
        self.assertEqual(known - set(inspect.signature(strobe.run).parameters), set())
        self.assertIn("measured epochs", strobe.run.__doc__)

    def test_options_are_written_as_the_command_line_has_them(self):
        words = request.options({"max_missing": 0.5, "nodes": [1, 2], "set": {"model.hidden": 3}, "exhaustive": True,
                                 "vary": {"nb": [1, 4]}, "deadline": None, "model": {"name": "t-gcn", "hidden": 4}})
        self.assertEqual(words, ["--max-missing=0.5", "--nodes=1,2", "--set=model.hidden=3", "--exhaustive=true",
                                 "--vary=nb=1,4", "--model=t-gcn:hidden=4"])


class Runs(InFolder):
    def test_a_run_has_the_rows_curves_samples_and_verdicts_of_its_files(self):
        run = strobe.run(workload=TINY, strategy=["snapshot", "vertex"], ranks=2, epochs=3, out=self.folder / "o",
                         progress=False)
        summary = json.loads((self.folder / "o" / "summary.json").read_text())["rows"]
        self.assertEqual(list(run.rows["case_id"]), [row["case_id"] for row in summary])
        self.assertEqual((len(run.epochs), len(run.samples)), (2 * 4, 2 * 4 * 2))
        self.assertEqual(sorted(run.compare()["strategy"]), ["snapshot", "vertex"])
        self.assertIn("2 ok", repr(run))
        self.assertIn("<table", run._repr_html_())
        self.assertIn("snapshot", run._repr_html_())
        self.assertIn("<svg", run.plot("phase_split")._repr_svg_())
        page = run.report(title="Mine & yours")
        self.assertIn("Mine &amp; yours", pathlib.Path(page).read_text())
        self.assertIn(f'href="{page.path}"', page._repr_html_())
        with self.assertRaises(strobe.StrobeError):
            run.plot("no-such-figure")

    def test_a_run_without_a_folder_makes_one_and_a_refused_one_none(self):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            first, second = (strobe.run(workload=TINY, epochs=1, progress=False) for _ in range(2))
            with self.assertRaises(strobe.InvalidRequest):
                strobe.run(workload=TINY, epochs=-1, progress=False)
            folders = sorted(os.listdir("runs"))
        finally:
            os.chdir(before)
        self.assertEqual(folders, sorted([first.path.name, second.path.name]))

    def test_impossible_cases_are_rows_and_no_failure(self):
        run = strobe.run(workload=TINY, ranks=[1, 2], epochs=1, out=self.folder / "skipped", progress=False)
        self.assertEqual(list(run.rows["status"]), ["ok", "skipped"])

    def test_a_failed_case_is_an_exception_with_all_rows(self):
        with self.assertRaises(strobe.CaseFailed) as caught:
            strobe.run(workload=TINY, memory_limit_gib=[0, 1e-9], epochs=2, out=self.folder / "failed", progress=False)
        statuses = list(caught.exception.run.rows["status"])
        self.assertEqual(statuses, ["ok", "out_of_memory"])
        self.assertIn("out of memory", str(caught.exception))

    def test_an_interrupt_keeps_the_finished_cases_and_resume_runs_the_others(self):
        out = self.folder / "long"
        # A shell that starts tests in the background has them ignore SIGINT.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        program = ("import signal, strobe\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
                   f"try:\n strobe.run(workload='amlsim-20k', epochs=[1, 99999], out={str(out)!r})\n"
                   "except strobe.Interrupted as error:\n print(list(error.run.rows['status']), flush=True)\n")
        # The signal goes to Python alone, as a notebook's kernel gets it.
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        end = time.monotonic() + 60
        while time.monotonic() < end and not self._second_case_is_under_way(out):
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        printed, shown = process.communicate(timeout=60)
        self.assertEqual(printed.strip(), "['ok', 'interrupted']", shown)
        self.assertIn("1/2", shown)
        rows = json.loads((out / "summary.json").read_text())["rows"]
        # Two cases of one workload: the first is not run again, so its seconds stay, bit for bit.
        timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(strobe.Interrupted) as caught:
            strobe.resume(out, progress=False)
        self.assertEqual(caught.exception.run.rows["epoch_seconds"][0], rows[0]["epoch_seconds"]["median"])

    @staticmethod
    def _second_case_is_under_way(out):
        try:
            lines = (out / "samples.jsonl").read_text().splitlines()
        except OSError:
            return False
        return len({line.partition(",")[0] for line in lines}) == 2


class Bars(InFolder):
    def test_the_bar_has_the_cases_and_the_epoch_of_the_program(self):
        shown = io.StringIO()
        with contextlib.redirect_stderr(shown):
            strobe.run(workload=TINY, seed=range(1, 13), epochs=1, out=self.folder / "many")
        self.assertIn("12/12", shown.getvalue())
        with contextlib.redirect_stderr(io.StringIO()) as quiet:
            strobe.run(workload=TINY, epochs=1, out=self.folder / "quiet", progress=False)
        self.assertEqual(quiet.getvalue(), "")


class Commands(InFolder):
    def test_answers_are_those_of_the_program(self):
        words = ["--clusters", "aimos-v100", "--strategy", "snapshot,pss", "--nodes", "1,2"]
        plan = strobe.plan(TINY, clusters=["aimos-v100"], strategy=["snapshot", "pss"], nodes=[1, 2])
        printed = json.loads(self.strobe("plan", "--workload", TINY, *words, "--json"))
        self.assertEqual(plan.best, printed["best"])
        self.assertEqual(list(plan.table["id"]), [point["id"] for point in printed["points"]])
        self.assertIn(plan.best.split("/")[0], plan._repr_html_())
        self.assertEqual(dict(strobe.inspect("ucsocial", window="1month", cumulative=True)),
                         self.inspected("ucsocial", "--window", "1month", "--cumulative", "true"))
        checked = strobe.validate(published="collectives")
        self.assertEqual(len(checked.table), len(json.loads(self.strobe("validate", "--published", "collectives",
                                                                        "--json"))["tables"]))
        with self.assertRaisesRegex(AttributeError, "known: "):
            _ = checked.no_such_key

    def test_no_point_within_the_limits_is_an_answer(self):
        plan = strobe.plan(TINY, clusters="p5-h100", strategy="snapshot", nodes=1, deadline="1s", epochs=10**9)
        self.assertIsNone(plan.best)

    def test_calibration_is_a_cluster_file_that_a_simulation_takes(self):
        found = strobe.calibrate(out=self.folder / "here.json", quick=True, filter="tm-gcn.*r1#", set={"epochs": 1},
                                 progress=False)
        self.assertEqual(json.loads(found.path.read_text())["name"], found.name)
        run = strobe.run(workload=TINY, device="sim", cluster=found.path, epochs=1, out=self.folder / "sim",
                         progress=False)
        self.assertEqual(list(run.rows["status"]), ["ok"])
