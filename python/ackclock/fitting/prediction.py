"""Score of a fit by prediction: a part of the input that was not fitted is simulated over the
fitted link and compared with what was captured, beside a naive fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Protocol

from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.fitting.engine import engine_fit
from ackclock.format import percent

CANDIDATES = ("cubic", "reno", "bbr")
"""Congestion controls that the sender may have had: those of the running kernels."""
SEEDS = 5
"""Runs of each prediction."""
GOOD_GOODPUT = 0.05
GOOD_RTT = 0.10
"""Errors up to which a prediction is good: the spread of a path between two runs is as large."""
USABLE = 0.20
"""Error of the goodput up to which a fit ranks variants."""
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

    `from_s` to `to_s` is the part that is compared, after the start of the flows.
    """

    direction: str
    flows: int
    duration_s: float
    from_s: float
    to_s: float

    def simulated(self, link: Mapping[str, Any], variant: str, seeds: Sequence[int]) -> Observed:
        """The means over the seeds."""
        from ackclock.api import simulate

        flow = {"name": "flow", "direction": self.direction, "count": self.flows, "workload": {"kind": "bulk"}}
        run = simulate(
            {"hop": link["hop"]},
            [flow],
            duration=f"{self.duration_s:.3f} s",
            seeds=list(seeds),
            tcp={"variant": variant},
            sample="0 s",
            measure={"window": [f"{self.from_s:.3f} s", f"{self.to_s:.3f} s"]},
        )
        each = [_of_flows(summary["flows"]) for summary in run.summaries]
        return Observed(*(fmean(getattr(one, of.name) for one in each) for of in fields(Observed)))

    def captured(self, link: Mapping[str, Any], variant: str, seed: int, folder: Path) -> list[str]:
        """Simulate one seed into a run folder; the captures of both ends."""
        from ackclock.api import simulate

        flow = {"name": "flow", "direction": self.direction, "count": self.flows, "workload": {"kind": "bulk"}}
        simulate(
            {"hop": link["hop"]},
            [flow],
            duration=f"{self.duration_s:.3f} s",
            seed=seed,
            tcp={"variant": variant},
            sample="0 s",
            out=folder,
            captures="pcapng",
        )
        return [str(path) for path in sorted((folder / "captures").glob("*.pcapng"))]


def _of_flows(flows: Sequence[Mapping[str, Any]]) -> Observed:
    sent = sum(flow["segments_sent"] for flow in flows)
    retransmitted = sum(flow["retransmitted_segments"] for flow in flows)
    return observed_of(
        sum(flow["goodput_bps"] for flow in flows),
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
    """Bulk flows at their sender, over some of the time of a capture."""

    direction: str
    flows: int
    duration_s: float
    min_rtt_ms: float
    observed: Observed


class Source(Protocol):
    """An input: captures of both ends, or of one."""

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows of a part of the input."""
        ...

    def link_fit(self, until_s: float | None, draws: int, seed: int) -> dict[str, Any] | None:
        """The engine's fit to the input until `until_s`."""
        ...

    def replay_fit(self, captures: Sequence[str]) -> dict[str, Any]:
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

    def link_fit(self, until_s: float | None, draws: int, seed: int) -> dict[str, Any]:
        """The engine's fit to the captures until `until_s`."""
        only = PacketFilter(parse_filter(self.only), None, until_s)
        fit: dict[str, Any] = engine_fit((self.server, self.client), only, self.error_s, seed, draws)["fit"]
        return fit

    def replay_fit(self, captures: Sequence[str]) -> dict[str, Any]:
        """The engine's fit to the captures of a replay."""
        fit: dict[str, Any] = engine_fit(captures, PacketFilter(None), None, 1, 2)["fit"]
        return fit

    @cached_property
    def _clients(self) -> frozenset[str]:
        return frozenset(flow["client"] for flow in self._flows(self.server, None, None))

    def _flows(self, capture: str, since_s: float | None, until_s: float | None) -> list[dict[str, Any]]:
        from ackclock.analysis import analyze

        flows: list[dict[str, Any]] = analyze(capture, filter=self.only, since=since_s, until=until_s).document["flows"]
        return flows

    def _sent(self, flow: Mapping[str, Any], direction: str) -> dict[str, Any]:
        """A flow's figures in one direction."""
        from_client = flow["client"] in self._clients
        sent: dict[str, Any] = flow["a2b" if from_client == (direction == "up") else "b2a"]
        return sent

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
        bulk = [
            sent
            for flow in flows
            if (sent := self._sent(flow, direction))["unique_bytes"] >= MIN_BULK_SHARE * of[direction]
            and flow["duration_s"] >= MIN_BULK_TIME * longest
        ]
        rtts = [sent["rtt_ms"] for sent in bulk if sent["rtt_ms"]["count"]]
        if not rtts or not longest:
            return None
        segments = sum(sent["segments"] for sent in bulk)
        observed = observed_of(
            sum(sent["unique_bytes"] for sent in bulk) * 8 / longest,
            sum(sent["retransmitted_segments"] for sent in bulk) / segments if segments else 0.0,
            rtts,
        )
        return Transfers(direction, len(bulk), longest, min(rtt["min"] for rtt in rtts), observed)


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
    """The predictions of a fit and of the naive fit, for the part that was held out."""

    replay: Replay
    variant: str
    truth: Observed
    fitted: Observed
    naive: Observed

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
            "repeat_spread": None,
            "naive": {"goodput_error": naive_goodput, "rtt_p95_error": naive_rtt},
            "sentence": sentence(goodput, rtt),
        }


def sentence(goodput_error: float, rtt_error: float) -> str:
    """What the fit is good for, by the errors of its prediction."""
    errors = (
        f"the part that was not fitted is predicted within {_within(goodput_error)} of its goodput "
        f"and {_within(rtt_error)} of its p95 RTT"
    )
    if abs(goodput_error) <= GOOD_GOODPUT and abs(rtt_error) <= GOOD_RTT:
        return f"Good enough to choose a variant and a buffer: {errors}."
    if abs(goodput_error) <= GOOD_GOODPUT:
        return f"Good enough to choose a variant, not to choose a buffer: {errors}."
    if abs(goodput_error) <= USABLE:
        return f"Good enough for large differences between variants alone: {errors}."
    return f"Not good enough to choose by: {errors}."


def _within(error: float) -> str:
    """The size of an error in percent; small ones are below a tenth."""
    return percent(max(abs(error), 0.001))


def misfit(simulated: Observed, seen: Observed) -> float:
    """The errors of a replay, added up: of goodput, of p95 RTT, and a fifth of the logarithm of the
    ratio of retransmissions.
    """
    retransmitted = math.log((simulated.retransmission_rate + 1e-4) / (seen.retransmission_rate + 1e-4))
    return sum(abs(error) for error in simulated.errors(seen)) + abs(retransmitted) / 5


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
    fitted_part = Replay(replay.direction, replay.flows, replay.from_s, 0.0, replay.from_s)

    if variant is None:
        variant = min(CANDIDATES, key=lambda name: misfit(fitted_part.simulated(links["fitted"], name, [1]), seen))
    seeds = range(1, SEEDS + 1)
    fitted, naive = (replay.simulated(links[name], variant, seeds) for name in ("fitted", "naive"))
    return Score(replay, variant, truth, fitted, naive)
