"""Where a source file can be mutated, from clang's syntax tree: exact ranges, and no guess about what is an operator."""
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess

ORDER = {"<": ("less", "<=", ">="), "<=": ("less_equal", "<", ">"), ">": ("greater", ">=", "<="),
         ">=": ("greater_equal", ">", "<")}
SWAP = {"==": ("equal", "!="), "!=": ("unequal", "=="), "+": ("plus", "-"), "-": ("minus", "+"), "*": ("times", "+"),
        "/": ("divided", "*"), "%": ("modulo", "+")}
LOGIC = {"&&": "||", "||": "&&"}
CALLS = ("CallExpr", "CXXMemberCallExpr", "CXXOperatorCallExpr")
LOOPS = ("ForStmt", "WhileStmt", "DoStmt", "CXXForRangeStmt")
SOURCE_LOCATION = pathlib.Path(__file__).resolve().parent / "source_location.hpp"
# These places must stay constants, or only the compiler checks them.
CONSTANT = ("ConstantExpr", "StaticAssertDecl", "EnumDecl", "FieldDecl", "ParmVarDecl", "NonTypeTemplateParmDecl",
            "TypeAliasDecl", "UnaryExprOrTypeTraitExpr")


@dataclasses.dataclass
class Mutant:
    """One small change: `old` becomes `new` on `line`, whose code is `text`. `state` is what became of it."""
    path: str
    line: int
    text: str
    old: str
    new: str
    kind: str
    begin: int
    end: int
    site: int = 0
    id: int = 0
    state: str = ""


@dataclasses.dataclass
class Site:
    """One place with its mutants: text to open with, what stands for the operator, and text to close with."""
    begin: int
    end: int
    opening: str
    closing: str
    swap: tuple = None  # (begin, end, text) of what is replaced in the middle
    mutants: list = dataclasses.field(default_factory=list)


def clang():
    """The clang++ of this machine, whichever its version."""
    names = ["clang++"] + [f"clang++-{version}" for version in range(20, 13, -1)]
    found = [name for name in names if shutil.which(name)]
    if not found:
        raise SystemExit("mutate: no clang++ was found; scripts/install_deps fuzz installs one")
    return found[0]


def syntax_tree(path, flags):
    """The declarations of namespace strobe in a file and what it includes."""
    command = [clang(), *flags, "-include", str(SOURCE_LOCATION), "-fsyntax-only", "-w", "-Xclang", "-ast-dump=json", "-Xclang",
               "-ast-dump-filter=strobe", str(path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(done.stdout):
        while at < len(done.stdout) and done.stdout[at] != "{":
            at += 1
        if at == len(done.stdout):
            break
        value, at = decoder.raw_decode(done.stdout, at)
        found.append(value)
    return found


def place(node):
    """(begin, end) of a node as offsets in the main file, or None for macros and included files."""
    begin, end = node.get("range", {}).get("begin", {}), node.get("range", {}).get("end", {})
    if "offset" not in begin or "offset" not in end or "includedFrom" in begin or "includedFrom" in end:
        return None
    return begin["offset"], end["offset"] + end["tokLen"]


def is_pointer(node):
    """Whether an expression is a pointer, whose sums and differences have no opposite."""
    kind = node.get("type", {})
    return kind.get("desugaredQualType", kind.get("qualType", "")).rstrip("const ").endswith("*")


class Finder:
    """Walks a syntax tree and collects sites, each once: templates and lambdas occur several times in a tree."""

    def __init__(self, name, source):
        self.name, self.source, self.sites, self.seen = name, source, [], set()

    def between(self, left, right):
        """The operator between two operands, with its place, or None."""
        if left is None or right is None or left[1] > right[0]:
            return None
        match = re.fullmatch(rb"\s*([-+*/%<>=!&|]+)\s*", self.source[left[1]:right[0]])
        return match and (match[1].decode(), left[1] + match.start(1), left[1] + match.end(1))

    def add(self, kind, begin, end, opening, closing, changes, swap=None, shown=None):
        """`changes`: (old, new) of every mutant of this site; {0}, {1} in the texts are their numbers."""
        if (kind, begin, end) in self.seen:
            return
        self.seen.add((kind, begin, end))
        at = swap[0] if swap else begin
        line = self.source.count(b"\n", 0, at) + 1
        text = self.source.split(b"\n")[line - 1].decode().strip()
        site = Site(begin, end, opening, closing, swap)
        for old, new in changes:
            site.mutants.append(Mutant(self.name, line, text, old, new, kind, begin, end, len(self.sites)))
        self.sites.append(site)

    def words(self, where):
        """A short form of the source text at a place."""
        text = " ".join(self.source[where[0]:where[1]].decode().split())
        return text if len(text) <= 60 else text[:57] + "..."

    def walk(self, node, parent=""):
        """Visits what is computed at run time."""
        kind = node.get("kind", "")
        if kind in CONSTANT or node.get("constexpr") or node.get("isImplicit"):
            return
        if kind == "CXXRecordDecl" and parent == "LambdaExpr":  # the body of a lambda comes once more
            return
        if kind == "VarDecl" and parent == "NamespaceDecl":
            return
        children = [child for child in node.get("inner", []) if child]
        getattr(self, "visit_" + kind, lambda *_: None)(node, children)
        if kind == "CXXForRangeStmt":  # without what the compiler adds
            shown = [child for child in children if child["kind"] == "DeclStmt"][:1] + children[-1:]
            children = shown
        elif kind == "IfStmt" and node.get("isConstexpr"):
            children = children[1:]
        for child in children:
            if kind in ("CompoundStmt", "IfStmt") + LOOPS:
                self.statement(child, kind)
            self.walk(child, kind)

    def visit_BinaryOperator(self, node, children):
        """Relations, arithmetic and logic; user-defined operators only where they compare for equality."""
        where = [place(child) for child in children[-2:]]
        found = len(where) == 2 and self.between(*where)
        if not found:
            return
        operator, begin, end = found
        (first, _), (_, last) = where
        comma = (begin, end, ",")
        if operator in ORDER:
            name, border, opposite = ORDER[operator]
            self.add("relation", first, last, f"strobe_mutation::{name}({{0}}, {{1}}, ", ")",
                     [(operator, border), (operator, opposite)], comma)
        elif operator in SWAP and ("=" in operator or not any(is_pointer(child) for child in children)):
            name, other = SWAP[operator]
            self.add("relation" if "=" in operator else "arithmetic", first, last, f"strobe_mutation::{name}({{0}}, ",
                     ")", [(operator, other)], comma)
        elif operator in LOGIC:
            on = "strobe_mutation::on({0})"
            self.add("logic", first, last, f"({on} != (({on} != static_cast<bool>(",
                     ")))) ", [(operator, LOGIC[operator])], (begin, end, f")) {operator} ({on} != static_cast<bool>("))

    def visit_CXXOperatorCallExpr(self, node, children):
        """Comparisons of objects."""
        where = [place(child) for child in children[-2:]]
        found = len(children) == 3 and self.between(*where)
        if found and found[0] in ("==", "!="):
            self.visit_BinaryOperator(node, children)

    def visit_UnaryOperator(self, node, _):
        """Drops a negation."""
        where = place(node)
        # The compiler turns != of objects into the negation of ==.
        if node.get("opcode") == "!" and where and re.match(rb"!(?!=)", self.source[where[0]:where[1]]):
            self.add("negation", *where, "(strobe_mutation::on({0}) != static_cast<bool>(", "))",
                     [(self.words(where), self.words((where[0] + 1, where[1])))])

    def literal(self, node, pattern, change):
        """Replaces a constant."""
        where = place(node)
        text = where and self.source[where[0]:where[1]].decode()
        if text and re.fullmatch(pattern, text):
            other = change(text)
            self.add("constant", *where, "strobe_mutation::pick({0}, ", f", {other})", [(text, other)])

    def visit_IntegerLiteral(self, node, _):
        """0 and 1 for each other, and one more than any other."""
        self.literal(node, r"\d+[uUlL]*", lambda text: {"0": "1", "1": "0"}.get(
            text) or str(int(re.match(r"\d+", text)[0]) + 1))

    def visit_FloatingLiteral(self, node, _):
        """As for integers."""
        self.literal(node, r"\d+(\.\d*)?(e-?\d+)?", lambda text: "0.0" if float(text) == 1 else f"({text} + 1.0)")

    def visit_CXXBoolLiteralExpr(self, node, _):
        """True and false for each other."""
        self.literal(node, "true|false", lambda text: "false" if text == "true" else "true")

    def visit_CallExpr(self, node, _):
        """min and max for each other."""
        where = place(node)
        found = where and re.match(rb"std::(min|max)(<[^()]*>)?\(", self.source[where[0]:where[1]])
        if found:
            name, other = found[1].decode(), {"min": "max", "max": "min"}[found[1].decode()]
            text = f"strobe_mutation::{name}{(found[2] or b'').decode()}({{0}}, "
            self.add("extreme", *where, "", "", [("std::" + name, "std::" + other)],
                     (where[0], where[0] + found.end(), text))

    def condition(self, node):
        """Negates a condition that is no operator, which has mutants of its own."""
        where = place(node)
        bare = node
        while bare["kind"] in ("ImplicitCastExpr", "ExprWithCleanups", "ParenExpr") and bare.get("inner"):
            bare = bare["inner"][0]
        if where and bare["kind"] in CALLS + ("DeclRefExpr", "MemberExpr"):
            self.add("condition", *where, "(strobe_mutation::on({0}) != static_cast<bool>(", "))",
                     [(self.words(where), "!(" + self.words(where) + ")")])

    def visit_IfStmt(self, node, children):
        """Its condition."""
        if not (node.get("hasInit") or node.get("hasVar") or node.get("isConstexpr")):
            self.condition(children[0])

    def visit_ConditionalOperator(self, _, children):
        """Its condition."""
        self.condition(children[0])

    def statement(self, node, parent):
        """Drops a statement that is run for its effect, and leaves early returns out."""
        where, bare = place(node), node
        while bare["kind"] == "ExprWithCleanups" and bare.get("inner"):
            bare = bare["inner"][0]
        kind = bare["kind"]
        effect = kind in CALLS + ("CompoundAssignOperator", "ContinueStmt", "BreakStmt")
        effect |= kind == "BinaryOperator" and bare.get("opcode") == "="
        effect |= kind == "UnaryOperator" and bare.get("opcode") in ("++", "--")
        effect |= kind in ("ReturnStmt", "CXXThrowExpr") and parent == "IfStmt"
        end = where and re.match(rb"\s*;", self.source[where[1]:])
        if not effect or not end or re.match(rb"[\w.>-]*\breserve\(", self.source[where[0]:where[1]]):
            return
        self.add("statement", where[0], where[1] + end.end(), "{{ if (!strobe_mutation::on({0})) ", " }}",
                 [(self.words(where) + ";", "nothing")])


def sites_of(name, path, flags):
    """All sites of one file."""
    with open(path, "rb") as file:
        finder = Finder(name, file.read())
    for tree in syntax_tree(path, flags):
        finder.walk(tree, "")
    return finder.source, finder.sites


def instrumented(source, sites):
    """The source with every site's switches; lines keep their numbers. An inner site lies inside an outer one."""
    edits = []
    for order, site in enumerate(sites):
        if not any(mutant.id > 0 for mutant in site.mutants):
            continue
        ids = [mutant.id or -1 for mutant in site.mutants]
        length = site.end - site.begin
        edits.append((site.begin, 1, -length, order, 0, site.opening.format(*ids)))
        edits.append((site.end, 0, length, -order, 0, site.closing.format(*ids)))
        if site.swap:
            begin, end, text = site.swap
            edits.append((begin, 2, 0, 0, end - begin, text.format(*ids)))
    result, at = [], 0
    for begin, _, _, _, replaced, text in sorted(edits):
        result += [source[at:begin], text.encode()]
        at = begin + replaced
    head = b'#include "scripts/mutation/support.hpp"\n#line 1\n'
    return head + b"".join(result) + source[at:]
