"""Reads the files of runs that go with their rows: samples of every rank, and traces. Returns None where there is no
file, or one too large for a page."""
import json
import math

MOST_BYTES = 64_000_000
WRONG = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)  # of what no run writes


def _number(value):
    """A finite number of a run's file. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(value)
    return value


def _small(path):
    try:
        return path.is_file() and path.stat().st_size <= MOST_BYTES
    except OSError:
        return False


def sent_by_rank(folder, case_ids):
    """{case: {rank: {purpose: mean bytes an epoch}}} over the measured epochs of samples.jsonl."""
    path, sums = folder / "samples.jsonl", {}
    if not _small(path):
        return {}
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                sample = json.loads(line)
                if sample["case_id"] not in case_ids or sample["warmup"]:
                    continue
                sent = {purpose: _number(count) for purpose, count in sample["sent_bytes"].items()}
                own = sums.setdefault(sample["case_id"], {}).setdefault(int(_number(sample["rank"])), [0, {}])
                own[0] += 1
                for purpose, count in sent.items():
                    own[1][purpose] = own[1].get(purpose, 0) + count
            except WRONG:
                continue  # a line that a run which was killed left half
    return {case: {rank: {purpose: total / epochs for purpose, total in bytes_.items()} for rank, (epochs, bytes_) in sorted(ranks.items())}
            for case, ranks in sums.items()}


def live_bytes(folder, case_ids, most):
    """{case: {rank: [(seconds, accounted bytes)]}} in the last two epochs of the traces of at most `most` cases."""
    found = {}
    places = sorted((folder / "trace").glob("*.json")) if (folder / "trace").is_dir() else []
    for path in places:
        if len(found) >= most or not _small(path):
            continue
        try:
            trace = json.loads(path.read_text("utf-8"))
            case = trace["otherData"]["case_id"]
            if case not in case_ids:
                continue
            ranks, begins = {}, {}
            for event in trace["traceEvents"]:
                if event["ph"] == "X" and event["name"].startswith("epoch ") and event.get("cat") == "range":
                    begins.setdefault(event["pid"] - 1, []).append(_number(event["ts"]) / 1e6)
                if event["ph"] == "C" and event["name"] == "memory":
                    ranks.setdefault(event["pid"] - 1, []).append((_number(event["ts"]) / 1e6, _number(event["args"]["live_bytes"])))
            begin = min((sorted(own)[-2:][0] for own in begins.values()), default=0)
            kept = {rank: sorted(point for point in points if point[0] >= begin) for rank, points in sorted(ranks.items())}
            if any(kept.values()):
                found[case] = {rank: points for rank, points in kept.items() if points}
        except (OSError, *WRONG):
            continue
    return found
