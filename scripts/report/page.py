"""The page: its sections in their order, and the templates that make one HTML file of them."""
import json
import pathlib

import jinja2
from markupsafe import Markup

from report import answers as answered, charts, curves, facts, goals, operations, resources, runs, sections

TEMPLATES = pathlib.Path(__file__).resolve().parent / "templates"


def page(rows, environments, title, peaks=None, kinds=(), answers=None):
    """The whole page. `answers`: what `strobe compare --by` says of the rows. `kinds`: sections that kinds of training ask
    for. `peaks`: (fp32 flops, fp64 flops, bytes) a second of the device that measured rows ran on."""
    answers = answers or {}
    charts.start()
    parts = [answered.table(rows, answers), goals.times_to_metric(rows, answers), sections.scaling(rows, answers), sections.phases(rows),
             curves.losses(rows.pooled), *curves.metrics(rows.pooled), resources.heat_map(rows), resources.by_rank(rows), resources.memory(rows),
             resources.memory_parts(rows), resources.memory_over_time(rows), operations.rooflines(rows, peaks), operations.whole_epochs(rows), sections.predicted(rows),
             *(facts.of_kind(rows, kind, number) for number, kind in enumerate(kinds)),
             facts.troubles(rows), facts.table(rows), facts.shared(rows), facts.environments(rows, environments)]
    templates = jinja2.Environment(loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                   undefined=jinja2.StrictUndefined)
    flags = json.dumps(runs.all_flags(rows)).replace("<", "\\u003c")
    return templates.get_template("page.html").render(
        title=title, summary=answered.summary(rows, answers), sections=[part for part in parts if part], flags=Markup(flags),
        style=Markup((TEMPLATES / "style.css").read_text("utf-8")), script=Markup((TEMPLATES / "script.js").read_text("utf-8")))
