"""The examples of the page about Python run as they are, in one session."""
import os
import pathlib
import re
import unittest
import unittest.mock

from fixtures import InFolder

import strobe

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "howto" / "python.md"


class Pages(InFolder):
    def test_the_first_example_of_the_readme_is_a_request(self):
        readme = PAGE.parent.parent.parent / "README.md"
        if not readme.exists():
            raise unittest.SkipTest("the documents are not here")
        block = re.search(r"^```python\n(.*?)^```", readme.read_text(), re.M | re.S)
        with unittest.mock.patch.object(strobe, "run") as asked:
            exec(compile(block[1], str(readme), "exec"), {})
        self.assertEqual(len(strobe.cases(**asked.call_args.kwargs)), 3)
        asked.return_value.compare.assert_called_once_with(by="strategy")

    def test_the_examples_run_and_print_what_they_say(self):
        if not PAGE.exists():
            raise unittest.SkipTest("the documents are not here")
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 3)
        before, session = os.getcwd(), {}
        os.chdir(self.folder)
        try:
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), session)
        finally:
            os.chdir(before)
        self.assertEqual(list(session["run"].rows["status"]), ["ok"] * 4)
        self.assertEqual(session["mine"].inspect()["steps"], 3)
        self.assertEqual(session["mine"].categories["kind"], ["card", "cash"])
        self.assertEqual(list(session["mine"].vertices()["name"]), ["ann", "bob", "cem"])
        self.assertIsInstance(session["strobe"], type(strobe))
