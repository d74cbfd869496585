"""Gives every command inputs that are no ordinary files, and cuts a text while it is read."""
import os
import time

INPUTS = [["inspect", "FILE"], ["run", "--workload", "FILE", "--epochs", "1", "--out", "o"], ["run", "FILE", "--dry-run"],
          ["convert", "FILE", "converted.strobe"], ["compare", "FILE", "FILE"], ["compare", "good", "FILE"],
          ["run", "--resume", "FILE"], ["run", "--workload", "ucsocial", "--load-model", "FILE", "--out", "o"],
          ["run", "--workload", "ucsocial", "--checkpoint", "FILE", "--resume-training", "--out", "o"],
          ["run", "--workload", "ucsocial", "--device", "sim", "--cluster", "./FILE", "--out", "o"],
          ["validate", "--measured", "FILE", "--cluster", "p5-h100"], ["plan", "--workload", "FILE"],
          ["run", "--workload", "good.csv:window_count=2,features=FILE", "--epochs", "1", "--out", "o"],
          ["inspect", "good.csv:window_count=2,features=FILE"]]


def _make_odd(field):
    field.write("empty", b"")
    field.write("zeros", b"\0" * 4096)
    field.write("noise", field.rng.randbytes(4096))
    field.write("utf16.json", "{\"cases\": []}".encode("utf-16"))
    field.write("deep.json", "[" * 10**6 + "]" * 10**6)
    field.write("null.json", "null")
    field.write("number.json", "3")
    field.write("good.csv", "source,target,time\n1,2,3\n2,1,4\n")
    (field.folder / "a-folder").mkdir(exist_ok=True)
    for name in ("a-pipe", "loop", "dangling"):
        field.fresh(name)
    os.mkfifo(field.folder / "a-pipe")
    os.symlink("loop", field.folder / "loop")
    os.symlink("nowhere", field.folder / "dangling")
    return ["empty", "zeros", "noise", "utf16.json", "deep.json", "null.json", "number.json", "a-folder", "a-pipe", "loop",
            "dangling", "not-there", "/dev/zero", "/dev/null", "/dev/full", "/proc/self/maps"]


def as_every_input(field):
    odd = _make_odd(field)
    field.strobe("run", "--workload", "ucsocial", "--epochs", "1", "--out", "good")
    pairs = [(name, words) for name in odd for words in INPUTS]
    while True:
        field.rng.shuffle(pairs)
        for name, words in pairs:
            for out in ("o", "converted.strobe"):
                field.fresh(out)
            field.fresh("a-pipe")
            os.mkfifo(field.folder / "a-pipe")
            command = [word.replace("./FILE", name if name[0] == "/" else "./" + name).replace("FILE", name) for word in words]
            yield field.strobe(*command, seconds=20).wrong({2}, [os.path.basename(name)])


def cut_while_read(field):
    rows = 400000
    text = "source,target,time\n" + "".join(f"{i % 997},{i * 7 % 991},{i}\n" for i in range(rows))
    field.environment["STROBE_CACHE"] = "off"
    while True:
        path = field.write("big.csv", text)
        process = field.start(["inspect", "big.csv", "--json"])
        time.sleep(field.rng.uniform(0, 0.15))
        cut = field.rng.random() < 0.5
        if cut:
            os.truncate(path, field.rng.randrange(len(text) - 100))
        else:
            with open(path, "r+b") as file:
                file.seek(field.rng.randrange(len(text)))
                file.write(b"7")
        answer = field.finish(process, 30)
        wrong = answer.wrong({0, 2})
        if not wrong and answer.status == 0:
            # The command read either the whole old text or the whole new one.
            after = field.strobe("inspect", "big.csv", "--json")
            field.write("big.csv", text)
            before = field.strobe("inspect", "big.csv", "--json")
            if answer.out not in (before.out, after.out):
                wrong = "a report of no state of the file"
            elif cut and after.out == before.out:
                wrong = "the report of a shorter file is that of the longer one"
        yield wrong
