"""The answer of `strobe compare --by` on the page: its sentences, and one table of all questions."""
from html import escape

from report import runs
from report.sections import section

KEY = (("best", "fastest"), ("same", "as fast"), ("slower", "slower"), ("unknown", "cannot be distinguished"))
CLASSES = {"same": "same", "slower": "slower"}


def _title(question):
    return ", ".join(question["common"])


def summary(rows, answers):
    """The first lines of the page: how many rows, and the answer to every question, as far as a reader reads on."""
    good = sum(row.get("status") == "ok" for row in rows)
    words = [f"{len(rows)} row{'s' if len(rows) != 1 else ''}, {good} ok."]
    questions = answers.get("questions", [])
    for question in questions[:3]:
        words += [_title(question) + ":"] if len(questions) > 1 else []
        words += question["sentences"]
    if len(questions) > 3:
        words.append(f"{len(questions) - 3} more questions are answered below.")
    if any(row.get("time_source") == "virtual" for row in rows):
        words.append("Virtual times are predictions.")
    return " ".join(words)


def _cell(contender, first):
    ratio, unit = contender["times_the_fastest"], contender["unit_seconds"]
    if unit is None:
        until = contender["until_seconds"]
        words = "-" if until is None else f"{runs.seconds_text(until)}<small>to the metric</small>"
        return f"<td class='absent' data-value='{'inf' if until is None else until}' title='{escape(contender['note'], True)}'>{words}</td>"
    times = 1.0 if first else ratio["ratio"]
    kind = "best" if first else CLASSES.get(ratio["verdict"], "unknown")
    return (f"<td class='{kind}' data-value='{times:.6g}' title='{escape(', '.join(contender['case_ids']), True)}'>"
            f"{times:.2f}<small>{runs.seconds_text(unit)}</small></td>")


def _line(question, values):
    cells, numbers = "", []
    places = {contender["value"]: place for place, contender in enumerate(question["contenders"])}
    for value in values:
        if value not in places:
            cells += "<td class='absent' data-value='inf'>-</td>"
            continue
        contender = question["contenders"][places[value]]
        cells += _cell(contender, places[value] == 0)
        ratio = contender["times_the_fastest"]
        numbers.append([_title(question), value, question["unit"] or "", contender["epoch_seconds"], contender["unit_seconds"],
                        ratio["ratio"], ratio["ci99_low"], ratio["ci99_high"], ratio["verdict"], contender["until_seconds"]])
    unit = f"<small>per {question['unit']}</small>" if question["unit"] else ""
    words = " ".join(question["sentences"] + [question["why"]] + [fact + "." for fact in question["facts"]])
    return f"<tr><th>{escape(_title(question))}{unit}</th>{cells}<td class='words'>{escape(words)}</td></tr>", numbers


def table(rows, answers):
    """Question x contender: how many times as long as the fastest; the page's first table."""
    questions = answers.get("questions", [])
    if not questions:
        return ""
    values = list(dict.fromkeys(contender["value"] for question in questions for contender in question["contenders"]))
    lines, numbers = zip(*(_line(question, values) for question in questions))
    head = "".join(f"<th>{escape(value)}</th>" for value in values)
    key = " ".join(f"<span class='{kind}'>{words}</span>" for kind, words in KEY)
    body = (f'<table class="sortable"><thead><tr><th>question</th>{head}<th>in words</th></tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table><p class='key'>{key}</p>")
    return section(rows, f"Which {answers['by']} is best", body,
                   "rows that no other differs from in this field alone. Intervals are at 99 %; they need rounds or simulated times.",
                   ["question", answers["by"], "unit", "epoch_s", "unit_s", "ratio", "ci99_low", "ci99_high", "verdict", "until_s"],
                   [line for of_question in numbers for line in of_question])
