"""Programs that are broken on purpose: broken.py HOW PROGRAM WORDS... runs PROGRAM and spoils a little of its output.
`scripts/compare_programs --judge-itself` must find each one."""
import json
import math
import pathlib
import subprocess
import sys

_CASE = ["run", "--workload", "uniform:steps=6,vertices=40,density=3", "--model", "t-gcn", "--epochs", "2", "--out", "run",
         "--trace", "--json", "--strategy", "vertex", "--ranks", "2"]
_SIM = [*_CASE, "--device", "sim"]
_FILES = [*_CASE, "--dump-embeddings", "e.npy", "--save-model", "w.safetensors"]

# The broken part of the output, and the request that must reveal it.
BROKEN = {
    "loss": _CASE,  # the last bit of one loss
    "bytes": _CASE,  # one byte more is sent
    "key": _CASE,  # a row has one key less
    "note": _CASE,  # one note is missing
    "case_id": _CASE,
    "virtual": _SIM,  # the last bit of a virtual time
    "span": _SIM,  # the last bit of a moment of a trace
    "embedding": _FILES,  # one bit of one embedding
    "weights": _FILES,  # the file of weights is missing
    "extra": _CASE,  # a file too many
    "words": [*_CASE, "--ranks", "0"],  # one letter of a refusal
    "status": [*_CASE, "--ranks", "0"],  # a refusal has another status
    "help": ["run", "--help"],
    "list": ["list", "models", "--json"],
    "plan": ["run", "smoke", "--dry-run", "--json"],
}


def make(folder, how, binary):
    """A program that starts the broken one."""
    program = folder / f"strobe-{how}"
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{__file__}' {how} '{binary}' \"$@\"\n")
    program.chmod(0o755)
    return program


def _next(value):
    return math.nextafter(value, math.inf)


ROWS = {
    "loss": lambda row: row["loss"].append(_next(row["loss"].pop())),
    "bytes": lambda row: row["sent_bytes"].update(halo=row["sent_bytes"]["halo"] + 1),
    "key": lambda row: row.pop("cached_bytes"),
    "note": lambda row: row["notes"].pop(0),
    "case_id": lambda row: row.update(case_id=row["case_id"] + "0"),
    "virtual": lambda row: row["epoch_seconds"].update(median=_next(row["epoch_seconds"]["median"])),
}
TEXTS = {"help": ("epochs", "epoch"), "list": ('"default": 6', '"default": 7'), "plan": ('"halo": ', '"halo": 1'),
         "words": ("ranks", "rank")}


def _spoil_files(how):
    if how in ROWS:
        path = pathlib.Path("run/summary.json")
        summary = json.loads(path.read_text())
        ROWS[how](summary["rows"][0])
        path.write_text(json.dumps(summary))
    elif how == "span":
        path = next(pathlib.Path("run/trace").iterdir())
        trace = json.loads(path.read_text())
        span = next(event for event in trace["traceEvents"] if event.get("ts"))
        span["ts"] = _next(span["ts"])
        path.write_text(json.dumps(trace))
    elif how == "embedding":
        content = bytearray(pathlib.Path("e.npy").read_bytes())
        content[-4] ^= 1
        pathlib.Path("e.npy").write_bytes(content)
    elif how == "weights":
        pathlib.Path("w.safetensors").unlink()
    elif how == "extra":
        pathlib.Path("run/extra").write_text("")


def main():
    how, program, *words = sys.argv[1:]
    done = subprocess.run([program, *words], capture_output=True, text=True)
    _spoil_files(how)
    for stream, text in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
        stream.write(text.replace(*TEXTS[how], 1) if how in TEXTS else text)
    sys.exit(1 if how == "status" else done.returncode)


if __name__ == "__main__":
    main()
