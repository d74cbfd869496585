"""Keywords of the package. Written by scripts/python_fields: change the program's texts instead."""
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Annotated, Any, Literal, TypeAlias, TypedDict

Part: TypeAlias = str | Mapping[str, Any]
Text: TypeAlias = str | PathLike[str]


class CaseKeywords(TypedDict, total=False):
    """Keywords that describe a case. Each value of a list is tried."""

    workload: Annotated[Any, "data set, generator (NAME:key=value,...) or file"]
    model: Annotated[Literal["captured", "cd-gcn", "dcrnn", "dysat", "evolve-gcn-h", "evolve-gcn-o", "jodie", "mpnn-lstm", "t-gcn", "tgat", "tgn-attn", "tm-gcn"] | Part | Sequence[Literal["captured", "cd-gcn", "dcrnn", "dysat", "evolve-gcn-h", "evolve-gcn-o", "jodie", "mpnn-lstm", "t-gcn", "tgat", "tgn-attn", "tm-gcn"] | Part], "name, or NAME:key=value,...; see `strobe list` (default tm-gcn)"]
    strategy: Annotated[Literal["adt", "bvr", "chunk", "dbos", "dbov", "dynagraph", "dynahb", "event_batch", "external", "file", "hybrid_batch", "pss", "pyd", "sequential", "snapshot", "snapshot_groups", "vertex"] | Part | Sequence[Literal["adt", "bvr", "chunk", "dbos", "dbov", "dynagraph", "dynahb", "event_batch", "external", "file", "hybrid_batch", "pss", "pyd", "sequential", "snapshot", "snapshot_groups", "vertex"] | Part], "name, or NAME:key=value,...; see `strobe list` (default sequential)"]
    task: Annotated[Literal["event-classification", "future-links", "link-prediction", "vertex-classification", "vertex-regression"] | Part | Sequence[Literal["event-classification", "future-links", "link-prediction", "vertex-classification", "vertex-regression"] | Part], "name, or NAME:key=value,...; see `strobe list` (default link-prediction)"]
    optimizer: Annotated[Literal["adam", "adamw", "sgd"] | Part | Sequence[Literal["adam", "adamw", "sgd"] | Part], "name, or NAME:key=value,...; see `strobe list` (default adam)"]
    software: Annotated[Text | Sequence[Text], "device sim only: whose program is predicted: strobe, a profile from `strobe list software` such as pytorch-eager, or a JSON file; pytorch-eager:without=coo+messages leaves terms out (default \"strobe\")"]
    precision: Annotated[Literal["fp32", "fp64"] | Sequence[Literal["fp32", "fp64"]], "floating-point type of tensors (default \"fp32\")"]
    seed: Annotated[int | Sequence[int], "seed of parameters, samples and generators (default 1)"]
    epochs: Annotated[int | Sequence[int], "measured epochs (default 5)"]
    warmup: Annotated[int | Sequence[int], "epochs trained before the measured ones (default 1)"]
    repeat: Annotated[int | Sequence[int], "whole runs from fresh parameters (default 1)"]
    presence: Annotated[Literal["all", "seen", "lifetime", "active"] | Sequence[Literal["all", "seen", "lifetime", "active"]], "models of snapshots only: which vertices a step has; others have no row, no part in statistics and no samples; a model forgets a vertex that is missing at a step. seen = from its first edge on; lifetime = from its first edge to its last; active = at steps at which it has an edge (default \"all\")"]
    load_model: Annotated[Text | Sequence[Text], "safetensors file to start from; empty = seeded initial weights"]
    host_memory_limit_gib: Annotated[float | Sequence[float], "memory of all processes of a node together; the graph stays in a file, and blocks are read ahead of use; 0 = none [GiB] (default 0.0)"]
    until: Annotated[Text | Sequence[Text], "when training ends before its last epoch: converged, converged:metric=loss,patience=10, or a metric of the validation samples and its value, such as auc=0.8 or rmse=0.5, or a share of the way from the best rule to the best known, such as mrr=50% or mrr=50%,best=0.9; empty = never"]
    device: Annotated[Literal["cpu", "cuda", "cuda-graphs", "sim"] | Sequence[Literal["cpu", "cuda", "cuda-graphs", "sim"]], "where operations run: cpu, cuda, cuda-graphs or sim (default \"cpu\")"]
    comm: Annotated[Literal["local", "mpi", "nccl", "sim"] | Sequence[Literal["local", "mpi", "nccl", "sim"]], "how ranks talk: local (threads), mpi, nccl; sim belongs to device sim (default \"local\")"]
    cluster: Annotated[Text | Sequence[Text], "simulated cluster: a name from `strobe list clusters` or a JSON file; for device sim empty = aimos-v100"]
    numerics: Annotated[Literal["none", "cpu"] | Sequence[Literal["none", "cpu"]], "device sim: none = no values (its default), or cpu (default \"cpu\")"]
    ranks: Annotated[int | Sequence[int], "number of ranks (default 1)"]
    threads: Annotated[int | Sequence[int], "kernel threads; 0 = the rank's share of usable cores (default 0)"]
    host_threads: Annotated[int | Sequence[int], "mini-batches only: threads that share each piece of a rank's host work (default 1)"]
    kernels: Annotated[Text | Sequence[Text], "kernel variant, see `strobe list kernels`; empty = the best of each"]
    timeout: Annotated[float | Sequence[float], "time that a collective may wait for missing ranks [s] (default 60.0)"]
    draws: Annotated[int | Sequence[int], "device sim only: also predict each epoch in this many draws of the cluster's uncertain constants, so that rows say in how many of them a case is first; all cases of a cluster have the same draws (default 0)"]
    inputs: Annotated[Literal["streamed", "resident"] | Sequence[Literal["streamed", "resident"]], "full batches only: move inputs to the device each epoch, or once (default \"streamed\")"]
    transfer: Annotated[Literal["direct", "full", "difference", "changed", "least"] | Sequence[Literal["direct", "full", "difference", "changed", "least"]], "full batches only: how snapshots reach the device: direct = a rank's part of a block in one piece, in the form it is used in; full = one by one, whole; difference = against the snapshot before, with all values (ESDG); changed = with changed values only; least = whichever of these has the fewest bytes (default \"direct\")"]
    transfer_format: Annotated[Literal["coo64", "csr32"] | Sequence[Literal["coo64", "csr32"]], "full batches only: indices of moved snapshots: coo64 = rows and columns of 8 bytes, as ESDG's 20 bytes a non-zero; csr32 = 4 bytes (default \"csr32\")"]
    nb: Annotated[Text | int | Sequence[Text | int], "full batches only: blocks of the timeline under gradient checkpoint: 1 = all steps at once, or auto = as few as fit memory_limit_gib and host_memory_limit_gib, or a simulated GPU (default \"1\")"]
    overlap: Annotated[int | Sequence[int], "full batches only: slices of a rank's steps of a block: the redistribution of one is under way while the spatial stages of others are computed; 1 = one after the other (default 1)"]
    rerun_last: Annotated[bool | Sequence[bool], "full batches only: with blocks, compute the last one again before its backward pass, as ESDG counts it (default true)"]
    memory_limit_gib: Annotated[float | Sequence[float], "memory per rank; 0 = the device's own [GiB] (default 0.0)"]


class RunOptions(TypedDict, total=False):
    """Options of `strobe run`."""

    strict: Annotated[bool, "refuse the whole request when a combination cannot be run, instead of giving it a row `skipped`"]
    tune: Annotated[int, "first try N settings of the model and the optimizer for each family of cases, drawn at random, and run the cases with the best by a validation metric: 20, or 20:metric=auc"]
    filter: Annotated[Text, "keep the cases whose id matches this expression; -EXPR drops them"]
    rounds: Annotated[int, "rounds: each measures every case once, in a new process; intervals then show how much processes differ (default 1: all in this process)"]
    until_interval: Annotated[Text | float, "measure rounds, at least 5, until the 99 % interval of every ratio to the fastest case reaches at most this share to either side, such as 3%"]
    launch: Annotated[Text, "with --rounds: words before each process, such as \"mpirun -n {ranks}\" for cases of several processes"]
    time_limit: Annotated[Text | float, "wall time that a case may train, such as 90s, 15min or 2h: no epoch begins after it, the row has status timeout and its finished epochs, and the next case begins (default: none)"]
    planned_memory: Annotated[bool, "also plan the memory of every rank by part, for its row or its dry run; takes as long as simulating two epochs, or with batches of events one for each rank"]
    trace: Annotated[bool, "write trace/CASE.json, to be opened in Perfetto"]
    save_model: Annotated[Text, "write the trained weights of the one case to this safetensors file"]
    dump_embeddings: Annotated[Text, "write the embeddings that the trained weights of the one case give to this .npy file: [steps, vertices, features], or of models of events [events, 3, features] for source, destination and a negative"]
    dump_memory: Annotated[Text, "models of events: write node memory, last update, mails, their time and event, as the last evaluation leaves them, to this safetensors file"]
    dump_placement: Annotated[Text, "write who owns which cell under the strategy of the one case to this .csv file (step, vertex, rank, temporal_rank), in a dry run too"]
    dump_ranks: Annotated[Text, "models of events: write the rank of each judged event's destination among its candidates, under the trained weights of the one case, to this .csv file (event, part, source, destination, candidates, rank, then ids and names of both)"]
    dump_samples: Annotated[Text, "write the samples that the task of the one case drew, positives and negatives, to this .csv file"]
    dump_schedule: Annotated[Text, "models of events: write which rank trains on which events in which iteration, and when memory is read and written, to this .csv file (iteration, trainer, copy, sweep, first_event, last_event, negatives, operation), in a dry run too"]
    dump_scores: Annotated[Text, "task future-links: write the scores of the judged events and of their candidates under the trained weights of the one case to this .npz file, as the evaluator of package py-tgb reads them (y_pred_pos, y_pred_neg; those of validation events begin with validation_)"]
    checkpoint: Annotated[Text, "keep the training state of the one case in this safetensors file: weights and optimiser state"]
    checkpoint_every: Annotated[int, "epochs from one checkpoint to the next (default: after the last)"]
    checkpoint_on_signal: Annotated[bool, "a signal (INT, TERM, HUP, USR1, USR2, XCPU) lets the current epoch end and then writes the file of --checkpoint; a second signal ends the run at once (default: yes)"]
    resume_training: Annotated[bool, "continue training from the file of --checkpoint"]


class PlanOptions(TypedDict, total=False):
    """Options of `strobe plan`."""

    model: Annotated[Any, "name, or NAME:key=value,...; see `strobe list` (default tm-gcn); several, separated by commas, are searched together"]
    task: Annotated[Part, "name, or NAME:key=value,...; see `strobe list` (default link-prediction)"]
    optimizer: Annotated[Part, "name, or NAME:key=value,...; see `strobe list` (default adam)"]
    set: Annotated[Mapping[str, Any], "key.path=value for every point, such as model.hidden=16"]
    precision: Annotated[Literal["fp32", "fp64"], "fp32 | fp64 (default fp32)"]
    seed: Annotated[int, "seed of generators, samples and partitioners (default 1)"]
    draws: Annotated[int, "predict in N draws of uncertain constants too"]
    strategy: Annotated[Any, "strategies to try: names, or NAME:key=value,... (default all)"]
    clusters: Annotated[Any, "clusters to try: names or files, or NAME:key=value,... with what-ifs (default all)"]
    nodes: Annotated[Any, "node counts to try, such as 1,2,4 (default: powers of two up to each cluster's size)"]
    gpus: Annotated[Any, "numbers of GPUs instead of nodes, such as 8,16,32 or 8..128; prints a table of the best strategy of each"]
    vary: Annotated[Mapping[str, Any], "key.path=a,b,...: try these values, such as nb=1,4 or model.window=3..5"]
    exhaustive: Annotated[bool, "simulate every combination of inputs, transfer and overlap, even if it cannot be faster or cheaper than others"]
    max_missing: Annotated[float, "models of events: share of the mails that may never reach the memory (default 0.75)"]
    max_missing_hubs: Annotated[float, "the same share for the 1 % of vertices with the most mails (default: no limit)"]
    epochs: Annotated[int, "epochs of a job, with --until at most (default 100)"]
    until: Annotated[Text, "a job ends when a metric of the validation samples reaches a value, such as mrr=0.3; training is simulated with values, so that kinds of training with different epochs compare"]
    start_up: Annotated[Text | float, "time before the first epoch, part of time and cost (default: reading, as rates predict)"]
    billing_unit: Annotated[Text | float, "nodes are paid for in whole units of this time, such as 1h (default: as long as the job lasts)"]
    deadline: Annotated[Text | float, "the job must be done within this time, such as 2h"]
    budget: Annotated[Text, "the most that the job may cost, such as 500usd; a bare number is in the clusters' currency; the table shows how many epochs it pays for"]
    goal: Annotated[Text, "what to minimise: time | dollars | memory | time-to-metric (default: dollars with a deadline, time-to-metric with --until, else time)"]
    top: Annotated[int, "points that others beat, to show after the front (default 10); with --gpus the front is shown only if this is given"]
    explain: Annotated[Text, "say why this point is kept or left out, and which point is better; name its id, or a part that only this id has"]
    threads: Annotated[int, "points simulated at a time (default 0: all cores)"]
    figure: Annotated[Text, "draw the front and the scaling as this .png or .svg (writes both)"]
    pledge: Annotated[Text, "write the predictions of all points into this new file, with date and SHA-256, before anybody measures; strobe validate --pledge judges it"]


class InspectOptions(TypedDict, total=False):
    """Options of `strobe inspect`."""

    format: Annotated[Text, "file format; empty = detect from the content"]
    columns: Annotated[Text, "csv, table: what its columns are called, such as source:from/target:to/time:when (weight and step in the same way), or their numbers; empty = source, target, time or step, weight; other columns are not read"]
    window: Annotated[Text | float, "duration of a step, such as 30d, 1h or 1month (a number of steps when the file counts steps); 1d:origin=midnight says where the first one begins: first (event), midnight, monday, epoch or a date"]
    window_events: Annotated[int, "events in a step; 0 = not by events (default 0)"]
    window_count: Annotated[int, "number of equal time slices; 0 = not by count (default 0)"]
    partial: Annotated[Literal["keep", "drop"], "what becomes of a last window that the data does not fill (default \"keep\")"]
    weights: Annotated[Literal["count", "binary", "file"], "value of an edge: its events in the step (files of steps: the file's value), 1, or the sum of their weights in the file (default \"count\")"]
    orientation: Annotated[Literal["in", "out", "both"], "in: a vertex reads the sources of its incoming edges; out: the reverse; both: both (default \"in\")"]
    ids: Annotated[Literal["auto", "shared", "offset"], "equal source and target ids: one vertex (shared), two (offset), or as the format says (auto) (default \"auto\")"]
    features: Annotated[Text, "empty: in- and out-degree of the step (files of steps: their values); own: the file's vertex features; else a .npy file [N, F] or [T, N, F]"]
    labels: Annotated[Literal["auto", "before", "within"], "step of a label with a time: the one that holds it (within), the last one that ends by then (before), or as the format says (auto) (default \"auto\")"]
    cumulative: Annotated[bool, "a step holds all events so far (default false)"]
    stride: Annotated[Text | float, "windows begin this far apart and overlap: a duration, or a number of steps or events"]
    lags: Annotated[int, "step i holds the windows i .. i + lags (default 0)"]
    edge_life: Annotated[int, "steps for which an edge stays; its values add (default 1)"]
    cache: Annotated[Literal["on", "off"], "on: text files above 1 MiB are kept in binary form and read from there the next time (default \"on\")"]
    missing: Annotated[float, "files of steps: the value that stands for what was not measured, such as 0; targets equal to it are left out, features stay as they are; empty = none"]
    min_edges: Annotated[int, "steps with fewer edges are dropped; 0 keeps all (default 0)"]
    steps: Annotated[Text, "A:B keeps of the steps that were made A to B - 1, counted from 0; empty = all"]
    outliers: Annotated[Literal["keep", "drop"], "what becomes of the few events whose times lie far from all others, such as times of 0 (default \"keep\")"]
    set: Annotated[Mapping[str, Any], "key=value: a parameter of the workload"]
    seed: Annotated[int, "seed of a generator (default 1)"]
    explain: Annotated[bool, "only explain how a file would be read: its format, what each column likely is and why, and the command to type"]
    shape: Annotated[Text, "write the workload's shape (statistics without the graph) to this file"]
    task: Annotated[Text, "also print what rules that learn nothing reach in this task of events, such as future-links:candidates=all"]
    presence: Annotated[Text, "also the number of cells and the lengths of vertices' sequences, for one or more of all,seen,lifetime,active"]
    captured_events: Annotated[Any, "also the share of the events that node memory misses with batches of these sizes, such as 300,600,1200"]
    csv: Annotated[Text, "write the captured events of each vertex to this file"]
    figure: Annotated[Text, "draw steps, overlap and distributions, or with --presence how edges of steps and lengths of sequences are distributed, as this .png or .svg (writes both)"]


class CalibrateOptions(TypedDict, total=False):
    """Options of `strobe calibrate`."""

    quick: Annotated[bool, "a smaller grid, in about a minute: the bundled calibrate-quick"]
    device: Annotated[Text, "device that the cases run on (default cpu)"]
    comm: Annotated[Text, "communicator of the cases (default local; mpi under mpirun)"]
    set: Annotated[Mapping[str, Any], "key.path=value for every case, such as epochs=3"]
    filter: Annotated[Text, "keep the cases whose id matches this expression; -EXPR drops them"]
    name: Annotated[Text, "name of the cluster (default this-machine)"]
    samples: Annotated[Text, "also keep the raw samples here, one JSON object a line, case by case as they are measured"]
    software: Annotated[Text, "measure an installed framework instead, and write a profile for --software (default pytorch-here.json): pytorch"]
    chunks: Annotated[bool, "instead, learn how long chunks of a model take, for strategy chunk with cost=mlp (docs/howto/learn_chunk_workloads.md)"]
    model: Annotated[Text, "with --chunks: the model, NAME or NAME:key=value,... (default t-gcn)"]
    precision: Annotated[Literal["fp32", "fp64"], "with --chunks: fp32 or fp64 (default fp32)"]
    cluster: Annotated[Text, "with --chunks and --device sim: the cluster that is simulated"]
    graph: Annotated[Any, "with --chunks: a workload to cut chunks from; several times for several"]
    sequence_length: Annotated[Literal["none", "mean", "longest", "both", "rounds"], "with --chunks: lengths of sequences that the predictor reads: none, mean, longest, both (mean and longest), or rounds (both, how many rounds walk the chunk, and their steps; the default)"]
    chunk_count: Annotated[int, "with --chunks: chunks to train on (default 50000, with --quick 5000); 1000 more are held out"]
    fewest_cells: Annotated[int, "with --chunks: cells of the smallest chunk (default 4)"]
    most_cells: Annotated[int, "with --chunks: cells of the largest chunk (default 16384)"]
    dump_chunks: Annotated[Text, "with --chunks: write the held-out chunks to this .csv file (workload, hidden, feature_copies, cells, edges, structure_seconds, time_seconds, predicted_seconds)"]


class ValidateOptions(TypedDict, total=False):
    """Options of `strobe validate`."""

    cluster: Annotated[Text, "cluster file of this machine, as strobe calibrate writes it"]
    measured: Annotated[Text, "judge earlier measurements and run nothing: all cases of a run directory or its summary.json, or the suite's cases in a validation.csv"]
    pledge: Annotated[Text, "with --measured: judge what strobe plan --pledge wrote into this file, and simulate nothing; --cluster chooses among its clusters"]
    published: Annotated[Text, "compare with a paper's printed figures instead: its name, or all; collectives compares with public measurements of collectives (needs no cluster file and no suite)"]
    programs: Annotated[Text, "measure and predict public PyTorch programs in turn: names with commas between them, or all"]
    software: Annotated[Text, "with --programs: the profile that predicts them (default pytorch-eager)"]
    terms: Annotated[bool, "with --published: also predict with each term of the paper's software left out in turn"]
    set: Annotated[Mapping[str, Any], "key.path=value for every case, such as epochs=3"]
    filter: Annotated[Text, "keep the cases whose id matches this expression; -EXPR drops them"]
    out: Annotated[Text, "folder of the report and of both runs' rows (default runs/validate-NAME-UTCTIME)"]
    figure: Annotated[Text, "draw predicted against measured as this .png or .svg (writes both)"]


class RunKeywords(CaseKeywords, RunOptions, total=False):
    """All keywords of `strobe.run`."""
