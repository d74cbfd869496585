"""Calls of the program: programs written here that print, wait and fail show what the package makes of each."""
import contextlib
import io
import os
import stat
import subprocess
import sys
import tempfile
from unittest import mock

from fixtures import TINY, InFolder

import strobe
from strobe import errors, progress


class Program(InFolder):
    def script(self, name, text):
        path = self.folder / name
        path.write_text(f"#!{sys.executable}\n{text}")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_the_console_script_never_calls_itself(self):
        bundled = self.script("bundled", "import sys\nprint('bundled', *sys.argv[1:])\n")
        own = ("import pathlib, sys\nfrom strobe.program import main\n"
               "sys.modules['strobe.program']._BUNDLED = pathlib.Path({!r})\nmain()\n")
        found = self.script("with_own", own.format(str(bundled)))
        main = self.script("strobe", own.format(str(self.folder / "absent")))
        path = {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        for script, named, printed, status in ((found, "with_own", "bundled --version\n", 0),
                                               (main, "strobe", "", 1)):
            done = subprocess.run([script, "--version"], env={**os.environ, **path, "STROBE_PROGRAM": named},
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.stdout, done.returncode), (printed, status), done.stderr)
        self.assertIn("is this script, and the package has no program", done.stderr)

    def test_a_display_that_fails_does_not_stop_the_program(self):
        # More lines than a pipe holds: a reader that stops leaves this program waiting for ever.
        chatty = self.script("chatty", "import sys\nfor i in range(20000):\n print('line', i, file=sys.stderr)\n"
                                       "import time; time.sleep(0.5); print('done')\n")
        code = ("from strobe.program import call\n"
                "def fail(*words):\n raise BrokenPipeError\n"
                f"done = call([], fail, fail, asked={str(chatty)!r})\n"
                "print(done.status, done.out, len(done.err.splitlines()))\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout.split(), ["0", "done", "20000"], done.stderr)

    def test_a_run_whose_display_is_closed_has_all_rows(self):
        class Closed(io.StringIO):
            def write(self, _):
                raise BrokenPipeError

        with contextlib.redirect_stderr(Closed()):
            run = strobe.run(workload=TINY, seed=[1, 2, 3], epochs=1, out=self.folder / "closed")
        self.assertEqual(list(run.rows["status"]), ["ok"] * 3)

    def test_a_bar_that_fails_to_close_is_no_failure(self):
        bar = progress.Progress(True)
        bar._bar = mock.Mock(close=mock.Mock(side_effect=BrokenPipeError))
        bar.close()
        bar._bar.close.assert_called_once()

    def test_a_refused_request_shows_no_bar_and_leaves_no_folder(self):
        before, shown = os.getcwd(), io.StringIO()
        with tempfile.TemporaryDirectory() as empty:
            os.chdir(empty)
            try:
                with contextlib.redirect_stderr(shown), self.assertRaises(strobe.InvalidRequest):
                    strobe.run(workload=TINY, epochs=-1)
                self.assertEqual(os.listdir("."), [])
            finally:
                os.chdir(before)
        self.assertEqual(shown.getvalue(), "")


class Messages(InFolder):
    def test_files_and_folders_stay_text_and_pointers_name_keywords(self):
        file = self.folder / "cut.csv"
        file.write_text("source,target,time\n1,2,3\n1,2\n")
        for line, pointer, message in (
            (f"strobe: {file}:3:4: expected 3 columns", "", f"{file}:3:4: expected 3 columns"),
            (f"strobe: {self.folder}: is a directory", "", f"{self.folder}: is a directory"),
            ("strobe: /model/hiden: unknown parameter", "/model/hiden", "unknown parameter"),
            (f"strobe: {file}#/cases/0/model.hidden: wrong", "/model/hidden", "wrong"),
            ("strobe: --ranks: wrong", "/ranks", "wrong"),
        ):
            with self.subTest(line):
                self.assertEqual(errors.InvalidRequest(line).mistakes, [(pointer, message)])
        with self.assertRaisesRegex(strobe.InvalidRequest, f"^{file}:3:4: expected 3 columns"):
            strobe.inspect(file)

    def test_a_suite_writes_no_file_beside_the_runs(self):
        suite = {"name": "../escaped", "cases": [{"workload": TINY, "epochs": 1}]}
        (self.folder / "inner").mkdir()
        with mock.patch.object(tempfile, "tempdir", str(self.folder / "inner")):
            for name in ("../escaped", "a/b", "../../escaped"):
                with self.assertRaisesRegex(strobe.InvalidRequest, "name"):
                    strobe.run({**suite, "name": name}, out=self.folder / "named", progress=False)
        self.assertEqual(sorted(path.name for path in self.folder.glob("**/*escaped*")), [])
