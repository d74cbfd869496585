"""One test program with the switches of all mutants of its part, from the commands of an up-to-date build."""
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
        """Flags for instrumented copies: -O1 compiles faster, and a precompiled header of other flags is of no use."""
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
        self.root, self.target, self.folder, self.label = root, target, folder, target.removeprefix("test_")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.commands = Commands(build, target)
        self.files = {}  # name: (source, sites, flags)
        self.program = folder / target

    def read(self, name):
        """Finds the sites of a file; a file that the test program does not hold has none."""
        unit = self.commands.unit_of(self.root / name)
        if unit is None:
            return []
        source, found = sites.sites_of(name, self.root / name, unit[3])
        self.files[name] = (source, found, unit[3])
        return [mutant for site in found for mutant in site.mutants]

    def copy(self, name):
        """Where the instrumented copy of a file lies."""
        return self.folder / "sources" / name

    def write(self, name):
        """Writes the copy."""
        source, found, _ = self.files[name]
        path = self.copy(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sites.instrumented(source, found))

    def lines_of_errors(self, output):
        """{name: lines} of the copies that errors lie in, or that ask for what an error lies in."""
        found = {}
        pattern = re.escape(str(self.copy(""))) + r"/(\S+?):(\d+):\d+: +(?:error|fatal error|required from)"
        for name, line in re.findall(pattern, output):
            found.setdefault(name, set()).add(int(line))
        return found

    def leave_out(self, name, lines):
        """Leaves the shortest site out of each line with an error; whether there was one."""
        source, sites_left, flags = self.files[name]
        begins_of_lines = [0] + [at + 1 for at, byte in enumerate(source) if byte == 10]
        removed = []
        for line in lines:
            first = begins_of_lines[line - 1]
            last = begins_of_lines[line] if line < len(begins_of_lines) else len(source)
            touching = [site for site in sites_left if site.begin < last and site.end > first and
                        any(mutant.id > 0 for mutant in site.mutants)]
            removed += [min(touching, key=lambda site: site.end - site.begin)] if touching else []
        for mutant in (mutant for site in removed for mutant in site.mutants):
            mutant.state = "not compiled"
        self.files[name] = (source, [site for site in sites_left if site not in removed], flags)
        self.write(name)
        return bool(removed)

    def compile_unit(self, number, sources, flags):
        """Compiles the copies of one unit, without the sites that do not compile. Returns the object."""
        copies = {str(self.root / name): str(self.copy(name)) for name in self.files}
        unit, result = self.folder / f"unit_{number}.cpp", self.folder / f"unit_{number}.o"
        unit.write_text("".join(f'#include "{copies.get(source, source)}"\n' for source in sources), encoding="utf-8")
        while True:
            done = run(["c++", *flags, "-O1", "-w", "-Wno-narrowing", "-c", str(unit), "-o", str(result)])
            if done.returncode == 0:
                return str(result)
            left_out = [self.leave_out(*found) for found in self.lines_of_errors(done.stdout).items()]
            if not any(left_out):
                raise SystemExit(f"mutate: an instrumented unit does not compile:\n{done.stdout[-4000:]}")

    def compile(self, pool, mutants):
        """Compiles every unit with a copy in it, and links the program with them."""
        units = {}
        for name in self.files:
            self.write(name)
            built, _, sources, flags = self.commands.unit_of(self.root / name)
            units[built] = (sources, flags)
        done = run(["c++", "-std=c++20", "-O1", f"-DSTROBE_MUTANTS={mutants}", "-c", str(SUPPORT / "support.cpp"), "-o",
                    str(self.folder / "support.o")])
        if done.returncode != 0:
            raise SystemExit(f"mutate: support.cpp does not compile:\n{done.stdout[-4000:]}")
        objects = pool.map(lambda each: self.compile_unit(each[0], *each[1]), enumerate(units.values()))
        replaced = dict(zip(units, objects))
        words = [replaced.get(word, word) for word in self.commands.link] + [str(self.folder / "support.o")]
        words[words.index("-o") + 1] = str(self.program)
        done = run(words, cwd=self.commands.build)
        if done.returncode != 0:
            raise SystemExit(f"mutate: {self.target} cannot be linked:\n{done.stdout[-4000:]}")
        os.utime(self.program)
