"""Judges a pledge without Strobe: recomputes its SHA-256 from the text, and matches its points with a run's rows.

usage: pledge_judge.py PLEDGE.json RUN CLUSTER      prints one JSON object
"""
import hashlib
import json
import pathlib
import statistics
import sys

# Settings that say where or for how long a case runs.
FREE = {"device", "comm", "cluster", "numerics", "kernels", "draws", "timeout", "epochs", "warmup", "repeat", "until"}
SLOTS = ("workload", "model", "strategy", "task", "optimizer", "precision", "ranks", "seed")


def compact(text):
    """The JSON text without blanks outside strings."""
    kept, inside, escaped = [], False, False
    for letter in text:
        if inside or letter not in " \n":
            kept.append(letter)
        if inside and not escaped and letter == "\\":
            escaped = True
            continue
        if letter == '"' and not escaped:
            inside = not inside
        escaped = False
    return "".join(kept)


def digest_is_right(text):
    """Whether the last key, sha256, is that of all text before it."""
    before, _, named = compact(text).rpartition(',"sha256":')
    return json.loads(named[:-1]) == hashlib.sha256((before + "}").encode()).hexdigest()


def settings(case):
    return {key: value for key, value in case.items() if key not in FREE}


def case_of(row):
    return {**{key: row[key] for key in SLOTS}, **row["settings"]}


def main():
    path, run, cluster = sys.argv[1:]
    text = pathlib.Path(path).read_text(encoding="utf-8")
    pledge = json.loads(text)
    rows = json.loads((pathlib.Path(run) / "summary.json").read_text(encoding="utf-8"))["rows"]
    points = [point for point in pledge["points"] if point["cluster"] == cluster]
    pairs = [(point, row) for point in points for row in rows if settings(point["case"]) == settings(case_of(row))]
    judged = [pair for pair in pairs if pair[1]["status"] == pair[0]["status"] == "ok"]
    errors = [point["epoch_seconds"] / row["epoch_seconds"]["median"] - 1 for point, row in judged]
    json.dump({
        "digest": digest_is_right(text),
        "pairs": [[row["case_id"], point["epoch_seconds"]] for point, row in pairs],
        "not_measured": [point["id"] for point in points if not any(point is pair[0] for pair in pairs)],
        "not_pledged": [row["case_id"] for row in rows if not any(row is pair[1] for pair in pairs)],
        "mean_absolute": statistics.fmean(map(abs, errors)) if errors else None,
        "other_bytes": sum(point["sent_bytes"] != row["sent_bytes"] for point, row in judged),
        "memory": [max(point["peak_bytes"]["host"] + point["peak_bytes"]["device"]) /
                   max(row["peak_bytes"]["host"] + row["peak_bytes"]["device"]) - 1 for point, row in judged],
        "fastest": {name: min(judged, key=key)[1]["case_id"] for name, key in
                    (("measured", lambda pair: pair[1]["epoch_seconds"]["median"]),
                     ("predicted", lambda pair: pair[0]["epoch_seconds"]))} if judged else {},
    }, sys.stdout)


if __name__ == "__main__":
    main()
