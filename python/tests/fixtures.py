"""Shared by the tests of the package: the program, a folder of their own, and one small run."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import strobe

TINY = "uniform:steps=8,vertices=60,density=3"


class InFolder(unittest.TestCase):
    """A test with an empty folder, which goes when the class ends."""

    @classmethod
    def setUpClass(cls):
        cls._holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._holder.cleanup)
        cls.folder = pathlib.Path(cls._holder.name)

    @classmethod
    def strobe(cls, *words, status=0):
        """Calls the program itself and returns its standard output."""
        done = subprocess.run([strobe.program(), *words], capture_output=True, text=True, cwd=cls.folder, check=False)
        if done.returncode != status:
            raise AssertionError(f"strobe {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    @classmethod
    def inspected(cls, workload, *words):
        return json.loads(cls.strobe("inspect", str(workload), "--json", *words))


class WithRun(InFolder):
    """A test with a run of two cases, made by the program itself."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.run_folder = cls.folder / "o"
        cls.strobe("run", "--workload", TINY, "--epochs", "3", "--vary", "strategy=snapshot,vertex", "--ranks", "2",
                   "--set", "model.hidden=5", "--out", "o")
        cls.rows = json.loads((cls.run_folder / "summary.json").read_text())["rows"]
