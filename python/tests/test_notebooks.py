"""The notebooks of docs/notebooks run from the first cell to the last, within their size, and draw their pictures."""
import importlib.util
import json
import os
import pathlib
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_CELLS = 25
MOST_SECONDS = 40  # of processor time would be fairer; a busy machine may take three times as long


@unittest.skipUnless((ROOT / "docs" / "notebooks").exists(), "the documents are not here")
class Notebooks(unittest.TestCase):
    def test_each_is_small_and_holds_its_pictures(self):
        found = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
        self.assertEqual(len(found), 3)
        for path in found:
            cells = json.loads(path.read_text())["cells"]
            with self.subTest(path.name):
                self.assertLess(len(cells), MOST_CELLS)
                self.assertTrue(any("image/svg+xml" in output.get("data", {})
                                    for cell in cells for output in cell.get("outputs", [])))

    @unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"),
                         "nbclient or ipykernel is not installed")
    def test_each_runs_and_draws(self):
        import nbformat
        from nbclient import NotebookClient

        for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder, \
                    unittest.mock.patch.dict(os.environ, {"STROBE_SOURCE": str(ROOT)}):
                notebook = nbformat.read(path, as_version=4)
                begin = time.monotonic()
                NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
                self.assertLess(time.monotonic() - begin, 3 * MOST_SECONDS)
                drawn = [output for cell in notebook.cells for output in cell.get("outputs", [])
                         if "image/svg+xml" in output.get("data", {})]
                self.assertGreater(len(drawn), 0)


if __name__ == "__main__":
    unittest.main()
