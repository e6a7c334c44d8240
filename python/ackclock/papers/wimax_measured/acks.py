"""Section 5.3: times between the ACKs of a download (Figure 18)."""

from __future__ import annotations

from ackclock.papers.evaluators import ExperimentData, point, statement
from ackclock.papers.evidence import Evaluate


def _histogram(figures: ExperimentData, scheme: str) -> dict[str, int]:
    result = figures.results(point("acks", scheme, "campus"))[0]
    rows = figures.analysis(result, "down")["ack_interarrival_ms"]["histogram"]
    return {str(row["up_to"]): int(row["count"]) for row in rows}


def _acks(figures: ExperimentData, scheme: str) -> tuple[float, float, float]:
    """Shares of the gaps between ACKs: up to 1 ms, 5 to 20 ms, above 80 ms."""
    found = _histogram(figures, scheme)
    total = max(1, sum(found.values()))
    long = sum(count for bound, count in found.items() if bound == "None" or float(bound) > 80.0)
    return found["1"] / total, (found["10"] + found["20"]) / total, long / total


def _compressed(figures: ExperimentData) -> tuple[bool, str]:
    at_once, middle, long = _acks(figures, "both")
    return (
        at_once > 0.5 and long > 0.0,
        f"{at_once:.0%} within 1 ms of the previous ACK, {middle:.0%} after 5 to 20 ms, {long:.0%} "
        f"after more than 80 ms{_SPACED}",
    )


_SPACED = (
    ". The transmission time of an ACK is 1.6 ms at the modem's 256 kb/s, so two ACKs arrive "
    "within 1 ms only if one frame carries both: the paper's majority within 1 ms requires a modem "
    "that transmits ACKs together"
)


def _single(figures: ExperimentData) -> tuple[bool, str]:
    at_once, middle, long = _acks(figures, "download alone")
    why = (
        ". With frames of 5 ms and an ACK per two segments, gaps are whole frames, and at the rate "
        "of the campus longer than the paper's 6 to 8 ms"
    )
    return middle > 0.5, f"{at_once:.0%} within 1 ms, {middle:.0%} after 5 to 20 ms, {long:.0%} above 80 ms{why}"


def _cause(figures: ExperimentData) -> tuple[bool, str]:
    both, alone = _acks(figures, "both"), _acks(figures, "download alone")
    text = (
        f"within 1 ms {both[0]:.0%} with the upload, {alone[0]:.0%} without; above 80 ms "
        f"{both[2]:.0%} and {alone[2]:.0%}"
    )
    return both[0] > 1.5 * alone[0] and both[2] > alone[2], text


def histogram(figures: ExperimentData, scheme: str) -> list[tuple[float, float]]:
    """The paper's bins by their upper bound in ms, each with its share of the ACKs in per cent;
    values above 600 ms are at 1000.
    """
    found = _histogram(figures, scheme)
    total = max(1, sum(found.values()))
    return [(1000.0 if bound == "None" else float(bound), 100.0 * count / total) for bound, count in found.items()]


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    return {
        "P0-145": statement(lambda: _compressed(figures)),
        "P0-146": statement(lambda: _single(figures)),
        "P0-147": statement(lambda: _cause(figures)),
    }
