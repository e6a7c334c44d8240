"""Section 3.3: datagrams at constant rates, and at different signal strengths (Figures 2 and 3)."""

from __future__ import annotations

from itertools import pairwise

from ackclock.papers.evaluators import (
    ExperimentData,
    ExperimentPoint,
    flow_of,
    format_values,
    measured_number,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import known
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval

RATES = ("510 kb/s", "1019 kb/s", "1427 kb/s", "1529 kb/s", "2038 kb/s", "3057 kb/s", "4076 kb/s")
AT_RATE, ABOVE = "1529 kb/s", RATES[4:]
CAPACITY = {"down": 1.5, "up": 0.256}
"""The provider's rate limits in Mb/s; iperf counts payload."""


def goodput(result: RunResult) -> float:
    """Received payload, in Mb/s."""
    return known(flow_of(result)["goodput_bps"]) / 1e6


def loss(result: RunResult) -> float:
    """Dropped datagrams, in per cent of the sent ones."""
    direction = flow_of(result)["direction"]
    dropped = sum(float(hop["drops"]) for hop in result.summary["hops"] if hop["direction"] == direction)
    return 100.0 * dropped / float(flow_of(result)["segments_sent"])


def _down(rate: str) -> ExperimentPoint:
    return point("udp-down", rate=rate)


def _ssi(direction: str, lights: int) -> ExperimentPoint:
    return point("ssi", direction, ssi=lights)


def _tracks(figures: ExperimentData) -> tuple[bool, str]:
    sent = {rate: float(rate.split()[0]) / 1e3 * 1470.0 / 1498.0 for rate in RATES[:3]}
    shares = {rate: figures.mean(_down(rate), goodput).mean / sent[rate] for rate in sent}
    return all(abs(share - 1.0) <= 0.02 for share in shares.values()), "of the rate sent: " + format_values(
        shares, "", 4
    )


def _plateau(figures: ExperimentData) -> tuple[bool, str]:
    found = {rate: figures.mean(_down(rate), goodput).mean for rate in ABOVE}
    lost = [figures.mean(_down(rate), loss).mean for rate in (AT_RATE, *ABOVE)]
    flat = max(found.values()) <= 1.03 * min(found.values())
    return flat and all(
        a < b for a, b in pairwise(lost)
    ), f"{format_values(found, 'Mb/s')}; loss up to {lost[-1]:.0f} %"


def _shares(figures: ExperimentData, direction: str, lights: range) -> dict[str, float]:
    return {f"SSI {n}": figures.mean(_ssi(direction, n), goodput).mean / CAPACITY[direction] for n in lights}


def _variability(figures: ExperimentData) -> tuple[bool, str]:
    spread = {
        f"SSI {n}": max(figures.each(_ssi("down", n), goodput)) - min(figures.each(_ssi("down", n), goodput))
        for n in range(2, 6)
    }
    why = ". The model maps lights to modulations without variation: below the limit no state varies"
    return spread["SSI 2"] > max(spread[f"SSI {n}"] for n in (3, 4, 5)), "range over the runs, Mb/s: " + format_values(
        spread
    ) + why


def _near_capacity(figures: ExperimentData) -> tuple[bool, str]:
    shares = _shares(figures, "down", range(2, 6))
    return min(shares.values()) >= 0.95, "of 1.5 Mb/s: " + format_values(shares)


def _losses(figures: ExperimentData) -> tuple[bool, str, Interval]:
    found = {f"SSI {n}": figures.mean(_ssi("down", n), loss).mean for n in range(2, 6)}
    return (
        all(2.1 - 1.5 <= value <= 2.9 + 1.5 for value in found.values()),
        format_values(found, "%"),
        figures.mean(_ssi("down", 3), loss),
    )


def _up(figures: ExperimentData) -> tuple[bool, str]:
    shares = _shares(figures, "up", range(1, 6))
    low, high = max(shares["SSI 1"], shares["SSI 2"]), min(shares["SSI 3"], shares["SSI 4"], shares["SSI 5"])
    return low < high and high >= 0.93, "of 256 kb/s: " + format_values(shares)


def _share(figures: ExperimentData, direction: str) -> Interval:
    return figures.mean(_ssi(direction, 1), lambda result: 100.0 * goodput(result) / CAPACITY[direction])


def _proportional(figures: ExperimentData) -> tuple[bool, str]:
    lost, share = figures.mean(_ssi("down", 1), loss).mean, _share(figures, "down").mean
    return abs(lost - (100.0 - share)) <= 5.0, f"{lost:.1f} % lost, {100.0 - share:.1f} % of the rate missing"


_FRAMING = (
    "the limiter counts IP bytes. iperf's payload at the link's rate is 1.019 times as many IP "
    "bytes, so 1.9 % exceed the limit, less what fills the buffer at first"
)
_UP_LOSS = ". In the uplink 3 % are lost after ARQ, which was calibrated on P0-046"


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""

    def up() -> Interval:
        return figures.mean(_ssi("up", 5), loss)

    def down() -> Interval:
        return figures.mean(_down(AT_RATE), loss)

    return {
        "P0-044": statement(lambda: _tracks(figures)),
        "P0-045": measured_number(down, _FRAMING),
        "P0-046": measured_number(up, _FRAMING + _UP_LOSS),
        "P0-047": statement(
            lambda: (up().mean > down().mean, f"up {up().mean:.2f} %, down {down().mean:.2f} %: {_FRAMING}{_UP_LOSS}")
        ),
        "P0-048": statement(lambda: _plateau(figures)),
        "P0-049": statement(lambda: _near_capacity(figures)),
        "P0-050": statement(lambda: _variability(figures)),
        "P0-051": statement(lambda: _losses(figures)),
        "P0-052": measured_number(lambda: _share(figures, "down")),
        "P0-053": measured_number(lambda: figures.mean(_ssi("down", 1), loss)),
        "P0-054": measured_number(lambda: _share(figures, "up")),
        "P0-055": statement(lambda: _up(figures)),
        "P0-056": statement(lambda: _proportional(figures)),
    }
