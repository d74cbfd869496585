"""Measures what PyTorch and PyTorch Geometric take on this machine and writes a software profile.

    python3 calibrate.py --out pytorch-here.json          what `strobe calibrate --software pytorch` runs

Numbers of the groups `cpu` and `host` are measured, and so are counts of calls. Those of `gpu` are the bundled
profile's, because nothing here runs on a GPU. The entries of a sparse product are those of PyTorch Geometric: a
convolution normalises its edges, gathers a row for each and adds it to its target. `measured` holds single pieces that
no term charges (pieces.py).
"""

import argparse
import datetime
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import torch
from torch_geometric.nn import GCNConv

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
import software_profile as parts  # noqa: E402
from pieces import all_pieces, collectives  # noqa: E402

VERTICES, EDGES, WIDTH, ROWS = 50_000, 400_000, 32, 20_000  # ROWS: of a snapshot whose recurrence is timed


def convolution(timer: parts.Timer) -> dict[str, tuple[float, str]]:
    """Per entry, forward and of the gradient: GCNConv over its edges less a product with the compressed matrix."""
    edges = torch.randint(0, VERTICES, (2, EDGES), generator=torch.Generator().manual_seed(1))
    layer = GCNConv(WIDTH, WIDTH)
    rows = torch.rand(VERTICES, WIDTH, requires_grad=True)
    matrix = torch.sparse_coo_tensor(edges.flip(0), torch.ones(EDGES), (VERTICES, VERTICES)).coalesce().to_sparse_csr()
    with torch.no_grad():
        compressed = timer.seconds(lambda: matrix @ rows)
        dense = timer.seconds(lambda: layer.lin(rows))
        forward = timer.seconds(lambda: layer(rows, edges))
    both = timer.seconds(lambda: layer(rows, edges).sum().backward())
    dense_both = timer.seconds(lambda: layer.lin(rows).sum().backward())
    backward = both - forward - (dense_both - dense)
    entries = EDGES + VERTICES
    said = f"GCNConv of width {WIDTH}, {VERTICES} vertices, {EDGES} edges and loops"
    return {
        "coo_seconds_per_entry": (max(0.0, forward - dense - compressed) / entries,
                                  f"{said}: {forward:.4f} s, its dense layer {dense:.4f}, compressed {compressed:.4f}"),
        "coo_backward_seconds_per_entry": (max(0.0, backward - compressed) / entries,
                                           f"{said}: gradient without its dense layer {backward:.4f} s, "
                                           f"compressed {compressed:.4f}"),
    }


def convolution_calls() -> dict[str, float]:
    """Operations of one GCNConv with its activation, and of its gradient."""
    edges = torch.randint(0, 1000, (2, 5000))
    layer, rows = GCNConv(WIDTH, WIDTH), torch.rand(1000, WIDTH, requires_grad=True)
    kept: list[torch.Tensor] = []
    ahead = parts.counted(lambda: kept.append(torch.relu(layer(rows, edges)))).calls
    behind = parts.counted(lambda: kept[0].sum().backward()).calls
    return {"graph_convolution": ahead, "step_graph_convolution": ahead, "spmm": max(1, ahead - 2),
            "graph_convolution_backward": behind, "step_graph_convolution_backward": behind,
            "spmm_transposed": max(1, behind - 3)}


def measured(rounds: int) -> tuple[dict[str, tuple[float, str]], dict[str, tuple[float, str]], dict[str, float]]:
    """Numbers of a processor, numbers of a host, and counts of calls."""
    timer = parts.Timer("cpu", rounds)
    cpu = {"issue_seconds": (parts.issue(timer), "1000 additions to 10 elements with gradients, in a row")}
    cpu.update(convolution(timer))
    counts = {}
    for key, number in parts.recurrences(timer, ROWS, WIDTH).items():
        if key.startswith("calls."):
            counts[key.removeprefix("calls.")] = number[0]
        elif key.endswith("seconds_per_byte"):
            cpu[key] = number
    cpu["message_seconds"] = parts.messages()
    cpu.update(collectives())
    cpu["saved_tensors_factor"] = parts.saved_tensors()
    message, byte = parts.serialisation()
    host = {"row_seconds": parts.host_rows(), "serialise_seconds_per_message": (message, "pickle of 64 bytes, one way"),
            "serialise_seconds_per_byte": (byte, "pickle of 16 MB, one way")}
    return cpu, host, {**counts, **convolution_calls()}


def profile_of(base: dict[str, Any], name: str, rounds: int) -> dict[str, Any]:
    """The base profile with everything that was measured in its place."""
    cpu, host, counts = measured(rounds)
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    model = next((line.split(": ")[1] for line in lines if line.startswith("model name")), platform.machine())
    machine = (f"strobe calibrate --software pytorch, PyTorch {torch.__version__} on {model}, {os.cpu_count()} cores, "
               f"{torch.get_num_threads()} threads, load {os.getloadavg()[0]:.1f}, least of {rounds} rounds")
    profile = {**base, "name": name, "framework": f"PyTorch {torch.__version__}",
               "description": f"PyTorch {torch.__version__} with PyTorch Geometric, measured on this machine"}
    for group, numbers in (("cpu", cpu), ("host", host)):
        profile[group] = {**base[group], **{key: {"value": float(f"{value:.4g}"), "source": f"{machine}: {how}",
                                                  "date": today} for key, (value, how) in numbers.items()}}
    pieces = all_pieces(parts.Timer("cpu", rounds)).items()
    profile["measured"] = {key: {"value": float(f"{value:.4g}"), "unit": unit, "source": f"{machine}: {how}",
                                 "date": today} for key, (value, unit, how) in pieces}
    profile["calls"] = {**base["calls"], "by_operation": {**base["calls"]["by_operation"], **counts},
                        "source": f"{machine}; operations not measured as in {base['name']}", "date": today}
    return profile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--name", default="pytorch-here")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    base = json.loads((ROOT / "backends" / "software" / "pytorch-eager.json").read_text(encoding="utf-8"))
    profile = profile_of(base, arguments.name, arguments.rounds)
    Path(arguments.out).write_text(json.dumps(profile, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
