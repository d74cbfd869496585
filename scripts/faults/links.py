"""Puts links where Strobe writes. Where Strobe chooses the file name, the target of the link must stay as it is, bit
for bit. A file that the user named may be a link: the link stays, and its target is replaced as a whole."""
import os

from faults.field import Skip, flags, leftovers, rows_of

RUN = ["run", *flags("event"), "--epochs", "2"]
FULL = ["run", *flags("full"), "--epochs", "2"]
# Commands with the places that they write; "FIRST" is the only file of its folder.
PLACES = [
    ([*FULL, "--out", "out", "--trace"], ["out/plan.json", "out/env.json", "out/summary.json", "out/summary.csv",
                                          "out/samples.jsonl", "out/logs/strobe.log", "out/logs", "out/trace", "out/trace/FIRST"]),
    ([*FULL, "--out", "out", "--resume"], ["out/plan.json", "out/env.json", "out/summary.json", "out/summary.csv",
                                           "out/samples.jsonl", "out/logs/strobe.log", "out/logs"]),
    ([*RUN, "--out", "out", "--checkpoint", "state", "--checkpoint-every", "1"], ["state"]),
    ([*RUN, "--out", "out", "--save-model", "m.safetensors"], ["m.safetensors"]),
    ([*RUN, "--out", "out", "--dump-ranks", "ranks.csv", "--dump-memory", "mem.safetensors", "--dump-embeddings", "e.npy",
      "--dump-schedule", "schedule.csv"], ["ranks.csv", "mem.safetensors", "e.npy", "schedule.csv"]),
    (["convert", "events.csv", "g.strobe"], ["g.strobe", "g.strobe.seal"]),
    (["inspect", "events.csv:window_count=8", "--shape", "shape.json"], ["shape.json", "cache/FIRST"]),
    (["report", "good", "--out", "page.html"], ["page.html"]),
    (["plot", "curves", "good", "--out", "figures", "--format", "svg"], ["figures/FIRST"]),
    (["trace", "merge", "TRACE", "TRACE", "--out", "both.json"], ["both.json"]),
]
NAMED = ("state", "m.safetensors", "ranks.csv", "mem.safetensors", "e.npy", "schedule.csv", "g.strobe", "shape.json",
         "page.html", "both.json")
VICTIM = b"a file of somebody else\n"


def _clean(field):
    for name in ("out", "figures", "cache", "outside", *(place for _, places in PLACES for place in places if "/" not in place)):
        field.fresh(name)
    (field.folder / "outside").mkdir()


def _link(field, place, kind):
    """A link at this place: to a file, to nothing, or to a folder outside."""
    path = field.folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        kind = "folder"
    field.fresh(place)
    target = field.folder / "outside" / {"file": "victim", "nothing": "new", "folder": "rest"}[kind]
    (field.folder / "outside/victim").write_bytes(VICTIM)
    if kind == "folder":
        target.mkdir()
    os.symlink(target, path)
    return target, kind


def _wrong_at_end(field, place, target, answer):
    """The fault of a link that the user named."""
    if not (field.folder / place).is_symlink():
        return "the link is none any more"
    written = target.exists() and target.read_bytes() != VICTIM
    if answer.status == 0 and not written:
        return "status 0, and nothing was written"
    return "a refusal, and the file was written" if answer.status != 0 and written else ""


def _wrong_outside(field, target, kind):
    victim = field.folder / "outside/victim"
    if victim.read_bytes() != VICTIM:
        return f"the file that the link leads to was written: {victim.read_bytes()[:60]!r}"
    if kind == "nothing" and target.exists():
        return "a file was made where the link leads"
    if kind == "folder" and any(target.iterdir()):
        return f"{next(target.iterdir()).name} was written into the folder that the link leads to"
    return ""


def _try(field, words, place, kind, names):
    """One command with a link in its way."""
    resumed = "--resume" in words
    _clean(field)
    if resumed and field.strobe(*[word for word in words if word != "--resume"]).status != 0:
        raise Skip("the undisturbed run does not end well")
    if place.endswith("FIRST"):
        place = place.replace("FIRST", names[place])
    target, kind = _link(field, place, kind)
    answer = field.strobe(*words)
    wrong = answer.wrong({0, 1, 2})
    named = place in NAMED or place.startswith("figures/")
    wrong = wrong or (_wrong_at_end(field, place, target, answer) if named else _wrong_outside(field, target, kind))
    if not wrong and answer.status == 0 and words[0] == "run":
        wrong = "other numbers" if rows_of(field.folder / "out") != field.expected[tuple(words)] else ""
    wrong = wrong or leftovers(field.folder)
    return f"a link to {kind} at {place}: {wrong}: {answer.command}" if wrong else ""


def in_the_way(field):
    if field.strobe("run", field.suite, "--out", "good", "--trace").status != 0:
        raise Skip("the undisturbed run does not end well")
    trace = str(min((field.folder / "good/trace").iterdir()))
    names, field.expected, trials = {}, {}, []
    for words, places in PLACES:
        words = [trace if word == "TRACE" else word for word in words]
        _clean(field)
        if (answer := field.strobe(*words, seconds=60)).status != 0:
            yield f"without a link it does not end well: {answer.command}: {answer.words()[-200:]}"
            continue
        if words[0] == "run":
            field.expected[tuple(words)] = rows_of(field.folder / "out")
        for place in places:
            if place.endswith("FIRST"):
                found = sorted((field.folder / place).parent.glob("*.*"))
                if not found:
                    continue
                names[place] = found[0].name
            trials += [(words, place, kind) for kind in ("file", "nothing")]
    while True:
        field.rng.shuffle(trials)
        for words, place, kind in trials:
            yield _try(field, words, place, kind, names)
