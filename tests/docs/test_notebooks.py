"""The notebooks of the site: their cells run, and say what the text says. `make docs` runs them in
a kernel.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "guides" / "notebooks").glob("*.md"))
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: Path) -> tuple[dict[str, Any], list[Any]]:
    """Run all cells in one namespace; its names, and the value of each cell's last line."""
    names: dict[str, Any] = {}
    values = []
    for cell in CELL.findall(page.read_text("utf-8")):
        *statements, last = ast.parse(cell).body
        exec(compile(ast.Module(statements, []), page.name, "exec"), names)
        assert isinstance(last, ast.Expr), "a cell ends with what it shows"
        values.append(eval(compile(ast.Expression(last.value), page.name, "eval"), names))
    return names, values


def test_site_has_two_notebooks() -> None:
    assert [page.stem for page in NOTEBOOKS] == ["buffer", "capture"]


def test_buffer_notebook_finds_the_bandwidth_delay_product() -> None:
    pytest.importorskip("vl_convert")
    names, values = run(ROOT / "docs/guides/notebooks/buffer.md")
    assert names["table"]["p95 RTT, ms"].is_sorted()
    assert values[-1]["buffer"][0] in ("32 KiB", "64 KiB", "128 KiB")
    assert "<svg" in values[2]._repr_svg_()


def test_capture_notebook_finds_the_receive_window() -> None:
    names, values = run(ROOT / "docs/guides/notebooks/capture.md")
    assert names["flow"]["diagnosis"][0]["finding"] == "receive_window"
    bound, measured = values[-2]
    assert measured == pytest.approx(bound, rel=0.15)
    before, after = values[-1]["goodput_bps"]
    assert after > 3 * before
