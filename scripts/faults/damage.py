"""Damages every kind of file that Strobe reads back, and files that carry its own seal. Strobe must refuse a damaged
file by name. It may accept one whose damage means nothing: then every number equals that of the undamaged file."""
import json
import os
import pathlib
import shutil
from dataclasses import dataclass, field as of_dataclass

from faults.field import ROOT, Skip, flags, rows_of

WORKLOAD = ["--workload", "uniform:steps=8,vertices=60,density=3"]
VALUES = [None, True, -1, 0, 3, 1e308, -0.5, "", "x", "\u001b[31m", [], {}, [[]], {"a": {}}, "9" * 400]


def _places(value, path=()):
    """Every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, path + (key,))


def _mutate_json(rng, text):
    value = json.loads(text)
    path = rng.choice(list(_places(value)))
    if not path:
        return json.dumps(rng.choice(VALUES))
    at = value
    for key in path[:-1]:
        at = at[key]
    deed = rng.randrange(4)
    if deed == 0 and isinstance(at, dict):
        del at[path[-1]]
    elif deed == 1 and isinstance(at, dict):
        at["another " + str(path[-1])] = at.pop(path[-1])
    elif deed == 2:
        deep = rng.choice([20, 2000, 200000])
        return json.dumps(value).replace(json.dumps(at[path[-1]]), "[" * deep + "]" * deep, 1)
    else:
        at[path[-1]] = rng.choice(VALUES)
    return json.dumps(value)


def _mutate_bytes(rng, content):
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(content)) if content else 0
        deed = rng.randrange(5)
        if deed == 0 and content:
            content[at] ^= 1 << rng.randrange(8)
        elif deed == 1:
            del content[at:at + rng.choice([1, 8, 1000])]
        elif deed == 2:
            content[at:at] = rng.randbytes(rng.choice([1, 8, 1000]))
        elif deed == 3:
            content[at:at + 8] = rng.choice([b"\0" * 8, b"\xff" * 8, b"\x7f" + b"\0" * 7])
        else:
            del content[at:]
    return bytes(content)


def _mutate(rng, path):
    content = path.read_bytes()
    if path.suffix in (".json", ".jsonl") and rng.random() < 0.8:
        if path.suffix == ".json":
            return _mutate_json(rng, content.decode()).encode()
        lines = content.decode().splitlines()
        at = rng.randrange(len(lines))
        lines[at] = _mutate_json(rng, lines[at])
        return ("\n".join(lines) + "\n").encode()
    return _mutate_bytes(rng, content)


@dataclass
class Reader:
    """A file, a command that reads it, and the numbers that must not change where the command accepts it."""
    file: str
    command: list
    numbers: object = None  # function of (field, answer); None for files that users write with any numbers
    expected: object = of_dataclass(default=None, repr=False)
    gone: tuple = ()  # outputs of the command, removed before it runs

    def wrong(self, field, answer):
        # Runs may differ (3), or may no longer be comparable (4).
        wrong = answer.wrong({0, 1, 2, 3, 4})
        name = pathlib.Path(self.file)
        if not wrong and answer.status == 2 and name.name not in answer.words() and str(name.parent) not in answer.words():
            wrong = f"refused without its name: {answer.command}: {answer.words()[-200:]}"
        if not wrong and self.numbers and answer.status in (0, 3):
            wrong = self._other_numbers(field, answer)
        return wrong

    def _other_numbers(self, field, answer):
        try:
            found = self.numbers(field, answer)
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"accepted, and there are no numbers: {answer.command}: {error!r}"
        return f"accepted with other numbers: {answer.command}" if found != self.expected else ""


def _said(_, answer):
    return answer.out


def _of_row(field, _):
    ranks = field.folder / "ranks.csv"
    return sorted(map(repr, rows_of(field.folder / "o").items())), ranks.read_text() if ranks.exists() else ""


def _kept(field, _):
    return rows_of(field.folder / "run")


def _shown(field, _):
    """The numbers from which a table or a page was made. Lost rows do not count as other numbers."""
    good = field.good_rows
    return [row for row in rows_of(field.folder / "run").values() if row not in good]


def _states_and_models(field):
    for case in ("full", "chunk", "hybrid", "event", "daemon"):
        ranks = ["--dump-ranks", "ranks.csv"] if case in ("event", "daemon") else []
        state, model = f"state-{case}", f"m-{case}.safetensors"
        _well(field, "run", *flags(case), "--epochs", "2", "--out", "begun", "--checkpoint", state, "--save-model", model)
        run = ["run", *flags(case), *ranks, "--out", "o"]
        yield Reader(state, [*run, "--epochs", "4", "--checkpoint", state, "--resume-training"], _of_row, gone=("o",))
        yield Reader(model, [*run, "--epochs", "1", "--load-model", model], _of_row, gone=("o",))
        field.fresh("begun")


def _well(field, *words):
    answer = field.strobe(*words)
    if answer.status != 0:
        raise Skip(f"no good files to damage: {answer.command}: {answer.words()[-200:]}")
    return answer


def _inputs(field):
    _well(field, "convert", "events.csv", "g.strobe")
    _well(field, "convert", "events.csv:window_count=8", "s.strobe")
    _well(field, "inspect", "events.csv:window_count=8", "--shape", "shape.json")
    shutil.copy(ROOT / "backends/clusters/p5-h100.json", field.folder / "cluster.json")
    sim = ["--device", "sim", "--epochs", "1", "--out", "o"]
    return [Reader("g.strobe", ["inspect", "g.strobe", "--json"], _said),
            Reader("s.strobe", ["inspect", "s.strobe", "--json"], _said),
            Reader("sweep.json", ["run", "sweep.json", "--dry-run"]),
            Reader("shape.json", ["run", "--workload", "shape.json", "--cluster", "p5-h100", *sim], gone=("o",)),
            Reader("cluster.json", ["run", *WORKLOAD, "--cluster", "./cluster.json", *sim], gone=("o",)),
            Reader("cluster.json", ["plan", *WORKLOAD, "--clusters", "./cluster.json", "--nodes", "1", "--strategy", "vertex"])]


def _runs(field):
    _well(field, "run", field.suite, "--out", "run", "--trace")
    shutil.copytree(field.folder / "run", field.folder / "other")
    field.good_rows = list(rows_of(field.folder / "run").values())
    trace = str(min((field.folder / "run/trace").iterdir()).relative_to(field.folder))
    readers = [Reader(trace, ["trace", *words]) for words in (["merge", trace, trace, "--out", "both.json"],
                                                              ["diff", trace, trace.replace("run", "other", 1)])]
    for file in ("plan.json", "summary.json", "env.json", "samples.jsonl"):
        readers.append(Reader("run/" + file, ["run", "--resume", "run"], _kept))
        for words in (["compare", "run", "other"], ["show", "run"], ["show", "run", "--format", "latex"],
                      ["report", "run", "--out", "page.html"], ["plot", "curves", "run", "--out", "figures"]):
            readers.append(Reader("run/" + file, words, _shown, gone=("page.html", "figures")))
    return readers


def _calibrations(field):
    _well(field, "calibrate", "--chunks", "--quick", "--chunk-count", "100", "--model", "t-gcn", "--graph", WORKLOAD[1],
          "--out", "chunks.json")
    chunk = ["run", *WORKLOAD, "--model", "t-gcn", "--strategy", "chunk:cost=mlp,workloads=chunks.json", "--ranks", "2",
             "--dry-run", "--dump-placement", "placement.csv"]
    return [Reader("chunks.json", chunk, _placed)]


def _placed(field, _):
    return (field.folder / "placement.csv").read_text()


def _answer(field, reader):
    for name in (*reader.gone, "ranks.csv", "both.json", "placement.csv"):
        field.fresh(name)
    return field.strobe(*reader.command, seconds=30)


def _damage(field, readers):
    """Damages the files one after the other, and restores all in between."""
    kept = {path: path.read_bytes() for path in field.folder.rglob("*") if path.is_file() and "cache" not in path.parts}
    undamaged = {}  # the numbers of each command before any damage
    while True:
        field.rng.shuffle(readers)
        for reader in readers:
            command = tuple(reader.command)
            if reader.numbers and command not in undamaged:
                good = _answer(field, reader)
                if good.status not in (0, 3):
                    yield f"the undamaged file is refused: {good.command}: {good.words()[-200:]}"
                    continue
                undamaged[command] = reader.numbers(field, good)
                _put_back(kept)
            reader.expected = undamaged.get(command)
            path = field.folder / reader.file
            path.write_bytes(_mutate(field.rng, path))
            damaged = path.read_bytes()
            wrong = reader.wrong(field, _answer(field, reader))
            yield f"{reader.file} ({_first_change(kept[path], damaged)}): {wrong}" if wrong else ""
            _put_back(kept)


def _put_back(kept):
    for file, content in kept.items():
        if not file.exists() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _first_change(good, damaged):
    """The place where two contents begin to differ, and both texts there."""
    at = next((i for i, (a, b) in enumerate(zip(good, damaged)) if a != b), min(len(good), len(damaged)))
    begin = max(0, at - 20)
    return f"{len(damaged)} bytes, byte {at}: {good[begin:at + 20]!r} became {damaged[begin:at + 20]!r}"


def of_files_read_back(field):
    return _damage(field, [*_inputs(field), *_states_and_models(field)])


def of_run_directories(field):
    return _damage(field, _runs(field))


def of_calibrations(field):
    return _damage(field, _calibrations(field))


def of_sealed_graphs(field):
    """Changes a bit of a sealed graph and restores its modification time; also forges a graph with a seal of its
    own."""
    _inputs(field)
    report = {name: field.strobe("inspect", name, "--json").out for name in ("g.strobe", "s.strobe")}
    while True:
        name = field.rng.choice(list(report))
        if field.strobe("convert", "events.csv" if name[0] == "g" else "events.csv:window_count=8", name).status != 0:
            raise Skip("no graph can be converted")
        path = field.folder / name
        times = os.stat(path)
        with open(path, "r+b") as file:
            at = field.rng.randrange(times.st_size)
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1 << field.rng.randrange(8)]))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        if field.rng.random() < 0.5:  # the owner could do this: the seal belongs to the file as it is now
            now = os.stat(path)
            digest = path.read_bytes()[48:112].decode("latin-1")
            field.write(name + ".seal", f"strobe seal 2\n{now.st_ino} {now.st_mtime_ns} {now.st_ctime_ns} {digest}\n")
            yield field.strobe("inspect", name).wrong({0, 2})
            continue
        answer = field.strobe("inspect", name, "--json")
        wrong = answer.wrong({0, 2})
        if not wrong and answer.status == 0 and answer.out != report[name]:
            wrong = f"byte {at} of {name} was changed, and another report came: {answer.command}"
        yield wrong
