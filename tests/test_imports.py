"""The packages of ackclock import in one direction, late imports and imports of types included."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from size import import_graph, longest_chain

ROOT = Path(__file__).parent.parent / "python/ackclock"
MODULES = {
    ".".join(("ackclock", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in ROOT.rglob("*.py")
}
NATIVE = "ackclock._native"
MAX_FLOORS = 14
"""Units of the longest chain of imports, as `make size` counts them."""


def _imported(path: Path) -> set[str]:
    """The modules of ackclock that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            parts = {f"{node.module}.{name.name}" for name in node.names}
            found |= {part if part in MODULES or part == NATIVE else str(node.module) for part in parts}
    return found & MODULES.keys()


def _unit(module: str) -> str:
    """A package below ackclock, or a module beside the packages."""
    return module.split(".")[1] if "." in module else "ackclock"


def _graph() -> dict[str, dict[str, list[str]]]:
    """For each unit the units that it imports, with the modules that do."""
    graph: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for module, path in MODULES.items():
        for other in _imported(path):
            if _unit(module) != _unit(other):
                graph[_unit(module)][_unit(other)].append(f"{module} -> {other}")
    return graph


def _circle(graph: dict[str, dict[str, list[str]]]) -> list[str]:
    """The units on circles of imports, and between two circles; empty without a circle."""
    below = {unit: set(others) for unit, others in graph.items()}
    while True:
        imported = set().union(*below.values())
        ends = {unit for unit, others in below.items() if not others & below.keys() or unit not in imported}
        if not ends:
            return sorted(below)
        below = {unit: others for unit, others in below.items() if unit not in ends}


def test_packages_import_without_a_circle() -> None:
    graph = _graph()
    assert len(graph) > 15
    circle = _circle(graph)
    edges = [line for unit in circle for other in graph[unit] if other in circle for line in graph[unit][other]]
    assert not circle, "\n".join(edges)


def test_tower_has_at_most_14_floors_when_late_imports_count() -> None:
    chain = longest_chain(import_graph({module: path.read_text() for module, path in MODULES.items()}))
    graph = _graph()
    edges = [line for upper, lower in pairwise(chain) for line in graph[upper][lower]]
    assert len(chain) <= MAX_FLOORS, "\n".join(edges)


def test_circle_is_found_in_a_graph_with_one() -> None:
    graph = {"a": {"b": ["a -> b"]}, "b": {"c": ["b -> c"], "d": []}, "c": {"b": ["c -> b"]}}
    assert _circle(graph) == ["b", "c"]
