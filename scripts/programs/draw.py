"""Draws random small cases of every schedule, as words of `strobe run`, from the entries of `strobe list`."""
import itertools
from dataclasses import dataclass

# Values of options whose defaults are too large for small cases, or that `strobe list` does not enumerate. An option of
# these kinds that is missing here keeps its default.
VALUES = {
    "hidden": [2, 4, 6], "output": [3, 6], "layers": [1, 2], "hops": [1, 2], "window": [1, 2, 3], "pairs": [1, 2],
    "edge_life": [1, 3], "gcn_layers": [1, 2], "structural_heads": [1, 2], "temporal_heads": [1, 2],
    "positions": [16, 64], "gate_bias": [0, 1], "dropout": [0.2], "structural_dropout": [0.2],
    "temporal_dropout": [0.2], "memory": [4, 8], "time": [4, 6], "neighbours": [1, 3], "heads": [1, 2],
    "static_epochs": [1, 3],
    "partitioner": ["hash", "hypergraph", "load_aware", "load_aware_snake", "metis", "range"],
    "stale_theta": [0, 0.3, 0.9], "sent_share": [0.5, 1], "group_size": [1, 2], "max_cells": ["auto", "8", "4/rank"],
    "rounds": [1, 5], "levels": [1, 2], "fusion_gib": [0.00002, 0.0002], "rates": ["p4d-a100"],
    "vertices": ["50%", "7"], "snapshots": ["50%", "2"], "groups": [1, 3], "interval": ["1", "3"],
    "vertex_sizes": ["20%/60%"], "snapshot_sizes": ["30%/60%"], "evaluate_every": [1, 2], "reservoir_gib": [0.0001],
    "exploration_decay": [0.5], "least_exploration": [0.3], "learning_rate": [0.05],
    "batch": [25, 60, 100], "learning_rate_batch": [50], "evaluate_batches": [0, 2],
    "i": [1, 2], "j": [1, 2], "k": [1, 2], "prefetch": [1, 2], "nodes": [1, 2],
    "theta": [0.3], "ranking_negatives": [5, 20], "ranked": [10, 100], "split": ["60/20/20"], "candidates": ["9", "all"],
    "negative_groups": [2], "training_negatives": [2], "kept_out": [0.2], "train_share": [0.5], "held_out": [0.2],
    "class_weights": ["none"], "classes": [2, 3],
    "rate": [0.02], "beta1": [0.8], "momentum": [0.9], "weight_decay": [0.01],
}
# When time is measured, only these values of these options give reproducible numbers: the others depend on when a
# thread gets its turn.
MEASURED = {"generator": ["inline"], "averaging": ["sync"], "adjuster": ["none"], "pipeline": [False]}
# Options of tasks that need properties that few workloads have.
TASK_FIXED = {"classes": None, "target": None}
WIDE = {"memory", "time", "neighbours", "max_cells", "vertices", "batch", "static_epochs", "positions"}

# Workloads, and the tasks that they have samples of.
_LINKS, _EVENT_LINKS = ["link-prediction", "vertex-regression"], ["link-prediction", "vertex-regression", "future-links"]
WORKLOADS = {
    "snapshots": {
        "uniform:steps=6,vertices=40,density=3": _LINKS, "power-law:steps=7,vertices=60,edges=200": _LINKS,
        "dynamic-sbm:steps=6,vertices=50,communities=3": [*_LINKS, "vertex-classification:classes=3"],
        "nonuniform:steps=8,vertices=50,edges_mean=60,edges_variance=200,length_mean=4,length_variance=2": _LINKS,
        "amlsim-like:steps=8,vertices=60": [*_LINKS, "vertex-classification"],
        "extended_static:steps=5,vertices=60,edges=200,features=12,words=4,classes=3":
            [*_LINKS, "vertex-classification:classes=3"],
        "growing:steps=6,vertices=50,edges=200,first=0.5": _LINKS,
        "small.csv:window=100": _EVENT_LINKS, "small.csv:window_count=6,edge_life=2": _LINKS,
        "ucsocial:window=30d": _LINKS, "ucsocial:window_count=6,orientation=both": _LINKS,
    },
    "events": {
        "bursty_events:vertices=40,events=400": ["future-links"], "small.csv": ["future-links"],
        "bursty_events:vertices=50,events=500,sides=1,edge_features=3": ["future-links"],
        "bursty_events:vertices=40,events=400,vertex_features=4,labels=0.3": ["future-links", "event-classification"],
        "bursty_events:vertices=40,events=400,classes=4,edge_features=2": ["event-classification"],
        "bursty_events:like=wikipedia,vertices=60,events=500": ["future-links"],
        "planted:vertices=60,events=500,communities=4": ["future-links"],
    },
}
# Options that are refused without another one.
NEEDS = {"nesterov": "momentum", "gate_bias": "conv", "stale_theta": "stale", "stale_sign": "stale",
         "stale_gradient": "stale", "distances": "stale", "sent_share": "stale", "interval": "averaging",
         "static_epochs": "static"}
PLANNED = {"snapshots": {"--dump-placement": "placement.csv"}, "events": {"--dump-schedule": "schedule.csv"}}
CLUSTERS = ["aimos-v100", "dynahb-2080ti", "dynahb-a6000", "g4dn-t4", "p3dn-v100", "p4d-a100", "p5-h100", "p5en-h200"]
SHARES = {"full_batch": 0.45, "hybrid_batches": 0.25, "event_batches": 0.3}  # of the cases

SMALL_CSV = "source,target,time\n" + "".join(f"{i * i % 37},{40 + i * 7 % 19},{i}\n" for i in range(600))


@dataclass
class Case:
    """Words after `strobe run`, and which files this kind of case can write."""
    words: list
    schedule: str
    virtual: bool  # whether times are simulated
    planned: dict  # flags of files that a dry run writes too
    trained: dict  # flags of files that need values
    resumed: bool  # whether training goes on from the checkpoint for one more epoch


class Drawer:
    """Goes round the pairs of model and strategy of each schedule in random order, and draws everything else."""

    def __init__(self, rng, listed):
        self.rng = rng
        self.options = {kind: {entry["name"]: entry["parameters"] for entry in listed[kind]} for kind in listed}
        self.pairs = {}
        for schedule in SHARES:
            family = "events" if schedule == "event_batches" else "snapshots"
            strategies = [entry["name"] for entry in listed["strategies"] if entry["schedule"] == schedule]
            strategies += ["sequential"] if family == "events" else []
            models = [entry["name"] for entry in listed["models"] if entry["family"] == family]
            pairs = list(itertools.product(models, strategies))
            rng.shuffle(pairs)
            self.pairs[schedule] = itertools.cycle(pairs)

    def draw(self):
        rng = self.rng
        schedule = rng.choices(list(SHARES), SHARES.values())[0]
        model, strategy = next(self.pairs[schedule])
        family = "events" if schedule == "event_batches" else "snapshots"
        device = rng.choice(["cpu", "cpu", "sim"])
        values = device == "cpu" or rng.random() < 0.6
        workload, tasks = rng.choice(list(WORKLOADS[family].items()))
        task, _, fixed = rng.choice(tasks).partition(":")
        ranks = 1 if strategy == "sequential" else rng.choice([1, 2, 2, 3, 4, 4] if values else [2, 4, 8, 16])
        words = ["--workload", workload,
                 "--model", self._plugin("models", model, 0.25),
                 "--strategy", self._strategy(schedule, strategy, device, ranks),
                 "--task", self._plugin("tasks", task, 0.1, dict([fixed.split("=")]) if fixed else TASK_FIXED),
                 "--optimizer", self._plugin("optimizers", rng.choice(list(self.options["optimizers"])), 0.15),
                 "--ranks", str(ranks), "--seed", str(rng.randint(1, 9)), "--device", device, "--epochs", "2"]
        settings = self._settings(schedule, strategy, device, values)
        words += [word for key, value in settings.items() for word in ("--" + key, str(value))]
        trained = _trained(family, model, task, settings["repeat"]) if values else {}
        resumed = "--checkpoint" in trained and rng.random() < 0.25
        return Case(words, schedule, device == "sim", PLANNED[family], trained, resumed)

    def _plugin(self, kind, name, share, fixed=None):
        """NAME:key=value,...: each option gets a random value with this probability. Options for sizes get small
        ones."""
        chosen = {}
        for option in self.options[kind][name]:
            key = option["name"]
            drawn = self.rng.random() < share
            if fixed is not None and key in fixed:
                if fixed[key] is not None:
                    chosen[key] = fixed[key]
            elif drawn and option["type"] == "choice":
                chosen[key] = self.rng.choice(option["choices"])
            elif key in VALUES and (drawn or key in WIDE):
                chosen[key] = self.rng.choice(VALUES[key])
            elif drawn and option["type"] == "boolean":
                chosen[key] = not option["default"]
        for needed, option in NEEDS.items():
            if option not in chosen:
                chosen.pop(needed, None)
        settings = ",".join(f"{key}={_text(value)}" for key, value in chosen.items())
        return name + (":" + settings if settings else "")

    def _strategy(self, schedule, name, device, ranks):
        fixed = {}
        if device != "sim":
            fixed.update((key, self.rng.choice(values)) for key, values in MEASURED.items())
        if schedule == "event_batches":
            fixed.update(self._ways(ranks))
        elif name == "sequential":
            fixed.update(dict.fromkeys(["batch", "memory_on", "learning_rate_scaling", "learning_rate_batch",
                                        "evaluate_every", "evaluate_batches"]))
        return self._plugin("strategies", name, 0.15, fixed)

    def _ways(self, ranks):
        """How event batches divide the ranks: i * j * k of them."""
        ways = [(i, j, k) for i, j, k in itertools.product((1, 2, 3, 4, 8, 16), repeat=3) if i * j * k == ranks]
        return dict(zip("ijk", self.rng.choice(ways)))

    def _settings(self, schedule, strategy, device, values):
        rng = self.rng
        drawn = {"precision": rng.choice(["fp32", "fp32", "fp64"]), "threads": rng.choice([1, 1, 2]),
                 "warmup": rng.choice([0, 1, 1]), "repeat": rng.choice([1, 1, 1, 2])}
        if device == "sim":
            drawn.update(cluster=rng.choice(CLUSTERS), numerics="cpu" if values else "none")
            if rng.random() < 0.2:
                drawn["software"] = "pytorch-eager"
        if schedule == "full_batch":
            choices = {"nb": ["1", "2", "3"], "overlap": [1, 2], "inputs": ["streamed", "resident"],
                       "transfer": ["direct", "full", "difference", "changed", "least"],
                       "transfer-format": ["csr32", "coo64"], "rerun-last": ["true", "false"],
                       "presence": ["all", "seen", "lifetime", "active"]}
            drawn.update((key, rng.choice(of)) for key, of in choices.items() if rng.random() < 0.25)
            if strategy not in ("sequential", "snapshot") or "presence" in drawn:
                drawn.pop("transfer", None)
        elif rng.random() < 0.2:
            drawn["host-threads"] = 2
        return drawn


def _trained(family, model, task, repeat):
    """The files that this kind of case can write."""
    files = {"--dump-embeddings": "e.npy", "--save-model": "w.safetensors"}
    if task != "event-classification":
        files["--dump-samples"] = "samples.csv"
    if repeat == 1:
        files["--checkpoint"] = "c.safetensors"
    if family == "events" and model != "tgat":
        files["--dump-memory"] = "memory.safetensors"
    if family == "events" and task == "future-links":
        files["--dump-ranks"] = "ranks.csv"
    return files


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
