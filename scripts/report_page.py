#!/usr/bin/env python3
"""Writes one HTML page from the rows of runs. It shows which strategy is fastest and how sure that is, where time,
bytes and memory go, loss and metrics, and predicted against measured times. Every figure has its numbers and commands.
`strobe report` calls this script; it needs Python with matplotlib and Jinja2.

usage: report_page.py RUN [RUN ...] --out FILE.html [--title WORDS] [--peaks FP32,FP64,BYTES] [--beside FOLDER] [--kinds FILE]
                      [--answers FILE]
"""
import argparse
import gc
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from report.page import page  # noqa: E402
from report.runs import read_runs  # noqa: E402
from strobe_figures.files import ending, write_whole  # noqa: E402


def main():
    gc.disable()  # a third of the time would go into searching what a short program has no need to free
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--peaks", default="", type=lambda text: [float(part) for part in text.split(",")] if text else None)
    parser.add_argument("--beside", default="", help="where the page will lie, which its links start from (default: that of FILE)")
    parser.add_argument("--kinds", default="", help="sections of kinds of training: [{title, fields: [{key, unit, help}]}]")
    parser.add_argument("--answers", default="", help="JSON of strobe compare RUN --by FIELD --json")
    chosen = parser.parse_args()
    kinds = json.loads(pathlib.Path(chosen.kinds).read_text()) if chosen.kinds else []
    answers = json.loads(pathlib.Path(chosen.answers).read_text("utf-8")) if chosen.answers else {}
    rows, environments = read_runs(chosen.runs, pathlib.Path(chosen.beside or pathlib.Path(chosen.out).parent))
    text = page(rows, environments, chosen.title or "Strobe: " + ", ".join(environments), chosen.peaks, kinds, answers)
    write_whole(chosen.out, text.encode("utf-8", "xmlcharrefreplace"))
    return 0


if __name__ == "__main__":
    sys.exit(ending(main))
