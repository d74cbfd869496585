"""Records with strace the calls by which a program writes, and lists the folder states that a power loss may leave."""
import os
import pathlib
import re
from dataclasses import dataclass, field

CALLS = "open,openat,write,pwrite64,lseek,ftruncate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat"
LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += (-?\d+)(?:<(.*?)>)?(\(deleted\))?", re.DOTALL)
RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)", re.DOTALL)
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
DESCRIPTOR = re.compile(r"^(\d+)<(.*?)>(?=,|$|\(deleted\))")
RECORDER = ["strace", "-f", "-y", "-qq", "-s", "100000000", "-e", "trace=" + CALLS, "-e", "signal=none"]


def _bytes(quoted):
    return quoted.encode("latin-1").decode("unicode_escape").encode("latin-1")


def _whole_lines(text):
    """Calls in the order in which they ended; interrupted calls are joined again."""
    begun = {}
    for line in text.split("\n"):
        if line.endswith("<unfinished ...>"):
            begun[line.split()[0]] = line.removesuffix("<unfinished ...>").rstrip()
        elif resumed := RESUMED.match(line):
            yield begun.pop(resumed[1], "") + resumed[2].lstrip()
        else:
            yield line


@dataclass
class File:
    """Content that is on the disk for certain, and the changes since."""
    safe: bytes = b""
    since: list = field(default_factory=list)  # (offset, data), or (size, None) where it was cut to a size

    def content(self, changes=None, part=1.0):
        """The content after the first `changes` changes, the last of them in part."""
        changes = self.since if changes is None else self.since[:changes]
        content = bytearray(self.safe)
        for number, (at, data) in enumerate(changes):
            if data is None:
                content = content[:at].ljust(at, b"\0")
                continue
            data = data[:int(part * len(data))] if number == len(changes) - 1 else data
            content = content.ljust(at, b"\0")
            content[at:at + len(data)] = data
        return bytes(content)

    def sync(self):
        self.safe, self.since = self.content(), []


class Disk:
    """The folder `root` as its program sees it (`names`), and as the disk may hold it (`safe_names`, then `since` in
    order)."""

    def __init__(self, root, program_folder):
        self.root, self.program_folder = pathlib.Path(root), pathlib.Path(program_folder)
        self.names, self.safe_names, self.since = {}, {}, []
        self.handles = {}  # (descriptor) -> [offset, append]
        self.said = []  # what was written to the terminal

    def _path(self, text):
        path = os.path.normpath(os.path.join(self.program_folder, os.fsdecode(_bytes(text))))
        return os.path.relpath(path, self.root) if path.startswith(str(self.root) + "/") else None

    def _name(self, *change):
        """(path, file or None): the name gets a file, or loses it."""
        self.since.append(change)
        self._apply(self.names, change)

    @staticmethod
    def _apply(names, change):
        for path, file in change:
            if file is None:
                names.pop(path, None)
            else:
                names[path] = file

    def replay(self, line):
        """One line of strace's; returns whether the disk may hold something else now."""
        call = LINE.match(line)
        if not call or int(call[3]) < 0 or call[5]:
            return False
        name, words, result = call[1], call[2], int(call[3])
        texts = [match[1] for match in TEXT.finditer(words)]
        if name in ("open", "openat"):
            return self._open(texts[0], words, result)
        if name in ("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat"):
            return self._names_call(name, [self._path(text) for text in texts])
        descriptor = DESCRIPTOR.match(words)
        if not descriptor or words[descriptor.end():].startswith("(deleted)"):
            return False
        if name == "write" and int(descriptor[1]) in (1, 2) and not descriptor[2].startswith("/"):
            self.said.append(_bytes(texts[0]).decode("utf-8", "replace"))
            return True
        return self._file_call(name, int(descriptor[1]), self._path(descriptor[2]), words, texts, result)

    def _open(self, text, words, descriptor):
        path = self._path(text)
        self.handles[descriptor] = [0, "O_APPEND" in words]
        if path is None or "O_TMPFILE" in words or not re.search(r"O_CREAT|O_TRUNC", words):
            return False
        if path not in self.names:
            self._name((path, File()))
        elif "O_TRUNC" in words:
            self.names[path].since.append((0, None))
        return True

    def _names_call(self, name, paths):
        if not paths or any(path is None for path in paths):
            return False
        if name.startswith("mkdir"):
            self._name((paths[0], "folder"))
        elif name.startswith("unlink"):
            self._name((paths[0], None))
        else:
            file = self.names.get(paths[0])
            if file is None:
                return False
            self._name((paths[1], file), *([(paths[0], None)] if name.startswith("rename") else []))
        return True

    def _file_call(self, name, descriptor, path, words, texts, result):
        folder = path is None and name in ("fsync", "fdatasync") and DESCRIPTOR.match(words)[2] == str(self.root)
        file = self.names.get(path)
        if name in ("fsync", "fdatasync"):
            if isinstance(file, File):
                file.sync()
            elif folder or file == "folder":
                self._sync_folder("" if folder else path)
            return True
        handle = self.handles.setdefault(descriptor, [0, False])
        if name == "lseek":
            handle[0] = result
        if not isinstance(file, File) or name == "lseek":
            return False
        if name == "ftruncate":
            file.since.append((int(words.rsplit(",", 1)[1]), None))
            return True
        data = _bytes(texts[0])[:result]
        at = int(words.rsplit(",", 1)[1]) if name == "pwrite64" else len(file.content()) if handle[1] else handle[0]
        file.since.append((at, data))
        handle[0] = at + len(data) if name == "write" else handle[0]
        return True

    def _sync_folder(self, folder):
        """Puts all names of the folder on the disk. A file system's journal keeps the order, so earlier changes are
        there too."""
        last = max((n for n, change in enumerate(self.since) if any(os.path.dirname(path) == folder for path, _ in change)),
                   default=-1)
        for change in self.since[:last + 1]:
            self._apply(self.safe_names, change)
        del self.since[:last + 1]

    def states(self, rng):
        """Folders that a loss of power may leave now, each as {path: content, or None for a folder}."""
        for names in sorted({0, rng.randint(0, len(self.since)), len(self.since)}):
            kept = dict(self.safe_names)
            for change in self.since[:names]:
                self._apply(kept, change)
            for data in ("lost", "zeros", "part", "kept"):
                yield {path: self._left(file, data, rng) for path, file in kept.items()}

    @staticmethod
    def _left(file, data, rng):
        if file == "folder":
            return None
        if data == "lost":
            return file.safe
        if data == "zeros":  # the size reached the disk, the content did not
            return file.safe.ljust(len(file.content()), b"\0")
        if data == "part":
            return file.content(rng.randint(0, len(file.since)), rng.random())
        return file.content()


def lines(text):
    return _whole_lines(text)


def put(state, folder):
    """Makes a state in an empty folder; a name whose folder was lost is lost with it."""
    for path in sorted(state):
        place = folder / path
        if not place.parent.is_dir():
            continue
        if state[path] is None:
            place.mkdir()
        else:
            place.write_bytes(state[path])
