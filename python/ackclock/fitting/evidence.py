"""Sentences about the evidence of fitted parameters, and about what is missing for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock import format

if TYPE_CHECKING:
    from ackclock.documents.engine import (
        FittedChannelLoss,
        FittedQueueLimit,
        FittedServiceRate,
        FramingFit,
        Jitter,
        LinkFit,
        PolicerEvidence,
        ServiceRate,
        ShaperEvidence,
    )

METHODS = {
    "mode": "mode of the service times",
    "mean": "bytes over time of a busy link",
    "size": "delays of packets of different lengths",
    "throughput": "largest throughput",
}


def rate(fitted: FittedServiceRate) -> str:
    facts = fitted["evidence"]
    method = facts["method"]
    seen = f"the largest throughput was {format.rate(fitted['lo'])}" if fitted["lo"] else "no packet arrived"
    if method == "size":
        text = f"minimum delays of packets of {_listed(facts['lens'])} B"
        all_links = facts["all_links"]
        return text if all_links is None else f"{text}, as over one link of {format.rate(all_links)}"
    if method == "throughput":
        return f"no queue stood; {seen}"
    text = f"{_count(facts['gaps'], 'service time')} in {facts['busy_s']:.3g} s of a busy link"
    if facts["bursts"] is not None:
        return f"{text}, in bursts at {format.rate(facts['bursts'])}; {seen}"
    if facts["contradicted"] is not None:
        return f"{text} at {format.rate(facts['contradicted'])}; {format.rate(fitted['lo'] or 0.0)} passed for a second"
    if method == "mode":
        text += f", {format.percent(facts['mode_share'])} of them equal within 2 %"
    if facts["variation"] is not None:
        text += f"; the rate varies by {format.percent(facts['variation'])} (standard deviation)"
    return text


def no_rate(facts: ServiceRate) -> str:
    if facts["bursts"] is not None:
        return "bursts alone passed at the largest rate: a token bucket may limit what lasts"
    if facts["contradicted"] is not None:
        return "more passed for a second than at the rate of the busy link: it has no one rate"
    if facts["all_links"] is not None:
        return "no queue stood in this direction, and delays of lengths add up all links of the path: each is as fast or faster"
    return (
        "no queue stood in this direction, and delays of packets of different lengths do not differ beyond their jitter"
    )


def framing(found: FramingFit) -> str:
    facts = found["overhead"]["evidence"]
    text = f"service times of {_count(facts['packets'], 'packet')} of {_listed(facts['lens'])} B"
    return f"{text}: steps of 48 B" if found["cells"] == "atm" else text


def policer(facts: PolicerEvidence) -> str:
    text = f"{_count(facts['drops'], 'drop')} of packets that found too few tokens, in {_count(facts['runs'], 'run')}"
    if facts["other_losses"]:
        text += f"; {_count(facts['other_losses'], 'other loss', 'other losses')}"
    return f"{text}; a nearly empty bucket delays packets by {format.percent(max(0.0, facts['delay_share']))} of a queue's delay"


def shaper(facts: ShaperEvidence) -> str:
    return (
        f"{_count(facts['waited'], 'packet')} waited for tokens, {facts['at_once']} passed at once at "
        f"{format.rate(facts['peak'])}; {_count(facts['bursts'], 'burst')} from a nearly full bucket"
    )


def queue(fitted: FittedQueueLimit | None) -> str:
    if fitted is None:
        return "no queue stood"
    facts = fitted["evidence"]
    drops = f"{_count(facts['drops'], 'drop')} in {_count(facts['overflows'], 'overflow')}"
    if facts["by_delay"] is not None:
        return (
            f"{drops}; the largest backlog of these flows is {_bytes(facts['max_accepted'])}, and with packets of others "
            f"{_bytes(facts['by_delay'])} by the delays"
        )
    if facts["finding"] == "limit":
        return f"{drops}; the largest backlog that was accepted is {_bytes(facts['max_accepted'])}"
    if facts["finding"] == "no-sharp-limit":
        return f"{drops}, at backlogs below {_bytes(facts['max_accepted'])}, which was accepted"
    return f"never seen to overflow; the largest backlog was {_bytes(facts['max_accepted'])}"


def no_queue(fitted: FittedQueueLimit | None) -> str:
    finding = fitted["evidence"]["finding"] if fitted else None
    if finding == "no-sharp-limit":
        return "the queue drops below the backlogs that it accepts: an AQM, or several queues"
    if finding == "shared-with-others":
        return "packets of others, which the captures have not, fill the queue as well"
    return "the queue was never seen to overflow"


def loss(mean: FittedChannelLoss) -> str:
    facts = mean["evidence"]
    if not facts["lost"]:
        return f"no loss beside overflow in {_count(facts['packets'], 'packet')}"
    text = f"{facts['lost']} of {_count(facts['packets'], 'packet')} lost beside overflow"
    if facts["at_once"]:
        return f"{text}, several at one time"
    if facts["is_bursty"]:
        return f"{text}, in {_count(facts['bursts'], 'burst')} of {facts['burst_packets']:.1f} packets on average"
    return f"{text}, independently of each other"


def no_loss(mean: FittedChannelLoss) -> str:
    facts = mean["evidence"]
    if not facts["packets"]:
        return "no packet passed the link"
    if facts["beside_drops"] is not None:
        return f"few beside the {facts['beside_drops']} drops of the queue, some of which may be taken for such a loss"
    if facts["unrecorded"]:
        return "the capture at the receiver lost records of its own packets, and may have lost those of these"
    if facts["at_once"]:
        return "several packets were lost at one time: a queue may have dropped them"
    if facts["is_bursty"]:
        return f"{_count(facts['bursts'], 'burst')} of losses in {facts['seconds']:.3g} s: bounds alone"
    losses = f"{_count(facts['lost'], 'loss', 'losses')} in {_count(facts['packets'], 'packet')}"
    if facts["lost"]:
        return f"{losses}: bounds alone, if losses are independent"
    # The rule of three: no event in a time.
    return (
        f"{losses}: a bound alone, if losses are independent; of bursts, fewer than one in {facts['seconds'] / 3:.2g} s"
    )


def delay(fit: LinkFit) -> str:
    down, up = (of["base_delay"]["evidence"]["isolated"] for of in (fit["down"], fit["up"]))
    text = f"{_count(down, 'packet')} down and {up} up found the path empty"
    if fit["known_clocks"]:
        return text
    return f"{text}; half of the sum of both directions, since the offset between the clocks is not known"


def jitter(fitted: Jitter) -> str:
    packets = f"delays of {_count(fitted['packets'], 'packet')} without their queueing"
    if fitted["family"] is None:
        if fitted["status"] == "identified":
            return f"{packets} vary no more than those of hosts"
        return packets
    text = f"{packets}: 95 % are at most {format.milliseconds((fitted['p95'] or 0.0) / 1e6)} above the floor"
    if not fitted["is_described"]:
        text += "; no distribution of a link file describes them well"
    order = {True: "packets kept their order", False: "packets overtook each other", None: "the order is assumed"}
    return f"{text}; {order[fitted['in_order']]}"


def no_jitter(fitted: Jitter) -> str:
    if fitted["is_by_flow"]:
        return "flows overtake each other and not themselves: their hosts, or a queue for each, delay them differently"
    return f"{_count(fitted['packets'], 'packet')} that waited for no other are too few"


def _count(count: int, one: str, several: str | None = None) -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"


def _bytes(count: float) -> str:
    return f"{count / 1e3:.3g} kB" if count >= 1e3 else f"{count:.0f} B"


def _listed(values: list[int]) -> str:
    return ", ".join(map(str, values[:-1])) + f" and {values[-1]}" if len(values) > 1 else str(values[0])
