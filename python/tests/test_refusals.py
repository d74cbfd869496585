"""Values that a conversion could change silently are kept exactly or refused; mistakes in a call are explained."""
import datetime
import decimal
import inspect
import os
import tempfile
import warnings
from unittest import mock

import numpy as np
import pandas as pd
from fixtures import TINY, InFolder, WithRun

import strobe
from strobe import columns, request, workloads

DAY = pd.Timestamp("2024-01-01")


def events(**change):
    given = {"source": [1, 2, 3], "target": [2, 3, 1], "time": [1.0, 2.0, 3.0]}
    return strobe.Workload.from_events(**{**given, **change})


class Times(InFolder):
    def test_dates_of_all_years_are_their_seconds(self):
        moments = [datetime.datetime(year, 3, 1, 12, tzinfo=datetime.timezone.utc) for year in (1950, 2024, 2262)]
        far = np.array(["9999-01-01T00:00:00", "1900-01-01T00:00:00"], "datetime64[s]")
        self.assertEqual(list(columns.times(moments, "s")[0]), [one.timestamp() for one in moments])
        self.assertEqual(list(columns.times(far, "s")[0]), list(far.astype(np.int64)))

    def test_numbers_as_objects_and_categories_are_numbers(self):
        for values in (pd.Series([10, 20, 30], dtype=object), pd.Series([10, 20, 30]).astype("category"),
                       [decimal.Decimal(10), decimal.Decimal(20), decimal.Decimal(30)]):
            times, dated = columns.times(values, "s")
            self.assertEqual((list(times), dated), ([10, 20, 30], False))

    def test_what_is_no_time_is_refused(self):
        for values, unit, word in (([DAY], "step", "not dates"), ([pd.Timedelta("2D")], "s", "these are timedelta"),
                                   ([pd.Period("2024-01")], "s", "these are period"),
                                   (pd.Series([1, "2024-01-01"], dtype=object), "s", "these are mixed")):
            with self.subTest(word), self.assertRaisesRegex(ValueError, word):
                columns.times(values, unit)


class Ends(InFolder):
    def numbered(self, source, target):
        return columns.numbered(pd.Series(source), pd.Series(target))

    def test_ids_above_64_bits_are_names_and_stay_apart(self):
        large = np.array([2**63 + 1, 2**63 + 2], np.uint64)
        first, second, _, names = self.numbered(large, np.array([1, 2], np.int64))
        self.assertEqual(names, [str(large[0]), "1", str(large[1]), "2"])
        self.assertEqual((list(first), list(second)), ([0, 2], [1, 3]))
        self.assertEqual(self.numbered([1e19], [2.0])[3], ["1e+19", "2"])
        with self.assertRaisesRegex(ValueError, "event 1 has no source"):
            self.numbered([1.0, np.inf], [1.0, 2.0])

    def test_a_number_and_its_text_are_one_vertex(self):
        first, second, _, names = self.numbered([1, 2], ["2", "1"])
        self.assertEqual((list(first), list(second), names), ([0, 1], [1, 0], ["1", "2"]))


class Features(InFolder):
    def test_dates_durations_and_decimals_are_numbers(self):
        seconds = DAY.timestamp()
        for values, number in (([datetime.date(2024, 1, 1)], seconds), (pd.Series([DAY], dtype=object), seconds),
                               ([datetime.timedelta(hours=1)], 3600), ([decimal.Decimal("1.5")], 1.5)):
            found, known = columns.category(columns.series(values))
            self.assertEqual((list(found), known), ([number], None))
        own = events(features=pd.Series([pd.Period("2024-01"), pd.Period("2024-02"), pd.Period("2024-01")]))
        self.assertEqual(own.categories["feature"], ["2024-01", "2024-02"])

    def test_columns_are_named_by_text_or_number(self):
        frame = pd.DataFrame({"source": [1, 2], "target": [2, 1], "time": [1, 2], "kind": ["a", "b"]})
        self.assertEqual(strobe.Workload.from_data(frame, features="kind").categories, {"kind": ["a", "b"]})
        numbered = frame[["source", "target", "time"]].set_axis([0, 1, 2], axis=1)
        given = {"source": 0, "target": 1, "time": 2}
        for data in (numbered, {name: numbered[name].to_numpy() for name in numbered}):
            self.assertEqual(list(strobe.Workload.from_data(data, **given).ids), [1, 2])

    def test_messages_name_the_event_and_the_vertex(self):
        with self.assertRaisesRegex(ValueError, "weight 2 is missing"):
            events(time=[3.0, 2.0, 1.0], weight=[1.0, 2.0, np.nan])
        with self.assertRaisesRegex(ValueError, "no line for 3,"):
            events(vertices={"name": np.array([1, 2]), "age": [3, 4]})


class Steps(InFolder):
    def test_values_that_a_step_would_change_are_refused(self):
        edges = [np.array([[0, 1], [1, 2]])]
        large = np.full((1, 3), 1e300)
        for change, word in (({"edges": [np.array([[0.5, 1.7], [1, 2]])]}, "not whole numbers"),
                             ({"edges": [np.array([[0, np.nan], [1, 2]])]}, "not whole numbers"),
                             ({"weights": [[1.0, 1e300]]}, "no finite fp32"), ({"features": large}, "finite fp32"),
                             ({"targets": large}, "targets have"), ({"targets": [1, 2, 3]}, "targets have the shape")):
            with self.subTest(change), warnings.catch_warnings():
                warnings.simplefilter("error")
                with self.assertRaisesRegex(ValueError, word):
                    strobe.Workload.from_steps(**{"edges": edges, **change})
        whole = strobe.Workload.from_steps([edges[0].astype(float)])
        self.assertEqual(whole.name, strobe.Workload.from_steps(edges).name)

    def test_the_cache_names_the_form_and_says_where_it_cannot_write(self):
        edges = [np.array([[0], [1]])]
        before = strobe.Workload.from_steps(edges).name
        with mock.patch.object(workloads.binary, "STEPS", (b"STROBES\n", 99)):
            self.assertNotEqual(workloads._saved(None, workloads.binary.STEPS, {"provenance": {"sha256": "0" * 64}},
                                                 {}).name, os.path.basename(before))
        (self.folder / "file").write_text("")
        with mock.patch.dict(os.environ, {"STROBE_CACHE_DIR": str(self.folder / "file")}), \
                self.assertRaisesRegex(strobe.StrobeError, "STROBE_CACHE_DIR"):
            strobe.Workload.from_steps(edges)


class Calls(InFolder):
    def test_values_of_one_and_durations_are_plain(self):
        self.assertEqual(request.plain([np.array(1), np.float64(0.5), pd.Timedelta("7D"), np.timedelta64(1500, "ms")]),
                         [1, 0.5, "604800s", "1.5s"])
        found = strobe.inspect("ucsocial", window=pd.Timedelta("7D"))
        self.assertEqual(found.steps, strobe.inspect("ucsocial", window="7d").steps)

    def test_a_suite_may_hold_a_workload_and_cases_take_the_options_of_a_run(self):
        own = strobe.Workload(TINY.partition(":")[0], steps=8, vertices=60, density=3)
        suite = {"name": "mine", "cases": [{"workload": own, "matrix": {"seed": [1, 2]}}]}
        every = strobe.cases(suite)
        self.assertEqual(len(every), 2)
        kept = strobe.cases(suite, filter=every[0]["case_id"].partition("#")[2], rounds=2)
        self.assertEqual({case["case_id"] for case in kept}, {every[0]["case_id"]})
        self.assertIn("filter", inspect.signature(strobe.cases).parameters)

    def test_folders_that_cannot_serve_are_named(self):
        with self.assertRaisesRegex(strobe.NotARun, "nothere: is no run directory"):
            strobe.resume("nothere", progress=False)
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                with open("runs", "w"), self.assertRaisesRegex(strobe.StrobeError, "give out="):
                    strobe.run(workload=TINY, epochs=1, progress=False)
            finally:
                os.chdir(before)

    def test_a_file_that_begins_with_a_hyphen_is_no_option(self):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            events(path="-x.strobe")
            self.assertTrue(strobe.convert("-x.strobe", "-y.csv").exists())
        finally:
            os.chdir(before)


class Results(WithRun):
    def test_figures_are_svg_and_refusals_have_a_status(self):
        with self.assertRaisesRegex(ValueError, "ends in .svg"):
            strobe.Figure("<svg/>").save(self.folder / "fig.png")
        with self.assertRaises(strobe.NotComparable) as caught:
            strobe.compare(self.run_folder, by="stratgy")
        self.assertEqual(caught.exception.status, 2)
        self.assertFalse(str(caught.exception).startswith("strobe: "))
