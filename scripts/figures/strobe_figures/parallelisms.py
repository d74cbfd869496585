"""The five ways of parallelising, and what rows say about how soon each is at a metric."""

import re
import statistics

from strobe_figures import looks
from strobe_figures import rows as r

KINDS = ("one rank", "snapshot", "vertex", "chunk", "hybrid batch", "node memory")
OF_KINDS = dict(zip(KINDS, ("sequential", "snapshot", "vertex", "chunk", "hybrid_batch", "event_batch")))  # have their looks
_STRATEGIES = {"sequential": "one rank", "snapshot": "snapshot", "snapshot_groups": "snapshot", "pss": "snapshot",
               "vertex": "vertex", "adt": "vertex", "chunk": "chunk"}


def kind_of(row):
    """Which of KINDS the row's strategy is."""
    name = row["strategy"]["name"]
    if name in _STRATEGIES:
        return _STRATEGIES[name]
    return "node memory" if name == "event_batch" else "hybrid batch"


def way_of(row):
    """The strategy in words: "snapshot", "memory k=4", "mini-batches i=8", "i=2 j=2 k=2", with the events of a rank's batch
    where rows have another than 200."""
    strategy = row["strategy"]
    if strategy["name"] != "event_batch":
        return strategy["name"]
    ways = {key: strategy.get(key, 0) for key in "ijk"}
    ways["k"] = ways["k"] or row["ranks"] // max(1, ways["i"]) // max(1, ways["j"])
    many = [key for key in "ijk" if ways[key] > 1] or ["k"]
    word = {"i": "mini-batches ", "j": "epochs ", "k": "memory "}[many[0]] if len(many) == 1 else ""
    batch = strategy.get("batch", 200)
    return word + " ".join(f"{key}={ways[key]}" for key in many) + ("" if batch == 200 else f", batch {batch}")


def model_of(row):
    """The model, and whether it has static memory, which is trained before."""
    static = row["model"].get("static", "none")
    return row["model"]["name"] + ("" if static == "none" else f", static={static}")


def styles_of(pairs):
    """{(kind, model): (colour, number of its mark)}: a kind's colour is that of its strategy in all figures."""
    styles = looks.styles_of(((OF_KINDS[kind], model) for kind, model in pairs), len(looks.MARKERS))
    return {(kind, model): styles[OF_KINDS[kind], model] for kind, model in pairs}


def cluster_of(row):
    """The cluster's name, with the rate between nodes where the case changes it. Other changes are not named."""
    name, _, changes = row["cluster"].partition(":")
    slow = re.search(r"inter_node_bytes_per_second=([^,]+)", changes)
    return name + (f", {8 * float(slow.group(1)) / 1e9:.3g} Gb/s" if slow else "")


def judged_in(rows, setting):
    """Rows of a setting that were asked for a metric."""
    return [row for row in rows if setting_of(row) == setting and row.get("until_reached") is not None]


def setting_of(row):
    """Where the row's time is from: this machine, or a simulated cluster."""
    return "measured here" if row["time_source"] == "wall" else f"predicted on {row['cluster']}"


def epochs_of(row):
    """Epochs that were trained, the mean over seeds."""
    count = statistics.fmean(len(one["loss"] or []) for one in r.pooled(row))
    return int(count) if count.is_integer() else count


def updates_of(row):
    """Updates until the metric, or epochs where the row does not count updates; the mean over seeds."""
    return row.get("until_iterations") or epochs_of(row)


def seconds_to_metric(row):
    """Seconds of training until the row's metric was reached, the geometric mean over seeds; None where it was not asked
    for or not reached under every seed. Measured epochs count by their median: the first of a process is slower, whatever
    the strategy."""
    if not row.get("until_reached"):
        return None
    if len(r.pooled(row)) > 1:
        return statistics.geometric_mean(map(seconds_to_metric, r.pooled(row)))
    if row["time_source"] == "wall":
        return epochs_of(row) * row["epoch_seconds"]["median"]
    return row["until_seconds"]


def last(row, metric):
    """The last value of a metric, the mean over seeds, whose trainings may be of unlike length; None where one has none."""
    ends = []
    for one in r.pooled(row):
        values = [value for value in one["metrics"].get(metric) or [] if value is not None]
        if not values:
            return None
        ends.append(values[-1])
    return sum(ends) / len(ends)


def first_of_each(rows, name_of):
    """The row of each name that reaches the metric first, soonest first. Names that never reach it are left out."""
    best = {}
    for row in rows:
        seconds = seconds_to_metric(row)
        name = name_of(row)
        if seconds is not None and (name not in best or seconds < seconds_to_metric(best[name])):
            best[name] = row
    return sorted(best.values(), key=seconds_to_metric)


def first_of_each_kind(rows):
    """The row of each of KINDS that reaches the metric first, soonest first."""
    return first_of_each(rows, kind_of)


def fastest_epochs(rows):
    """{(model, ranks): {kind: row with the shortest epoch}}."""
    table = {}
    for row in rows:
        kinds = table.setdefault((row["model"]["name"], row["ranks"]), {})
        kind = kind_of(row)
        median = row["epoch_seconds"]["median"]
        if kind not in kinds or median < kinds[kind]["epoch_seconds"]["median"]:
            kinds[kind] = row
    return table


def why(first, other):
    """Why `first` is at the metric before `other`: how many epochs each needs, how long one takes, and which phase
    makes most of the difference."""
    def count(row):
        updates = updates_of(row)
        return f"{updates:.6g} update{'' if updates == 1 else 's'} in {1e3 * seconds_to_metric(row):.3g} ms"

    ratio = seconds_to_metric(other) / seconds_to_metric(first)
    updates = [max(1, updates_of(row)) for row in (first, other)]
    per_update = [seconds_to_metric(row) / count for row, count in zip((first, other), updates)]
    times = [{phase: row["phase_seconds"][phase] * epochs_of(row) for phase in r.PHASES} for row in (first, other)]
    phase = max(r.PHASES, key=lambda name: times[1][name] - times[0][name])
    return (f"{way_of(other)} ({other['model']['name']}) takes {ratio:.3g} times as long: {count(other)} against "
            f"{count(first)}, so {updates[1] / updates[0]:.3g} times the updates, each {per_update[1] / per_update[0]:.3g} "
            f"times as long; most of the difference is {phase} time")
