"""Builds one test program with switches for all mutants of its part, from the commands of an up-to-date build."""
import os
import pathlib
import re
import shlex
import subprocess

from mutation import sites

SUPPORT = pathlib.Path(__file__).resolve().parent
INCLUDED = re.compile(r'^#include "([^"]+)"', re.M)
DROPPED = ("-Winvalid-pch", "-O2", "-O3", "-MD")
WITH_VALUE = ("-MT", "-MF", "-o", "-c")


def run(command, **more):
    """A command's completed process, its output kept."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)


class Commands:
    """How the build compiles the files of a test program, and how it links it."""

    def __init__(self, build, target):
        self.build, self.units, self.link = build, {}, None
        listed = run(["ninja", "-C", str(build), "-t", "commands", f"tests/{target}"]).stdout
        for line in listed.splitlines():
            if line.startswith(": && ") and f"-o tests/{target} " in line:
                self.link = shlex.split(line[5:].split(" && ")[0])
            found = re.search(r" -o (\S+) -c (\S+\.(?:cpp|cxx))$", line)
            if found:
                self.units[found[1]] = (found[2], shlex.split(line))
        if self.link is None:
            raise SystemExit(f"mutate: {build} has no test program {target}; build it first with scripts/test --build-only")

    def flags(self, words):
        """Flags for instrumented copies: -O1 compiles faster, and a precompiled header needs equal flags."""
        kept, at = [], 0
        while at < len(words):
            word = words[at]
            if word in WITH_VALUE or word == "-include":
                at += 1
            elif word == "--param":
                at += 1
            elif word not in DROPPED and not word.startswith(("-Wall", "-Wextra", "-Wshadow", "-Wno-")):
                kept.append(word)
            at += 1
        return kept[1:] if "ccache" not in kept[0] else kept[2:]

    def unit_of(self, path):
        """(object, unit, sources of the unit, flags) of the unit that compiles a source file, or None."""
        for built, (unit, words) in self.units.items():
            if unit == str(path):
                return built, unit, [str(path)], self.flags(words)
            if "Unity" in unit and unit.endswith(".cxx"):
                sources = INCLUDED.findall(pathlib.Path(unit).read_text(encoding="utf-8"))
                if str(path) in sources:
                    return built, unit, sources, self.flags(words)
        return None


class Part:
    """The sources of one test program, their sites, and the instrumented program."""

    def __init__(self, root, build, folder, target):
        self.root, self.target, self.folder = root, target, folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.commands = Commands(build, target)
        self.files = {}  # name: (source, sites, flags)
        self.program = folder / target

    def read(self, name):
        """Finds the sites of a file; a file outside the test program has none."""
        unit = self.commands.unit_of(self.root / name)
        if unit is None:
            return []
        source, found = sites.sites_of(name, self.root / name, unit[3])
        self.files[name] = (source, found, unit[3])
        return [mutant for site in found for mutant in site.mutants]

    def copy(self, name):
        """The path of the instrumented copy of a file."""
        return self.folder / "sources" / name

    def write(self, name, chosen=None):
        """Writes the copy, with the given sites or with all."""
        source, found, _ = self.files[name]
        path = self.copy(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sites.instrumented(source, found if chosen is None else chosen))
        return path

    def errors(self, name, chosen):
        """Lines of the first errors of a copy with these sites, or None where it compiles."""
        path = self.write(name, chosen)
        done = run([sites.clang(), *self.files[name][2], "-w", "-fsyntax-only", "-ferror-limit=0", str(path)])
        if done.returncode == 0:
            return None
        return {int(line) for line in re.findall(re.escape(str(path)) + r":(\d+):\d+: (?:fatal )?error", done.stdout)}

    def check(self, name):
        """Leaves out sites that do not compile: those on the lines of errors, or else one found by bisection."""
        _, found, _ = self.files[name]
        left = [site for site in found if any(mutant.id > 0 for mutant in site.mutants)]
        while left and (lines := self.errors(name, left)) is not None:
            bad = [site for site in left if site.mutants[0].line in lines] or [self.culprit(name, left)]
            # Remove the innermost site first: the sites around it may compile without it.
            shortest = {}
            for site in bad:
                line = site.mutants[0].line
                if line not in shortest or site.end - site.begin < shortest[line].end - shortest[line].begin:
                    shortest[line] = site
            for site in shortest.values():
                left.remove(site)
                for mutant in site.mutants:
                    mutant.state = "not compiled"
        source, _, flags = self.files[name]
        self.files[name] = (source, left, flags)
        self.write(name)

    def culprit(self, name, left):
        """The last site of the shortest beginning of the list that does not compile."""
        low, high = 0, len(left)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.errors(name, left[:middle]) is not None else (middle, high)
        return left[high - 1]

    def compile(self, pool, mutants):
        """Compiles every unit with a copy in it, and links the program with them."""
        list(pool.map(self.check, self.files))
        units = {}
        for name in self.files:
            built, _, sources, flags = self.commands.unit_of(self.root / name)
            units[built] = (sources, flags)
        copies = {str(self.root / name): str(self.copy(name)) for name in self.files}
        support = ["-std=c++20", "-O1", f"-DSTROBE_MUTANTS={mutants}", "-c", str(SUPPORT / "support.cpp")]
        jobs = [["c++", *support, "-o", str(self.folder / "support.o")]]
        replaced = {}
        for number, (built, (sources, flags)) in enumerate(units.items()):
            unit, result = self.folder / f"unit_{number}.cpp", self.folder / f"unit_{number}.o"
            lines = [f'#include "{copies.get(source, source)}"\n' for source in sources]
            unit.write_text("".join(lines), encoding="utf-8")
            replaced[built] = str(result)
            jobs.append(["c++", *flags, "-O1", "-w", "-c", str(unit), "-o", str(result)])
        for done in pool.map(run, jobs):
            if done.returncode != 0:
                raise SystemExit(f"mutate: an instrumented unit does not compile:\n{done.stdout[-4000:]}")
        words = [replaced.get(word, word) for word in self.commands.link] + [str(self.folder / "support.o")]
        words[words.index("-o") + 1] = str(self.program)
        done = run(words, cwd=self.commands.build)
        if done.returncode != 0:
            raise SystemExit(f"mutate: {self.target} cannot be linked:\n{done.stdout[-4000:]}")
        os.utime(self.program)
