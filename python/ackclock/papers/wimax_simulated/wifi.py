"""802.11b: scenarios 1 and 2 over a wireless LAN (Figures 14 to 16)."""

from __future__ import annotations

from ackclock.papers.evaluators import (
    ExperimentData,
    ExperimentPoint,
    format_values,
    goodput_mbps,
    measured_number,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate
from ackclock.papers.wimax_simulated.single import FIVE, QUEUES, gilbert_elliott, of_five
from ackclock.statistics import Interval, interval

HIGH = (1e-2, 3e-2, 1e-1)
LOW = (1e-5, 1e-4, 1e-3)
ALIKE = 0.1


def first(scheme: str, rate: float) -> ExperimentPoint:
    return point("wifi1", scheme, down=gilbert_elliott(rate))


def _alike(figures: ExperimentData) -> tuple[bool, str]:
    found = of_five(figures, first("New Reno", 1e-5))
    spread = 1.0 - min(found.values()) / max(found.values())
    return (
        spread <= ALIKE,
        f"{format_values(found, 'Mb/s')}: within {spread:.0%}; the air, not the window, is the limit",
    )


def _gain(figures: ExperimentData, scheme: str) -> Interval:
    gains = [figures.gain(first(scheme, rate), first("New Reno", rate), goodput_mbps).mean for rate in HIGH]
    return interval([sum(gains) / len(gains)])


def _gains(figures: ExperimentData, scheme: str) -> str:
    each = {f"{rate:g}": figures.gain(first(scheme, rate), first("New Reno", rate), goodput_mbps).mean for rate in HIGH}
    return format_values(each, "%")


def _congested(figures: ExperimentData) -> tuple[bool, str]:
    kept = {
        scheme: min(
            figures.mean(point("wifi2", scheme, mean=rate), goodput_mbps).mean
            / figures.mean(first(scheme, rate), goodput_mbps).mean
            for rate in LOW
        )
        for scheme in FIVE
    }
    fall = {
        scheme: figures.ratio(point("wifi2", scheme, mean=1e-2), point("wifi2", scheme, mean=1e-3), goodput_mbps).mean
        for scheme in ("Westwood", "BIC")
    }
    firm = min(kept["Westwood"], kept["BIC"]) > max(kept["New Reno"], kept["Vegas"], kept["Veno"])
    text = f"minimum share of scenario 1 up to 0.001: {format_values(kept)}; from 0.001 to 0.01: {format_values(fall)}"
    return firm and max(fall.values()) < 0.9, text


def _queues(figures: ExperimentData) -> tuple[bool, str]:
    found = {packets: of_five(figures, point("wifi-queues", "New Reno", packets=packets)) for packets in QUEUES}
    holds = all(min(each["Westwood"], each["BIC"]) > max(each["Vegas"], each["Veno"]) for each in found.values())
    text = "; ".join(f"{packets}: {format_values(each)}" for packets, each in found.items())
    return holds, f"{text} Mb/s"


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    return {
        "P3-051": statement(lambda: _alike(figures)),
        "P3-052": measured_number(lambda: _gain(figures, "Westwood"), lambda: _gains(figures, "Westwood")),
        "P3-053": measured_number(lambda: _gain(figures, "BIC"), lambda: _gains(figures, "BIC")),
        "P3-054": statement(lambda: _congested(figures)),
        "P3-055": statement(lambda: _queues(figures)),
    }
