"""Evaluators for ``asymmetry``: Balakrishnan, Padmanabhan and Katz, "The Effects of Asymmetry on TCP Performance"."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ackclock.papers import arithmetic as a
from ackclock.papers.claims import Claim
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.ns2 import ns2_value
from ackclock.statistics import Interval, interval, jain_index

FORWARD_BPS = 10e6
PACKET_BYTES = 1000.0
PLAIN_RENO: dict[str, str] = {"P1-018": "9.6", "P1-021": "9.6 C", "P1-024": "28.8", "P1-027": "28.8 C"}
"""Table 1's plain-Reno cells: the claim and the return path (kb/s; C: with header compression)."""

Table1 = Callable[[], Mapping[str, Mapping[str, Interval]]]
"""Runs Table 1 once and gives throughput in Mb/s by network (V1, V2) and return path."""


def _computed(value: float, why: str) -> Evaluate:
    return lambda claim: Evidence(interval([value]), why, by="arithmetic")


def _true(value: float, says: bool, why: str) -> Evaluate:
    return lambda claim: Evidence(interval([value]), why, says=says, by="arithmetic")


def _k(reverse_bps: float, ack_bytes: float, data_bytes: float = PACKET_BYTES) -> float:
    return a.normalized_bandwidth_ratio(FORWARD_BPS, reverse_bps, data_bytes, ack_bytes)


def _k_claim(reverse_bps: float, ack_bytes: float) -> Evaluate:
    return _computed(_k(reverse_bps, ack_bytes), f"k = (10 Mb/s / {reverse_bps / 1e3:g} kb/s) / (1000 B / {ack_bytes:g} B)")


def _ratios(claim: Claim) -> Evidence:
    bandwidth, size = a.raw_bandwidth_ratio(FORWARD_BPS, 100e3), a.packet_size_ratio(PACKET_BYTES, 40.0)
    return Evidence(
        interval([bandwidth]),
        f"bandwidth ratio {bandwidth:g}, size ratio {size:g}",
        says=(bandwidth, size) == (100.0, 25.0),
        by="arithmetic",
    )


def _limit(ack_bytes: float) -> Evaluate:
    k = _k(28.8e3, ack_bytes)
    mbps = a.ack_limited_throughput(FORWARD_BPS, k, 2.0) / 1e6
    return _computed(mbps, f"10 Mb/s * 2 packets per ACK / k, with k = {k:.2f}")


def _fairness_identity(claim: Claim) -> Evidence:
    shares = [(k, n, jain_index([1.0] * k + [0.0] * (n - k))) for n in range(1, 13) for k in range(1, n + 1)]
    holds = all(abs(index - k / n) < 1e-12 and index >= 1.0 / n - 1e-12 for k, n, index in shares)
    return Evidence(None, f"index = k/n in all {len(shares)} cases with n up to 12", says=holds, by="arithmetic")


def _arithmetic() -> dict[str, Evaluate]:
    two_data_packets = 2.0 * a.transmission_time(PACKET_BYTES, 28.8e3)
    bdp = a.bandwidth_delay_product(28.8e3, 0.5)
    return {
        "P1-001": _k_claim(100e3, 40.0),
        "P1-002": _k_claim(28.8e3, 52.0),
        "P1-003": _k_claim(28.8e3, 18.0),
        "P1-004": _k_claim(10e6, 52.0),
        "P1-005": _k_claim(9.6e3, 6.0),
        "P1-006": _ratios,
        "P1-007": _limit(52.0),
        "P1-008": _limit(18.0),
        "P1-015": _computed(a.transmission_time(PACKET_BYTES, 28.8e3) * 1e3, "1000 B * 8 / 28.8 kb/s, in ms"),
        "P1-016": _true(two_data_packets, two_data_packets > 0.5, "two packets of 1000 B at 28.8 kb/s, in s"),
        "P1-017": _computed(a.transmission_time(60.0, 9.6e3) * 1e3, "10 ACKs of 6 B at 9.6 kb/s, in ms"),
        "P1-057": _computed(a.window_limited_throughput(100e3, 0.280) / 1e6, "100 KB window per 280 ms"),
        "P1-060": _true(bdp / 1e3, bdp == 1.8e3 and bdp < 2.0 * PACKET_BYTES, "28.8 kb/s * 500 ms, under two packets of 1 KB"),
        "P1-128": _fairness_identity,
    }


def _plain_reno(table1: Table1, cell: str) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        table = table1()
        ours = table["V1"][cell]
        fitted = table["V2"][cell]
        v1, v2 = ns2_value(claim.id, "V1"), ns2_value(claim.id, "V2")
        why = (
            f"throughput on the authors' published network (V1; ns-2 there: {v1:g} Mb/s); with host queues of 50 packets and "
            f"2.25 ms access links (V2), ours is {fitted.mean:.2f} and ns-2's {v2:g} Mb/s. ns-2's "
            "10-packet queues let 9 wait, which explains most of the difference"
        )
        return Evidence(ours, why, ns2=v1, also={"V2": fitted})

    return evaluate


def _poor_above_ten(table1: Table1) -> Evaluate:
    def evaluate(claim: Claim) -> Evidence:
        cells = {cell: found.mean for cell, found in table1()["V1"].items()}
        k = {"9.6": _k(9.6e3, 40.0), "28.8": _k(28.8e3, 40.0)}
        ordered = max(cells["9.6"], cells["28.8"]) < min(cells["9.6 C"], cells["28.8 C"])
        why = (
            f"k = {k['9.6']:.1f} and {k['28.8']:.1f}; without compression {cells['9.6']:.2f} and {cells['28.8']:.2f} Mb/s, with it "
            f"{cells['9.6 C']:.2f} and {cells['28.8 C']:.2f}"
        )
        return Evidence(None, why, says=ordered and min(k.values()) > 10.0)

    return evaluate


def evaluators(table1: Table1) -> dict[str, Evaluate]:
    """Claim id to evaluator; ``table1`` is called only when a claim needs its runs."""
    reno = {claim: _plain_reno(table1, cell) for claim, cell in PLAIN_RENO.items()}
    return {**_arithmetic(), **reno, "P1-031": _poor_above_ten(table1)}
