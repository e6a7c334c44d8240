"""Dialogues with a running kernel against the engine: the floors, and the kinds of differences."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock.packetdrill import run_script
from studies.dialogues.differences import kind
from studies.dialogues.page import by_cause, kinds, page, totals
from studies.dialogues.play import FOLDER, Causes, Row, by_category, floors, play_all, scripts

SERVER = """0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 65535
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 2000) = 2000
"""


@pytest.fixture(scope="module")
def rows(oracles: Path) -> list[Row]:
    folder = oracles / FOLDER
    if not folder.is_dir():
        pytest.skip(f"ACKCLOCK_ORACLES has no {FOLDER}")
    return play_all(scripts(folder), workers=1)


def test_host_passes_as_many_dialogues_of_each_category_as_before(rows: list[Row]) -> None:
    known, found = Causes.read().names(), by_category(rows)
    for category, floor in floors().items():
        of = found.get(category, [])
        assert of, f"ACKCLOCK_ORACLES has no dialogues of {category}"
        failing = [f"{row.name}:{row.line} ({row.kind})" for row in of if row.verdict != "passes"]
        fresh = [text for text in failing if text.split(":")[0] not in known]
        assert sum(row.verdict == "passes" for row in of) >= floor["passes"], f"{category}, no longer pass: {fresh}"
        by_packets = [f"{row.name}:{row.packets_line} ({row.packets_kind})" for row in of if row.packets != "passes"]
        assert sum(row.packets == "passes" for row in of) >= floor["packets"], f"{category}, by packets: {by_packets}"


def test_listed_cause_has_a_text_and_its_scripts_exist(rows: list[Row]) -> None:
    causes = Causes.read()
    assert set(causes.scripts) <= {*causes.texts, "not traced"}
    places = [place for listed in causes.scripts.values() for place in listed]
    assert len(places) == len(set(places)) == len(causes.names())
    assert causes.names() <= {row.name for row in rows}


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("+0 > . 1:1001(1000) ack 1\n+0 > . 1001:2001(1000) ack 1\n", "psh"),
        ("+0 > . 1:1001(1000) ack 1\n+.1 > P. 1001:2001(1000) ack 1\n", "time-early"),
        ("+0 > . 1:1001(1000) ack 1\n+0 > F. 1001:2001(1000) ack 1\n", "flags"),
        ("+0 > . 1:1001(1000) ack 1\n+0 > P. 2001:3001(1000) ack 1\n", "seq"),
        ("+0 > . 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 2 win 7\n", "ack+win"),
        ("+0 > P. 1:2001(2000) ack 1\n+.01 > . 1:1(0) ack 1\n", "silent"),
        ("+0 > P. 1:2001(2000) ack 1\n+.01 read(4, ..., 100) = 100\n", "call"),
        (
            "+0 %{ assert tcpi_snd_cwnd == 9 and tcpi_ca_state == 0 and tcpi_sacked + tcpi_lost == 0 }%\n",
            "info:snd_cwnd",
        ),
        ("+0 %{ assert 7 <= tcpi_unacked <= 9 and 1 <= tcpi_snd_cwnd <= 99 }%\n", "info:unacked"),
        ("+0 > P. 1:2001(2000) ack 1\n", ""),
    ],
)
def test_first_difference_has_a_kind(tmp_path: Path, rest: str, expected: str) -> None:
    script = tmp_path / "a.pkt"
    script.write_text(SERVER + rest)
    assert kind(run_script(script, tcp={"initial_window": 10})) == expected


def test_page_counts_verdicts_and_names_causes() -> None:
    causes = Causes({"K4": "integers"}, {"K4": ["b-1:7"]})
    rows = [
        Row("b", "b-1", "fails", 7, "info:snd_cwnd", 7, "passes"),
        Row("b", "b-2", "fails", 9, "silent", 9, "fails", 9, "silent"),
        Row("b", "b-3", "passes", packets="passes"),
    ]
    assert "| **all** |  | 3 | 1 (33%) | 2 (67%) | 0 |" in totals(rows)
    assert "| silent | 1 | 1 |" in kinds(rows)
    assert "| info:snd_cwnd | 1 |  |" in kinds(rows)
    assert "| K4: integers | 1 | b-1:7 |\n| not traced | 1 | b-2:9 |" in by_cause(rows, causes)
    assert "on 2026-01-02: 3\npacketdrill scripts" in page(rows, causes, "2026-01-02")


def test_cause_is_not_traced_when_another_line_differs() -> None:
    causes = Causes({"K4": "integers"}, {"K4": ["b-1:7"]})
    assert causes.of(Row("b", "b-1", "fails", 5, "psh", 7)) == "K4"
    assert causes.of(Row("b", "b-1", "fails", 5, "silent", 5)) == "not traced"
