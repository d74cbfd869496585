"""The answer of `strobe compare --by` on the page: its sentences, one table of all questions, and one of times to a metric."""
from report import runs
from report.parts import Cell, Line, Table, section

KEY = [("best", "fastest"), ("same", "as fast"), ("slower", "slower"), ("unknown", "cannot be distinguished")]
KINDS = {"same": "same", "slower": "slower"}


def _title(question):
    return ", ".join(question["common"])


def summary(rows, answers):
    """The first lines of the page: how many rows, and the answer to every question, as far as a reader reads on."""
    good = sum(row.get("status") == "ok" for row in rows)
    predictions = " Virtual times are predictions." if any(row.get("time_source") == "virtual" for row in rows) else ""
    questions = answers.get("questions", [])
    words = [f"{len(rows)} row{'s' if len(rows) != 1 else ''}, {good} ok.{predictions}", *_said(questions[:3], len(questions) > 1)]
    return words + ([f"{len(questions) - 3} more questions are answered below."] if len(questions) > 3 else [])


def _said(questions, named):
    return [(_title(question) + ": " if named else "") + " ".join(question["sentences"]) for question in questions]


def sentences_of(answers, case_ids):
    """The sentences of the questions that these cases are compared in."""
    own = set(case_ids)
    there = [question for question in answers.get("questions", [])
             if any(own & set(contender["case_ids"]) for contender in question["contenders"])]
    return _said(there, len(there) > 1)


def _cell(contender, first):
    ratio, unit = contender["times_the_fastest"], contender["unit_seconds"]
    if unit is None:
        until = contender["until_seconds"]
        if until is None:
            return Cell("-", "inf", kind="absent", title=contender["note"])
        return Cell(runs.seconds_text(until), until, "to the metric", "absent", contender["note"])
    times = 1.0 if first else ratio["ratio"]
    kind = "best" if first else KINDS.get(ratio["verdict"], "unknown")
    return Cell(f"{times:.2f}", times, runs.seconds_text(unit), kind, ", ".join(contender["case_ids"]))


def _line(question, values):
    cells, numbers = [], []
    places = {contender["value"]: place for place, contender in enumerate(question["contenders"])}
    for value in values:
        if value not in places:
            cells.append(Cell("-", "inf", kind="absent"))
            continue
        contender = question["contenders"][places[value]]
        cells.append(_cell(contender, places[value] == 0))
        ratio = contender["times_the_fastest"]
        numbers.append([_title(question), value, question["unit"] or "", contender["epoch_seconds"], contender["unit_seconds"],
                        ratio["ratio"], ratio["ci99_low"], ratio["ci99_high"], ratio["verdict"], contender["until_seconds"]])
    cells.append(Cell(" ".join(question["sentences"] + [question["why"]] + [fact + "." for fact in question["facts"]]), kind="words"))
    return Line(_title(question), cells, f"per {question['unit']}" if question["unit"] else ""), numbers


def values_of(questions):
    return list(dict.fromkeys(contender["value"] for question in questions for contender in question["contenders"]))


def table(rows, answers):
    """Question x contender: how many times as long as the fastest; the page's first table."""
    questions = answers.get("questions", [])
    if not questions:
        return None
    values = values_of(questions)
    lines, numbers = zip(*(_line(question, values) for question in questions))
    return section(rows, "best", f"Which {answers['by']} is best", [Table(["question", *values, "in words"], list(lines), KEY)],
                   "rows that no other differs from in this field alone. Intervals are at 99 %; they need rounds or simulated times.",
                   ["question", answers["by"], "unit", "epoch_s", "unit_s", "ratio", "ci99_low", "ci99_high", "verdict", "until_s"],
                   [line for of_question in numbers for line in of_question])


def _mean(rows, key):
    values = [row[key] for row in rows if row.get(key) is not None]
    return sum(values) / len(values) if values else None


def _goal_cell(contender, own, first):
    """The time to the metric, in times of the first, with updates and cost: means of the rows of all seeds."""
    updates, cost = _mean(own, "until_iterations"), _mean(own, "until_dollars")
    currency = next((row["currency"] for row in own if row.get("currency")), "")
    small = ", ".join(part for part in (f"{updates:.0f} updates" if updates else "", f"{cost:.3g} {currency}" if cost else "") if part)
    reached = f"{contender['until_reached']} of {len(own)}" if 0 < contender["until_reached"] < len(own) else ""
    seconds, times = contender["until_seconds"], contender["times_the_first"]["ratio"]
    if not contender["until_reached"]:
        spent = _mean(own, "until_seconds")
        return Cell("not reached" + (f" in {runs.seconds_text(spent)}" if spent else ""), "inf", small, "absent")
    if seconds is None:
        return Cell("reached", "inf", small)
    ratio = 1.0 if first else times
    small = ", ".join(part for part in (small, reached and f"reached by {reached} seeds") if part)
    return Cell(runs.seconds_text(seconds) + (f" ({ratio:.2f})" if ratio else ""), seconds, small, "best" if first else "")


def goals(rows, answers):
    """(Table of who reaches the metric that training lasts to, after how long, and lines of its CSV); (None, []) without."""
    questions = [question for question in answers.get("questions", []) if question["until"]]
    by_case = {}
    for row in rows:
        by_case.setdefault(row["case_id"], []).append(row)
    lines, numbers, values = [], [], values_of(questions)
    for question in questions:
        there = {contender["value"]: contender for contender in question["contenders"]}
        reached = [c["until_seconds"] for c in there.values() if c["until_reached"] and c["until_seconds"] is not None]
        cells = [Cell(question["until"])]
        for value in values:
            if value not in there:
                cells.append(Cell("-", "inf", kind="absent"))
                continue
            own = [row for case in there[value]["case_ids"] for row in by_case.get(case, [])]
            seconds = there[value]["until_seconds"]
            cells.append(_goal_cell(there[value], own, bool(reached) and seconds == min(reached)))
            numbers.append([_title(question), question["until"], value, there[value]["until_reached"], _mean(own, "until_iterations"),
                            seconds, _mean(own, "until_dollars")])
        lines.append(Line(_title(question), cells))
    if not lines:
        return None, []
    return Table(["question", "until", *values], lines, [("best", "first to reach it"), ("", "in brackets: times of the first")]), numbers
