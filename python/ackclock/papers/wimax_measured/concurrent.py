"""Section 4.4: four and ten concurrent downloads (Figure 13)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ackclock.papers.evaluators import (
    ExperimentData,
    ExperimentPoint,
    fairness,
    format_values,
    goodput_mbps,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import known
from ackclock.papers.wimax_measured.transfers import (
    LINK_MBPS,
    PAYLOAD,
    VARIANTS,
)
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval, interval


def _together(count: str, variant: str) -> ExperimentPoint:
    return point("concurrent", count, variant=VARIANTS[variant])


def _shares(figures: ExperimentData, count: str, number_of: int) -> tuple[bool, str]:
    sums = {v: figures.mean(_together(count, v), goodput_mbps).mean * number_of for v in VARIANTS}
    return min(
        sums.values()
    ) >= 0.95 * LINK_MBPS * PAYLOAD, f"{100 / number_of:g} % each of the sum: {format_values(sums, 'Mb/s')}"


def _others_fair(figures: ExperimentData) -> tuple[bool, str]:
    found = {
        f"{v} x{n}": figures.mean(_together(n, v), fairness).mean
        for v in VARIANTS
        for n in ("four", "ten")
        if (v, n) != ("CUBIC", "ten")
    }
    return min(found.values()) >= 0.98 - 0.03, format_values(found)


def _range(figures: ExperimentData, count: str, variant: str) -> float:
    spans: list[float] = []
    for result in figures.results(_together(count, variant)):
        rates = [known(f["goodput_bps"]) for f in result.summary["flows"]]
        spans.append((max(rates) - min(rates)) * len(rates) / sum(rates))
    return sum(spans) / len(spans)


def shares(figures: ExperimentData, count: str, variant: str) -> Interval:
    """The mean share of a flow in per cent, with the minimum and maximum of any flow in any run
    instead of an interval.
    """
    each: list[float] = []
    for result in figures.results(_together(count, variant)):
        rates = [float(f["goodput_bps"] or 0.0) for f in result.summary["flows"]]
        each += [100.0 * rate / sum(rates) for rate in rates]
    return replace(interval(each), lo=min(each), hi=max(each))


def _window(result: RunResult) -> float:
    windows = result.series["cwnd_bytes"].to_list()
    return float(sum(windows)) / len(windows) / 1448.0


def _widest(figures: ExperimentData) -> tuple[bool, str]:
    found = {count: {v: _range(figures, count, v) for v in VARIANTS} for count in ("four", "ten")}
    holds = all(max(each, key=lambda v: each[v]) == "CUBIC" for each in found.values())
    windows = {count: figures.mean(_together(count, "CUBIC"), _window).mean for count in found}
    why = (
        f". A CUBIC flow of four has {windows['four']:.1f} segments of window on average, of ten "
        f"{windows['ten']:.1f}: with windows that small a reduction to 0.8 and one to 0.5 differ by "
        "a segment or two, and CUBIC grows as Reno (its Reno-friendly region), so the order of the "
        "ranges is chance"
    )
    return holds, "range over mean: " + "; ".join(
        f"{count}: {format_values(each)}" for count, each in found.items()
    ) + why


def _cubic_fair(figures: ExperimentData) -> tuple[bool, str, Interval]:
    found = figures.mean(_together("ten", "CUBIC"), fairness)
    return found.mean >= 0.91 - 0.04, "ten flows, a minute", found


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    patterns: dict[str, Callable[[ExperimentData], tuple[bool, str] | tuple[bool, str, Interval]]] = {
        "P0-111": lambda f: _shares(f, "four", 4),
        "P0-112": lambda f: _shares(f, "ten", 10),
        "P0-113": _cubic_fair,
        "P0-114": _others_fair,
        "P0-115": _widest,
    }
    return {claim: statement(partial(find, figures)) for claim, find in patterns.items()}
