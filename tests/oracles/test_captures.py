"""Captures of kernel TCP: our figures compared with the kernel's counters, and with tcptrace's for
equal definitions.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ackclock import analyze

NAMES = [
    *(f"down-{cc}" for cc in ("cubic", "reno", "bbr")),
    *(f"up-{cc}" for cc in ("cubic", "reno")),
    "bidir-cubic",
    *(f"buf{size}k-cubic" for size in (8, 32, 64)),
    *(f"loss1-{cc}" for cc in ("cubic", "reno")),
    "zwin",
]
SIDES = ("client", "server")
DIRECTION = {"client": "a2b", "server": "b2a"}  # whose data


@pytest.fixture(params=NAMES)
def name(request) -> str:
    return request.param


@pytest.fixture
def captures(oracles: Path) -> Path:
    return oracles / "captures"


@cache
def flows(path: Path) -> list[Any]:
    return analyze(path).document["flows"]


def seen(captures: Path, name: str, at: str, sender: str, field: str) -> int:
    """A count over all flows that `sender` sent, in the capture taken `at` an end."""
    return sum(flow[DIRECTION[sender]][field] for flow in flows(captures / f"{name}.{at}.pcap.gz"))


@cache
def kernel(path: Path) -> dict[str, dict[str, int]]:
    """The kernel's counters by host. They are of a network namespace: all of its connections."""
    hosts: dict[str, dict[str, int]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            host = hosts.setdefault({"c": "client", "s": "server"}[line[-1]], {})
        else:
            counter, value = line.split()
            host[counter] = int(value)
    return hosts


def counter(captures: Path, name: str, host: str, which: str) -> int:
    return kernel(captures / f"{name}.nstat.txt")[host].get(which, 0)


@pytest.mark.parametrize("sender", SIDES)
def test_retransmissions_at_the_sender_are_the_kernels(captures: Path, name: str, sender: str) -> None:
    assert seen(captures, name, sender, sender, "retransmitted_segments") == counter(
        captures, name, sender, "RetransSegs"
    )


@pytest.mark.parametrize("sender", SIDES)
def test_retransmissions_at_the_receiver_are_within_2_percent_or_one(captures: Path, name: str, sender: str) -> None:
    (receiver,) = set(SIDES) - {sender}
    truth = counter(captures, name, sender, "RetransSegs")
    assert abs(seen(captures, name, receiver, sender, "retransmitted_segments") - truth) <= max(1, 0.02 * truth)


@pytest.mark.parametrize("sender", SIDES)
@pytest.mark.parametrize(
    ("field", "which"),
    [
        ("fast_retransmits", "TCPFastRetrans"),
        ("rto_retransmits", "TCPTimeouts"),
        ("go_back_n_retransmits", "TCPSlowStartRetrans"),
        ("tlp_retransmits", "TCPLossProbes"),
        ("zero_window_probes", "TCPWinProbe"),
    ],
)
def test_retransmission_kinds_at_the_sender_are_within_5_percent_or_one(
    captures: Path, name: str, sender: str, field: str, which: str
) -> None:
    truth = counter(captures, name, sender, which)
    found = seen(captures, name, sender, sender, field)
    if field == "tlp_retransmits":  # the kernel counts probes of new data, too
        directions = [flow[DIRECTION[sender]] for flow in flows(captures / f"{name}.{sender}.pcap.gz")]
        found += sum(direction["repairs"]["new_data_probes"] for direction in directions)
        # Probes of new data are claimed only of senders that have shown probes, so some are missed.
        assert found <= truth + 1
        return
    assert abs(found - truth) <= max(1, 0.05 * truth)


@pytest.mark.parametrize("sender", SIDES)
def test_fast_and_timeout_are_separated_at_the_receiver(captures: Path, name: str, sender: str) -> None:
    if name == "bidir-cubic":
        pytest.skip(
            "both queues overflow: what is lost twice is seen by its packet numbers only, and those name no cause"
        )
    (receiver,) = set(SIDES) - {sender}
    for field, which in (
        ("fast_retransmits", "TCPFastRetrans"),
        ("rto_retransmits", "TCPTimeouts"),
        ("tlp_retransmits", "TCPLossProbes"),
    ):
        truth = counter(captures, name, sender, which)
        assert abs(seen(captures, name, receiver, sender, field) - truth) <= max(1, 0.05 * truth), field


def test_receiver_capture_shows_every_dsacked_duplicate(captures: Path) -> None:
    """D-SACK from the side that sends it: none is lost in transit."""
    reported = counter(captures, "bidir-cubic", "client", "TCPDSACKOldSent")
    assert seen(captures, "bidir-cubic", "client", "server", "spurious_retransmits") == reported


FIELDS = {
    "unique_bytes": "unique bytes sent",
    "segments": "actual data pkts",
}


@cache
def tcptrace(path: Path) -> dict[tuple[str, str], list[dict[str, float]]]:
    """tcptrace's long output: by the two ends, the figures of either direction."""
    connections = {}
    for block in path.read_text().split("TCP connection ")[1:]:
        ends = re.findall(r"host \S+\s+(\S+:\d+)", block)
        if len(ends) != 2:
            continue
        directions: list[dict[str, float]] = [{}, {}]
        for label, left, _, right in re.findall(
            r"^ +([A-Za-z][\w /#.-]*?): +(-?[\d.]+)( \S+)? +\1: +(-?[\d.]+)", block, re.MULTILINE
        ):
            directions[0][label], directions[1][label] = float(left), float(right)
        connections[ends[0], ends[1]] = directions
    return connections


@pytest.mark.parametrize("at", SIDES)
def test_bytes_segments_and_rtt_equal_tcptraces(captures: Path, name: str, at: str) -> None:
    theirs = tcptrace(captures / f"{name}.{at}.tcptrace.txt")
    compared = 0
    for flow in flows(captures / f"{name}.{at}.pcap.gz"):
        for direction, his in zip(("a2b", "b2a"), theirs[flow["client"], flow["server"]], strict=True):
            mine = flow[direction]
            if not mine["causes"].keys() & {"zero_window_probe", "keep_alive"}:  # tcptrace counts these as data
                for field, label in FIELDS.items():
                    assert mine[field] == his[label], (direction, field)
            if his["RTT samples"] < 20:
                continue
            compared += 1
            assert mine["rtt_ms"]["count"] == pytest.approx(his["RTT samples"], rel=0.01, abs=2)
            for field, label in (("min", "RTT min"), ("mean", "RTT avg"), ("max", "RTT max"), ("sd", "RTT stdev")):
                # It prints a tenth of a millisecond.
                assert mine["rtt_ms"][field] == pytest.approx(his[label], rel=0.01, abs=0.06), (direction, field)
    assert compared > 0


def test_slow_reader_time_is_that_of_the_receive_window_at_either_end(captures: Path) -> None:
    for at, minimum in (("client", 0.9), ("server", 0.8)):
        shares = flows(captures / f"zwin.{at}.pcap.gz")[0]["a2b"]["limited"]
        assert shares["receive_window"] > minimum
        assert not shares["application"] or shares["application"] < 0.01


@pytest.mark.parametrize(
    ("name", "uncertain"), [("bidir-cubic", True), ("down-cubic", False)], ids=["beside-data", "alone"]
)
def test_rate_inferred_from_acks_has_a_reservation_when_data_shares_their_direction(
    captures: Path, name: str, uncertain: bool
) -> None:
    """The link has 10 Mb/s; where the ACKs pass an uplink full of data 11.6 are inferred."""
    printed = [
        finding["evidence"]
        for flow in flows(captures / f"{name}.server.pcap.gz")
        for finding in flow["diagnosis"]
        if finding["finding"] == "inferred_rate" and finding["direction"] == "b2a"
    ]
    assert [("Data shares the direction of the ACKs" in text) for text in printed] == [uncertain] * len(printed)
    assert printed or not uncertain
