"""The page of verdicts on packetdrill scripts, made from a handful of our own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from studies.conformance.page import PUBLIC, page, public_part, table, totals, verdicts_before
from studies.conformance.suites import (
    OWN,
    UNEXPLAINED,
    VARIABLE,
    Row,
    Suite,
    dialogue,
    find,
    own_rows,
    public_rows,
    public_suites,
    unlisted,
    unlisted_rows,
)

ROOT = Path(__file__).parents[2]
SCRIPT = OWN / "receiver" / "out-of-order-sack.pkt"


@pytest.fixture
def suites() -> list[Suite]:
    return [
        Suite("flat", "Flat", "a/b", {"receiving": ["sack", "wrong", "gone"]}, {"MD5": ["signed"]}),
        Suite("deep", "Deep", "c", {"receiving": ["loss/sack"], "options": ["odd"]}, {}),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two suites below one folder: a script passes, one fails, one is unsupported, one absent."""
    text = SCRIPT.read_text()
    (tmp_path / "deep" / "loss").mkdir(parents=True)
    (tmp_path / "sack.pkt").write_text(f"`./defaults.sh`\n{text}")
    (tmp_path / "deep" / "loss" / "sack.pkt").write_text(f"// Again.\n`../common/defaults.sh`\n{text}")
    (tmp_path / "wrong.pkt").write_text(text.replace("ack 2001", "ack 2002"))
    (tmp_path / "odd.pkt").write_text("`sysctl -q net.ipv4.tcp_made_up=1`\n0 socket(..., SOCK_STREAM, 0) = 3\n")
    return tmp_path


def test_file_belongs_to_the_name_with_the_longest_end_of_its_path(suites: list[Suite], folder: Path) -> None:
    assert find(suites, [folder]) == {
        ("flat", "sack"): folder / "sack.pkt",
        ("flat", "wrong"): folder / "wrong.pkt",
        ("deep", "loss/sack"): folder / "deep" / "loss" / "sack.pkt",
        ("deep", "odd"): folder / "odd.pkt",
    }


def test_row_has_verdict_and_our_cause(suites: list[Suite], folder: Path) -> None:
    found = find(suites, [folder])
    flat, deep = (public_rows(suite, found, {}) for suite in suites)
    assert [(row.name, row.verdict, row.cause) for row in (*flat, *deep)] == [
        ("sack", "passes", ""),
        ("wrong", "fails", UNEXPLAINED),
        ("gone", "absent", ""),
        ("loss/sack", "passes", ""),
        ("odd", "unsupported", "the engine does not have this sysctl (tcp_made_up)"),
    ]
    assert public_rows(suites[0], found, {"wrong": "the number is wrong"})[1].cause == "the number is wrong"


def test_page_counts_supported_scripts_and_equal_dialogues(suites: list[Suite], folder: Path) -> None:
    found = find(suites, [folder])
    rows = {suite.key: public_rows(suite, found, {}) for suite in suites}
    text = public_part(suites, {"MD5": "signatures"}, rows, found)
    assert "| **all** | 4 | 3 (75%) | 2 (67%) | 1 | 1 |" in text
    assert "1 of the scripts repeats" in text
    assert "| gone | receiving | absent |  |" in text
    assert "| flat | signatures | 1 | 0 | signed |" in text
    assert (
        "Scripts in the folders: 4. In a table of their suite: 4. [Left out](#left-out): 0.\nIn the table of [others](#others): 0."
        in text
    )


@pytest.mark.finding("K6")
def test_page_has_every_script_found(suites: list[Suite], folder: Path) -> None:
    shutil.copy(folder / "sack.pkt", folder / "signed.pkt")
    shutil.copy(folder / "sack.pkt", folder / "deep" / "loss" / "new.pkt")
    (folder / "deep" / "what.pkt").write_text("no script\n")
    found = find(suites, [folder])
    rows = {suite.key: public_rows(suite, found, {}) for suite in suites}
    others = unlisted_rows(unlisted([folder], found))
    text = public_part(suites, {"MD5": "signatures"}, rows, found, others)
    assert (
        "Scripts in the folders: 7. In a table of their suite: 4. [Left out](#left-out): 1.\nIn the table of [others](#others): 2."
        in text
    )
    assert "| loss/new | loss | passes |  |" in text
    assert "| deep/what | deep | unsupported | the script is not of the language that ackclock reads |" in text
    for path in folder.rglob("*.pkt"):
        assert f"{path.stem} |" in text


def test_absent_script_keeps_its_last_verdict(suites: list[Suite], folder: Path) -> None:
    found = find(suites, [folder])
    first = public_part(suites, {"MD5": "s"}, {suite.key: public_rows(suite, found, {}) for suite in suites}, found)
    gone: dict[tuple[str, str], Path] = {}
    for _ in range(2):
        before = verdicts_before(first)
        assert before["Flat"] == {"sack": "passes", "wrong": "fails"}
        rows = {suite.key: public_rows(suite, gone, {}, before.get(suite.title, {})) for suite in suites}
        first = public_part(suites, {"MD5": "s"}, rows, gone)
        assert "| wrong | receiving | absent, before: fails |  |" in first
        assert "| gone | receiving | absent |  |" in first


def test_page_holds_no_statement_of_a_public_script(suites: list[Suite], folder: Path) -> None:
    found = find(suites, [folder])
    rows = {suite.key: public_rows(suite, found, {}) for suite in suites}
    text = page([], public_part(suites, {"MD5": "signatures"}, rows, found))
    statements = [line for path in found.values() for line in path.read_text().splitlines() if len(line) > 12]
    assert statements
    assert not [line for line in statements if line in text]


def test_own_row_names_host_and_the_reason_of_a_failure(tmp_path: Path) -> None:
    (tmp_path / "receiver").mkdir()
    shutil.copy(SCRIPT, tmp_path / "receiver" / "sack.pkt")
    text = SCRIPT.read_text().replace("ack 2001", "ack 2002")
    (tmp_path / "receiver" / "wrong.pkt").write_text(f"// host: bsd-1997\n// fails: a wrong number\n{text}")
    rows = own_rows(tmp_path)
    assert [(row.name, row.category, row.verdict, row.cause, row.host) for row in rows] == [
        ("receiver/sack", "receiver", "passes", "", "linux-6"),
        ("receiver/wrong", "receiver", "fails", "a wrong number", "bsd-1997"),
    ]
    assert "| receiver/wrong | receiver | bsd-1997 | fails | a wrong number |" in table(rows, hosts=True)


def test_totals_have_no_share_of_nothing() -> None:
    assert "| **all** | 1 | 0 (0%) | - | 0 | 1 |" in totals([Row("a", "timers", "unsupported", "why")])


def test_dialogue_ignores_comments_and_paths_of_commands() -> None:
    assert dialogue("// a\n`../common/defaults.sh`\n+0 < . 1:1(0)\n") == dialogue("`./defaults.sh`\n+0  < . 1:1(0)")


def test_file_keeps_its_part_on_public_suites_without_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    file = tmp_path / "conformance.md"
    file.write_text(f"# Old\n\n{PUBLIC}\n\nmeasured\n")
    command = [sys.executable, "-m", "studies.conformance.page", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"{VARIABLE} is not set: the part on public suites stays" in done.stderr
    text = file.read_text()
    assert text.endswith(f"{PUBLIC}\n\nmeasured\n")
    assert "| receiver/out-of-order-sack | receiver | linux-6 | passes |  |" in text


def test_name_of_a_public_script_stands_once_and_each_reason_is_known() -> None:
    suites, reasons = public_suites()
    for suite in suites:
        names = [name for name, _ in suite.names()] + [name for left in suite.left_out.values() for name in left]
        assert len(names) == len(set(names))
        assert set(suite.left_out) <= set(reasons)
