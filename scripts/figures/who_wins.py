#!/usr/bin/env python3
"""Who wins, by how much and how surely: the guide to deciding between parallelisms, from the rows of several runs.

Prints the guide, writes it as guide.md, and draws who_wins: of each question a bar that is divided as its draws (of
predictions) or seeds (of measurements) are among the parallelisms that are first. Predictions have draws where the suite
says so ("draws": 100). With --graphs the guide also has each graph's density, overlap and skew, as `strobe inspect GRAPH
--json` prints them. It refuses rows of one graph that have other targets or tasks.

usage: who_wins.py runs/*/ [--graphs chess.json ucsocial.json] [--out DIR]
"""

import argparse
import math
import os
import sys

from strobe_figures import looks
from strobe_figures import parallelisms as p
from strobe_figures import rows as r
from strobe_figures import winners as w

NEEDED = ("epoch_seconds", "settings")


def number(value):
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def count_text(count):
    return f"{count:.0f}" if abs(count - round(count)) < 1e-9 else f"{count:.1f}"


def graphs_in(paths):
    """{name: (mean degree of a step, mean overlap, largest degree over the mean)} of files of `strobe inspect --json`."""
    graphs = {}
    for path in paths:
        facts = r.read_json(path)
        degrees = facts.get("in_degree") if isinstance(facts, dict) else None
        if not isinstance(degrees, dict) or not degrees.get("mean") or not facts.get("steps") or not facts.get("vertices"):
            raise r.Refused(f"{path}: not what 'strobe inspect GRAPH --json' prints of a graph with edges")
        graphs[facts["workload"]] = (facts["edges"] / facts["steps"] / facts["vertices"], facts.get("overlap_mean"),
                                     degrees["max"] / degrees["mean"])
    return graphs


def facts_of(question, questions, graphs):
    """The facts of --graphs on the question's graph, or None. Raises Refused where several graphs have the name it is said of."""
    named = {one.graph for one in questions if one.workload == question.workload}
    if question.workload in graphs and len(named) > 1:
        raise r.Refused(f"--graphs: {question.workload} is several graphs here: {', '.join(sorted(named))}; leave it out")
    return graphs.get(question.workload)


def ratio_text(question):
    """How many times as long the next one takes, in percent where it is hardly longer."""
    ratio, half = question.ratio
    if question.tied():
        return "as long"
    if math.isnan(half) and ratio < 1.01:
        return f"{100 * (ratio - 1):.2g} % longer"
    ends = "" if math.isnan(half) else f" ({number(ratio * math.exp(-half))} to {number(ratio * math.exp(half))})"
    return f"{number(ratio)}{ends} times as long"


def ratio_mark(ratio):
    return f"{number(ratio)} x" if ratio >= 1.01 else f"+{100 * (ratio - 1):.2g} %"


def sure_text(question, one):
    if one.first is None:
        return ""
    return f"{count_text(one.first)} of {question.of} {question.unit}s"


def sentence(question):
    """Says in one or two sentences which is first and how sure that is."""
    first, second = question.contenders[:2]
    place = f"On {question.graph} with {question.where()}, "
    place += f"until {question.until}" if question.until else f"per epoch of {question.model}"
    if question.tied():
        text = f"{place}: {first.name()} and {second.name()} take the same time."
    elif question.decided() is None:
        why = "fewer than two common seeds" if question.measured else "no common draws"
        text = f"{place}: {first.name()} is first, and {second.name()} takes {ratio_text(question)}. How sure that is, is not known: {why}."
    elif question.decided():
        text = f"{place}: take {first.name()}. It is first in {sure_text(question, first)}, and {second.name()} takes {ratio_text(question)}."
    else:
        text = (f"{place}: undecided. {first.name()} is first in {sure_text(question, first)} only, and {second.name()} takes "
                f"{ratio_text(question)}.")
    if question.never:
        text += f" Not at the target: {', '.join(question.never)}."
    return text


def seeds_of(question):
    return max(len(r.pooled(one.row)) for one in question.contenders)


def line_of(question, questions, graphs):
    first, second = question.contenders[:2]
    facts = facts_of(question, questions, graphs)
    known = ["" if facts is None or fact is None else number(fact) for fact in (facts or (None,) * 3)]
    take = {None: "(not known how sure) ", False: "undecided: ", True: ""}[question.decided()] + first.name()
    take = f"{first.name()} or {second.name()}" if question.tied() else take
    return [question.graph] + (known if graphs else []) + [
        question.place, question.ranks, question.until or f"epoch, {question.model}", take,
        sure_text(question, first), f"{second.kind} takes {ratio_text(question)}", ", ".join(question.missing), sum(len(r.pooled(row)) for row in question.rows), seeds_of(question)]


def table(head, lines):
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head)] + lines) + "\n"


def totals(questions, value_of, what):
    """By a condition, how many questions each parallelism decides."""
    lines = []
    for value in sorted({value_of(question) for question in questions}):
        of = [question for question in questions if value_of(question) == value]
        won = [question.contenders[0].kind for question in of if question.decided()]
        counts = ", ".join(f"{kind} {won.count(kind)}" for kind in p.KINDS if kind in won)
        lines.append([value, len(of), counts or "none", len(of) - len(won)])
    return table([what, "questions", "decided for", "undecided, or not known how sure"], lines)


def guide(questions, graphs):
    conditions = ["graph"] + (["mean degree", "overlap", "skew"] if graphs else [])
    head = conditions + ["where", "GPUs", "target", "take", "first in", "the next", "not run", "rows", "seeds"]
    text = "# Which parallelism to take\n\n" + table(head, [line_of(question, questions, graphs) for question in questions])
    text += "\n" + "\n".join(f"- {sentence(question)}" for question in questions) + "\n"
    text += "\n" + totals(questions, lambda question: question.place, "where")
    text += "\n" + totals(questions, lambda question: question.ranks, "GPUs")
    return text


def draw(questions, plt):
    """A bar for each question, with the ratio to the next contender."""
    names = [f"{question.graph}, {question.where()}" + ("" if question.until else f", {question.model}") for question in questions]
    figure, axes = looks.panels(plt.subplots, 1, columns=1, size=(6.4, looks.height_of_bars(names)))
    panel = axes[0]
    for place, question in enumerate(questions):
        begin = 0.0
        for one in sorted(question.contenders, key=lambda one: w.KINDS.index(one.kind)):
            width = 0.0 if one.first is None else 100 * one.first / question.of
            panel.barh([place], [width], left=[begin], height=0.7, color=looks.KNOWN[p.OF_KINDS[one.kind]][0])
            begin += width
        ratio = "not known how sure" if question.contenders[0].first is None else "tie" if question.tied() else ratio_mark(question.ratio[0])
        looks.number_on_bar(panel, ratio, (begin, place), xytext=(3, 0), ha="left", va="center", fontsize=looks.points(7))
    looks.names_of_bars(panel, names)
    panel.set_xlim(0, 118)
    panel.set_xticks(range(0, 101, 25))
    panel.set_xlabel("first in % of draws or seeds; beside it: time of the next one")
    there = [kind for kind in w.KINDS if any(one.kind == kind for question in questions for one in question.contenders)]
    squares = [plt.Rectangle((0, 0), 1, 1, color=looks.KNOWN[p.OF_KINDS[kind]][0]) for kind in there]
    looks.legend_below(figure, squares, there)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", metavar="RUN_DIR", nargs="+", help="run directory, or its summary.json")
    parser.add_argument("--graphs", metavar="FILE", nargs="+", default=[], help="output of strobe inspect GRAPH --json, for each graph")
    parser.add_argument("--out", metavar="DIR", default=".", help="folder for the guide and the figure (default: here)")
    parser.add_argument("--format", default="png,svg", help="png, svg, pdf, several with commas (default: png,svg)")
    options = parser.parse_args()

    def read():
        rows = r.read_rows(options.runs, NEEDED)
        for row in rows:
            row.pop("run", None)  # seeds of one case may be in several runs
        questions = w.questions_of(rows)
        text = guide(questions, graphs_in(options.graphs))
        os.makedirs(options.out, exist_ok=True)
        r.write_whole(os.path.join(options.out, "guide.md"), text.encode())
        print(text)
        return questions
    return looks.write_figure("who_wins", options.out, read, draw, options.format.split(","))


if __name__ == "__main__":
    sys.exit(main())
