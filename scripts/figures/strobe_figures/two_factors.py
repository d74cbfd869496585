"""Time to a metric as two factors: updates until it, measured at small sizes, times the seconds of one, predicted at full size.

Rows that were asked for a target are the measured ones. Predicted rows without a target are the full size. Each predicted row
takes the law of the measured rows that train the same: model, optimiser, precision and the settings of the strategy that change
what is computed.
"""
import json
import math

import numpy as np

from strobe_figures import parallelisms as p
from strobe_figures import rows as r
from strobe_figures import updates_law

WORDS = {"batch": "batch", "size": "size", "copies": "copies of memory", "epochs": "epochs at a time"}
FACTORS = ("size", "copies", "epochs")  # terms of the law besides the batch
ALIKE = {"event_batch": ("learning_rate_scaling", "learning_rate_batch"),
         "hybrid_batch": ("cut", "averaging", "interval", "average", "frontier", "normalise", "loss", "reservoir")}
QUANTILES = (0.05, 0.95)


def is_measured(row):
    return row.get("until_reached") is not None


def kind_of(row):
    """The kind of batch, which has a law: of event batches, of hybrid batches, of exact full batches, or the strategy's own."""
    if row["epoch_work"].get("events") is not None:
        return "event_batch"
    if "averaging" in row["strategy"]:
        return "hybrid_batch"
    return "full batch" if row["exact"] is True and row["iterations"] == 1 else row["strategy"]["name"]


def law_of(row):
    """A text that is the same in rows whose updates follow one law."""
    kind, strategy = kind_of(row), row["strategy"]
    if strategy.get("adjuster", "none") != "none":
        raise r.Refused(f"{row['case_id']}: an adjuster changes the batch while it trains, so no law of the batch holds; "
                        "take adjuster=none")
    alike = {key: strategy.get(key) for key in ALIKE[kind]} if kind in ALIKE else {} if kind == "full batch" else strategy
    if alike.get("learning_rate_scaling") == "none":
        alike.pop("learning_rate_batch")
    if alike.get("averaging") == "sync":
        alike.pop("interval")
    return json.dumps([kind, row["workload"]["name"], row["model"], row["optimizer"], row["precision"], alike], sort_keys=True)


def share(text, row):
    if not str(text).endswith("%"):
        raise r.Refused(f"{row['case_id']}: its batch is {text} vertices or steps; give a share such as 20%, from which the size "
                        "of the graph follows")
    return float(str(text)[:-1]) / 100


def point_of(row):
    """Where a row is: samples of one update over all ranks, of an epoch (size), copies of node memory, and epochs at a time."""
    work, strategy = row["epoch_work"], row["strategy"]
    if kind_of(row) == "event_batch":
        i, j = (max(1, strategy.get(key, 1)) for key in "ij")
        copies = strategy.get("k") or row["ranks"] // (i * j)
        return {"batch": row["global_batch"], "size": work["events"], "copies": copies, "epochs": j}
    batch = size = work["cells"] / row["iterations"]
    if kind_of(row) == "hybrid_batch":
        if strategy["cut"] != "vertices":
            raise r.Refused(f"{row['case_id']}: hybrid batches with cut={strategy['cut']} are not read; take cut=vertices")
        size = batch / (share(strategy["vertices"], row) * share(strategy["snapshots"], row))
    return {"batch": batch, "size": size, "copies": 1, "epochs": 1}


def bounds_of(row):
    """The updates at the last evaluation below the target, and at the first that reached it (inf where none did)."""
    if row["settings"].get("warmup"):
        raise r.Refused(f"{row['case_id']}: it has warm-up epochs, in which training does not end; measure with --warmup 0")
    name = row["settings"]["until"].split("=")[0]
    curve = row["loss"] if name == "loss" else row["metrics"].get("validation_" + name)
    if curve is None:
        raise r.Refused(f"{row['case_id']}: its target {row['settings']['until']} is no value of a metric; use one such as mrr=0.3")
    evaluated = [epoch + 1 for epoch, value in enumerate(curve) if value is not None]
    per_epoch, ended = row["iterations"], row["until_iterations"]
    if not row["until_reached"]:
        return ended, math.inf
    return (evaluated[-2] * per_epoch if len(evaluated) > 1 else 0), ended


def agree(rows):
    """Refuses rows that have no one answer."""
    measured = [row for row in rows if is_measured(row)]
    if not measured:
        raise r.Refused("no row has a target; measure updates with --until METRIC=VALUE at small sizes")
    for what, of in (("target", lambda row: row["settings"]["until"]), ("task", lambda row: json.dumps(row["task"], sort_keys=True))):
        some = r.in_order(of(row) for row in (measured if what == "target" else rows))
        if len(some) > 1:
            raise r.Refused(f"the rows have several {what}s, {some[0]} and {some[1]}; give runs of one {what}")
    known = r.in_order(law_of(row) for row in measured)
    for row in rows:
        if not is_measured(row) and law_of(row) not in known:
            raise r.Refused(f"{row['case_id']}: updates were measured for no row like it ({law_of(row)}); measured are "
                            f"{'; '.join(known)}")


def workload_of(row):
    return json.dumps(row["workload"], sort_keys=True)


def cell_of(row):
    """A text that is the same in rows that differ in their seed alone."""
    return json.dumps([row["workload"], row["strategy"], row["ranks"]], sort_keys=True)


def point_of_cell(group):
    """The middle of the points of rows of one cell: seeds of a generator differ a little in their cells."""
    points = [point_of(row) for row in group]
    return {key: math.exp(sum(math.log(point[key]) for point in points) / len(points)) for key in points[0]}


def cells_of(rows):
    """The rows by cell, in order of appearance."""
    found = {}
    for row in rows:
        found.setdefault(cell_of(row), []).append(row)
    return list(found.values())


class Fitted:
    """The law of one group of measured rows, with its draws; `left_out` are rows that the fit did not see."""

    def __init__(self, rows, leave_out, draws, random):
        graphs = sorted(r.in_order(map(workload_of, rows)),
                        key=lambda graph: np.mean([point_of(row)["size"] for row in rows if workload_of(row) == graph]))
        if leave_out >= len(graphs):
            raise r.Refused(f"{rows[0]['case_id']}: its law has {len(graphs)} sizes, so {leave_out} cannot be left out")
        kept = graphs[:len(graphs) - leave_out]
        self.rows = [row for row in rows if workload_of(row) in kept]
        self.left_out = [row for row in rows if workload_of(row) not in kept]
        self.name = f"{rows[0]['model']['name']}, {kind_of(rows[0])}"
        self.unit = "events" if kind_of(rows[0]) == "event_batch" else "cells"
        self.runs = runs_of(self.rows)
        if not np.isfinite(self.runs["high"]).any():
            raise r.Refused(f"{self.name}: no run reached the target; lower it, or train for more epochs")
        if len(set(self.runs["seed"])) < 2:
            raise r.Refused(f"{self.name}: updates were measured with one seed, which says nothing of their spread; take several, such "
                            "as --seed 1,2,3")
        self.law, self.tried = updates_law.best_fit(self.runs, FACTORS)
        self.draws = updates_law.draws_of(self.runs, FACTORS, self.tried, draws, random)

    def at(self, point):
        """log S of the law and of its draws at a point."""
        logs = {key: np.array([math.log(value)]) for key, value in point.items()}
        return float(self.law(logs)[0]), np.array([float(law(logs)[0]) for law in self.draws])

    def check(self, row):
        """Refuses a row whose size, copies or epochs at a time differ from the only value that was measured."""
        point = point_of(row)
        for name in FACTORS:
            only = math.exp(self.runs[name][0])
            if np.ptp(self.runs[name]) < updates_law.NARROW < abs(math.log(point[name] / only)):
                raise r.Refused(f"{row['case_id']}: {WORDS[name]} {point[name]:g}, but updates of {self.name} were measured at {only:g} "
                                "alone; measure them at several values")

    def beyond(self, point):
        """By factor, the decades by which a point lies outside what was measured."""
        logs = {key: math.log10(value) for key, value in point.items()}
        ends = {key: (self.runs[key].min() / math.log(10), self.runs[key].max() / math.log(10)) for key in logs}
        return {key: max(logs[key] - high, low - logs[key]) for key, (low, high) in ends.items()
                if max(logs[key] - high, low - logs[key]) > 1e-6}


def runs_of(rows):
    """Arrays for updates_law: bounds of log S, logarithms of the factors, and numbers of cells, graphs (groups) and seeds."""
    points, bounds = [point_of(row) for row in rows], [bounds_of(row) for row in rows]
    runs = {key: np.log([float(point[key]) for point in points]) for key in points[0]}
    runs["low"] = np.array([math.log(low) if low > 0 else -math.inf for low, _ in bounds])
    runs["high"] = np.array([math.log(high) for _, high in bounds])
    for name, of in (("cell", cell_of), ("group", workload_of)):
        numbers = {text: number for number, text in enumerate(r.in_order(map(of, rows)))}
        runs[name] = np.array([numbers[of(row)] for row in rows])
    runs["seed"] = np.array([row["seed"] for row in rows])
    return runs


def laws_of(rows, leave_out, draws, random):
    """{law: Fitted} of the measured rows."""
    groups = {}
    for row in rows:
        if is_measured(row):
            groups.setdefault(law_of(row), []).append(row)
    return {key: Fitted(group, leave_out, draws, random) for key, group in groups.items()}


def judged(fitted):
    """By cell that the fit left out: its point, the middle of its runs' log updates, the law's prediction, its interval, and the
    wider one in which a mean over as many seeds should lie."""
    random = np.random.default_rng(0)
    found = []
    for group in cells_of(fitted.left_out):
        point, runs = point_of_cell(group), runs_of(group)
        own = updates_law.fit(runs, (), False)
        middle, draws = fitted.at(point)
        noise = random.normal(size=len(draws)) * [law.deviation / math.sqrt(len(group)) for law in fitted.draws]
        found.append({"point": point, "measured": float(own.values[0]), "predicted": middle,
                      "law": np.quantile(draws, QUANTILES), "mean": np.quantile(draws + noise, QUANTILES),
                      "never": int(np.isinf(runs["high"]).sum()), "count": len(group)})
    return found


def seconds_of(row, count, random):
    """Seconds of one update, and `count` draws of a log-normal number with the prediction's 90 % band; without a band all are the
    same."""
    seconds = row["epoch_seconds"]["median"] / row["iterations"]
    band = row.get("epoch_seconds_band90")
    if not band:
        return seconds, np.full(count, seconds)
    low, high = (math.log(band[end] / row["iterations"]) for end in ("low", "high"))
    return seconds, np.exp(random.normal((low + high) / 2, (high - low) / 3.28971, count))


def name_of(row, rows):
    """The strategy in words, with what tells it apart among `rows`."""
    return p.way_of(row) if kind_of(row) == "event_batch" else r.label(row, "strategy", rows)


def products(rows, laws, draws, random):
    """By predicted row, soonest first: both factors, their product with draws, and the share of draws in which it is first."""
    full, found = [row for row in rows if not is_measured(row)], []
    for row in full:
        fitted, point = laws[law_of(row)], point_of(row)
        fitted.check(row)
        updates, drawn = fitted.at(point)
        seconds, times = seconds_of(row, draws, random)
        found.append({"row": row, "way": name_of(row, full), "fitted": fitted, "point": point, "seconds": seconds,
                      "times": np.quantile(times, QUANTILES), "banded": bool(row.get("epoch_seconds_band90")),
                      "updates": math.exp(updates), "updates_draws": np.exp(drawn), "total": seconds * math.exp(updates),
                      "total_draws": times * np.exp(drawn), "beyond": fitted.beyond(point)})
    if found:
        first = np.argmin(np.stack([one["total_draws"] for one in found]), axis=0)
        for number, one in enumerate(found):
            one["first"] = float(np.mean(first == number))
    return sorted(found, key=lambda one: one["total"])
