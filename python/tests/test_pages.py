"""The examples of the page about Python run as they are, in one session."""
import os
import pathlib
import re
import unittest

from fixtures import InFolder

import strobe

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "howto" / "python.md"


class Pages(InFolder):
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
