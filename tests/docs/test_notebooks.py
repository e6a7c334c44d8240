"""The notebooks of the site: their cells run, and show what text and answers state.
`make docs` runs them in a kernel.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

FOLDER = ROOT / "docs" / "guides" / "notebooks"
NOTEBOOKS = sorted(path for path in FOLDER.glob("*.md") if path.stem != "README")
COURSE = ("asymmetry", "bufferbloat", "fairness")
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


def test_each_notebook_is_in_the_list_of_them() -> None:
    listed = re.findall(r"^\| \[[^\]]+\]\((\w+)\.md\)", (FOLDER / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == [page.stem for page in NOTEBOOKS]
    assert set(COURSE) < set(listed)


@pytest.mark.parametrize("name", COURSE)
def test_notebook_of_the_course_has_an_answer_to_each_question(name: str) -> None:
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    assert (
        4 <= text.count("**Question ") == text.count("<details><summary>Answer</summary>") == text.count("</details>")
    )
    assert f"{{nb-download}}`a notebook <{name}.ipynb>`" in text


def test_notebook_on_asymmetry_holds_what_its_text_states() -> None:
    pytest.importorskip("vl_convert")
    names, values = run(FOLDER / "asymmetry.md")
    assert names["k"](10e6, 173e3) == pytest.approx(1, abs=0.01)
    goodput = dict(names["table"].select("up", "goodput, Mb/s").iter_rows())
    assert goodput["25 kb/s"] > 10 / 8 * 2, "much more than an eighth"
    assert goodput["400 kb/s"] > 9.5 and "<svg" in values[2]._repr_svg_()
    plain, safe, cake = values[3]["goodput_bps"]
    assert cake > 2 * plain and cake > 2 * safe
    droptail, _, fair, _ = values[4]["goodput_bps"]
    assert fair > 2 * droptail


def test_notebook_on_bufferbloat_holds_what_its_text_states() -> None:
    pytest.importorskip("vl_convert")
    names, values = run(FOLDER / "bufferbloat.md")
    assert "<svg" in values[0]._repr_svg_()
    assert names["bloated"].flows["rtt_ms_max"][0] == pytest.approx(1000 * 524288 * 8 / 8e6 + 40, rel=0.05)
    goodput = dict(names["table"].select("buffer", "goodput, Mb/s").iter_rows())
    assert goodput["8 KiB"] < 0.95 * goodput["512 KiB"] < goodput["16 KiB"]
    mos = names["felt"]["call, MOS"]
    assert mos[0] < 2 and mos.is_sorted() and mos[3] > 4.3


def test_notebook_on_fairness_holds_what_its_text_states() -> None:
    pytest.importorskip("vl_convert")
    names, values = run(FOLDER / "fairness.md")
    cubic, vegas = names["shares"]["Mb/s"][3]
    assert cubic > 3 * vegas
    bbr = {}
    for buffer in ("16 KiB", "512 KiB"):
        flows = [names["flow"]("cubic"), names["flow"]("bbr")]
        done = names["ackclock"].simulate(names["link"](buffer), flows, duration="30 s")
        bbr[buffer] = done.flows["goodput_bps"][1] / done.flows["goodput_bps"].sum()
    assert bbr["16 KiB"] > 0.8 and bbr["512 KiB"] < 0.4
    for row in names["table"].iter_rows(named=True):
        assert row["p"] < 0.001 or row["reno"] == pytest.approx(row["Mathis"], rel=1 / 6)
        assert row["bbr"] > 9
    assert "<svg" in values[-1]._repr_svg_()


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
