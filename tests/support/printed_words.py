"""The heads of the terminal's tables, found in the program's source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

UNIT = re.compile(r"\s*(\b(ms|us|s|kb|1 s|mb/s)|%)$")
TABLES = ("text_table", "_advice_table", "add_column")


def heads(root: Path) -> dict[str, str]:
    """Each head of a table under a folder of sources, with the file that has it."""
    modules = {path: ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))}
    constants = {name: value for tree in modules.values() for name, value in _assigned(tree).items()}
    found: dict[str, str] = {}
    for path, tree in modules.items():
        for scope in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            known = {**constants, **_assigned(tree), **_assigned(scope)}
            for call in ast.walk(scope):
                if isinstance(call, ast.Call) and _name(call.func) in TABLES:
                    arguments = call.args[:1] if _name(call.func) == "add_column" else call.args[1:]
                    for text in (text for argument in arguments for text in _texts(argument, known, 0)):
                        if re.search("[A-Za-z]", text) and "_" not in text:
                            found.setdefault(text, str(path.relative_to(root)))
    return found


def unknown_words(head: str, known: Set[str]) -> list[str]:
    """The words of a head that are not among the known ones, which are in lower case. A head is
    known as a whole, or each of its lines is; a line, too, may be known by each of its words.

    >>> unknown_words("release error us\\np50", {"release error", "p50"})
    []
    >>> unknown_words("retrans-\\nmitted", {"sent"})
    ['retransmitted']
    """
    text = re.sub(r"(\w)-\n(?=\w)", r"\1", head).replace(":", "").casefold()
    lines = [UNIT.sub("", line).strip() for line in text.split("\n")]
    whole = " ".join(text.split())
    if known & {" ".join(lines).strip(), whole, UNIT.sub("", whole)}:
        return []
    lines = [one if one in known else line for one, line in zip(text.split("\n"), lines, strict=True)]
    return [
        line
        for line in lines
        if line and line not in known and not all(UNIT.sub("", word) in known for word in line.split())
    ]


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """The values of names: of a module's top, or of a function, whose loops are included."""
    nodes = ast.walk(tree) if isinstance(tree, ast.FunctionDef) else ast.iter_child_nodes(tree)
    found: dict[str, ast.expr] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                found[name] = value
            case ast.For(target=ast.Name(id=name), iter=value):
                found[name] = value
    return found


def _texts(node: ast.AST, known: Mapping[str, ast.expr], depth: int) -> Iterator[str]:
    """The texts of an expression, those of its names included."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name) if name in known and depth < 4:
            yield from _texts(known[name], known, depth + 1)
        case ast.JoinedStr() | ast.Call() | ast.Compare() | ast.Subscript():
            return
        case ast.IfExp(body=body, orelse=other):
            yield from _texts(body, known, depth)
            yield from _texts(other, known, depth)
        case ast.ListComp(elt=element, generators=generators):
            yield from _texts(element, known, depth)
            for generator in generators:
                yield from _texts(generator.iter, known, depth + 1)
        case ast.Dict(keys=keys):
            for key in keys:
                if key is not None:
                    yield from _texts(key, known, depth)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts(child, known, depth)
