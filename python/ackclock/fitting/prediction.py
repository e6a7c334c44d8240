"""Score of a fit by prediction: a part of the input that was not fitted is simulated over the
fitted link and compared with what was captured, beside a naive fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Protocol

from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.fitting.engine import engine_fit
from ackclock.format import percent
from ackclock.input.units import show_size
from ackclock.simulation.metrics import together_bps

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionReport, FlowReport, LinkFit

CANDIDATES = ("cubic", "reno", "bbr")
"""Congestion controls that the sender may have had: those of the running kernels."""
SEEDS = 5
"""Runs of each prediction."""
GOOD_GOODPUT = 0.05
GOOD_RTT = 0.10
"""Errors up to which a prediction is good: the spread of a path between two runs is as large."""
USABLE = 0.20
"""Error of the goodput up to which a fit shows large differences."""
CHANCE = 2.0
"""Standard deviations between runs that explain an error."""
ALIKE = 0.02
"""Difference of misfits that shows no congestion control: a bin of two RTT figures' histogram."""
GOOD_FOR = {
    "buffers": "Good enough to choose a variant and a buffer",
    "variants": "Good enough to choose a variant, not to choose a buffer",
    "large differences": "Good enough for large differences alone",
    "nothing": "Not good enough to choose by",
    "receive window": "Good enough for transfers with the receive window",
}
"""What a fit is good for, in words."""
MIN_HELD_OUT_S = 3.0
"""Minimum of the part that is held out: shorter ones have too few RTTs."""
FITTED_SHARE = 0.6
"""Share of the time that is fitted."""
END_SHARE = 0.95
"""Share of the time up to which it is predicted: transfers end before their captures."""
MAX_OPPOSITE_SHARE = 0.2
"""Share of the bytes in the other direction from which on a replay of one direction is none."""
MIN_BULK_SHARE = 0.05
MIN_BULK_TIME = 0.8
"""Minimum shares of the bytes and of the time of a bulk flow."""
MIN_LIMITED = 0.5
"""Share of the time from which on a receive window is the limit of a flow."""


@dataclass(frozen=True)
class Observed:
    """What a flow did in a part of a capture, or of a simulation."""

    goodput_bps: float
    rtt_p95_ms: float
    retransmission_rate: float
    rtt_min_ms: float = 0.0
    rtt_p50_ms: float = 0.0
    rtt_mean_ms: float = 0.0

    def errors(self, truth: Observed) -> tuple[float, float]:
        """Relative errors of goodput and of p95 RTT."""
        return self.goodput_bps / truth.goodput_bps - 1, self.rtt_p95_ms / truth.rtt_p95_ms - 1


@dataclass(frozen=True)
class Replay:
    """The flows of the input, for a simulation of them.

    `from_s` to `to_s` is the part that is compared, after the start of the flows. `receive_window`
    in bytes limited them; None where it did not.
    """

    direction: str
    flows: int
    duration_s: float
    from_s: float
    to_s: float
    receive_window: int | None = None

    def _tcp(self, variant: str) -> dict[str, Any]:
        window = {} if self.receive_window is None else {"receive_buffer": f"{self.receive_window} B"}
        return {"variant": variant, **window}

    def simulated(self, link: Mapping[str, Any], variant: str, seeds: Sequence[int]) -> Observed:
        """The means over the seeds."""
        return mean_of(self.runs(link, variant, seeds))

    def runs(self, link: Mapping[str, Any], variant: str, seeds: Sequence[int]) -> list[Observed]:
        """What the flows do with each seed."""
        from ackclock.api import simulate

        flow = {"name": "flow", "direction": self.direction, "count": self.flows, "workload": {"kind": "bulk"}}
        run = simulate(
            {"hop": link["hop"]},
            [flow],
            duration=f"{self.duration_s:.3f} s",
            seeds=list(seeds),
            tcp=self._tcp(variant),
            sample="0 s",
            measure={"window": [f"{self.from_s:.3f} s", f"{self.to_s:.3f} s"]},
        )
        return [_of_flows(summary["flows"]) for summary in run.summaries]

    def captured(self, link: Mapping[str, Any], variant: str, seed: int, folder: Path) -> list[str]:
        """Simulate one seed into a run folder; the captures of both ends."""
        from ackclock.api import simulate

        flow = {"name": "flow", "direction": self.direction, "count": self.flows, "workload": {"kind": "bulk"}}
        simulate(
            {"hop": link["hop"]},
            [flow],
            duration=f"{self.duration_s:.3f} s",
            seed=seed,
            tcp=self._tcp(variant),
            sample="0 s",
            out=folder,
            captures="pcapng",
        )
        return [str(path) for path in sorted((folder / "captures").glob("*.pcapng"))]


def mean_of(runs: Sequence[Observed]) -> Observed:
    """The means of all figures."""
    return Observed(*(fmean(getattr(one, of.name) for one in runs) for of in fields(Observed)))


def _of_flows(flows: Sequence[Mapping[str, Any]]) -> Observed:
    sent = sum(flow["segments_sent"] for flow in flows)
    retransmitted = sum(flow["retransmitted_segments"] for flow in flows)
    return observed_of(
        together_bps(flows),
        retransmitted / sent if sent else 0.0,
        [flow["rtt_ms"] for flow in flows],
    )


def observed_of(goodput_bps: float, retransmission_rate: float, rtts: Sequence[Mapping[str, Any]]) -> Observed:
    """Figures of all flows: the largest p95, the smallest minimum, and means over the samples."""
    rtts = [rtt for rtt in rtts if rtt["count"]]
    samples = sum(rtt["count"] for rtt in rtts)

    def mean(name: str) -> float:
        return sum(rtt[name] * rtt["count"] for rtt in rtts) / samples if samples else 0.0

    return Observed(
        goodput_bps,
        max((rtt["p95"] for rtt in rtts), default=0.0),
        retransmission_rate,
        min((rtt["min"] for rtt in rtts), default=0.0),
        mean("p50"),
        mean("mean"),
    )


@dataclass(frozen=True)
class Transfers:
    """Bulk flows at their sender, over some of the time of a capture. `receive_window` in bytes is
    their limit; None where it is not.
    """

    direction: str
    flows: int
    duration_s: float
    min_rtt_ms: float
    observed: Observed
    receive_window: int | None = None

    def replay(self, duration_s: float | None = None, from_s: float = 0.0, to_s: float | None = None) -> Replay:
        """A simulation of as many flows, for as long, and the part of it that is compared."""
        lasting = self.duration_s if duration_s is None else duration_s
        until = lasting if to_s is None else to_s
        return Replay(self.direction, self.flows, lasting, from_s, until, self.receive_window)


def limiting_window(flows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> int | None:
    """The largest receive window in bytes, where it limits each of the flows for most of its time;
    None otherwise. `flows` have the figures of the data, and of their ACKs.
    """
    if any((data["window_limited_share"] or 0.0) < MIN_LIMITED for data, _ in flows):
        return None
    return max((acks["advertised_window_bytes"]["max"] or 0 for _, acks in flows), default=0) or None


class Source(Protocol):
    """An input: captures of both ends, or of one."""

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows of a part of the input."""
        ...

    def link_fit(self, until_s: float | None, draws: int, seed: int) -> LinkFit | None:
        """The engine's fit to the input until `until_s`."""
        ...

    def replay_fit(self, captures: Sequence[str]) -> LinkFit:
        """The engine's fit to captures of a replay."""
        ...


@dataclass(frozen=True)
class Ends:
    """The captures of a run's ends, with a packet filter.

    A part of a capture need not show which end opened a connection; the whole does.
    """

    server: str
    client: str
    only: str | None = None
    error_s: float | None = None
    """Maximum error of the clocks, if known."""

    def link_fit(self, until_s: float | None, draws: int, seed: int) -> LinkFit:
        """The engine's fit to the captures until `until_s`."""
        only = PacketFilter(parse_filter(self.only), None, until_s)
        return engine_fit((self.server, self.client), only, self.error_s, seed, draws)["fit"]

    def replay_fit(self, captures: Sequence[str]) -> LinkFit:
        """The engine's fit to the captures of a replay."""
        return engine_fit(captures, PacketFilter(None), None, 1, 2)["fit"]

    @cached_property
    def _clients(self) -> frozenset[str]:
        return frozenset(flow["client"] for flow in self._flows(self.server, None, None))

    def _flows(self, capture: str, since_s: float | None, until_s: float | None) -> list[FlowReport]:
        from ackclock.analysis import analyze

        return analyze(capture, filter=self.only, since=since_s, until=until_s).document["flows"]

    def _sent(self, flow: FlowReport, direction: str) -> DirectionReport:
        """A flow's figures in one direction."""
        from_client = flow["client"] in self._clients
        return flow["a2b" if from_client == (direction == "up") else "b2a"]

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows of the direction with most bytes, at their sender; None without any, or
        with many bytes in the other direction.

        A flow is bulk if it lasts and has a share of the bytes: a simulated one sends all the time.
        """
        flows = self._flows(self.server, since_s, until_s)
        of = {name: sum(self._sent(flow, name)["unique_bytes"] for flow in flows) for name in ("down", "up")}
        direction = max(of, key=lambda name: of[name])
        if min(of.values()) > MAX_OPPOSITE_SHARE * of[direction]:
            return None
        if direction == "up":
            flows = self._flows(self.client, since_s, until_s)
        longest = max((flow["duration_s"] for flow in flows), default=0.0)
        other = "up" if direction == "down" else "down"
        both = [
            (sent, self._sent(flow, other))
            for flow in flows
            if (sent := self._sent(flow, direction))["unique_bytes"] >= MIN_BULK_SHARE * of[direction]
            and flow["duration_s"] >= MIN_BULK_TIME * longest
        ]
        bulk = [sent for sent, _ in both]
        rtts = [sent["rtt_ms"] for sent in bulk if sent["rtt_ms"]["count"]]
        if not rtts or not longest:
            return None
        segments = sum(sent["segments"] for sent in bulk)
        observed = observed_of(
            sum(sent["unique_bytes"] for sent in bulk) * 8 / longest,
            sum(sent["retransmitted_segments"] for sent in bulk) / segments if segments else 0.0,
            rtts,
        )
        min_rtt_ms = min(minimum for rtt in rtts if (minimum := rtt["min"]) is not None)
        return Transfers(direction, len(bulk), longest, min_rtt_ms, observed, limiting_window(both))


def naive_link(rate_bps: float, rtt_ms: float) -> dict[str, Any]:
    """The link of a rate, half of the minimum RTT in each direction and a droptail queue of one
    bandwidth-delay product.
    """
    queue = max(round(rate_bps / 8 * rtt_ms / 1e3), 3000)
    hop = {
        "name": "access",
        "rate": f"{round(rate_bps)} b/s",
        "delay": f"{round(rtt_ms / 2 * 1e3)} us",
        "queue": {"kind": "droptail", "bytes": f"{queue} B"},
    }
    return {"hop": [hop]}


@dataclass(frozen=True)
class Score:
    """The predictions of a fit and of the naive fit, for the part that was held out. `runs` are
    those of the fitted link.
    """

    replay: Replay
    variant: str
    truth: Observed
    runs: Sequence[Observed]
    naive: Observed

    @property
    def fitted(self) -> Observed:
        """The prediction: the means of the runs."""
        return mean_of(self.runs)

    @property
    def spread(self) -> dict[str, float]:
        """The standard deviation between runs of the fitted link, relative to their mean."""
        names = {"goodput": "goodput_bps", "rtt_p95": "rtt_p95_ms"}
        return {
            name: stdev(getattr(run, key) for run in self.runs) / getattr(self.fitted, key)
            for name, key in names.items()
        }

    def document(self) -> dict[str, Any]:
        """`score` of the document."""
        goodput, rtt = self.fitted.errors(self.truth)
        ratio = (
            self.fitted.retransmission_rate / self.truth.retransmission_rate if self.truth.retransmission_rate else None
        )
        naive_goodput, naive_rtt = self.naive.errors(self.truth)
        held_out = {
            "variant": self.variant,
            "direction": self.replay.direction,
            "buffers": "auto",
            "from_s": self.replay.from_s,
            "to_s": self.replay.to_s,
            "goodput_error": goodput,
            "rtt_p95_error": rtt,
            "retransmission_ratio": ratio,
        }
        return {
            "held_out": [held_out],
            "goodput_error": {"median": abs(goodput), "p90": abs(goodput)},
            "rtt_p95_error": {"median": abs(rtt), "p90": abs(rtt)},
            "repeat_spread": self.spread,
            "naive": {"goodput_error": naive_goodput, "rtt_p95_error": naive_rtt},
            **verdict(goodput, rtt, self.spread["goodput"], self.replay.receive_window),
        }


def verdict(
    goodput_error: float, rtt_error: float, spread: float = 0.0, receive_window: int | None = None
) -> dict[str, str]:
    """What the fit is good for, by the errors of its prediction: `good_for`, one of `GOOD_FOR`, and
    `sentence`.

    Two runs of one link differ, by the relative standard deviation `spread` of the goodput: an
    error that this explains is no error of the fit, and shows no more than large differences. A
    receive window that limited the input hides what the path carries beyond it.
    """
    by_chance = abs(goodput_error) <= CHANCE * spread
    if abs(goodput_error) > GOOD_GOODPUT:
        good_for = "large differences" if abs(goodput_error) <= USABLE or by_chance else "nothing"
    elif receive_window is not None:
        good_for = "receive window"
    else:
        good_for = "buffers" if abs(rtt_error) <= GOOD_RTT else "variants"
    of_window = (
        f" of {show_size(receive_window)}" if receive_window is not None and good_for == "receive window" else ""
    )
    text = (
        f"{GOOD_FOR[good_for]}{of_window}: the part that was not fitted is predicted within {_within(goodput_error)} of "
        f"its goodput and {_within(rtt_error)} of its p95 RTT."
    )
    if by_chance and good_for == "large differences":
        text += f" Parts of that length of this link differ by as much (standard deviation {percent(spread)})."
    return {"good_for": good_for, "sentence": text}


def _within(error: float) -> str:
    """The size of an error in percent; small ones are below a tenth."""
    return percent(max(abs(error), 0.001))


def misfit(simulated: Observed, seen: Observed) -> float:
    """The errors of a replay, added up: of goodput, of p95 RTT, and a fifth of the logarithm of the
    ratio of retransmissions.
    """
    retransmitted = math.log((simulated.retransmission_rate + 1e-4) / (seen.retransmission_rate + 1e-4))
    return sum(abs(error) for error in simulated.errors(seen)) + abs(retransmitted) / 5


def first_alike(misfits: Mapping[str, float]) -> str:
    """The first congestion control whose misfit is the smallest one, or differs by no more than
    `ALIKE` from it.
    """
    return next(name for name, found in misfits.items() if found <= min(misfits.values()) + ALIKE)


def score(
    replay: Replay,
    links: Mapping[str, Mapping[str, Any]],
    seen: Observed,
    truth: Observed,
    variant: str | None = None,
) -> Score:
    """The predictions of `links` ("fitted", "naive") for the held-out part of a replay.

    Args:
        replay: the flows, and the held-out part.
        links: link files as dicts.
        seen: what the flows did in the part that was fitted: the variant is the candidate that
            does the same there over the fitted link.
        truth: what they did in the held-out part.
        variant: the congestion control of the sender, if it is known.
    """
    fitted_part = replace(replay, duration_s=replay.from_s, from_s=0.0, to_s=replay.from_s)
    if variant is None:
        variant = first_alike(
            {name: misfit(fitted_part.simulated(links["fitted"], name, [1]), seen) for name in CANDIDATES}
        )
    seeds = range(1, SEEDS + 1)
    runs = replay.runs(links["fitted"], variant, seeds)
    return Score(replay, variant, truth, runs, replay.simulated(links["naive"], variant, seeds))
