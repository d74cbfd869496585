"""Judges scripts/figures/time_to_metric.py and its law of updates by other means than their own.

usage: two_factors_judge.py SCRIPTS_FOLDER NAME      calls the function NAME; an AssertionError is a fault
"""
import importlib.util
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, sys.argv[1])
from strobe_figures import rows as r  # noqa: E402
from strobe_figures import two_factors as t  # noqa: E402
from strobe_figures import updates_law as u  # noqa: E402


def drawn(random, exact=False, sizes=(6000, 12000, 24000), batches=(50, 200, 800), copies=(1, 4), seeds=5, most=150, noise=0.2,
          shared=0.0):
    """Runs whose updates follow the law with S_min 50 at size 6000, B_noise 300, exponents 0.4 of size and 0 of copies. `shared` is the
    deviation of what all runs of one seed and size have in common. Evaluations are as in training: after each epoch."""
    keys = ("low", "high", "batch", "size", "copies", "epochs", "cell", "group", "seed")
    lines, cell = [], 0
    for group, size in enumerate(sizes):
        common = random.normal(0, shared, seeds) if shared else np.zeros(seeds)
        for batch, many in itertools.product(batches, copies):
            for seed in range(seeds):
                middle = math.log(50) + math.log1p(300 / (batch * many)) + 0.4 * math.log(size / 6000)
                updates = math.exp(middle + random.normal(0, noise) + common[seed])
                epoch = max(1, round(0.7 * size / (batch * many)))
                count = math.ceil(updates / epoch)
                low, high = ((count - 1) * epoch, count * epoch) if count <= most else (most * epoch, math.inf)
                low, high = (updates, updates) if exact else (low, high)
                logs = [math.log(low) if low else -math.inf, math.log(high), *map(math.log, (batch * many, size, many, 1))]
                lines.append([*logs, cell, group, seed])
            cell += 1
    return dict(zip(keys, np.array(lines, dtype=float).T, strict=True))


def normal_between(low, high, mean, deviation):
    """log of the probability between two bounds, from the error function alone."""
    ends = [0.5 * math.erfc(-(bound - mean) / (deviation * math.sqrt(2))) for bound in (low, high)]
    return math.log(max(1e-300, ends[1] - ends[0]))


def likelihood(runs, values, terms, deviation):
    """The log likelihood of a law with a batch term, run by run."""
    total = 0.0
    for place in range(len(runs["low"])):
        mean = values[0] + math.log1p(math.exp(values[-1] - runs["batch"][place]))
        mean += sum(slope * runs[name][place] for name, slope in zip(terms, values[1:], strict=False))
        total += normal_between(runs["low"][place], runs["high"][place], mean, deviation)
    return total


def known_updates_are_least_squares():
    """Where every S is known, no law on a dense grid of B_noise, with the best other parameters in closed form, is nearer."""
    for seed in range(5):
        runs = drawn(np.random.default_rng(seed), exact=True)
        law = u.fit(runs, ("size", "copies"), True)
        own = np.square(runs["low"] - law(runs)).sum()
        best = math.inf
        for noise in np.linspace(math.log(0.5), math.log(320000), 4001):
            columns = np.stack([np.ones_like(runs["low"]), runs["size"], runs["copies"]], axis=1)
            wanted = runs["low"] - np.log1p(np.exp(noise - runs["batch"]))
            rest = wanted - columns @ np.linalg.solve(columns.T @ columns, columns.T @ wanted)
            best = min(best, float(rest @ rest))
        assert own <= best * (1 + 1e-6), (seed, own, best)
        assert abs(law.deviation - math.sqrt(own / law.count)) < 1e-6


def bounds_are_maximum_likelihood():
    """With bounds in place of numbers, no law nearby is more likely, the likelihood being computed run by run. Some runs never
    reach the target."""
    for seed in range(4):
        random = np.random.default_rng(seed)
        runs = drawn(random, most=6)
        assert 0 < np.isinf(runs["high"]).sum() < len(runs["high"])
        law = u.fit(runs, ("size",), True)
        own = likelihood(runs, law.values, ("size",), law.deviation)
        assert abs(own - law.likelihood) < 1e-6, (own, law.likelihood)
        for _ in range(300):
            moved = law.values + random.normal(size=3) * [0.3, 0.04, 0.3] * random.choice([0.03, 0.2, 1])
            assert likelihood(runs, moved, ("size",), law.deviation * math.exp(0.1 * random.normal())) < own + 2e-4, seed


def scipy_finds_the_same():
    """The same parameters as a general optimiser finds with scipy's normal distribution."""
    try:
        from scipy import optimize, stats
    except ImportError:
        print("no scipy")
        return
    for seed in range(3):
        runs = drawn(np.random.default_rng(seed), most=8)
        law = u.fit(runs, ("size", "copies"), True)

        def badness(x, runs=runs):
            mean = x[0] + x[1] * (runs["size"] - 9) + x[2] * runs["copies"] + np.logaddexp(0, x[3] - runs["batch"])
            a, b = ((runs[end] - mean) / math.exp(x[4]) for end in ("low", "high"))
            upper = a > 0
            inside = np.where(upper, stats.norm.sf(a) - stats.norm.sf(b), stats.norm.cdf(b) - stats.norm.cdf(a))
            return -np.log(np.maximum(inside, 1e-300)).sum()

        found = optimize.minimize(badness, [4, 0.3, 0, 5, -1], method="Nelder-Mead",
                                  options={"maxiter": 20000, "maxfev": 20000, "xatol": 1e-7, "fatol": 1e-9})
        theirs = [found.x[0] - 9 * found.x[1], *found.x[1:4]]
        assert np.allclose(law.values, theirs, atol=0.02), (seed, law.values, theirs)
        assert abs(-found.fun - law.likelihood) < 1e-3, (seed, found.fun, law.likelihood)


def known_laws_are_in_the_interval():
    """The law's prediction at twice the largest size: its 90 % interval holds the truth in 9 of 10 of 30 worlds or more, with
    independent noise and with noise that the runs of a seed share."""
    point = {"batch": np.log([400.0]), "size": np.log([48000.0]), "copies": np.log([1.0]), "epochs": np.log([1.0])}
    truth = math.log(50) + math.log1p(300 / 400) + 0.4 * math.log(8)
    inside, worlds = 0, 30
    for seed in range(worlds):
        random = np.random.default_rng(1000 + seed)
        runs = drawn(random, batches=(50, 100, 200, 800), copies=(1,), shared=0.2 if seed % 2 else 0.0)
        _, tried = u.best_fit(runs, t.FACTORS)
        low, high = np.quantile([law(point)[0] for law in u.draws_of(runs, t.FACTORS, tried, 60, random)], t.QUANTILES)
        inside += low <= truth <= high
    print(f"{inside} of {worlds} intervals hold the truth")
    assert inside >= 0.9 * worlds


def evidence_chooses_the_terms():
    """An exponent that is there is kept in all worlds; one that is not, in few."""
    kept = [u.best_fit(drawn(np.random.default_rng(seed)), t.FACTORS)[0].terms for seed in range(12)]
    assert all("size" in terms for terms in kept), kept
    assert sum("copies" in terms for terms in kept) <= 4, kept
    full = drawn(np.random.default_rng(3), batches=(50,), copies=(1,))
    full["batch"] = full["size"]
    assert not any(with_batch for _, with_batch in u.candidates(full, t.FACTORS)), "a full batch has no batch of its own"


def event_row(until, size=6000, batch=100, ranks=1, seed=1, updates=300, reached=True, k=0, **more):
    """A row as a run of an event model writes it; only the keys that are read."""
    epoch = max(1, round(0.7 * size / (batch * ranks)))
    evaluated = [0.1] * (updates // epoch)
    row = {"case_id": f"e/{size}/{batch}/{ranks}/{seed}", "status": "ok", "reason": "", "workload": {"name": "w", "events": size},
           "model": {"name": "m"}, "task": {"name": "t"}, "optimizer": {"name": "adam", "rate": 0.1}, "precision": "fp32", "notes": [],
           "strategy": {"name": "event_batch", "batch": batch, "i": 0, "j": 0, "k": k, "learning_rate_scaling": "none",
                        "learning_rate_batch": 600}, "ranks": ranks, "seed": seed, "exact": True, "time_source": "wall",
           "epoch_work": {"events": 0.7 * size, "cells": None}, "global_batch": batch * ranks, "iterations": epoch,
           "epoch_seconds": {"median": 0.5}, "epoch_seconds_band90": None, "settings": {"until": until, "warmup": 0},
           "metrics": {"validation_mrr": evaluated}, "loss": [1.0] * len(evaluated), "until_reached": reached,
           "until_iterations": len(evaluated) * epoch}
    return {**row, **more}


def rows_are_read_as_written():
    one = event_row("mrr=0.3", ranks=4, batch=50)
    assert t.point_of(one) == {"batch": 200, "size": 4200.0, "copies": 4, "epochs": 1}
    shared = {**one, "strategy": {**one["strategy"], "i": 2, "j": 2}}
    assert t.point_of(shared)["copies"] == 1 and t.point_of(shared)["epochs"] == 2
    assert t.bounds_of(event_row("mrr=0.3", updates=420)) == (378, 420), "42 updates an epoch"
    assert t.bounds_of(event_row("mrr=0.3", updates=420, reached=False)) == (420, math.inf)
    assert t.bounds_of(event_row("mrr=0.3", updates=42)) == (0, 42)
    rare = event_row("mrr=0.3", updates=420, metrics={"validation_mrr": [None, None, None, 0.1, None, None, None, None, None, 0.3]})
    assert t.bounds_of(rare) == (4 * 42, 10 * 42), "between two evaluations"
    hybrid = {"name": "hybrid_batch", "vertices": "20%", "snapshots": "50%", "cut": "vertices", "averaging": "sync", "interval": "10"}
    row = event_row("mrr=0.3", strategy=hybrid, epoch_work={"events": None, "cells": 600.0}, iterations=1, exact=["batches"])
    assert abs(t.point_of(row)["size"] - 6000) < 1e-9 and t.point_of(row)["batch"] == 600
    other = {**row, "strategy": {**hybrid, "interval": "20", "vertices": "30%"}}
    assert t.law_of(row) == t.law_of(other), "the interval says nothing where gradients are summed at every update"
    full = event_row("mrr=0.3", strategy={"name": "snapshot"}, epoch_work={"events": None, "cells": 600.0}, iterations=1)
    assert t.law_of(full) == t.law_of({**full, "strategy": {"name": "vertex", "stale": "none"}}), "exact full batches are one"
    assert t.law_of(full) != t.law_of({**full, "strategy": {"name": "vertex", "stale": "adaptive"}, "exact": ["stale"]})


def measured_rows():
    return [event_row("mrr=0.3", size=size, batch=batch, seed=seed, updates=42 * round((4 + 200 / batch) * (1 + seed % 2)))
            for size in (6000, 12000) for batch in (50, 100, 200) for seed in (1, 2, 3)]


def full_row(**more):
    return event_row("", size=60000, until_reached=None, time_source="virtual", cluster="c", settings={"warmup": 0}, **more)


def products_are_both_factors():
    """Updates times seconds; the share of draws in which a case is first follows from what is faster under one law."""
    rows = [*measured_rows(), full_row(batch=100), full_row(batch=100, case_id="slow", epoch_seconds={"median": 0.6}),
            full_row(batch=200, case_id="band", epoch_seconds_band90={"low": 0.25, "high": 1.0})]
    t.agree(rows)
    random = np.random.default_rng(1)
    laws = t.laws_of(rows, 0, 50, random)
    found = {one["row"]["case_id"]: one for one in t.products(rows, laws, 50, random)}
    fast, slow, band = found["e/60000/100/1/1"], found["slow"], found["band"]
    assert abs(fast["total"] - fast["updates"] * 0.5 / 420) < 1e-12 and fast["updates"] == slow["updates"]
    assert slow["first"] == 0 and abs(fast["first"] + band["first"] - 1) < 1e-12
    assert np.ptp(fast["total_draws"] / fast["updates_draws"]) < 1e-12, "without a band, time is one number"
    times = np.log(band["total_draws"] / band["updates_draws"] * 210)
    assert 0.2 < times.std() < 0.7 and abs(times.mean() - math.log(0.5)) < 0.2
    assert abs(fast["beyond"]["size"] - math.log10(5)) < 1e-9 and "batch" not in fast["beyond"]


def refused(rows, words, leave_out=0):
    try:
        t.agree(rows)
        laws = t.laws_of(rows, leave_out, 2, np.random.default_rng(1))
        t.products(rows, laws, 2, np.random.default_rng(1))
    except r.Refused as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


def what_does_not_fit_is_refused():
    good = measured_rows()
    refused([full_row()], "no row has a target")
    refused([*good, event_row("mrr=0.4")], "several targets")
    refused([*good, full_row(task={"name": "u"})], "several tasks")
    refused([*good, full_row(model={"name": "n"})], "updates were measured for no row like it")
    refused([*good, full_row(optimizer={"name": "adam", "rate": 0.2})], "updates were measured for no row like it")
    refused([*good, full_row(ranks=4)], "copies of memory 4, but updates of m, event_batch were measured at 1 alone")
    refused([row for row in good if row["seed"] == 1], "measured with one seed")
    refused(good, "2 sizes, so 2 cannot be left out", leave_out=2)
    refused([{**row, "until_reached": False} for row in good], "no run reached the target")
    refused([{**row, "settings": {"until": "mrr=0.3", "warmup": 2}} for row in good], "warm-up epochs")
    refused([event_row("converged", seed=seed) for seed in (1, 2)], "is no value of a metric")
    adjusted = {"name": "dynahb", "adjuster": "dqn", "averaging": "sync"}
    refused([event_row("mrr=0.3", strategy=adjusted, epoch_work={"events": None, "cells": 6.0})], "take adjuster=none")


def the_script(runs, *words):
    done = subprocess.run([sys.executable, sys.argv[1] + "/time_to_metric.py", *runs, "--draws", "20", *words], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def figure_of(rows, leave_out):
    """The figure of rows, as the script lays it out, without faults."""
    import time_to_metric
    from strobe_figures import checks, looks

    random = np.random.default_rng(1)
    laws = t.laws_of(rows, leave_out, 5, random)
    figure = time_to_metric.draw((list(laws.values()), [] if leave_out else t.products(rows, laws, 5, random)), looks.start_matplotlib())
    looks.lay_out(figure)
    found = checks.complaints(figure)
    assert found == [], found
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def the_script_answers_from_runs():
    """Two folders of rows: what is printed and drawn, with all sizes and with the largest left out, and a far extrapolation."""
    if importlib.util.find_spec("matplotlib") is None:
        print("no matplotlib")
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("small", measured_rows()), ("full", [full_row(batch=100), full_row(batch=200)])):
            pathlib.Path(folder, name).mkdir()
            pathlib.Path(folder, name, "summary.json").write_text(json.dumps({"rows": rows}))
        runs = [folder + "/small", folder + "/full"]
        status, out, err = the_script(runs, "--out", folder)
        assert status == 0, err
        lines = [line.split(" | ") for line in out.splitlines() if line.startswith("| memory k=1")]
        assert len(lines) == 2 and sum(int(line[7]) for line in lines) == 100, out
        updates = [float(line[5].split()[0].replace(",", "")) for line in lines]
        millis = [float(line[4]) for line in lines]
        assert millis == [2.38, 1.19][::1 if lines[0][3] == "200" else -1], out
        for line, many, each in zip(lines, updates, millis, strict=True):
            assert abs(float(line[6].split()[0]) - many * each / 1000) < 0.01 * many * each / 1000, line
        assert "| m, event_batch | 4,200 to 8,400 events | 18 | 0 |" in out and "size 0.7" in out and "warning" not in out, out
        assert pathlib.Path(folder, "time_to_metric.png").stat().st_size > 10000
        rows = r.read_rows(runs, ("epoch_work",))
        assert "size left out of the fit" not in figure_of(rows, 0) and "size left out of the fit" in figure_of(rows, 1)
        status, out, err = the_script(runs, "--out", folder, "--leave-out", "1")
        assert status == 0 and out.count("| m, event_batch | 8,400 events |") == 3 and "of 3 cells that were left out lie in" in out, out
        assert "| memory k=1" not in out, "the full size is answered by the law of all sizes"
        far = [full_row(batch=100, epoch_work={"events": 1e6, "cells": None})]
        pathlib.Path(folder, "full", "summary.json").write_text(json.dumps({"rows": far}))
        status, out, err = the_script(runs, "--out", folder)
        assert status == 0 and "warning: the full size is 2.1 decades beyond the largest that was measured" in out, out


def rows_of_the_program_are_read():
    """Runs of the program itself: bounds enclose the first evaluation at the target, points are the suite's, seconds are the row's."""
    words = ["--workload", "bursty_events:vertices=200,repeat=0.8", "--model", "jodie:memory=8,time=8", "--task", "future-links", "--strategy",
             "event_batch:learning_rate_scaling=none", "--set", "optimizer.rate=0.01"]
    with tempfile.TemporaryDirectory() as folder:
        small = [*words, "--warmup", "0", "--epochs", "12", "--until", "mrr=0.14", "--set", "threads=1", "--vary", "workload.events=2000,4000",
                 "--vary", "strategy.batch=50,100", "--vary", "seed=1,2,3", "--out", folder + "/small"]
        full = [*words, "--set", "workload.events=20000", "--device", "sim", "--cluster", "p3dn-v100", "--epochs", "1", "--out", folder + "/full"]
        for case in (small, full):
            done = subprocess.run([os.environ["STROBE_PROGRAM"], "run", *case], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        rows = r.read_rows([folder + "/small", folder + "/full"], ("epoch_work", "iterations", "epoch_seconds"))
        t.agree(rows)
        reached = 0
        for row in rows[:-1]:
            point, (low, high) = t.point_of(row), t.bounds_of(row)
            assert point == {"batch": row["strategy"]["batch"], "size": 0.7 * row["workload"]["events"], "copies": 1, "epochs": 1}
            curve, epoch = row["metrics"]["validation_mrr"], row["iterations"]
            assert max(curve[:round(low / epoch)], default=0) < 0.14, "below the target"
            if not math.isinf(high):
                reached += 1
                assert high - low == epoch and curve[-1] >= 0.14 and high == epoch * len(curve)
        assert 6 <= reached, "most runs reach the target, or nothing is tested"
        random = np.random.default_rng(1)
        laws = t.laws_of(rows, 0, 10, random)
        one, = t.products(rows, laws, 10, random)
        times = json.loads(pathlib.Path(folder, "full", "summary.json").read_text())["rows"][0]
        assert abs(one["total"] / one["updates"] - times["epoch_seconds"]["median"] / 24) < 1e-9, "14,000 events in 24 batches of 600"


if __name__ == "__main__":
    globals()[sys.argv[2]]()
