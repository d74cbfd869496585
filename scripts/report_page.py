#!/usr/bin/env python3
"""Writes one HTML page of the rows of runs: which strategy is fastest and how sure that is, where time, bytes and memory
go, loss and metrics, predicted against measured, with the numbers and the commands behind every figure. `strobe report`
calls it; it needs nothing but Python.

usage: report_page.py RUN [RUN ...] --out FILE.html [--title WORDS] [--peaks FP32,FP64,BYTES]
"""
import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from report.page import page  # noqa: E402
from report.runs import Refused, read_runs  # noqa: E402


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--peaks", default="", type=lambda text: [float(part) for part in text.split(",")] if text else None)
    chosen = parser.parse_args()
    out = pathlib.Path(chosen.out)
    try:
        rows, environments = read_runs(chosen.runs, out.parent)
    except Refused as refused:
        print(refused, file=sys.stderr)
        return 2
    text = page(rows, environments, chosen.title or "Strobe: " + ", ".join(environments), chosen.peaks)
    if not out.exists() or out.is_file():  # whole or not at all
        with tempfile.NamedTemporaryFile("wb", dir=out.parent, prefix=out.name + ".", suffix=".tmp", delete=False) as file:
            file.write(text.encode("utf-8", "xmlcharrefreplace"))
        os.chmod(file.name, 0o644)
        os.replace(file.name, out)
    else:
        out.write_bytes(text.encode("utf-8", "xmlcharrefreplace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
