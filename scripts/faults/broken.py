"""A program that is broken on purpose: broken.py HOW PROGRAM WORDS... runs PROGRAM and spoils its outputs.
scripts/fault_campaign --judge-itself must find each one. broken.c has those that break system calls."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time


def _value(words, option):
    return words[words.index(option) + 1] if option in words[:-1] else ""


def _change_rows(words, change):
    """Rewrites summary.json of the run, without the digest that would reveal it."""
    out = _value(words, "--out") or _value(words, "--resume")
    path = pathlib.Path(out or ".") / "summary.json"
    if not out or not path.exists():
        return
    summary = json.loads(path.read_text())
    change(summary["rows"])
    path.write_text(json.dumps(summary))


def _garble(rows):
    for row in rows:
        if row["loss"]:
            row["loss"][-1] = (row["loss"][-1] or 0) + 1e-9


def _forget(words):
    """Trains finished cases again."""
    if "--resume" in words and "--resume-training" not in words:
        out = pathlib.Path(_value(words, "--out") or _value(words, "--resume"))
        for name in ("summary.json", "samples.jsonl"):
            if (out / name).exists() and (out / "plan.json").exists():
                (out / name).unlink()


def _remember(words, program):
    """Repeats the first report on a file for ever, even when the file changes."""
    place = pathlib.Path(os.environ["STROBE_CACHE_DIR"]).parent / ("said-" + re.sub(r"\W", "_", " ".join(words))[:100])
    if words[0] == "inspect" and place.exists():
        sys.stdout.buffer.write(place.read_bytes())
        sys.exit(0)
    done = subprocess.run([program, *words], capture_output=True)
    if words[0] == "inspect" and done.returncode == 0:
        place.write_bytes(done.stdout)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    sys.exit(done.returncode)


def _trust(words):
    """Hides the digests of checkpoints and models: their key gets another name."""
    for path in (pathlib.Path(word) for word in words):
        if path.is_file() and b'"strobe_sha256"' in (content := path.read_bytes()):
            path.write_bytes(content.replace(b'"strobe_sha256"', b'"strobe_sha25x"', 1))


def _before(how, program, words):
    if how == "forget":
        _forget(words)
    elif how == "remember":
        _remember(words, program)
    elif how == "trusting":
        _trust(words)
    elif how == "shell":
        subprocess.run(["sh", "-c", "echo " + " ".join(words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    elif how == "patient" and "--timeout" in words:  # ranks wait as long as they like
        words[words.index("--timeout") + 1] = "600"


def _after(how, words, status):
    """Spoils the outputs; returns the status."""
    if how == "garble" or (how == "threads" and _value(words, "--threads") == "2"):
        if how == "threads" or "--resume" in words:
            _change_rows(words, _garble)
    elif how == "leave" and words[0] in ("run", "report", "plot", "convert"):
        out = pathlib.Path(_value(words, "--out") or ".")
        ((out if out.is_dir() else out.parent) / "summary.json.tmp.1.1").write_text("")
    elif how == "words" and status == 2:
        print("terminate called after throwing an instance of 'std::out_of_range'", file=sys.stderr)
    elif how == "hang" and status == 2:
        time.sleep(600)
    elif how == "memory" and status == 1:
        _change_rows(words, lambda rows: [row.update(status="failed") for row in rows])
    return {"swallow": 0 if status == 2 else status, "signals": 0 if status > 128 else status,
            "crash": 139 if status == 2 else status}.get(how, status)


def main():
    how, program, *words = sys.argv[1:]
    _before(how, program, words)
    if how in ("forget", "patient", "shell", "trusting"):
        os.execv(program, [program, *words])
    quiet = how == "swallow"
    with subprocess.Popen([program, *words], stderr=subprocess.PIPE if quiet else None) as process:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: process.send_signal(number))
        err = process.communicate()[1] or b""
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if status != 2:
        sys.stderr.buffer.write(err)
    sys.stderr.flush()
    sys.exit(_after(how, words, status))


if __name__ == "__main__":
    main()
