"""Evaluators for ``asymmetry``: Balakrishnan, Padmanabhan and Katz, "The Effects of Asymmetry on
TCP Performance".
"""

from __future__ import annotations

from ackclock import closed_forms
from ackclock.papers.asymmetry import figures, radio, table1, table2, table3
from ackclock.papers.claims import Claim
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.experiments import Experiments
from ackclock.statistics import interval, jain_index

FORWARD_BPS = 10e6
PACKET_BYTES = 1000.0


def _computed(value: float, why: str) -> Evaluate:
    return lambda claim: Evidence(interval([value]), why, by="arithmetic")


def _true(value: float, holds: bool, why: str) -> Evaluate:
    return lambda claim: Evidence(interval([value]), why, holds=holds, by="arithmetic")


def _k(reverse_bps: float, ack_bytes: float) -> float:
    return closed_forms.normalized_bandwidth_ratio(FORWARD_BPS, reverse_bps, PACKET_BYTES, ack_bytes)


def _k_claim(reverse_bps: float, ack_bytes: float) -> Evaluate:
    return _computed(
        _k(reverse_bps, ack_bytes), f"k = (10 Mb/s / {reverse_bps / 1e3:g} kb/s) / (1000 B / {ack_bytes:g} B)"
    )


def _ratios(claim: Claim) -> Evidence:
    bandwidth = closed_forms.raw_bandwidth_ratio(FORWARD_BPS, 100e3)
    size = closed_forms.packet_size_ratio(PACKET_BYTES, 40.0)
    return Evidence(
        interval([bandwidth]),
        f"bandwidth ratio {bandwidth:g}, size ratio {size:g}",
        holds=(bandwidth, size) == (100.0, 25.0),
        by="arithmetic",
    )


def _limit(ack_bytes: float) -> Evaluate:
    k = _k(28.8e3, ack_bytes)
    mbps = closed_forms.ack_limited_throughput(FORWARD_BPS, k, 2.0) / 1e6
    return _computed(mbps, f"10 Mb/s * 2 packets per ACK / k, with k = {k:.2f}")


def _fairness_identity(claim: Claim) -> Evidence:
    shares = [(k, n, jain_index([1.0] * k + [0.0] * (n - k))) for n in range(1, 13) for k in range(1, n + 1)]
    holds = all(abs(index - k / n) < 1e-12 and index >= 1.0 / n - 1e-12 for k, n, index in shares)
    return Evidence(None, f"index = k/n in all {len(shares)} cases with n up to 12", holds=holds, by="arithmetic")


def arithmetic_evaluators() -> dict[str, Evaluate]:
    """The paper's analytical results, claim id to evaluator."""
    two_data_packets = 2.0 * closed_forms.transmission_time(PACKET_BYTES, 28.8e3)
    bdp = closed_forms.bandwidth_delay_product(28.8e3, 0.5)
    return {
        "P1-001": _k_claim(100e3, 40.0),
        "P1-002": _k_claim(28.8e3, 52.0),
        "P1-003": _k_claim(28.8e3, 18.0),
        "P1-004": _k_claim(10e6, 52.0),
        "P1-005": _k_claim(9.6e3, 6.0),
        "P1-006": _ratios,
        "P1-007": _limit(52.0),
        "P1-008": _limit(18.0),
        "P1-015": _computed(
            closed_forms.transmission_time(PACKET_BYTES, 28.8e3) * 1e3, "1000 B * 8 / 28.8 kb/s, in ms"
        ),
        "P1-016": _true(two_data_packets, two_data_packets > 0.5, "two packets of 1000 B at 28.8 kb/s, in s"),
        "P1-017": _computed(closed_forms.transmission_time(60.0, 9.6e3) * 1e3, "10 ACKs of 6 B at 9.6 kb/s, in ms"),
        "P1-057": _computed(closed_forms.window_limited_throughput(100e3, 0.280) / 1e6, "100 KB window per 280 ms"),
        "P1-060": _true(
            bdp / 1e3, bdp == 1.8e3 and bdp < 2.0 * PACKET_BYTES, "28.8 kb/s * 500 ms, under two packets of 1 KB"
        ),
        "P1-128": _fairness_identity,
    }


def evaluators(runs: Experiments) -> dict[str, Evaluate]:
    """Claim id to evaluator; an experiment runs only when a claim needs it."""
    tables = (table1, table2, table3, radio, figures)
    return {
        **arithmetic_evaluators(),
        **{claim: found for table in tables for claim, found in table.evaluators(runs).items()},
    }
