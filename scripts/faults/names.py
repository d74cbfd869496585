"""Names that mean something to a terminal, a shell, a spreadsheet or a web page."""
import csv
import io
import json
import os

from faults.field import CONTROL, Skip

HOSTILE = [b"plain", b"\x1b[31mred", b"two\nlines", b"tab\there", b"bell\x07", b"caf\xe9", b"\xff\xfe", "naïve".encode(),
           b"=1+1", b"@sum", b"+1", b"-1", b"'quote", b'"double', b"$(touch pwned)", b"`touch pwned`", b"a;touch pwned",
           b"<b>bold<", b"&amp;", b"%s%n", b"{}", b"a b", b"..", b"...", b"a\\b", b"\xe2\x80\xaegpj", b"x" * 200]
ROWS = b"source,target,time\n" + b"".join(b"%d,%d,%d\n" % (i % 7, (3 * i + 1) % 7, i) for i in range(60))


def _check(field, answer, statuses):
    wrong = answer.wrong(statuses)
    if wrong:
        return wrong
    for said in (answer.out, answer.err):
        try:
            said.decode("utf-8")
        except UnicodeDecodeError:
            return f"what is said is no UTF-8: {answer.command}"
    if list(field.folder.rglob("pwned")):
        return f"a shell ran: {answer.command}"
    return ""


def _well_formed(folder):
    try:
        json.loads((folder / "summary.json").read_text("utf-8"))
        table = list(csv.reader(io.StringIO((folder / "summary.csv").read_text("utf-8"))))
    except (ValueError, OSError) as error:
        return f"{folder.name} cannot be read back: {error}"
    if len({len(row) for row in table}) != 1:
        return "summary.csv has rows of several lengths"
    log = folder / "logs/strobe.log"
    if log.exists() and CONTROL.search(log.read_bytes()):
        return "control characters in the log"
    return ""


def hostile(field):
    place = os.fsencode(field.folder)
    while True:
        name = field.rng.choice(HOSTILE)
        if field.rng.random() < 0.3 and name not in (b"..",):
            name += field.rng.choice(HOSTILE[:8])
        file = name + b".csv"
        try:
            with open(os.path.join(place, file), "wb") as out:
                out.write(ROWS)
        except OSError as error:
            raise Skip(f"this disk takes no such names: {error}") from error
        use = field.rng.randrange(6)
        if use == 0:
            yield _check(field, field.strobe("inspect", file), {0, 2})
        elif use == 1:
            yield _check(field, field.strobe("inspect", file, "--json"), {0, 2})
        elif use == 2:
            yield _check(field, field.strobe("run", "--workload", name), {2})
        elif use == 3:
            yield _check(field, field.strobe("convert", file, b"converted-" + name + b".strobe"), {0, 2})
        elif use == 4:
            yield _check(field, field.strobe("run", b"--model", name), {2})
        else:
            out = field.fresh("out")
            answer = field.strobe("run", b"--workload", file + b":window_count=6", "--epochs", "1", "--out", "out")
            wrong = _check(field, answer, {0, 2})
            yield wrong or (_well_formed(out) if answer.status == 0 else "")
