"""Score of a fit by prediction: a part of the input that was not fitted is simulated over the
fitted link and compared with what was captured, beside a naive fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Literal, Protocol

from ackclock.analysis.filter import PacketFilter, parse_filter
from ackclock.documents.parts import DIRECTIONS, OPPOSITE, Direction
from ackclock.fitting.engine import engine_fit, engine_shape
from ackclock.fitting.parameters import HOP
from ackclock.format import percent
from ackclock.input.objects import Bulk, Flow, Hop, Link, Queue, Tcp, plain
from ackclock.input.scenario.draft import draft_of
from ackclock.input.units import show_size
from ackclock.simulation import engine
from ackclock.simulation.metrics import together_bps
from ackclock.simulation.runner import RunSpec, run_specs

if TYPE_CHECKING:
    from ackclock.documents.engine import DirectionReport, FlowReport, LinkFit, LinkShape, SummaryStats
    from ackclock.documents.fit import ErrorQuantiles, FitScore, FitVerdict, GoodFor, HeldOut
    from ackclock.documents.simulate import SimulatedFlow
    from ackclock.fitting.media import Search
    from ackclock.input.scenario.model import Scenario

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
GOOD_FOR: Mapping[GoodFor, str] = {
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

    direction: Direction
    flows: int
    duration_s: float
    from_s: float
    to_s: float
    receive_window: int | None = None

    def _scenario(self, link: Link, variant: str, **keys: object) -> Scenario:
        """The flows over a link."""
        flow = Flow(name="flow", direction=self.direction, count=self.flows, workload=Bulk())
        tcp = Tcp(variant=variant, receive_buffer=self.receive_window)
        times = {"duration": f"{self.duration_s:.3f} s", "sample": "0 s"}
        return draft_of({**plain(link), "flow": [plain(flow)], "tcp": plain(tcp), **times, **keys}).check()

    def simulated(self, link: Link, variant: str, seeds: Sequence[int]) -> Observed:
        """The means over the seeds."""
        return mean_of(self.runs(link, variant, seeds))

    def runs(self, link: Link, variant: str, seeds: Sequence[int]) -> list[Observed]:
        """What the flows do with each seed, in the part that is compared."""
        window = [f"{self.from_s:.3f} s", f"{self.to_s:.3f} s"]
        scenario = self._scenario(link, variant, measure={"window": window})
        done = run_specs([RunSpec(scenario, seed) for seed in seeds])
        return [_of_flows(result.summary["flows"]) for result in done]

    def captured(self, link: Link, variant: str, seed: int, folder: Path) -> list[str]:
        """Simulate one seed; the captures of both ends, written to an existing folder."""
        spec = RunSpec(self._scenario(link, variant), seed, captures="pcapng")
        engine.run(spec.capture_plan(folder))
        return [str(folder / name) for name in sorted(spec.capture_names)]


def mean_of(runs: Sequence[Observed]) -> Observed:
    """The means of all figures."""
    return Observed(*(fmean(getattr(one, of.name) for one in runs) for of in fields(Observed)))


def _of_flows(flows: Sequence[SimulatedFlow]) -> Observed:
    sent = sum(flow["segments_sent"] for flow in flows)
    retransmitted = sum(flow["retransmitted_segments"] for flow in flows)
    return observed_of(
        together_bps(flows),
        retransmitted / sent if sent else 0.0,
        [flow["rtt_ms"] for flow in flows],
    )


def observed_of(goodput_bps: float, retransmission_rate: float, rtts: Sequence[SummaryStats]) -> Observed:
    """Figures of all flows: the largest p95, the smallest minimum, and means over the samples."""
    rtts = [rtt for rtt in rtts if rtt["count"]]
    samples = sum(rtt["count"] for rtt in rtts)

    def mean(name: Literal["p50", "mean"]) -> float:
        return sum((rtt[name] or 0.0) * rtt["count"] for rtt in rtts) / samples if samples else 0.0

    return Observed(
        goodput_bps,
        max((rtt["p95"] or 0.0 for rtt in rtts), default=0.0),
        retransmission_rate,
        min((rtt["min"] or 0.0 for rtt in rtts), default=0.0),
        mean("p50"),
        mean("mean"),
    )


@dataclass(frozen=True)
class Transfers:
    """Bulk flows at their sender, over some of the time of a capture. `receive_window` in bytes is
    their limit; None where it is not.
    """

    direction: Direction
    flows: int
    duration_s: float
    observed: Observed
    receive_window: int | None = None

    @classmethod
    def of(
        cls,
        direction: Direction,
        duration_s: float,
        bulk: Sequence[tuple[DirectionReport, DirectionReport]],
        rtts: Sequence[SummaryStats],
    ) -> Transfers:
        """Those of bulk flows, with the figures of each one's data and of its ACKs."""
        segments = sum(data["segments"] for data, _ in bulk)
        observed = observed_of(
            sum(data["unique_bytes"] for data, _ in bulk) * 8 / duration_s,
            sum(data["retransmitted_segments"] for data, _ in bulk) / segments if segments else 0.0,
            rtts,
        )
        return cls(direction, len(bulk), duration_s, observed, limiting_window(bulk))

    def replay(self, duration_s: float | None = None, from_s: float = 0.0, to_s: float | None = None) -> Replay:
        """A simulation of as many flows, for as long, and the part of it that is compared."""
        lasting = self.duration_s if duration_s is None else duration_s
        until = lasting if to_s is None else to_s
        return Replay(self.direction, self.flows, lasting, from_s, until, self.receive_window)


def limiting_window(flows: Sequence[tuple[DirectionReport, DirectionReport]]) -> int | None:
    """The largest receive window in bytes, where it limits each of the flows for most of its time;
    None otherwise. `flows` have the figures of the data, and of their ACKs.
    """
    if any((data["window_limited_share"] or 0.0) < MIN_LIMITED for data, _ in flows):
        return None
    return max((acks["advertised_window_bytes"]["max"] or 0 for _, acks in flows), default=0) or None


class Source(Protocol):
    """An input: captures of both ends, or of one."""

    @property
    def searches(self) -> dict[str, Search]:
        """The replays over media that were made of it, by what they depend on: the whole input and
        a part of it, from which the rest is predicted, are often replayed alike.
        """
        ...

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows of a part of the input."""
        ...

    def link_fit(self, until_s: float | None, draws: int, seed: int) -> LinkFit | None:
        """The engine's fit to the input until `until_s`."""
        ...

    def replay_shape(self, captures: Sequence[str]) -> LinkShape:
        """How packets arrive in captures of a replay. NoPath: none do."""
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
    others: tuple[tuple[str, str, float], ...] = ()
    """Further captures of the same ends in the same time, with flows of their own: at the server,
    at the client, and the seconds by which they begin later."""
    searches: dict[str, Search] = field(default_factory=dict, compare=False, repr=False)

    @property
    def _pairs(self) -> tuple[tuple[str, str, float], ...]:
        return ((self.server, self.client, 0.0), *self.others)

    def link_fit(self, until_s: float | None, draws: int, seed: int) -> LinkFit:
        """The engine's fit to the captures until `until_s`."""
        ends = parse_filter(self.only)
        pairs = [pair for pair in self._pairs if until_s is None or pair[2] < until_s]
        only = [PacketFilter(ends, None, None if until_s is None else until_s - start) for *_, start in pairs]
        names = [name for server, client, _ in pairs for name in (server, client)]
        return engine_fit(names, [one for one in only for _ in range(2)], self.error_s, seed, draws)["fit"]

    def replay_shape(self, captures: Sequence[str]) -> LinkShape:
        """How packets arrive in the captures of a replay."""
        return engine_shape(captures)

    @cached_property
    def _clients(self) -> frozenset[str]:
        return frozenset(flow["client"] for flow in self._flows("server", None, None))

    def _flows(
        self, end: Literal["server", "client"], since_s: float | None, until_s: float | None
    ) -> list[FlowReport]:
        from ackclock.analysis import analyze

        flows: list[FlowReport] = []
        for server, client, start in self._pairs:
            since, until = (None if at is None else at - start for at in (since_s, until_s))
            if until is None or until > 0:
                capture = server if end == "server" else client
                found = analyze(
                    capture, filter=self.only, since=None if since is None else max(since, 0.0), until=until
                )
                flows += found.document["flows"]
        return flows

    def _sent(self, flow: FlowReport, direction: Direction) -> DirectionReport:
        """A flow's figures in one direction."""
        from_client = flow["client"] in self._clients
        return flow["a2b" if from_client == (direction == "up") else "b2a"]

    def transfers(self, since_s: float | None = None, until_s: float | None = None) -> Transfers | None:
        """The bulk flows of the direction with most bytes, at their sender; None without any, or
        with many bytes in the other direction.

        A flow is bulk if it lasts and has a share of the bytes: a simulated one sends all the time.
        """
        flows = self._flows("server", since_s, until_s)
        sizes = {name: sum(self._sent(flow, name)["unique_bytes"] for flow in flows) for name in DIRECTIONS}
        direction = max(DIRECTIONS, key=lambda name: sizes[name])
        if min(sizes.values()) > MAX_OPPOSITE_SHARE * sizes[direction]:
            return None
        if direction == "up":
            flows = self._flows("client", since_s, until_s)
        longest = max((flow["duration_s"] for flow in flows), default=0.0)
        bulk = [
            (sent, self._sent(flow, OPPOSITE[direction]))
            for flow in flows
            if (sent := self._sent(flow, direction))["unique_bytes"] >= MIN_BULK_SHARE * sizes[direction]
            and flow["duration_s"] >= MIN_BULK_TIME * longest
        ]
        rtts = [sent["rtt_ms"] for sent, _ in bulk if sent["rtt_ms"]["count"]]
        return Transfers.of(direction, longest, bulk, rtts) if rtts and longest else None


def naive_link(seen: Observed) -> Link:
    """The link of a goodput, half of the minimum RTT in each direction and a droptail queue of one
    bandwidth-delay product.
    """
    queue = max(round(seen.goodput_bps / 8 * seen.rtt_min_ms / 1e3), 3000)
    rate, delay = f"{round(seen.goodput_bps)} b/s", f"{round(seen.rtt_min_ms / 2 * 1e3)} us"
    return Link([Hop(name=HOP, rate=rate, delay=delay, queue=Queue(kind="droptail", bytes=queue))])


def score(replay: Replay, link: Link, seen: Observed, truth: Observed, variant: str | None = None) -> FitScore:
    """The predictions of a link, and of a naive one, for the held-out part of a replay.

    Args:
        replay: the flows, and the held-out part.
        link: the one that is fitted to the part before it.
        seen: what the flows did in the part that was fitted: the variant is the candidate that
            does the same there over the link.
        truth: what they did in the held-out part.
        variant: the congestion control of the sender, if it is known.
    """
    fitted_part = replace(replay, duration_s=replay.from_s, from_s=0.0, to_s=replay.from_s)
    if variant is None:
        variant = first_alike({name: misfit(fitted_part.simulated(link, name, [1]), seen) for name in CANDIDATES})
    seeds = range(1, SEEDS + 1)
    runs = replay.runs(link, variant, seeds)
    fitted, naive = mean_of(runs), replay.simulated(naive_link(seen), variant, seeds)
    row = held_out(variant, replay.direction, (replay.from_s, replay.to_s), fitted, truth)
    naive_goodput, naive_rtt = naive.errors(truth)
    spread = {
        "goodput": stdev(run.goodput_bps for run in runs) / fitted.goodput_bps,
        "rtt_p95": stdev(run.rtt_p95_ms for run in runs) / fitted.rtt_p95_ms,
    }
    return {
        "held_out": [row],
        "goodput_error": error_quantiles([row["goodput_error"]]),
        "rtt_p95_error": error_quantiles([row["rtt_p95_error"]]),
        "repeat_spread": spread,
        "naive": {"goodput_error": naive_goodput, "rtt_p95_error": naive_rtt},
        **verdict(row["goodput_error"], row["rtt_p95_error"], spread["goodput"], replay.receive_window),
    }


def held_out(
    variant: str, direction: Direction, part_s: tuple[float, float], predicted: Observed, truth: Observed
) -> HeldOut:
    """The errors of the prediction of a part."""
    goodput, rtt = predicted.errors(truth)
    return {
        "variant": variant,
        "direction": direction,
        "buffers": "auto",
        "from_s": part_s[0],
        "to_s": part_s[1],
        "goodput_error": goodput,
        "rtt_p95_error": rtt,
        "retransmission_ratio": (
            predicted.retransmission_rate / truth.retransmission_rate if truth.retransmission_rate else None
        ),
    }


def error_quantiles(errors: Sequence[float]) -> ErrorQuantiles:
    """Of the sizes of errors."""
    ordered = sorted(map(abs, errors))
    return {"median": median(ordered), "p90": ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]}


def verdict(
    goodput_error: float, rtt_error: float, spread: float = 0.0, receive_window: int | None = None
) -> FitVerdict:
    """What the fit is good for, by the errors of its prediction: `good_for`, one of `GOOD_FOR`, and
    `sentence`.

    Two runs of one link differ, by the relative standard deviation `spread` of the goodput: an
    error that this explains is no error of the fit, and shows no more than large differences. A
    receive window that limited the input hides what the path carries beyond it.
    """
    by_chance = abs(goodput_error) <= CHANCE * spread
    good_for: GoodFor
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
