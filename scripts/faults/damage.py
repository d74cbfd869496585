"""Damages every kind of file that Strobe reads back, and files that carry its own seal."""
import json
import os
import shutil

from faults.field import Skip, rows_of

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


def _make_files(field):
    """One good file of every kind, and the command that reads it; its name is what a refusal must have in it."""
    field.write("events.csv", "source,target,time\n" + "".join(f"{i % 17},{i * 3 % 13},{i}\n" for i in range(300)))
    steps = [["convert", "events.csv", "g.strobe"],
             ["convert", "events.csv:window_count=8", "s.strobe"],
             ["run", *WORKLOAD, "--epochs", "2", "--out", "begun", "--checkpoint", "state", "--save-model", "m.safetensors",
              "--checkpoint-every", "1"],
             ["run", field.suite, "--out", "run"], ["run", field.suite, "--out", "other"],
             ["inspect", "events.csv:window_count=8", "--shape", "shape.json"]]
    for words in steps:
        answer = field.strobe(*words)
        if answer.status != 0:
            raise Skip(f"no good files to damage: {answer.command}: {answer.words()[-200:]}")
    shutil.copy(field.folder / "state", field.folder / "kept-state")
    cluster = next(field.binary.parent.parent.glob("backends/clusters/p5-h100.json"), None)
    if cluster is not None:
        shutil.copy(cluster, field.folder / "cluster.json")
    return [("g.strobe", ["inspect", "g.strobe"]), ("s.strobe", ["inspect", "s.strobe"]),
            ("m.safetensors", ["run", *WORKLOAD, "--epochs", "1", "--load-model", "m.safetensors", "--out", "o1"]),
            ("state", ["run", *WORKLOAD, "--epochs", "4", "--checkpoint", "state", "--resume-training", "--out", "o2"]),
            ("sweep.json", ["run", "sweep.json", "--dry-run"]),
            ("shape.json", ["run", "--workload", "shape.json", "--device", "sim", "--cluster", "p5-h100", "--epochs", "1",
                            "--out", "o3"]),
            ("cluster.json", ["run", *WORKLOAD, "--device", "sim", "--cluster", "./cluster.json", "--epochs", "1", "--out",
                              "o4"]),
            ("run/plan.json", ["run", "--resume", "run"]), ("run/summary.json", ["run", "--resume", "run"]),
            ("run/env.json", ["run", "--resume", "run"]), ("run/samples.jsonl", ["run", "--resume", "run"]),
            ("run/summary.json", ["compare", "run", "other"]), ("run/samples.jsonl", ["compare", "run", "other"]),
            ("run/env.json", ["compare", "run", "other"]), ("run/plan.json", ["compare", "run", "other"])]


def of_files_read_back(field):
    readers = [(name, command) for name, command in _make_files(field) if (field.folder / name).exists()]
    good = {name: (field.folder / name).read_bytes() for name, _ in readers}
    runs = {path: path.read_bytes() for path in (field.folder / "run").rglob("*") if path.is_file()}
    while True:
        name, command = field.rng.choice(readers)
        path = field.folder / name
        path.write_bytes(_mutate(field.rng, path))
        for out in ("o1", "o2", "o3", "o4"):
            field.fresh(out)
        answer = field.strobe(*command, seconds=30)
        # A change that means nothing is accepted; what is compared may differ (3) or be no longer comparable (4).
        wrong = answer.wrong({0, 1, 2, 3, 4})
        if not wrong and answer.status == 2 and not answer.words():
            wrong = f"refused without a word: {answer.command}"
        if wrong:
            kept = path.with_suffix(path.suffix + ".damaged")
            wrong = f"{name} ({len(path.read_bytes())} bytes, {path.read_bytes()[:60]!r}...): {wrong}"
            kept.unlink(missing_ok=True)
        yield wrong
        for file, content in runs.items():
            file.write_bytes(content)
        for file, content in good.items():
            (field.folder / file).write_bytes(content)


def of_sealed_graphs(field):
    """A bit of a sealed graph changes, its modification time is put back; and a graph is forged with a seal of its own."""
    _make_files(field)
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
        if field.rng.random() < 0.5:  # as its owner could: the seal is of the file as it is now
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
