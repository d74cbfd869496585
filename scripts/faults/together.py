"""Runs that meet in one folder or one cache, and runs that must give equal numbers."""
import json
import threading
import time

from faults.field import Skip, rows_of


def in_one_folder(field):
    if field.strobe("run", field.suite, "--out", "whole").status != 0:
        raise Skip("the undisturbed run does not end well")
    expected = rows_of(field.folder / "whole")
    while True:
        field.fresh("out")
        first = field.start(["run", field.suite, "--out", "out"])
        time.sleep(field.rng.choice([0, 0, field.rng.uniform(0, 0.3)]))
        second = field.start(["run", field.suite, "--out", "out", *field.rng.choice([[], ["--resume"]])])
        answers = [field.finish(first), field.finish(second)]
        wrong = next(filter(None, (answer.wrong({0, 2}, ["out"]) for answer in answers)), "")
        if not wrong and 0 not in {answer.status for answer in answers}:
            wrong = f"neither of two runs ended well: {answers[0].words()[-200:]} | {answers[1].words()[-200:]}"
        yield wrong or ("other numbers" if rows_of(field.folder / "out") != expected else "")


def _attack(field, stop):
    cache = field.folder / "cache"
    while not stop.is_set():
        for path in list(cache.glob("*")) if cache.is_dir() else []:
            try:
                deed = field.rng.randrange(4)
                if deed == 0:
                    path.unlink()
                elif deed == 1:
                    content = bytearray(path.read_bytes())
                    content[field.rng.randrange(len(content) or 1)] ^= 16
                    other = path.with_suffix(".other")
                    other.write_bytes(content)
                    other.replace(path)
                elif deed == 2:
                    other = path.with_suffix(".other")
                    other.write_bytes(path.read_bytes()[:field.rng.randrange(2000)])
                    other.replace(path)
            except (OSError, IndexError):
                continue  # a run was faster
        time.sleep(0.01)


def _report(answer):
    """The report on the graph, without the note on a cache that could not be written."""
    try:
        report = json.loads(answer.out)
    except ValueError:
        return answer.out
    report["notes"] = [note for note in report.get("notes", []) if "cache was not written" not in note]
    return report


def cache_under_attack(field):
    rows = "".join(f"{i % 997},{i * 7 % 991},{i}\n" for i in range(120000))
    field.write("big.csv", "source,target,time\n" + rows)
    whole = _report(field.strobe("inspect", "big.csv", "--json"))
    stop = threading.Event()
    attacker = threading.Thread(target=_attack, args=(field, stop), daemon=True)
    attacker.start()
    try:
        while True:
            answer = field.strobe("inspect", "big.csv", "--json")
            wrong = answer.wrong({0})
            yield wrong or ("" if _report(answer) == whole else f"another report beside a damaged cache: {answer.command}")
    finally:
        stop.set()
        attacker.join()


def _values(field, out):
    return list(rows_of(field.folder / out).values())


def twice(field):
    while True:
        model = field.rng.choice(["tm-gcn", "t-gcn", "evolve-gcn-o", "cd-gcn", "dysat", "dcrnn"])
        strategy, ranks = field.rng.choice([("sequential", 1), ("snapshot", 2), ("vertex", 3), ("chunk", 2)])
        command = ["run", "--workload", "uniform:steps=8,vertices=60,density=3", "--model", model, "--strategy", strategy,
                   "--ranks", str(ranks), "--epochs", "2", "--seed", str(field.rng.randrange(1000))]
        for out in ("one", "two"):
            field.fresh(out)
        answers = [field.strobe(*command, "--out", out, "--threads", threads) for out, threads in (("one", "1"), ("two", "2"))]
        wrong = next(filter(None, (answer.wrong({0, 2}) for answer in answers)), "")
        # The number of threads changes the case id. It may not change the numbers.
        if not wrong and answers[0].status == 0 and _values(field, "one") != _values(field, "two"):
            wrong = f"two runs differ: {answers[0].command}"
        yield wrong
