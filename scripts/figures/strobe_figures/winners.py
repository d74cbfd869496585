"""Which parallelism is first, by how much and how surely: one question for each graph, place and number of GPUs.

A question's rows have one target and one task. With a target, times to it are compared; each parallelism enters with its
soonest case, whatever its model. Without one, epochs are compared, of one model and equal work. A prediction is as sure as
the share of its draws in which it is first; draws compare only where rows were predicted in the same ones. A measurement
is as sure as the share of its seeds in which it is first, with an interval over seeds."""

import json
import math
import statistics

from strobe_figures import parallelisms as p
from strobe_figures import rows as r
from strobe_figures.means import interval

KINDS = tuple(kind for kind in p.KINDS if kind != "one rank")
STEPS = ("window", "window_events", "window_count", "partial", "cumulative", "stride", "lags", "edge_life", "min_edges", "weights",
         "orientation", "features", "feature_scale")  # how models read a graph; models of events and of snapshots read one differently
SURE = 2 / 3  # a smaller share of draws or seeds decides nothing


def graph_of(row):
    """The graph's name, with the parameters of a generated one."""
    own = {key: value for key, value in r.parameters(row, "workload").items() if key not in STEPS}
    return r.name_of(row, "workload"), json.dumps(own, sort_keys=True)


def place_of(row):
    return "here" if row["time_source"] == "wall" else row["cluster"]


def until_of(row):
    return row["settings"].get("until") or ""


def seconds_of(row):
    """Seconds that a row is judged by, the geometric mean over seeds; None where it is not at its target."""
    if until_of(row):
        return p.seconds_to_metric(row)
    return statistics.geometric_mean(one["epoch_seconds"]["median"] for one in r.pooled(row))


def drawn_seconds(row):
    """(name of the drawn clusters, the same seconds in each), or None without draws."""
    key = "until_seconds" if until_of(row) else "epoch_seconds"
    draws = [one.get("time_draws") for one in r.pooled(row)]
    if any(one is None or one.get(key) is None for one in draws) or len({one["of"] for one in draws}) > 1:
        return None
    return draws[0]["of"], [statistics.geometric_mean(seconds) for seconds in zip(*(one[key] for one in draws))]


def seconds_by_seed(row):
    return {one.get("seed"): seconds_of(one) for one in r.pooled(row)}


def times_first(lists):
    """By list, in how many places it has the least number; ties share a place equally."""
    first = [0.0] * len(lists)
    for numbers in zip(*lists):
        least = [at for at, number in enumerate(numbers) if number == min(numbers)]
        for at in least:
            first[at] += 1 / len(least)
    return first


class Contender:
    """The case with which a parallelism enters a question."""

    def __init__(self, row):
        self.row, self.kind, self.seconds = row, p.kind_of(row), seconds_of(row)
        self.first = None  # draws or seeds in which it is first; None: not known

    def name(self):
        own = p.way_of(self.row)
        return f"{self.kind} ({own + ', ' if own != self.kind else ''}{p.model_of(self.row)})"


class Question:
    """The rows of one graph, place, number of GPUs and target."""

    def __init__(self, rows):
        self.rows, row = rows, rows[0]
        self.graph, self.parameters, self.place = *graph_of(row), place_of(row)
        self.ranks, self.until = row["ranks"], until_of(row)
        self.model = "" if self.until else p.model_of(row)
        self.measured = row["time_source"] == "wall"
        soonest = {}
        for one in rows:
            kind, seconds = p.kind_of(one), seconds_of(one)
            if kind in KINDS and seconds is not None and (kind not in soonest or seconds < seconds_of(soonest[kind])):
                soonest[kind] = one
        self.contenders = sorted((Contender(one) for one in soonest.values()), key=lambda one: one.seconds)
        asked = {p.kind_of(one) for one in rows}
        self.never = [kind for kind in KINDS if kind in asked and kind not in soonest]
        self.missing = [kind for kind in KINDS if kind not in asked]
        self.of, self.unit = 0, ""  # how many draws or seeds there are
        self.ratio = None  # (how many times as long the next one takes, half of the 95 % interval of the logarithm)
        if len(self.contenders) > 1:
            self._judge()

    def _judge(self):
        first, second = self.contenders[:2]
        self.ratio = (second.seconds / first.seconds, math.nan)
        if self.measured:
            self._judge_seeds(first, second)
            return
        draws = [drawn_seconds(one.row) for one in self.contenders]
        if None in draws or len({(of, len(seconds)) for of, seconds in draws}) > 1:
            return
        self._count([seconds for _, seconds in draws], "draw")

    def _judge_seeds(self, first, second):
        by_seed = [seconds_by_seed(one.row) for one in self.contenders]
        seeds = [seed for seed in by_seed[0] if all(seed in one for one in by_seed)]
        if len(seeds) < 2:
            return
        self._count([[one[seed] for seed in seeds] for one in by_seed], "seed")
        one, other = seconds_by_seed(first.row), seconds_by_seed(second.row)
        mean, half = interval([math.log(other[seed] / one[seed]) for seed in seeds])
        self.ratio = (math.exp(mean), half)

    def _count(self, lists, unit):
        self.of, self.unit = len(lists[0]), unit
        for one, count in zip(self.contenders, times_first(lists)):
            one.first = count

    def tied(self):
        return len(self.contenders) > 1 and self.contenders[0].seconds == self.contenders[1].seconds

    def decided(self):
        """Whether one is first in enough draws or seeds, and of seeds by more than their interval; None where nothing says how
        sure it is."""
        first, (ratio, half) = self.contenders[0].first, self.ratio
        if first is None:
            return None
        apart = math.isnan(half) or math.log(ratio) > half
        return not self.tied() and apart and first >= SURE * self.of

    def where(self):
        what, place = ("rank", "the measuring machine") if self.measured else ("GPU", self.place)
        return f"{self.ranks} {what}{'s' if self.ranks != 1 else ''} of {place}"


def refuse_unlike(rows):
    """Raises Refused where rows of one graph, place and number of GPUs have other targets or tasks."""
    known = {}
    for row in rows:
        if not until_of(row):
            continue
        key = (*graph_of(row), place_of(row), row["ranks"])
        work = (until_of(row), json.dumps(row.get("task"), sort_keys=True))
        other, other_row = known.setdefault(key, (work, row))
        if other != work:
            what = "targets" if other[0] != work[0] else "tasks"
            texts = [one[0 if what == "targets" else 1] for one in (other, work)]
            raise r.Refused(f"{row['case_id']} and {other_row['case_id']} have other {what}, {texts[1]} and {texts[0]}, so their "
                            f"times do not compare; name runs of one of them")


def key_of(row):
    key = (*graph_of(row), place_of(row), row["ranks"], until_of(row))
    if until_of(row):
        return key
    work = row.get("epoch_work") or {}
    return key + (json.dumps(row["model"], sort_keys=True), json.dumps(row.get("task"), sort_keys=True),
                  tuple(work.get(unit) for unit in ("cells", "edges", "events")))


def questions_of(rows):
    """The questions that two parallelisms at least answer, in the order of the rows. Seeds are pooled. Raises Refused for
    rows of unlike work, and where no question is left."""
    refuse_unlike(rows)
    groups = {}
    for row in r.over_seeds(rows):
        groups.setdefault(key_of(row), []).append(row)
    questions = [question for question in map(Question, groups.values()) if len(question.contenders) > 1]
    if not questions:
        raise r.Refused("no two parallelisms have a time on the same graph, place and number of GPUs, so there is nothing to guide by")
    return questions
