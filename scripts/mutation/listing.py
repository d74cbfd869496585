"""Mutants that are known to survive, and the table of what became of all."""
import collections

SEPARATOR = " @@ "


def line_of(mutant):
    """A mutant for the eye."""
    return f"{mutant.path}:{mutant.line}: {mutant.old} -> {mutant.new}   in: {mutant.text}"


def key(mutant):
    """Identifies a mutant in spite of edits elsewhere in its file."""
    return mutant.path, mutant.text, f"{mutant.old} -> {mutant.new}"


class Known:
    """tests/mutants.txt: FILE @@ line of code @@ old -> new @@ reason. Line numbers would change with every edit."""

    def __init__(self, path):
        self.reasons = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
            if not line or line.startswith("#"):
                continue
            fields = line.split(SEPARATOR)
            if len(fields) != 4 or not fields[3].strip():
                raise SystemExit(f"mutate: {path.name}:{number}: expected FILE @@ code @@ old -> new @@ reason")
            self.reasons[tuple(fields[:3])] = fields[3]

    def mark(self, mutant):
        """A survivor with a reason counts as explained."""
        if mutant.state in ("survived", "not reached") and key(mutant) in self.reasons:
            mutant.state = "explained"

    def complaints(self, drawn, keys, folders):
        """Entries in the folders whose code is no more, or whose mutants are all killed. `keys`: of all mutants."""
        states = collections.defaultdict(set)
        for mutant in drawn:
            states[key(mutant)].add(mutant.state)
        for entry in self.reasons:
            if not any(entry[0] == folder or entry[0].startswith(folder.rstrip("/") + "/") for folder in folders):
                continue
            if entry not in keys:
                yield f"mutants.txt: {entry[0]} has no '{entry[2]}' in '{entry[1]}' any more; remove the entry"
            elif states[entry] == {"killed"}:
                yield f"mutants.txt: a test kills '{entry[2]}' in {entry[0]}, '{entry[1]}' now; remove the entry"


def table(mutants, goal):
    """Prints what became of the mutants by folder; 1 where a folder is below the goal."""
    states = ("killed", "explained", "survived", "not reached", "not compiled")
    print(f"\n{'folder':<30}{'mutants':>9}" + "".join(f"{state:>14}" for state in states) + f"{'share':>9}")
    below = False
    for folder in dict.fromkeys(mutant.folder for mutant in mutants):
        counts = collections.Counter(mutant.state for mutant in mutants if mutant.folder == folder)
        judged = counts["killed"] + counts["survived"] + counts["not reached"]
        share = 100 * counts["killed"] / judged if judged else 100.0
        below |= share < goal
        print(f"{folder:<30}{sum(counts.values()):>9}" + "".join(f"{counts[state]:>14}" for state in states) +
              f"{share:>8.1f}%")
    print("share: killed, of the mutants that compile and have no reason in tests/mutants.txt; goal: "
          f"{goal:g} %")
    return 1 if below else 0
