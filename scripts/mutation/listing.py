"""Mutants that are known to survive, and the table of all outcomes."""
import collections

SEPARATOR = " @@ "


def line_of(mutant):
    """One printed line for a mutant."""
    return f"{mutant.path}:{mutant.line}: {mutant.old} -> {mutant.new}   in: {mutant.text}"


class Known:
    """tests/mutants.txt: FILE @@ line of code @@ old -> new @@ reason. It has no line numbers, because edits change
    them."""

    def __init__(self, root, path):
        self.root, self.reasons = root, {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
            if not line or line.startswith("#"):
                continue
            fields = line.split(SEPARATOR)
            if len(fields) != 4 or not fields[3].strip():
                raise SystemExit(f"mutate: {path.name}:{number}: expected FILE @@ code @@ old -> new @@ reason")
            self.reasons[tuple(fields[:3])] = fields[3]

    @staticmethod
    def key(mutant):
        """The identity of a mutant, which edits elsewhere do not change."""
        return mutant.path, mutant.text, f"{mutant.old} -> {mutant.new}"

    def mark(self, mutants):
        """Marks survivors with a reason as explained."""
        for mutant in mutants:
            if mutant.state in ("survived", "not reached") and self.key(mutant) in self.reasons:
                mutant.state = "explained"

    def complaints(self, mutants):
        """Entries whose mutant is now killed, or whose code no longer exists."""
        states = collections.defaultdict(set)
        for mutant in mutants:
            states[self.key(mutant)].add(mutant.state)
        for key, _ in self.reasons.items():
            path = self.root / key[0]
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            if key[1] not in (line.strip() for line in lines):
                yield f"mutants.txt: {key[0]} has no line '{key[1]}' any more; remove the entry"
            elif states[key] == {"killed"}:
                yield f"mutants.txt: a test kills '{key[2]}' in {key[0]}, '{key[1]}' now; remove the entry"


def table(mutants, goal):
    """Prints the outcomes of the mutants by folder; returns 1 when a folder is below the goal."""
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
