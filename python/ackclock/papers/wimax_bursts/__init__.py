"""Evaluators for ``wimax-bursts``: a day of BIC downloads over a pre-WiMAX access, captured at both
ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from ackclock.papers.claims import Claim
from ackclock.papers.evaluators import (
    ExperimentData,
    computed_number,
    computed_statement,
    flow_of,
    format_values,
    measured_number,
    one_trace,
    point,
    statement,
)
from ackclock.papers.evidence import Evaluate, Evidence
from ackclock.papers.experiments import Experiments, known
from ackclock.papers.wimax_bursts.day import FLOW, HOURS, Day
from ackclock.statistics import Interval, interval
from ackclock.statistics.summary_stats import stats_of, summary_stats

POINTS = 1.5
"""Tolerance of loss ratios in the claims, in percentage points; times have a tolerance of a
fifth.
"""
FIFTH = 0.2


def _near(ours: Sequence[float], paper: float, why: str, *, points: float | None = None) -> tuple[bool, str, Interval]:
    found = interval(ours)
    off = abs(found.mean - paper)
    return off <= (points if points is not None else FIFTH * paper), why, found


_CLOCK = (
    "the paper's one-way delays are longer than its round trips (219 and 186.5 ms on average): "
    "they contain the offset of clocks set by NTP. Our ends share a clock, and no one-way delay "
    "exceeds the RTT"
)
_LOAD = "our load follows the time of day, since the paper does not give its load"
_FLAT = (
    "the transfer fills the queue at every hour, which determines the mean; 600 kb/s of other "
    "flows for a tenth of the time have no visible effect. The paper's peak at 20:00 is 8 % above "
    "its mean, from a load that the paper does not give"
)
_SAME_QUEUE = "every test overflows the same queue, so the order of the hours is chance"
_PARTIAL = (
    "in the model a fade loses all packets or none (which P2-020 counts), and an overflow seldom "
    "half of the packets of 100 ms. Fades that lose a part of the packets are missing: the paper "
    "gives neither their depth nor their number"
)


MEAN_RTT_MS = 186.5
MEAN_DELAY_MS = 219.176
"""The paper's means over the day (P2-001, P2-007)."""
OFFSET = "with the clocks' offset that the paper's mean RTT implies"
"""Our one-way delay as the paper's clocks would show it: its mean delay is its mean RTT less the
delay of the ACKs, ours here, and the offset.
"""


def _delays(day: Day) -> dict[str, Evaluate]:
    def all_rtts() -> list[float]:
        return [day.rtt(hour, "mean") for hour in HOURS]

    def all_delays() -> list[float]:
        return [day.delay(hour, "mean") for hour in HOURS]

    def all_losses() -> list[float]:
        return [day.loss(hour) for hour in HOURS]

    def offset_ms() -> float:
        up = [rtt - down for rtt, down in zip(all_rtts(), all_delays(), strict=True)]
        return MEAN_DELAY_MS - (MEAN_RTT_MS - sum(up) / len(up))

    def one_way(find: Callable[[], list[float]], paper: float) -> Evaluate:
        def evaluate(claim: Claim) -> Evidence:
            holds, why, ours = _near(find(), paper, _CLOCK)
            return Evidence(ours, why, holds=holds, also={OFFSET: interval([each + offset_ms() for each in find()])})

        return evaluate

    return {
        "P2-001": statement(lambda: _near(all_rtts(), 186.5, "the mean of twelve tests")),
        "P2-002": statement(lambda: _near([day.rtt(20, "mean")], 201.0, _LOAD)),
        "P2-003": statement(
            lambda: _near(
                [day.rtt(20, "max")],
                603.0,
                f"{_LOAD}; a buffer of 50 kB, which loses packets from 300 ms on as in the paper, "
                "cannot cause delays of 600 ms",
            )
        ),
        "P2-004": one_way(lambda: [min(all_delays())], 184.12),
        "P2-005": one_way(lambda: [max(all_delays())], 315.47),
        "P2-006": one_way(lambda: [day.delay(20, "max")], 604.67),
        "P2-007": one_way(all_delays, 219.176),
        "P2-008": statement(lambda: _near([min(all_losses())], 5.37, _BIC, points=POINTS)),
        "P2-009": statement(lambda: _near([max(all_losses())], 6.63, _BIC, points=POINTS)),
        "P2-010": statement(lambda: _near(all_losses(), 6.177, _BIC, points=POINTS)),
        "P2-011": statement(lambda: _near(all_losses(), 6.2, _BIC, points=POINTS)),
        "P2-012": statement(lambda: _peak(day)),
        "P2-018": statement(lambda: _together(day)),
    }


_BIC = (
    "the transfer itself causes nearly all of the loss: BIC of Linux 2.6.8 aims above the window "
    "of its last loss and overflows the queue by several packets about once per second (BIC of "
    "2.6.15, without that fault, has a tenth of the loss on the same link)"
)


def _peak(day: Day) -> tuple[bool, str]:
    found = {f"{hour:02}": day.rtt(hour, "mean") for hour in HOURS}
    mean = sum(found.values()) / len(found)
    stable = max(abs(value / mean - 1.0) for value in found.values()) < 0.15
    return stable and max(found, key=lambda hour: found[hour]) == "20", f"mean RTT, ms: {format_values(found)}. {_FLAT}"


def _together(day: Day) -> tuple[bool, str]:
    delays, losses = ({hour: find(hour) for hour in HOURS} for find in (lambda hour: day.delay(hour, "max"), day.loss))
    longest, maximum = (max(found, key=lambda hour: found[hour]) for found in (delays, losses))
    return (
        longest == maximum == 20,
        f"maximum delay at {longest}:00 ({delays[longest]:.0f} ms), maximum loss at {maximum}:00 "
        f"({losses[maximum]:.2f} %): {_SAME_QUEUE}",
    )


def _bursts(day: Day) -> dict[str, Evaluate]:
    def of_peak(low: float, high: float) -> list[int]:
        return [sum(low <= 100.0 * burst["peak_share"] <= high for burst in day.bursts(hour)) for hour in HOURS]

    def count(low: float, high: float) -> Interval:
        return interval([float(sum(of_peak(low, high)))])

    return {
        "P2-019": measured_number(
            lambda: interval([float(sum(not day.bursts(hour) for hour in HOURS))]),
            "tests without a burst",
        ),
        "P2-020": measured_number(lambda: count(100.0, 100.0)),
        "P2-021": measured_number(lambda: interval([float(sum(map(bool, of_peak(80.0, 99.99))))]), _PARTIAL),
        "P2-022": measured_number(lambda: count(50.0, 79.99), _PARTIAL),
        "P2-023": statement(lambda: (not day.bursts(22), f"{len(day.bursts(22))} bursts, loss {day.loss(22):.2f} %")),
        "P2-024": statement(lambda: _maximum(day)),
        "P2-025": statement(lambda: _commonest(day)),
        "P2-026": _longer(day, 0.5),
        "P2-027": _longer(day, 1.0),
    }


def _longer(day: Day, seconds: float) -> Evaluate:
    """The number of bursts above a duration, in the test with the most bursts."""

    def number(durations: Sequence[float]) -> Interval:
        return interval([float(sum(duration > seconds for duration in durations))])

    def joined() -> dict[str, Interval]:
        hour = day.busiest()
        return {SILENCE: number(day.joined_s(hour))} if day.has_captures(hour) else {}

    return measured_number(lambda: number(_durations(day)), _FADES, also=joined)


SILENCE = "silence joins bursts"
"""The figure with bursts that a bin without packets does not end."""


_FADES = (
    "of the test with the maximum number of bursts. Fades are drawn with one mean for the day; the "
    "paper has eight of its longest fades in one test"
)


def _durations(day: Day) -> list[float]:
    return [float(burst["duration_ms"]) / 1e3 for burst in day.bursts(day.busiest())]


def _maximum(day: Day) -> tuple[bool, str]:
    hour = day.busiest()
    losses = {test: day.loss(test) for test in HOURS}
    minimum = min(losses, key=lambda test: losses[test])
    text = (
        f"maximum of bursts ({len(day.bursts(hour))}) at {hour}:00, where the loss is "
        f"{losses[hour]:.2f} %; minimum loss at {minimum}:00"
    )
    return losses[hour] <= sum(losses.values()) / len(losses), text + ": the hour of the maximum is chance"


def _commonest(day: Day) -> tuple[bool, str]:
    bins = Counter(
        int(10.0 * duration + 1e-6)
        for hour in HOURS
        for burst in day.bursts(hour)
        for duration in [burst["duration_ms"] / 1e3]
    )
    text = ", ".join(f"{bin_ * 100}-{bin_ * 100 + 100} ms {count}" for bin_, count in sorted(bins.items()))
    return bool(bins) and max(bins, key=lambda b: bins[b]) == 1, "bursts of all tests by duration: " + (text or "none")


def _evening(day: Day) -> dict[str, Evaluate]:
    def sent() -> float:
        return float(flow_of(day.run(18), FLOW)["segments_sent"])

    def cycle_ms() -> float:
        return 1e3 * day.seconds(18) / float(flow_of(day.run(18), FLOW)["window_cuts"])

    return {
        "P2-028": measured_number(lambda: interval([known(flow_of(day.run(18), FLOW)["goodput_bps"]) / 1e6])),
        "P2-029": one_trace(lambda: interval([sent()]), _COUNT),
        "P2-030": one_trace(lambda: interval([sent() / day.seconds(18)]), _COUNT),
        "P2-031": measured_number(lambda: interval([day.loss(18)]), _BIC),
        "P2-032": measured_number(lambda: interval([cycle_ms()]), _CYCLE),
        "P2-033": statement(lambda: _begins(day)),
        "P2-034": statement(lambda: _momentary(day)),
        "P2-035": statement(lambda: _correlated(day)),
        "P2-038": statement(lambda: _cycles(day)),
    }


_COUNT = 'the paper\'s number of packets is that of one trace, to the packet ("106,534"): reported, not judged'
_CYCLE = (
    "time between two window reductions, in ms: eight RTTs of 190 ms, in which BIC grows from 0.8 "
    "of the queue's 50 kB plus the path's 40 kB and then overshoots. The paper's 700 ms are fewer "
    "than four RTTs, as with a queue half as large, which contradicts losses from 300 ms on"
)


def _begins(day: Day) -> tuple[bool, str, Interval]:
    ours = day.delay(18, "p95")
    return (
        abs(ours - 300.0) <= 50.0,
        f"95th percentile of the delays, with a full queue; {day.seen(18)['loss_cause']['evidence']}",
        interval([ours]),
    )


def _momentary(day: Day) -> tuple[bool, str, Interval]:
    bins = Counter(int(10.0 * float(packet["time_s"])) for packet in day.seen(18)["lost"]["packets"])
    rate = flow_of(day.run(18), FLOW)["segments_sent"] / (10.0 * day.seconds(18))
    shares = [100.0 * count / rate for count in bins.values()]
    median = float(stats_of(summary_stats(shares), "p50")[0] or 0.0)
    text = (
        f"of the 100 ms bins with loss, against {rate:.0f} packets per bin: median {median:.0f} %, "
        f"most {max(shares, default=0.0):.0f} %"
    )
    return 10.0 <= median <= 40.0, text, interval([median])


def _correlated(day: Day) -> tuple[bool, str, Interval]:
    found = known(day.seen(18)["delay_loss_correlation"])
    cause = day.seen(18)["loss_cause"]
    return (
        found > 0.0,
        f"correlation {found:.2f}; {cause['verdict']}: {cause['evidence']}",
        interval([found]),
    )


def _cycles(day: Day) -> tuple[bool, str]:
    series = day.run(18).series.filter(day.run(18).series["flow"] == FLOW)
    rtts = [value for value in series["srtt_ms"].to_list() if value is not None]
    mean = sum(rtts) / len(rtts)
    crossings = sum((a < mean) != (b < mean) for a, b in pairwise(rtts))
    cuts = flow_of(day.run(18), FLOW)["window_cuts"]
    text = (
        f"the smoothed RTT crosses its mean {crossings} times while the window is reduced {cuts} "
        f"times, between {min(rtts):.0f} and {max(rtts):.0f} ms"
    )
    return 0.5 * cuts <= crossings <= 4.0 * cuts, text


def _others(day: Day) -> dict[str, Evaluate]:
    return {
        "P2-017": computed_number(24.0 / 2.0, "a test in each direction every two hours of a day"),
        "P2-036": computed_statement(
            abs(106534 / 600 * 1448 * 8 * 0.94 / 1.92e6 - 1.0) <= 0.02,
            f"{106534 / 600 * 1448 * 8 / 1e6:.3f} Mb/s sent, 94 % of it {106534 / 600 * 1448 * 8 * 0.94 / 1e6:.3f}",
        ),
        "P2-037": statement(lambda: _up(day)),
        "P2-039": statement(lambda: _radio(day)),
    }


def _up(day: Day) -> tuple[bool, str]:
    result = day.figures.results(point("up", "up"))[0]
    up = 100.0 * known(day.figures.analysis(result, FLOW, "up")["loss_rate"])
    why = (
        ": uplink, BIC of Linux 2.6.15 over the modem's queue of two packets (calibrated on "
        "wimax-measured, the same equipment); downlink, BIC of 2.6.8, whose fault causes the loss "
        "(P2-010)"
    )
    return up > day.loss(18), f"{up:.2f} % up, {day.loss(18):.2f} % down{why}"


def _radio(day: Day) -> tuple[bool, str]:
    radio = day.figures.analysis(day.figures.results(point("radio", "", "radio"))[0], FLOW)
    evening = day.seen(18)
    seen = {"random loss": radio, "overflow": evening}
    pairs = {name: known(of["delay_loss_correlation"]) for name, of in seen.items()}
    verdicts = f"{radio['loss_cause']['verdict']} and {evening['loss_cause']['verdict']}"
    holds = abs(pairs["random loss"]) < 0.5 * pairs["overflow"] and radio["loss_cause"]["verdict"] != "congestion"
    return holds, f"correlation with {format_values(pairs)}; the verdicts are {verdicts}"


def evaluators(runs: Experiments) -> dict[str, Evaluate]:
    """Claim id to evaluator; an experiment runs only when a claim needs it."""
    day = Day(ExperimentData(runs))
    return {**_delays(day), **_bursts(day), **_evening(day), **_others(day)}
