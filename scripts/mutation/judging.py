"""Runs tests against mutants: which tests reach which mutant, then the nearest of them first."""
import collections
import dataclasses
import os
import pathlib
import resource
import signal
import subprocess

MEMORY_BYTES = 16 << 30
TESTS_AT_ONCE = 200


@dataclasses.dataclass
class Test:
    """One test of the program: its name, file below tests/, and seconds."""
    name: str
    file: str
    seconds: float


def limit():
    """A mutant that allocates without end ends itself; a session of its own lets its children be ended too."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Judge:
    """The tests of one instrumented program."""

    def __init__(self, root, part, build):
        self.root, self.part, self.build = root, part, build
        self.tests, self.reaching, self.processes = {}, collections.defaultdict(list), 0

    def start(self, arguments, seconds, **variables):
        """Exit status of the program, or None where it did not end in time, and its output."""
        scratch = self.part.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        environment = dict(os.environ, STROBE_CACHE_DIR=str(self.build / "test-cache"), TMPDIR=str(scratch),
                           **{name: str(value) for name, value in variables.items()})
        command = [str(self.part.program), "--gtest_brief=1", *arguments]
        with subprocess.Popen(command, cwd=scratch, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, preexec_fn=limit) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                return None, b""
        return process.returncode, output

    def slow(self, seconds):
        """Tests that took longer in CTest's last runs. No mutant would get the time to run them."""
        costs, prefix = self.build / "Testing" / "Temporary" / "CTestCostData.txt", self.part.label + "."
        lines = costs.read_text(encoding="utf-8").splitlines() if costs.exists() else []
        known = [line.rsplit(" ", 2) for line in lines if line.startswith(prefix)]
        return [name.removeprefix(prefix) for name, _, cost in known if float(cost) > seconds]

    def cover(self, pool, jobs, pattern, seconds):
        """Runs all quick tests that match without a mutant. Those that fail, as on a busy machine, can judge nothing."""
        names = ":".join(self.slow(seconds))
        pattern += names and (":" if "-" in pattern else "-") + names

        def shard(number):
            path = self.part.folder / f"coverage_{number}"
            status, output = self.start([f"--gtest_filter={pattern}"], 3000, STROBE_MUTANT_COVERAGE=path,
                                        GTEST_TOTAL_SHARDS=jobs, GTEST_SHARD_INDEX=number)
            if status not in (0, 1):
                raise SystemExit(f"mutate: tests end without a mutant:\n{output[-4000:].decode(errors='replace')}")
            return path.read_text(encoding="utf-8")

        failed, self.processes = [], jobs
        for text in pool.map(shard, range(jobs)):
            for line in text.splitlines():
                name, file, milliseconds, outcome, ids = line.split("\t")
                if outcome == "failed":
                    failed.append(name)
                if outcome != "passed":
                    continue
                self.tests[name] = Test(name, os.path.relpath(file, self.root / "tests"), int(milliseconds) / 1000)
                for mutant in ids.split():
                    self.reaching[int(mutant)].append(name)
        if len(failed) * 50 > len(self.tests):
            raise SystemExit(f"mutate: tests fail without a mutant: {', '.join(failed)}")
        if failed:
            print(f"mutate: left out, because they fail without a mutant: {', '.join(failed)}", flush=True)

    def stages(self, mutant):
        """Tests that reach a mutant: those of the file's own name, then of its room, then all others; short ones first.

        A table that is made once is reached only by the first test of each process. Then all other tests follow."""
        reaching = self.reaching[mutant.id]
        others = [name for name in self.tests if name not in reaching] if len(reaching) <= self.processes else []
        for names in (reaching, others):
            yield from self.nearest_first(names, pathlib.Path(mutant.path))

    def nearest_first(self, names, source):
        """Groups of tests, those that are nearest to a source first."""
        found = ([], [], [])
        for test in (self.tests[name] for name in names):
            near = os.path.basename(test.file).removesuffix("_test.cpp") == source.stem
            rooms = os.path.dirname(test.file).split("/")[1:]
            same = near and 0 or (1 if rooms and rooms[-1] in source.parts else 2)
            found[same].append(test)
        for tests in found:
            tests.sort(key=lambda test: test.seconds)
            for first in range(0, len(tests), TESTS_AT_ONCE):
                yield tests[first:first + TESTS_AT_ONCE]

    def judge(self, mutant, most_seconds):
        """Sets the state of one mutant: killed, survived or not reached. A test that never ends kills too."""
        if not self.reaching[mutant.id]:
            mutant.state = "not reached"
            return mutant
        mutant.state = "survived"
        spent = 0.0
        for tests in self.stages(mutant):
            kept = []
            for test in tests:
                if spent + test.seconds <= most_seconds:
                    kept.append(test)
                    spent += test.seconds
            if not kept:
                continue
            names = ":".join(test.name for test in kept)
            allowed = 3 + 10 * sum(test.seconds for test in kept)
            status, _ = self.start([f"--gtest_filter={names}", "--gtest_fail_fast"], allowed, STROBE_MUTANT=mutant.id)
            if status != 0:
                mutant.state = "killed"
                break
        return mutant
