"""The size of the tree at a commit, and how typed and how layered the Python package is.

Standard library only. Everything is read from git, so the working tree does not count:

- lines of python/ackclock/**.py, without the folders of data papers/, links/ and hosts/;
- with --base, lines added less lines removed since that commit. Pages that programs print
  (docs/evidence) do not count; a moved file counts with its changed lines only (`git diff -M`);
- untyped mappings: `dict[str, Any]`, `Mapping[str, object]` and the like in all of python/ackclock;
  once as they are written, once with aliases: a use of `Plan = dict[str, Any]` (also by `type` or
  NewType) counts as many as its definition has, and the definition does not count;
- `json.loads` and `json.load`, called or passed on, by what they read: `native` if the argument is
  of `_native`, or of a method of its classes that returns text (_native.pyi), `file` if it is a
  file's content, else `other`. Names are followed through the assignments of one function: --list
  prints each use, as text of the engine that a parameter or a table passes on is `other`;
- floors: the units of the longest chain of imports. A unit is a package below ackclock or a module
  beside the packages, as in tests/test_imports.py, and an import counts wherever it stands: in a
  function, or for types only. A unit that imports no other stands on floor 1; modules of one
  package share its floor.

usage: size.py [COMMIT] [--base COMMIT] [--list]    (default: HEAD)
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "python/ackclock/"
DATA = ("papers", "links", "hosts")
NATIVE = "ackclock._native"
EVIDENCE = "docs/evidence/"
LINE = "\n"
MAPPINGS = {"dict", "Mapping", "MutableMapping"}
UNTYPED = {"Any", "object"}
FILE_READERS = {"read_text", "read_bytes", "read_content", "open", "read"}


def git(*arguments: str) -> str:
    """The output of a git command in this repository."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def python_sources(commit: str) -> tuple[dict[str, str], str]:
    """The text of each Python file of the package by its module's name, and that of _native.pyi."""
    archive = subprocess.run(["git", "archive", commit, PACKAGE], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        contents = {one.name: file for one in files if (file := files.extractfile(one))}
        texts = {
            name: file.read().decode() for name, file in sorted(contents.items()) if name.endswith((".py", ".pyi"))
        }
    stub = texts.get(f"{PACKAGE}_native.pyi", "")
    return {module_of(name): text for name, text in texts.items() if name.endswith(".py")}, stub


def module_of(path: str) -> str:
    """The module of a file.

    >>> module_of("python/ackclock/input/__init__.py")
    'ackclock.input'
    """
    return path.removeprefix("python/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def unit(module: str) -> str:
    """The package below ackclock, or the module beside the packages."""
    return module.split(".")[1] if "." in module else "ackclock"


def net_lines(base: str, commit: str) -> Counter[str]:
    """Lines added less lines removed since `base`, by the ending of the file's name."""
    net: Counter[str] = Counter()
    fields = iter(git("diff", "-M", "--numstat", "-z", base, commit).split("\0"))
    for entry in fields:
        if not entry:
            continue
        added, removed, path = entry.split("\t")
        if not path:  # a moved file: its old and its new name follow
            next(fields)
            path = next(fields)
        if added != "-" and not path.startswith(EVIDENCE):
            net[Path(path).suffix or Path(path).name] += int(added) - int(removed)
    return net


@dataclass
class Module:
    """What a module's text binds and imports at its top."""

    tree: ast.Module
    aliases: dict[str, int] = field(default_factory=dict)
    """Its own names that stand for types with untyped mappings, with their number."""
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Module and name of what `from MODULE import NAME` binds, by the name here."""


def untyped_mapping(node: ast.AST) -> bool:
    """Whether the node is `dict[str, Any]` or alike."""
    if not isinstance(node, ast.Subscript) or name_of(node.value) not in MAPPINGS:
        return False
    arguments = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    return len(arguments) == 2 and name_of(arguments[0]) == "str" and name_of(arguments[1]) in UNTYPED


def name_of(node: ast.AST) -> str:
    """The last part of a name, such as `Any` of `typing.Any`; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def alias_definition(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """Name and type of a statement that may define an alias."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id, node.value
    if isinstance(node, ast.AnnAssign) and name_of(node.annotation) == "TypeAlias" and node.value:
        return name_of(node.target), node.value
    if type(node).__name__ == "TypeAlias":  # the statement `type` of Python 3.12
        return name_of(node.name), node.value  # type: ignore[attr-defined]
    return None


def is_type(node: ast.expr) -> bool:
    """Whether an assigned expression is a type: names and subscripts, `|`, or NewType."""
    if isinstance(node, ast.Call):
        return name_of(node.func) == "NewType"
    parts = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Constant, ast.Load)
    return isinstance(node, ast.Subscript | ast.BinOp | ast.Name) and all(
        isinstance(one, parts) for one in ast.walk(node)
    )


def untyped_mappings(sources: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """The number of untyped mappings in each module: as written, and with each use of an alias."""
    modules = {name: Module(ast.parse(text)) for name, text in sources.items()}
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                module.imported |= {one.asname or one.name: (node.module, one.name) for one in node.names}
    definitions = {
        (name, *found): node
        for name, module in modules.items()
        for node in module.tree.body
        if (found := alias_definition(node)) and is_type(found[1])
    }
    while True:  # until no alias of an alias is new
        before = [dict(module.aliases) for module in modules.values()]
        for name, alias, value in definitions:
            if number := _number(value, modules[name], modules):
                modules[name].aliases[alias] = number
        if before == [module.aliases for module in modules.values()]:
            break
    counts = {}
    for name, module in modules.items():
        own = {id(node) for (where, alias, _), node in definitions.items() if where == name and alias in module.aliases}
        written = sum(map(untyped_mapping, ast.walk(module.tree)))
        counts[name] = written, sum(_number(node, module, modules) for node in module.tree.body if id(node) not in own)
    return counts


def _number(node: ast.AST, module: Module, modules: Mapping[str, Module]) -> int:
    """The untyped mappings in a part of a module, aliases at each use."""
    total = 0
    for one in ast.walk(node):
        if untyped_mapping(one):
            total += 1
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            total += _alias(one.id, module, modules)
    return total


def _alias(name: str, module: Module, modules: Mapping[str, Module]) -> int:
    """The untyped mappings for which a name of a module stands, through imports of it."""
    for _ in range(8):
        if name in module.aliases:
            return module.aliases[name]
        if name not in module.imported:
            return 0
        where, name = module.imported[name]
        if where not in modules:
            return 0
        module = modules[where]
    return 0


@dataclass(frozen=True)
class JsonRead:
    """A use of json.loads or json.load."""

    module: str
    line: int
    function: str
    kind: str
    """"native", "file" or "other"."""
    text: str


def json_reads(sources: Mapping[str, str], stub: str) -> list[JsonRead]:
    """All uses in order. `stub` declares the engine: _native.pyi."""
    texts = _text_methods(stub)
    return [one for module, text in sources.items() for one in _reads_of(module, text, texts)]


def _text_methods(stub: str) -> set[str]:
    """The methods of the engine's classes that return text."""
    classes = [node for node in ast.parse(stub).body if isinstance(node, ast.ClassDef)]
    methods = [node for one in classes for node in one.body if isinstance(node, ast.FunctionDef) and node.returns]
    return {one.name for one in methods if {"str", "bytes"} & {name_of(part) for part in ast.walk(one.returns or one)}}


def _reads_of(module: str, text: str, texts: set[str]) -> Iterator[JsonRead]:
    tree = ast.parse(text)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    modules = {one.asname or one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}

    def above(node: ast.AST, *kinds: type[ast.AST]) -> ast.AST:
        while node in parents and not isinstance(node, kinds):
            node = parents[node]
        return node

    def is_native(node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in texts and name_of(node.value) not in modules
        return isinstance(node, ast.Name) and node.id == "_native"

    def is_file(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and name_of(node.func) in FILE_READERS

    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or ast.unparse(node) not in ("json.loads", "json.load"):
            continue
        call = above(node, ast.Call)
        scope = above(node, ast.FunctionDef, ast.AsyncFunctionDef)
        given = [argument for argument in getattr(call, "args", []) if argument is not node]
        kinds = (
            kind for kind, source in (("native", is_native), ("file", is_file)) if _comes_from(given, scope, source)
        )
        function = getattr(scope, "name", "")
        yield JsonRead(module, node.lineno, function, next(kinds, "other"), text.splitlines()[node.lineno - 1].strip())


def _comes_from(given: Iterable[ast.AST], scope: ast.AST, is_source: Callable[[ast.AST], bool]) -> bool:
    """Whether expressions of a function have a source in them, or a name assigned from one."""
    bound = list(_assignments(scope))
    names: set[str] = set()
    seen = [*given]
    for expression in seen:
        for node in ast.walk(expression):
            if is_source(node):
                return True
            if isinstance(node, ast.Name) and node.id not in names:
                names.add(node.id)
                seen += [value for target, value in bound if node.id in {name_of(one) for one in ast.walk(target)}]
    return False


def _assignments(within: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What binds names below a node, with the value."""
    for node in ast.walk(within):
        if isinstance(node, ast.Assign):
            yield from ((target, node.value) for target in node.targets)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value:
            yield node.target, node.value
        elif isinstance(node, ast.For | ast.comprehension):
            yield node.target, node.iter
        elif isinstance(node, ast.withitem) and node.optional_vars:
            yield node.optional_vars, node.context_expr


def import_graph(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The units that each unit imports."""
    graph: dict[str, set[str]] = defaultdict(set)
    for module, text in sources.items():
        here = unit(module)
        graph[here] |= {unit(other) for other in _imported(text, sources)} - {here}
    return dict(graph)


def _imported(text: str, sources: Mapping[str, str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{one.name}" for one in node.names}
            found |= {part if part in sources or part == NATIVE else node.module for part in parts}
    return found & sources.keys()


def longest_chain(graph: Mapping[str, set[str]]) -> list[str]:
    """The longest chain of imports, from the top down; of equal ones the first by name.

    Raises ValueError if units import each other in a circle.

    >>> longest_chain({"cli": {"api", "errors"}, "api": {"errors"}, "errors": set()})
    ['cli', 'api', 'errors']
    """

    chains: dict[str, list[str]] = {}
    left = dict(graph)
    while left:
        ready = [name for name in sorted(left) if not left[name] & left.keys()]
        if not ready:
            raise ValueError(f"{', '.join(sorted(left))}: imports in a circle")
        for name in ready:
            chains[name] = [name, *max((chains[other] for other in sorted(left.pop(name))), key=len, default=[])]
    return max((chains[name] for name in sorted(chains)), key=len, default=[])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit", nargs="?", default="HEAD")
    parser.add_argument("--base", help="count the lines added less those removed since this commit")
    parser.add_argument("--list", action="store_true", help="each json.loads, and the modules with untyped mappings")
    arguments = parser.parse_args()
    commit = git("rev-parse", "--short", arguments.commit).strip()
    sources, stub = python_sources(commit)
    counted = [text for module, text in sources.items() if unit(module) not in DATA]
    print(f"{commit}: {sum(text.count(LINE) for text in counted):,} lines of Python without {', '.join(DATA)}")
    if arguments.base:
        net = net_lines(arguments.base, commit)
        kinds = ", ".join(f"{ending} {number:+,}" for ending, number in sorted(net.items()) if number)
        print(f"net lines since {arguments.base}, without {EVIDENCE}: {sum(net.values()):+,} ({kinds})")
    untyped = untyped_mappings(sources)
    written, used = (sum(numbers) for numbers in zip(*untyped.values(), strict=True))
    print(f"untyped mappings: {written:,} as written, {used:,} with each use of an alias")
    reads = json_reads(sources, stub)
    by_kind = Counter(one.kind for one in reads)
    functions = {(one.module, one.function) for one in reads if one.kind == "file"}
    print(
        f"json.loads: {by_kind['native']} of native text; {by_kind['file']} of files, in {len(functions)} functions; "
        f"{by_kind['other']} other"
    )
    chain = longest_chain(import_graph(sources))
    print(f"floors: {len(chain)} ({' > '.join(chain)})")
    if arguments.list:
        print(*(f"{one.kind:6} {one.module}:{one.line}: {one.text}" for one in reads), sep=LINE)
        largest = sorted(untyped.items(), key=lambda item: -item[1][1])
        print(*(f"{numbers[1]:4} untyped in {module}" for module, numbers in largest if numbers[1]), sep=LINE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
