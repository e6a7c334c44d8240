"""The study of coverage: what counts as true, the statistics, and the kinds of input."""

from __future__ import annotations

import math
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from ackclock import Fit
from studies import pcap_records
from studies.fit.coverage import FittedInput, ParameterOutcome, chance_of, chosen_inputs, interval_score, outcomes, page
from studies.fit.inputs import INPUTS, captures_of
from studies.fit.links import TrueLink
from studies.fit.structured_links import STRUCTURES, structured_links
from studies.pcap_records import Capture, Record

LINK = TrueLink(1, "plain", [], {"rate.down": 1e6, "delay": 10.0})


def fit_of(*rows: tuple[str, str, float | None, float | None], **draws: list[float]) -> Fit:
    parameters = [{"path": f"hop.access.{path}", "status": status, "lo": lo, "hi": hi} for path, status, lo, hi in rows]
    columns = {f"hop.access.{path.replace('_', '.')}": of for path, of in draws.items()}
    return cast(Fit, SimpleNamespace(document={"parameters": parameters}, draws=pl.DataFrame(columns)))


def by_path(link: TrueLink, fit: Fit) -> dict[str, ParameterOutcome]:
    return {one.path: one for one in outcomes(link, fit)}


def test_an_identified_interval_contains_the_truth_or_not() -> None:
    fit = fit_of(("rate.down", "identified", 0.99e6, 1.01e6), ("delay", "identified", 10.1, 10.2))
    found = by_path(LINK, fit)
    assert found["rate.down"].covers is True
    assert found["delay"].covers is False
    assert found["delay"].score == pytest.approx(math.log(10.2 / 10.1) + 40 * math.log(1.01))


def test_a_parameter_that_the_link_has_not_is_false_unless_zero_is_in_it() -> None:
    rows = [("loss.down.mean", "identified", low, 0.01) for low in (0.001, 0.0)]
    assert [by_path(LINK, fit_of(row))["loss.down.mean"].covers for row in rows] == [False, True]
    assert "loss.down.mean" not in by_path(LINK, fit_of(("loss.down.mean", "bounded", 0.001, 0.01)))


def test_silence_scores_as_its_draws_or_as_a_wide_guess() -> None:
    bounded = fit_of(("rate.down", "bounded", 0.5e6, None), rate_down=[0.5e6, 1e6, 2e6])
    found = by_path(LINK, bounded)
    assert found["rate.down"].covers is None
    assert found["rate.down"].score == pytest.approx(math.log(4), rel=0.01)
    assert found["delay"].score == pytest.approx(math.log(16))


def test_a_rate_that_changes_has_two_true_values() -> None:
    link = TrueLink(1, "rate steps", [], {"rate.down": 2e6}, also_true={"rate.down": 1e6})
    of = [by_path(link, fit_of(("rate.down", "identified", at - 1, at + 1)))["rate.down"] for at in (1e6, 2e6, 1.5e6)]
    assert [one.covers for one in of] == [True, True, False]


def test_what_a_medium_has_otherwise_is_left_out() -> None:
    link = TrueLink(1, "grants", [], {"delay": 10.0}, undefined=("rate.", "delay"))
    assert not by_path(link, fit_of(("rate.down", "identified", 1, 2), ("delay", "identified", 1, 2)))


def test_chance_of_a_campaign_that_keeps_its_promise() -> None:
    draw = random.Random(1)
    low = sum(chance_of([[draw.random() < 0.95 for _ in range(5)] for _ in range(60)]) < 0.01 for _ in range(300))
    assert low <= 9, low
    dependent = sum(
        chance_of([[covers] * 8 for covers in (draw.random() < 0.95 for _ in range(60))]) < 0.01 for _ in range(300)
    )
    assert dependent <= 12, "outcomes of one link are not independent"
    assert chance_of([[draw.random() < 0.8 for _ in range(5)] for _ in range(60)]) < 0.01


def test_the_score_prefers_neither_silence_nor_width() -> None:
    narrow, wide, silent = interval_score(0.99, 1.01, 1), interval_score(0.5, 2, 1), interval_score(0.25, 4, 1)
    assert narrow < wide < silent < interval_score(1.2, 1.21, 1)


def test_a_third_of_the_links_has_structure_and_each_kind_comes() -> None:
    links = list(structured_links(30, 7))
    structured = [link.kind for link in links if link.kind in STRUCTURES]
    assert sorted(structured) == sorted(STRUCTURES)
    assert all(link.truth for link in links)
    again = list(structured_links(30, 7))
    assert links == again


def test_kinds_of_input_are_chosen_by_name() -> None:
    assert chosen_inputs(None) == list(INPUTS)
    assert chosen_inputs("busy host,two flows, two files") == ["two flows, two files", "busy host"]
    with pytest.raises(SystemExit):
        chosen_inputs("busy host,carrier pigeon")


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    hop = {"name": "access", "rate": "2 Mb/s", "delay": "10 ms", "queue": {"kind": "droptail", "bytes": "20 kB"}}
    folder = tmp_path_factory.mktemp("inputs")
    return {kind: captures_of(kind, TrueLink(1, "plain", [hop], {}), folder, 1) for kind in INPUTS}


def test_each_kind_of_input_has_its_captures(captures: dict[str, list[Path]]) -> None:
    counts = {kind: len(files) for kind, files in captures.items()}
    assert counts == {
        **dict.fromkeys(INPUTS, 2),
        "server's end": 1,
        "client's end": 1,
        "two flows, two files": 4,
    }
    read = {kind: [pcap_records.read(path).records for path in files] for kind, files in captures.items()}
    both, snapped = read["both ends"], read["snaplen 96"]
    assert max(len(record.data) for record in snapped[0]) <= 96
    assert [record.at_ns for record in snapped[1]] == [record.at_ns for record in both[1]]
    assert sum(map(len, read["two flows, two files"][:2])) == len(read["two flows, one file"][0])
    assert len(read["10 s"][0]) < len(both[0])
    assert max(record.length for record in read["offloads"][0]) > 1600
    apart = [late.at_ns - at.at_ns for late, at in zip(read["clocks apart"][1], both[1], strict=True)]
    assert apart[0] == 3_000_000_000
    assert apart[-1] - apart[0] == pytest.approx(40e-6 * (both[1][-1].at_ns - both[1][0].at_ns), abs=1000)


def test_a_busy_host_is_late_in_order_and_loses_few_records(captures: dict[str, list[Path]]) -> None:
    both, busy = ([pcap_records.read(path).records for path in captures[kind]] for kind in ("both ends", "busy host"))
    for one, late in zip(both, busy, strict=True):
        assert 0 <= len(one) - len(late) <= 0.01 * len(one)
        times = [record.at_ns for record in late]
        assert times == sorted(times)
        seen = {record.data: record.at_ns for record in one}
        behind = [record.at_ns - seen[record.data] for record in late]
        assert min(behind) >= 0
        assert sorted(behind)[len(behind) // 2] < 100_000


def test_records_survive_a_copy(tmp_path: Path) -> None:
    for magic, at in ((0xA1B2C3D4, 1_500_000_001_000), (0xA1B23C4D, 1_500_000_000_001)):
        capture = Capture(magic.to_bytes(4, "little") + bytes(20), [Record(at, 1500, b"abc")])
        assert pcap_records.read(pcap_records.write(tmp_path / "one.pcap", capture)) == capture


def test_the_page_names_each_miss() -> None:
    one = FittedInput(
        1,
        3,
        "plain",
        "10 s",
        1.5,
        [ParameterOutcome("delay", False, 4.0, 10.1, 10.2, 10.0), ParameterOutcome("x", True)],
    )
    text: Any = page([one], [])
    assert "- 10 s, link 1/3 (plain): `delay` 10.1 .. 10.2, true 10" in text
    assert "| 10 s | 1 | 0 | 2 | 1 | 50.0 % |" in text
