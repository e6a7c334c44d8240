"""A path that takes the window scale option away bounds what a window can do."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from ackclock.advisor.action import WHO
from ackclock.advisor.actions import candidates
from ackclock.advisor.situation import Situation, situation_of
from ackclock.analysis import analyze
from tests.support.captures import finding_of, simulated_captures

SYN, SYN_ACK = 0x02, 0x12
LINE = {"rate": {"down": "20 Mb/s", "up": "5 Mb/s"}, "delay": "60 ms", "queue": {"bytes": "300 kB"}}


def without_scaling(capture: Path, *flags: int) -> Path:
    """A copy of a pcap in which packets with these flags have NOPs in place of the option."""
    data = bytearray(capture.read_bytes())
    at = 24
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at + 8)
        packet = at + 16
        at = packet + size
        ip = packet + 14 if data[packet + 12 : packet + 14] == b"\x08\x00" else packet
        tcp = ip + 4 * (data[ip] & 15)
        if data[tcp + 13] not in flags:
            continue
        option, end = tcp + 20, tcp + 4 * (data[tcp + 12] >> 4)
        while option < end and data[option] != 0:
            if data[option] == 3:
                data[option : option + 3] = b"\x01\x01\x01"
            option += 1 if data[option] == 1 else data[option + 1]
    copy = capture.with_name(f"stripped-{capture.name}")
    copy.write_bytes(data)
    return copy


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The server's and the client's capture of a download that a window of 64 KB limits."""
    folder = tmp_path_factory.mktemp("scaling") / "run"
    return simulated_captures(folder, LINE, {"receive_buffer": "65535 B"}, duration="6 s")


def stripped(ends: tuple[Path, Path], server: tuple[int, ...], client: tuple[int, ...]) -> list[Path]:
    """The captures, with packets of these flags without the option."""
    return [without_scaling(ends[0], *server), without_scaling(ends[1], *client)]


@pytest.fixture(scope="module")
def unscaled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same of hosts that do not scale."""
    folder = tmp_path_factory.mktemp("unscaled") / "run"
    return simulated_captures(folder, LINE, {"window_scaling": False}, duration="6 s")


@pytest.mark.finding("A9")
@pytest.mark.parametrize("is_stripped", [True, False])
def test_analyze_advises_no_buffer_beside_a_window_of_64_kb(
    ends: tuple[Path, Path], unscaled: tuple[Path, Path], is_stripped: bool
) -> None:
    captures = stripped(ends, (SYN, SYN_ACK), (SYN_ACK,)) if is_stripped else unscaled
    finding = finding_of(analyze(*captures).document, "receive_window")
    assert "at most 64 KB" in finding["evidence"]
    assert ("the path takes" if is_stripped else "tcp_window_scaling") in finding["advice"]
    assert "Enlarge" not in finding["advice"]


def labels(situation: Situation) -> list[str]:
    return [action.label for action in candidates(situation, WHO)]


@pytest.mark.finding("A9")
def test_no_window_above_64_kb_is_tried_when_the_path_strips_the_option(ends: tuple[Path, Path]) -> None:
    found = situation_of(stripped(ends, (SYN, SYN_ACK), (SYN_ACK,)))
    assert found.tcp.keys["window_scaling"] is False
    assert found.strips_scaling
    (note,) = [note for note in found.notes if "window scale option" in note]
    assert "at most 64 KB" in note
    assert not [label for label in labels(found) if "receive buffer" in label or "scaling" in label]


@pytest.mark.finding("A9")
def test_window_scaling_is_tried_when_neither_capture_has_the_option(unscaled: tuple[Path, Path]) -> None:
    """No path took it away: a host has it off."""
    off = situation_of(list(unscaled))
    assert off.tcp.keys["window_scaling"] is False
    assert not off.strips_scaling
    assert any("Window scaling was not negotiated" in note for note in off.notes)
    assert "receive buffer auto with window scaling" in labels(off)


def test_larger_windows_are_tried_when_both_captures_have_the_option(ends: tuple[Path, Path]) -> None:
    whole = situation_of(stripped(ends, (), ()))
    assert whole.tcp.keys["window_scaling"] is True
    assert not any("scal" in note for note in whole.notes)
    assert "receive buffer auto" in labels(whole)
