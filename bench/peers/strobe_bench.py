"""What the scripts of this folder share: their common options, and one short run of a benchmark of strobe_bench."""

import argparse
import json
import os
import subprocess
import sys

import fast_settings

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def parser(description, rounds):
    """Options of every comparison; `rounds` is the default."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binary", help="path of strobe_bench")
    options.add_argument("--rounds", type=int, default=rounds)
    options.add_argument("--threads", type=int, default=os.cpu_count())
    options.add_argument("--json", help="also write the numbers to this file")
    return options


def parsed(options):
    """The arguments, after the checks that every comparison needs; exits with status 2 on a wrong one."""
    arguments = options.parse_args()
    if not os.access(arguments.binary, os.X_OK):
        options.error(f"{arguments.binary} is not a program; build target strobe_bench first")
    if arguments.rounds < 1:
        options.error("--rounds must be at least 1")
    return arguments


def run(binary, name):
    """One short run of the one benchmark whose name begins with `name`: seconds per epoch, its row of the report, and
    the machine's limits as the binary measured them."""
    command = [binary, f"--benchmark_filter=^{name}/", "--benchmark_format=json", "--benchmark_min_time=0.5"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True,
                                       env=fast_settings.environment_without()).stdout)
    (row,) = report["benchmarks"]
    if row.get("error_occurred"):
        sys.exit(f"{name}: {row['error_message']}")
    limits = {k: report["context"][k] for k in ("threads", "read_bandwidth_GBps", "peak_fp32_GFLOPps")}
    return row["real_time"] * SECONDS[row["time_unit"]], row, limits
