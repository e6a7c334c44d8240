"""Media in frames, and the jitter beside them that keeps RTTs off the grid of frames."""

from __future__ import annotations

import math
import random
import statistics
from typing import Any

import pytest

import ackclock
from ackclock.input.checked_table import ReadBy
from ackclock.input.link.frame_grid import FrameGrid, frame_ps, jitter_sd_ps, locked
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.warnings import warnings
from ackclock.input.toml_writer import to_toml

MS = 10**9
BULK = {"name": "f", "workload": {"kind": "bulk"}}
NR = {"kind": "grants", "standard": "nr", "rate": {"down": "20 Mb/s", "up": "5 Mb/s"}}
WIRED = {"name": "wired", "rate": "1 Gb/s", "delay": "10 ms"}
AIR = {"name": "air", "medium": NR}
MARK = "RTTs lock to the grid of the frames"


def _hops(*hops: Any) -> Any:
    return _scenario(*hops).hop


def _scenario(*hops: Any, flows: Any = (BULK,)) -> Any:
    return draft_of({"duration": "1 s", "hop": list(hops), "flow": list(flows)}).check()


def _sd_ms(**jitter: Any) -> float:
    return jitter_sd_ps(ReadBy("Jitter")(jitter)) / MS


def test_sd_of_jitter_is_the_closed_form_of_its_distribution() -> None:
    assert _sd_ms(kind="uniform", low="1 ms", high="4 ms") == pytest.approx(3.0 / math.sqrt(12.0), rel=1e-12)
    assert _sd_ms(kind="exponential", mean="217 us") == pytest.approx(0.217, rel=1e-12)
    assert _sd_ms(kind="normal", mean="50 ms", sd="2 ms") == pytest.approx(2.0, rel=1e-12)
    assert _sd_ms(kind="normal", mean="5 ms", sd="0 ms") == 0.0
    # Of a normal variable with mean 0, half is 0: sd * sqrt(1/2 - 1/(2 pi)).
    assert _sd_ms(kind="normal", mean="0 ms", sd="2 ms") == pytest.approx(2.0 * math.sqrt(0.5 - 0.5 / math.pi))


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.5, 1.0), (1.0, 2.0), (3.0, 1.0)])
def test_sd_of_normal_jitter_is_that_of_draws_whose_negative_values_are_0(mean: float, sd: float) -> None:
    draw = random.Random(7).gauss
    drawn = statistics.pstdev(max(0.0, draw(mean, sd)) for _ in range(100_000))
    assert _sd_ms(kind="normal", mean=f"{mean} ms", sd=f"{sd} ms") == pytest.approx(drawn, rel=0.01)


@pytest.mark.parametrize("shape", [1.5, 3.0])
def test_spread_of_pareto_jitter_is_that_of_its_middle_when_its_variance_is_infinite(shape: float) -> None:
    draw = random.Random(7)
    drawn = sorted(2.0 * (shape - 1.0) / shape * (1.0 - draw.random()) ** (-1.0 / shape) for _ in range(100_000))
    middle = (drawn[84_134] - drawn[15_866]) / 2.0
    assert _sd_ms(kind="pareto", mean="2 ms", shape=shape) == pytest.approx(middle, rel=0.02)


@pytest.mark.parametrize(
    ("link", "milliseconds"),
    [
        ("nr-uplink", 2.5),
        ("lte-uplink", 1.0),
        ("docsis-3.1", 2.0),
        ("gpon", 0.125),
        ("wimax-nist", 5.0),
        ("wibro-wave2", 5.0),
    ]
    + [(link, 0.0) for link in ("lte-fixed-10m", "cable-100m", "wifi-80211b", "ricochet-1hop", "cable-dialup", "leo")],
)
def test_frame_of_a_packaged_link_is_that_of_its_medium(link: str, milliseconds: float) -> None:
    hops = draft_of({"link": link, "duration": "1 s", "flow": [BULK]}).check().hop
    assert max(map(frame_ps, hops)) == milliseconds * MS


@pytest.mark.finding("P2", "K5")
@pytest.mark.parametrize("link", ["nr-uplink", "lte-uplink", "docsis-3.1", "gpon"])
def test_wired_part_of_a_packaged_link_has_jitter_when_its_medium_sends_in_frames(link: str) -> None:
    hops = draft_of({"link": link, "duration": "1 s", "flow": [BULK]}).check().hop
    grid = FrameGrid.of(hops)
    assert grid and grid.jitter_sd_ps == pytest.approx(math.sqrt(2.0) * 0.217 * MS)
    assert all(side.jitter.in_order for side in (hops[0].down, hops[0].up))


@pytest.mark.finding("P2", "K5")
@pytest.mark.parametrize(
    ("jitter", "remarked"),
    [
        (None, True),
        ({"kind": "exponential", "mean": "440 us"}, True),  # sqrt(2) * 0.44 = 0.622 ms, a quarter is 0.625
        ({"kind": "exponential", "mean": "443 us"}, False),
        ({"down": {"kind": "exponential", "mean": "620 us"}}, True),
        ({"down": {"kind": "exponential", "mean": "630 us"}}, False),
        ({"kind": "pareto", "mean": "100 us"}, True),  # of infinite variance, by rare packets
    ],
)
def test_path_is_remarked_when_its_jitter_is_less_than_a_quarter_frame(jitter: Any, remarked: bool) -> None:
    wired = WIRED | ({"jitter": jitter} if jitter else {})
    found = locked(_hops(wired, AIR))
    assert bool(found) == remarked
    if found:
        assert found[0].startswith("`air` sends in frames of 2.5 ms, and the path") and MARK in found[0]
        assert "`hop.wired.jitter` adds some" in found[0]
        assert ("has no jitter" in found[0]) == (jitter is None)


@pytest.mark.finding("P2")
def test_path_is_not_remarked_when_no_medium_sends_in_frames_or_another_hop_has_the_jitter() -> None:
    assert locked(_hops(WIRED, {"name": "line", "rate": "10 Mb/s"})) == []
    assert locked(_hops(WIRED, {**AIR, "jitter": {"kind": "uniform", "high": "4 ms"}})) == []


@pytest.mark.finding("P2")
def test_key_of_the_remark_is_that_of_the_hop_with_jitter_or_of_the_only_hop() -> None:
    (text,) = locked(_hops({**AIR, "delay": "5 ms"}))
    assert "`hop.air.jitter`" in text
    (text,) = locked(_hops(WIRED, {**WIRED, "name": "core", "jitter": {"kind": "exponential", "mean": "1 us"}}, AIR))
    assert "`hop.core.jitter`" in text and "sd 0.0014 ms in an RTT" in text


@pytest.mark.finding("P2")
def test_scenario_is_warned_of_when_a_tcp_flow_crosses_frames() -> None:
    datagrams = {"name": "u", "workload": {"kind": "cbr", "rate": "5 Mb/s"}}
    (text,) = warnings(_scenario(WIRED, AIR))
    assert MARK in text
    # What cross traffic adds to the wired part's delays is not known before the run.
    assert (
        MARK in warnings(_scenario({**WIRED, "rate": "8 Mb/s"}, AIR, flows=(BULK, {**datagrams, "over": ["wired"]})))[0]
    )
    assert warnings(_scenario(WIRED, AIR, flows=(datagrams,))) == []
    assert warnings(_scenario(WIRED, AIR, flows=({**BULK, "over": ["wired"]},))) == []


@pytest.mark.finding("P2")
@pytest.mark.parametrize("command", ["simulate", "sweep"])
def test_command_prints_the_remark_when_frames_have_no_jitter_beside_them(
    ackclock: Any, write: Any, command: str
) -> None:
    scenario = {"duration": "1 s", "hop": [WIRED, AIR], "flow": [BULK]}
    swept = {"sweep": {"tcp.variant": ["reno", "vegas"]}} if command == "sweep" else {}
    done = ackclock(command, write("s.toml", to_toml(scenario | swept)))
    assert f"warning: `air` sends in frames of 2.5 ms, and the path has no jitter: {MARK}" in " ".join(
        done.stderr.split()
    )
    assert " ".join(done.stderr.split()).count(MARK) == 1


@pytest.mark.finding("P2")
def test_sweep_has_no_remark_when_each_point_has_jitter() -> None:
    jitter = {"hop.wired.jitter": [{"kind": "exponential", "mean": mean} for mean in ("1 ms", "2 ms")]}
    swept = {"duration": "1 s", "hop": [WIRED, AIR], "flow": [BULK], "sweep": jitter}
    assert ackclock.sweep(swept).warnings == []


@pytest.mark.finding("P2")
def test_comparison_has_the_remark_as_a_note_when_frames_have_no_jitter_beside_them() -> None:
    def notes(*hops: Any) -> str:
        keys: Any = {"variants": ["reno"], "buffers": ["64 KiB"], "delayed_ack": [True], "with_prices": False}
        return " ".join(ackclock.compare(list(hops), duration="1 s", seeds=1, **keys).document["notes"])

    assert MARK in notes(WIRED, AIR)
    assert MARK not in notes({**WIRED, "jitter": {"kind": "exponential", "mean": "1 ms"}}, AIR)
