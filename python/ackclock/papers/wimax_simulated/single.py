"""Scenarios 1 and 2: one transfer, with errors only and with a congested wired link in addition
(Figures 4, 5, 7 and 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import geometric_mean, mean

from ackclock.papers.evaluators import (
    ExperimentData,
    ExperimentPoint,
    flow_of,
    format_values,
    goodput_mbps,
    measured_number,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate
from ackclock.papers.experiments import known
from ackclock.simulation.runner import RunResult
from ackclock.statistics import Interval

FIVE = ("New Reno", "Vegas", "Veno", "Westwood", "BIC")
RATES = (1e-5, 1e-4, 1e-3, 5e-3, 1e-2, 5e-2)
RATES2 = (1e-5, 1e-4, 1e-3, 1e-2)
QUEUES = (10, 40, 80, 120, 200)
LOW = 1e-3
BAD_STATE = "5 ms"
"""Mean duration of the bad state; calibrated on P3-026 (``readings.toml``)."""


def scenario1(scheme: str, rate: float) -> ExperimentPoint:
    return point("scenario1", scheme, down=gilbert_elliott(rate))


def scenario2(scheme: str, rate: float) -> ExperimentPoint:
    return point("scenario2", scheme, mean=rate)


def gilbert_elliott(rate: float) -> dict[str, str | float]:
    """The loss of a point: an error rate, with the bad state's duration."""
    return {"kind": "gilbert-elliott", "mean": rate, "bad_sojourn": BAD_STATE}


def means(figures: ExperimentData, spots: Mapping[str, ExperimentPoint]) -> dict[str, float]:
    """Mean goodputs in Mb/s, by name."""
    return {name: figures.mean(spot, goodput_mbps).mean for name, spot in spots.items()}


def of_five(figures: ExperimentData, spot: ExperimentPoint, schemes: tuple[str, ...] = FIVE) -> dict[str, float]:
    """Mean goodputs in Mb/s of several schemes at one point."""
    return means(figures, {scheme: spot.of(scheme) for scheme in schemes})


def window_kb(result: RunResult) -> float:
    """The mean congestion window, in kB."""
    window = result.series["cwnd_bytes"].to_list()
    return float(sum(window)) / len(window) / 1e3


def falls(values: list[float], slack: float = 0.02) -> bool:
    """Whether no value is more than ``slack`` above the previous one."""
    return all(later <= earlier * (1.0 + slack) for earlier, later in pairwise(values))


def _gain(figures: ExperimentData, spot: ExperimentPoint) -> Interval:
    return figures.gain(spot, spot.of("New Reno"), goodput_mbps)


def _sojourns(figures: ExperimentData, scheme: str) -> dict[str, Interval]:
    networks = ("bad for 0.5 ms", "bad for 10 ms", "bad for 50 ms")
    return {name: _gain(figures, point("sojourn", scheme, name)) for name in networks}


def _westwoods(figures: ExperimentData, spot: ExperimentPoint) -> dict[str, Interval]:
    return {name: _gain(figures, spot.of(name)) for name in ("Westwood+", "Westwood (ns-2)", "BIAD")}


def _figure4(figures: ExperimentData) -> dict[str, Evaluate]:
    low = scenario1("New Reno", LOW)
    return {
        "P3-025": statement(lambda: _all_fall(figures)),
        "P3-026": measured_number(
            lambda: _gain(figures, low.of("Westwood")),
            "Westwood of 2001, which the paper cites; two other variants and other durations of the "
            "bad state for comparison",
            also=lambda: {**_sojourns(figures, "Westwood"), **_westwoods(figures, low)},
        ),
        "P3-027": measured_number(
            lambda: _gain(figures, low.of("BIC")),
            "other durations of the bad state for comparison",
            also=lambda: _sojourns(figures, "BIC"),
        ),
        "P3-028": statement(lambda: _order(figures, low)),
        "P3-029": statement(lambda: _vegas_and_veno(figures)),
        "P3-030": statement(lambda: _windows(figures, low)),
    }


def _all_fall(figures: ExperimentData) -> tuple[bool, str]:
    runs = {scheme: [figures.mean(scenario1(scheme, rate), goodput_mbps).mean for rate in RATES] for scheme in FIVE}
    bad = [scheme for scheme, values in runs.items() if not falls(values)]
    statement = "; ".join(f"{scheme} {values[0]:.2f} to {values[-1]:.2f} Mb/s" for scheme, values in runs.items())
    return not bad, statement + (f"; not monotone: {', '.join(bad)}" if bad else "")


def _order(figures: ExperimentData, low: ExperimentPoint) -> tuple[bool, str]:
    found = of_five(figures, low)
    return found["Westwood"] > found["BIC"] > found["New Reno"], format_values(found, "Mb/s")


def loses(found: Iterable[Mapping[str, float]], scheme: str) -> bool:
    """Whether a scheme is below New Reno over several points: in more than half of them, and by the
    geometric mean of its goodput over New Reno's.

    The paper writes of ranges ("for higher loss rates"), not of each point of its curves.
    """
    ratios = [each[scheme] / each["New Reno"] for each in found if each["New Reno"] > 0.0]
    below = sum(ratio < 1.0 for ratio in ratios)
    return 2 * below > len(ratios) and geometric_mean(max(ratio, 1e-9) for ratio in ratios) < 1.0


def _lose(found: Mapping[float, Mapping[str, float]]) -> tuple[bool, str]:
    """Whether Vegas and Veno both lose to New Reno over several error rates, with the goodputs."""
    holds = all(loses(found.values(), scheme) for scheme in ("Vegas", "Veno"))
    text = "; ".join(
        f"{rate:g}: {format_values({name: each[name] for name in ('New Reno', 'Vegas', 'Veno')})}"
        for rate, each in found.items()
    )
    return holds, f"{text} Mb/s"


def _vegas_and_veno(figures: ExperimentData) -> tuple[bool, str]:
    holds, text = _lose({rate: of_five(figures, scenario1("New Reno", rate)) for rate in RATES if rate >= LOW})
    return holds, f"{text}, over these rates together. {_veno(figures)}"


def _veno(figures: ExperimentData) -> str:
    rtt = flow_of(figures.results(scenario1("Veno", LOW))[0])["rtt_ms"]
    base, usual = known(rtt["min"]), known(rtt["p50"])
    return (
        f"Veno's minimum RTT is {base:.0f} ms and the usual RTT {usual:.0f} with and without a "
        "queue, because of the grant latency of ACKs: Veno counts 3 segments as queued from a "
        f"window of {3.0 * usual / (usual - base):.0f} on, treats losses above that as congestion "
        "and grows every second RTT (Finding: segments that Veno counts as queued). With smaller "
        "windows Veno reduces to 4/5"
    )


def _windows(figures: ExperimentData, low: ExperimentPoint) -> tuple[bool, str]:
    found = {scheme: figures.mean(low.of(scheme), window_kb).mean for scheme in FIVE}
    high, small = min(found["Westwood"], found["BIC"]), max(found["Vegas"], found["Veno"])
    return high > found["New Reno"] > small, "mean window, kB: " + format_values(found)


def _figure7(figures: ExperimentData) -> dict[str, Evaluate]:
    low = scenario2("New Reno", LOW)
    return {
        "P3-031": statement(lambda: _below_scenario1(figures)),
        "P3-032": measured_number(lambda: _gain(figures, low.of("BIC"))),
        "P3-033": measured_number(
            lambda: _gain(figures, low.of("Westwood")),
            "at 0.001, as in section 4; for comparison at 0.0001, as in the conclusion",
            also=lambda: {
                "at 0.0001": _gain(figures, scenario2("Westwood", 1e-4)),
                "Westwood (ns-2)": _gain(figures, low.of("Westwood (ns-2)")),
                "BIAD": _gain(figures, low.of("BIAD")),
            },
        ),
        "P3-034": statement(lambda: _high_rates(figures)),
        "P3-035": statement(lambda: _low(figures)),
    }


def _below_scenario1(figures: ExperimentData) -> tuple[bool, str]:
    pairs = {
        (scheme, rate): (
            figures.mean(scenario2(scheme, rate), goodput_mbps).mean,
            figures.mean(scenario1(scheme, rate), goodput_mbps).mean,
        )
        for scheme in FIVE
        for rate in RATES2
    }
    bad = [f"{scheme} at {rate:g}" for (scheme, rate), (second, first) in pairs.items() if second >= first]
    shares = [second / first for second, first in pairs.values()]
    statement = f"{min(shares):.2f} to {max(shares):.2f} of scenario 1's, over five schemes and four error rates"
    return not bad, statement + (f"; not below: {', '.join(bad)}" if bad else "")


def _high_rates(figures: ExperimentData) -> tuple[bool, str, Interval]:
    found = _gain(figures, scenario2("Westwood", 1e-2))
    return found.mean < 15.0, f"{found.mean:+.0f} % at 0.01", found


def _low(figures: ExperimentData) -> tuple[bool, str]:
    return _lose({rate: of_five(figures, scenario2("New Reno", rate)) for rate in RATES2})


def _figure8(figures: ExperimentData) -> dict[str, Evaluate]:
    return {
        "P3-036": measured_number(lambda: _best_queue(figures), _QUEUE),
        "P3-037": statement(lambda: _queue_order(figures)),
    }


_QUEUE = "packets, seed by seed. The paper gives neither the bottleneck's rate nor its delay"


def _best_queue(figures: ExperimentData) -> Interval:
    from ackclock.statistics import interval

    each = {packets: figures.each(point("queues", "Westwood", packets=packets), goodput_mbps) for packets in QUEUES}
    seeds = range(len(each[QUEUES[0]]))
    return interval([float(max(QUEUES, key=lambda packets: each[packets][seed])) for seed in seeds])


def queues_have_the_order(found: Sequence[Mapping[str, float]]) -> bool:
    """Whether the goodputs by queue have the order of Figure 8.

    Over all queues Westwood is the best and BIC better than New Reno; Veno and Vegas are poor "for
    the whole range": below Westwood and BIC with every queue, and below New Reno over all.
    """
    over_all = {scheme: mean(each[scheme] for each in found) for scheme in FIVE}
    best = over_all["Westwood"] >= over_all["BIC"] > over_all["New Reno"]
    poor = all(max(each["Veno"], each["Vegas"]) < min(each["Westwood"], each["BIC"]) for each in found)
    return best and poor and all(loses(found, scheme) for scheme in ("Vegas", "Veno"))


def _queue_order(figures: ExperimentData) -> tuple[bool, str]:
    found = {packets: of_five(figures, point("queues", "New Reno", packets=packets)) for packets in QUEUES}
    statement = "; ".join(f"{packets}: {format_values(each)}" for packets, each in found.items())
    return queues_have_the_order(list(found.values())), f"{statement} Mb/s"


def evaluators(figures: ExperimentData) -> dict[str, Evaluate]:
    """Claim id to evaluator."""
    return {**_figure4(figures), **_figure7(figures), **_figure8(figures)}
