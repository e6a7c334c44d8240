"""A link as Linux's own: netem for delay and loss, tbf for the rate, and the queue inside it (tc-netem(8), tc-tbf(8))."""

from __future__ import annotations

from math import ceil

from ackclock.export.line import Line
from ackclock.export.tc_queue import queue_arguments
from ackclock.input.link.aqm import Cake
from ackclock.input.link.jitter import NormalJitter, ParetoJitter, UniformJitter
from ackclock.input.link.loss import Bernoulli, GilbertElliott, LossList
from ackclock.input.link.rate import TraceRate
from ackclock.input.units import PS_PER_S, show_rate

ETHERNET_HEADER = 14
"""Bytes that tc counts with each packet and a link file does not."""
FULL_PACKET = 1500
HELD = 1_000_000
"""netem's limit, in packets: it may drop nothing of what is on the way."""

HEADER = """\
#!/bin/sh
# {title}
# Written by ackclock for Linux's tc; run it as root on the machine between both ends.
# DOWN is the interface towards the clients, UP the one towards the servers. Switch segmentation offloads off on both ends.
#
# What tc cannot express of this link:
{missing}
set -eu
DOWN=${{DOWN:?the interface towards the clients}}
UP=${{UP:?the interface towards the servers}}
"""


def export_tc(title: str, lines: dict[str, Line]) -> dict[str, str]:
    """One shell script, `tc.sh`. What is lost goes into the lines' `missing`."""
    body = "".join(_commands(line) for line in lines.values())
    said = [text for line in lines.values() for text in line.missing]
    missing = "\n".join(f"# - {text}" for text in said) or "# nothing"
    return {"tc.sh": HEADER.format(title=title or "A link", missing=missing) + body}


def _commands(line: Line) -> str:
    device = f'"${line.way.upper()}"'
    rate = _rate_bps(line)
    queue = queue_arguments(line, rate)
    commands = [
        f"tc qdisc del dev {device} root 2>/dev/null || true",
        f"tc qdisc add dev {device} root handle 1: netem limit {HELD}{_delay(line)}{_loss(line, rate)}{_duplicate(line)}",
    ]
    sized = f"stab overhead -{ETHERNET_HEADER} linklayer ethernet"
    if isinstance(line.queue, Cake):
        bandwidth = f"bandwidth {rate}bit" if rate else "unlimited"
        commands.append(f"tc qdisc add dev {device} parent 1:1 handle 2: cake {bandwidth} {queue}")
    elif rate:
        shaper = f"tbf rate {rate}bit burst {_burst(rate)} limit {_tbf_limit(line)}"
        commands.append(f"tc qdisc add dev {device} parent 1:1 handle 2: {sized} {shaper}")
        commands.append(f"tc qdisc add dev {device} parent 2:1 handle 3: {queue}")
    if line.loss or line.jitter:
        line.missing.append(f"{line.way}: loss and jitter after the queue: netem applies them, and the delay, before it")
    return "".join(f"{command}\n" for command in commands)


def _rate_bps(line: Line) -> int | None:
    if not isinstance(line.rate, TraceRate):
        return line.rate
    mean = round(line.rate.recording.mean_bps())
    line.missing.append(f"{line.way}: a recorded rate: its mean, {show_rate(mean)}, stands for it")
    return mean


def _burst(rate: int) -> int:
    """Bytes that may leave at once: a packet, or what passes within a tick of 1 ms / 8, as below that tbf cannot keep the rate."""
    return max(FULL_PACKET + ETHERNET_HEADER, ceil(rate / 8 / 8000))


def _tbf_limit(line: Line) -> int:
    """tbf wants a limit in bytes before it gets the queue that has the true one."""
    queue = line.queue
    packets = queue.packets if queue else None
    return (queue.bytes if queue else None) or (packets or HELD) * FULL_PACKET


def _ms(ps: float) -> str:
    return f"{ps / 1e9:.9g}ms"


def _delay(line: Line) -> str:
    jitter = line.jitter
    if jitter is None:
        return f" delay {_ms(line.delay)}" if line.delay else ""
    if jitter.in_order:
        line.missing.append(f"{line.way}: jitter that keeps the order: netem's lets packets overtake")
    if isinstance(jitter, UniformJitter):
        middle, spread = (jitter.low + jitter.high) / 2, (jitter.high - jitter.low) / 2
        return f" delay {_ms(line.delay + middle)} {_ms(spread)}"
    if isinstance(jitter, NormalJitter):
        return f" delay {_ms(line.delay + jitter.mean)} {_ms(jitter.sd)} distribution normal"
    if isinstance(jitter, ParetoJitter):
        line.missing.append(f"{line.way}: a Pareto shape of {jitter.shape:g}: netem's table has its own")
        return f" delay {_ms(line.delay + jitter.mean)} {_ms(jitter.mean)} distribution pareto"
    line.missing.append(f"{line.way}: {jitter.kind} jitter: its mean is added to the delay")
    return f" delay {_ms(line.delay + jitter.mean)}"


def _loss(line: Line, rate: int | None) -> str:
    loss = line.loss
    if isinstance(loss, LossList):
        line.missing.append(f"{line.way}: an exact list of lost packets")
    if isinstance(loss, GilbertElliott):
        return _gilbert_elliott(line, loss, rate)
    return f" loss random {_percent(loss.mean)}" if isinstance(loss, Bernoulli) and loss.mean else ""


def _gilbert_elliott(line: Line, loss: GilbertElliott, rate: int | None) -> str:
    """netem's states change from packet to packet, so that sojourns in time become sojourns in full packets at the link's rate."""
    plan = loss.plan()
    if plan is None:
        return ""
    if rate is None:
        line.missing.append(f"{line.way}: loss by states in time, as without a rate no number of packets stands for a time")
        return ""
    per_second = rate / 8 / FULL_PACKET
    leave_good, leave_bad = (min(1.0, PS_PER_S / (plan[key] * per_second)) for key in ("good_ps", "bad_ps"))
    line.missing.append(f"{line.way}: loss by states in time: here they last packets, right for a link full of {FULL_PACKET} B")
    shares = (leave_good, leave_bad, plan["loss_bad"], plan["loss_good"])
    return " loss gemodel " + " ".join(_percent(share) for share in shares)


def _duplicate(line: Line) -> str:
    return f" duplicate {_percent(line.duplicate)}" if line.duplicate else ""


def _percent(share: float) -> str:
    return f"{100 * share:.9g}%"
