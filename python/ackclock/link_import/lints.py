"""What in a set-up hurts, or does not do what it seems to: one function for each kind, each with
the nearest case in which it is silent (tests/link_import/test_lints.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ackclock.format import three
from ackclock.input.units import PS_PER_S, show_rate, show_size, time_ps
from ackclock.link_import.path_setup import FULL_PACKET, Framing, PathSetup, Side, Stage

GIGABIT = 10**9
"""The rate of a line of which nothing is known."""
HZ = 1000
"""Timer ticks a second for tc-tbf(8)'s rule, burst >= rate / HZ. Measured on a busy machine (Linux
6.18): 100 Mb/s with 1600 B 86 Mb/s, with 12.5 kB 95.6; 1 Gb/s with 62.5 kB 560, with 125 kB 913.
"""
FQ_CODEL_LIMIT = 10_240
LONG_QUEUE_S = 10.0
ACK_BYTES = 52
"""An ACK with timestamps."""
SEGMENTS_PER_ACK = 2
ACK_SHARE = 0.5
"""Share of the uplink that the ACKs of one full download may take."""
EXAMPLES: Mapping[str, tuple[str, Framing]] = {
    "pppoe": ("pppoe-ptm", Framing("ptm", 30)),
    "vdsl": ("pppoe-ptm", Framing("ptm", 30)),
    "dsl": ("conservative", Framing("atm", 48)),
    "adsl": ("pppoe-llcsnap", Framing("atm", 40)),
    "docsis": ("docsis", Framing("none", 18, 64)),
}
"""By what the input calls the line: a keyword of tc-cake(8), and what it counts."""


@dataclass(frozen=True)
class LineRates:
    """The rates of the line itself in bits/s, where the user says them."""

    down: int | None = None
    up: int | None = None

    def of(self, side: Side) -> int | None:
        return self.down if side == "down" else self.up


Place = tuple[Side, Stage, tuple[Stage, ...]]
"""A direction, a stage of it, and all stages of the direction."""


def lint(setup: PathSetup, line_rates: LineRates) -> None:
    """Add the lints of the stages to those that the reader of the input found."""
    for side, stages in setup.stages.items():
        for stage in stages:
            for code, check in CHECKS.items():
                for text in check((side, stage, tuple(stages)), setup, line_rates):
                    setup.lint(code, stage.line, text)


def _ms(ps: float) -> str:
    return f"{three(ps / 1e9)} ms"


def _netem_limit(place: Place, _setup: PathSetup, line_rates: LineRates) -> Iterator[str]:
    """netem's limit counts the packets that it delays: at a rate above limit * 8 * 1500 B / delay
    it drops (tc-netem(8), limit).
    """
    side, stage, stages = place
    if stage.kind != "netem" or stage.limit is None or not stage.mean_delay():
        return
    delay = stage.mean_delay()
    bound = stage.limit * 8 * FULL_PACKET * PS_PER_S / delay
    known = [rate for one in stages if (rate := one.bps)]
    rate = min([*known, *filter(None, [line_rates.of(side)])], default=None)
    if bound >= (GIGABIT if rate is None else rate):
        return
    needed = -(-(rate or GIGABIT) * delay // (8 * FULL_PACKET * PS_PER_S))
    drops = f"netem limit {stage.limit} drops above {show_rate(_rounded(bound))} at {_ms(delay)}"
    at = f"{show_rate(rate)} needs" if rate else f"{show_rate(GIGABIT)} needs"
    yield f"{drops}: {at} limit {needed} and room for a queue (packets of {FULL_PACKET} B)"


def _rounded(bps: float) -> int:
    """A rate of three digits.

    >>> _rounded(59_999_999.9), _rounded(1_234_567)
    (60000000, 1230000)
    """
    return int(float(f"{bps:.3g}"))


def _netem_reorders(place: Place, _setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """netem's delays are drawn for each packet: a packet with a shorter delay overtakes, which TCP
    takes for a loss (tc-netem(8), delay).
    """
    _, stage, stages = place
    jitter = stage.jitter
    if stage.kind != "netem" or jitter is None or jitter.get("in_order", True):
        return
    spread = (
        time_ps(jitter["high"]) if jitter["kind"] == "uniform" else time_ps(jitter.get("sd", jitter.get("mean", "0 s")))
    )
    rate = min((one.bps for one in stages if one.bps), default=GIGABIT)
    if spread > 8 * FULL_PACKET * PS_PER_S / rate:
        yield (
            f"netem's jitter ({_ms(spread)}) reorders packets: at {show_rate(rate)} they are "
            f"{_ms(8 * FULL_PACKET * PS_PER_S / rate)} apart; netem with a rate keeps the order"
        )


def _shaper_above_line(place: Place, _setup: PathSetup, line_rates: LineRates) -> Iterator[str]:
    """A shaper that is faster than the line has no queue: the modem's fills."""
    side, stage, stages = place
    rate = stage.bps
    if rate is None or (stage.bucket is None and stage.kind != "netem"):
        return
    line = line_rates.of(side)
    if line is not None and rate > line:
        yield f"{stage.kind} has {show_rate(rate)} {side}, above the line's {show_rate(line)}: it has no queue, the modem's fills"
    behind = [one for one in stages[stages.index(stage) + 1 :] if one.bps]
    slower = min(behind, key=lambda one: one.bps or 0, default=None)
    if stage.bucket is not None and slower is not None and slower.bps and slower.bps < rate:
        yield (
            f"{stage.kind} has {show_rate(rate)}, above the {show_rate(slower.bps)} of {slower.kind} behind it: "
            "the queue is there"
        )


def _overhead_missing(place: Place, setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """On PPPoE and DSL the line carries more than the kernel counts (tc-cake(8), OVERHEAD)."""
    side, stage, _ = place
    if stage.bucket is None or stage.is_framing_typed or stage.bps is None:
        return
    kind = setup.line_kind or ("pppoe" if re.match("ppp", stage.device, re.IGNORECASE) else "")
    if kind not in EXAMPLES:
        return
    keyword, framing = EXAMPLES[kind]
    small, full = (
        f"{100 * (framing.counted(size) / stage.framing.counted(size) - 1):.0f} %" for size in (ACK_BYTES, FULL_PACKET)
    )
    yield (
        f"{stage.kind} {side} counts no overhead, and the line seems to be {kind}: with tc-cake's {keyword} an ACK takes "
        f"{small} more and a full packet {full}; a rate close to the line's is then above it"
    )


def _fq_codel_limit(place: Place, _setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """A limit that holds less than CoDel's interval drops before CoDel does; one of many seconds is
    no limit.
    """
    _, stage, stages = place
    if stage.queue_kind not in ("fq_codel", "codel") or stage.queue is None:
        return
    rate = min((one.bps for one in stages if one.bps), default=None)
    limit = int(stage.typed.get("limit", FQ_CODEL_LIMIT if stage.queue_kind == "fq_codel" else 1000))
    if not rate:
        return
    interval = time_ps(stage.queue.get("interval", "100 ms"))
    holds = limit * 8 * FULL_PACKET * PS_PER_S / rate
    if holds < interval:
        yield (
            f"{stage.queue_kind} limit {limit} holds {_ms(holds)} at {show_rate(rate)}, less than its interval of "
            f"{_ms(interval)}: it drops before CoDel does"
        )
    elif "limit" in stage.typed and limit > FQ_CODEL_LIMIT and holds > LONG_QUEUE_S * PS_PER_S:
        yield (
            f"{stage.queue_kind} limit {limit} holds {three(holds / PS_PER_S)} s at {show_rate(rate)}: a flow that does not "
            f"slow down fills it; the default is {FQ_CODEL_LIMIT if stage.queue_kind == 'fq_codel' else 1000}"
        )


def _tbf_burst(place: Place, setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """tbf drops packets that are larger than its burst, and sends no more than the burst at each
    tick of its timer (tc-tbf(8), burst).
    """
    _, stage, _ = place
    if stage.kind != "tbf" or stage.bucket is None or stage.bucket.burst is None:
        return
    burst, packet = stage.bucket.burst, stage.framing.counted(FULL_PACKET)
    tick = stage.bucket.rate / 8 / HZ
    rounding = setup.format == "tc-show"  # which prints 1513b for 1514
    if burst + rounding < packet:
        yield f"tbf burst {burst} B is below a full packet ({packet} B with its header): full packets are dropped"
    elif burst + rounding < tick:
        yield (
            f"tbf burst {show_size(burst)} is less than {show_rate(stage.bucket.rate)} send in {1000 / HZ:g} ms "
            f"({show_size(round(tick))}): a busy machine may not keep the rate"
        )


def _policer_burst(place: Place, _setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """A policer drops what exceeds its burst: one below a full packet drops all of these."""
    _, stage, _ = place
    if stage.policer is not None and stage.policer.burst is not None:
        packet = stage.framing.counted(FULL_PACKET)
        if stage.policer.burst < packet:
            yield f"the policer's burst of {stage.policer.burst} B is below a full packet ({packet} B): full packets are dropped"


def _shaper_above_policer(place: Place, _setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """A policer drops what a faster shaper lets pass: no queue forms, packets are lost."""
    _, stage, stages = place
    rate = stage.bps
    if stage.bucket is None or rate is None:
        return
    policers = [one.policer for one in stages if one.policer is not None]
    slower = min(policers, key=lambda policer: policer.rate, default=None)
    if slower is not None and slower.rate < rate:
        yield (
            f"{stage.kind} has {show_rate(rate)}, above the policer's {show_rate(slower.rate)}: it drops what its "
            "bucket does not hold, and no queue forms"
        )


def _cake_ack_filter(place: Place, setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """The ACKs of a download at the full rate, one for two segments, beside the uplink's rate."""
    side, stage, _ = place
    if side != "up" or stage.queue_kind != "cake" or (stage.queue or {}).get("ack"):
        return
    down = min((one.bps for one in setup.stages["down"] if one.bps), default=None)
    if not down or not stage.bps:
        return
    acks = down / 8 / FULL_PACKET / SEGMENTS_PER_ACK * stage.framing.counted(ACK_BYTES) * 8
    if acks > ACK_SHARE * stage.bps:
        yield (
            f"ACKs of a download at {show_rate(down)} need {show_rate(_rounded(acks))} of {show_rate(stage.bps)} up: "
            "cake's ack-filter thins them"
        )


def _cake_nat(place: Place, setup: PathSetup, _rates: LineRates) -> Iterator[str]:
    """cake behind the translation of addresses sees one host (tc-cake(8), nat)."""
    _, stage, _ = place
    isolated = stage.typed.get("isolation", "triple-isolate")
    if (
        stage.kind == "cake"
        and setup.translates_addresses
        and not stage.typed.get("nat")
        and isolated not in ("flows", "flowblind")
    ):
        yield f"{stage.device}: cake isolates hosts ({isolated}) behind NAT, where all have one address: add nat"


Check = Callable[[Place, PathSetup, LineRates], Iterator[str]]
CHECKS: Mapping[str, Check] = {
    "netem-limit": _netem_limit,
    "netem-reorders": _netem_reorders,
    "shaper-above-line": _shaper_above_line,
    "overhead-missing": _overhead_missing,
    "fq-codel-limit": _fq_codel_limit,
    "tbf-burst": _tbf_burst,
    "policer-burst": _policer_burst,
    "shaper-above-policer": _shaper_above_policer,
    "cake-ack-filter": _cake_ack_filter,
    "cake-nat": _cake_nat,
}
"""The lints of stages, by code."""
READER_LINTS: Mapping[str, str] = {
    "unit": "A number that means something else than it seems to: tc's bps, a percentage, a time without a unit.",
    "no-default-class": "htb without a default class: packets that no filter selects pass it unshaped.",
    "sqm-linklayer": "An overhead or cells of SQM that its queue does not count.",
    "sqm-disabled": "A queue of SQM that does not run.",
    "drops": "Packets that a qdisc dropped, by the counters in the input.",
}
"""The lints that readers of an input find, by code."""


def texts() -> dict[str, str]:
    """Each lint with what it is."""
    return {code: " ".join((check.__doc__ or "").split()) for code, check in CHECKS.items()} | dict(READER_LINTS)


__all__ = ["CHECKS", "LineRates", "lint", "texts"]
