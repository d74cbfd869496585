"""The functions that read run directories say what the program wrote, judged by its own files."""
import importlib
import json
import os
import shutil
import warnings

from fixtures import InFolder, WithRun

import strobe


class Tables(WithRun):
    def test_rows_are_lines_with_plain_columns(self):
        cases = strobe.read(self.run_folder)
        self.assertEqual(list(cases["strategy"]), ["snapshot", "vertex"])
        self.assertEqual(set(cases["model.hidden"]), {5})
        for line, row in zip(cases.to_dict("records"), self.rows, strict=True):
            self.assertEqual(line["loss"], row["loss"][-1])
            self.assertEqual(line["mrr"], row["metrics"]["mrr"][-1])
            self.assertEqual(line["mrr.samples"], row["metric_samples"]["mrr"])
            self.assertEqual(line["epoch_seconds"], row["epoch_seconds"]["median"])
            self.assertEqual((line["epochs"], line["ranks"], line["run"]), (3, 2, str(self.run_folder)))
            self.assertEqual(line["sent_bytes.total"], row["sent_bytes"]["total"])
            self.assertEqual(line["phase_seconds.wait"], row["phase_seconds"]["wait"])
        both = strobe.read([self.run_folder, self.run_folder])
        self.assertEqual(len(both), 2 * len(cases))
        self.assertEqual(both["epoch_seconds"].dtype, float)

    def test_curves_and_samples_are_long(self):
        copy = self.folder / "torn"
        shutil.copytree(self.run_folder, copy)
        curves = strobe.curves(copy)
        for row in self.rows:
            own = curves[curves["case_id"] == row["case_id"]]
            self.assertEqual(list(own["loss"]), row["loss"])
            self.assertEqual(list(own["epoch"]), [0, 1, 2, 3])
            self.assertEqual(list(own["mrr"]), row["metrics"]["mrr"])
        with open(copy / "samples.jsonl", "a") as file:
            file.write('{"case_id": "torn')
        samples = strobe.samples(copy)
        self.assertEqual(len(samples), 2 * 2 * 4)
        self.assertEqual(set(samples["rank"]), {0, 1})
        measured = samples[~samples["warmup"].astype(bool)]
        slowest = measured.groupby(["case_id", "epoch"])["epoch_seconds"].max().groupby("case_id").median()
        for row in self.rows:
            self.assertEqual(slowest[row["case_id"]], row["epoch_seconds"]["median"])

    def test_the_answers_of_the_program_are_lines(self):
        table = strobe.compare(self.run_folder, by="strategy")
        printed = json.loads(self.strobe("compare", str(self.run_folder), "--by", "strategy", "--json"))
        self.assertEqual(strobe.answers(self.run_folder), printed)
        question = printed["questions"][0]
        self.assertEqual(list(table["strategy"]), [contender["value"] for contender in question["contenders"]])
        self.assertEqual(table["epoch_seconds"].dtype, float)
        self.assertEqual(list(table["work.cells"]), [self.rows[0]["epoch_work"]["cells"]] * 2)
        self.assertEqual(table.attrs["sentences"], [question["sentences"]])

    def test_a_case_of_three_runs_is_a_contender_in_each(self):
        runs = [self.run_folder, self.folder / "o2", self.folder / "o3"]
        for copy in runs[1:]:
            shutil.copytree(self.run_folder, copy)
        self.assertEqual(len(strobe.compare(runs)), 6)

    def test_what_cannot_be_compared_is_refused(self):
        for call, kind, word in (
            (lambda: strobe.compare(self.run_folder, by="kernels"), strobe.NotComparable, "kernels"),
            (lambda: strobe.compare(self.run_folder, by="stratgy"), strobe.NotComparable, "'strategy'"),
            (lambda: strobe.compare("nowhere"), strobe.NotARun, "nowhere"),
            (lambda: strobe.compare(self.run_folder, program="no-such"), strobe.NoProgram, "no-such"),
            (lambda: strobe.compare(self.run_folder, program="/bin/false"), strobe.NoProgram, "status 1"),
        ):
            with self.assertRaisesRegex(kind, word):
                call()

    def test_a_changed_loss_is_refused(self):
        copy = self.folder / "changed"
        shutil.copytree(self.run_folder, copy)
        summary = json.loads((copy / "summary.json").read_text())
        summary["rows"][1]["loss"][-1] += 1e-9
        (copy / "summary.json").write_text(json.dumps(summary))
        with self.assertRaisesRegex(strobe.NotARun, "its loss is not that of"):
            strobe.read(copy)


class NoRuns(InFolder):
    def test_what_is_no_run_says_which_file(self):
        os.mkdir(self.folder / "d")
        for text in ("", "3", '{"rows": 3}', '{"rows": [1]}'):
            (self.folder / "d" / "summary.json").write_text(text)
            for call in (strobe.read, strobe.curves):
                with self.assertRaisesRegex(strobe.NotARun, "d/summary.json"):
                    call(self.folder / "d")
        with self.assertRaisesRegex(strobe.NotARun, "nowhere/samples.jsonl"):
            strobe.samples("nowhere")

    def test_the_former_name_warns(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            former = importlib.import_module("strobe_results")
        self.assertEqual([warning.category for warning in caught], [DeprecationWarning])
        for name in ("answers", "compare", "curves", "read", "samples", "NoProgram", "NotARun", "NotComparable"):
            self.assertIs(getattr(former, name), getattr(strobe, name))
