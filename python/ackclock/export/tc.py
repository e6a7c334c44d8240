"""A link as Linux qdiscs: netem for delay and loss, tbf for the rate, and the queue in it
(tc-netem(8), tc-tbf(8)).
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import ceil

from ackclock import _native
from ackclock.export.line import Line
from ackclock.export.tc_queue import queue_arguments
from ackclock.input.checked_table import CheckedTable, replaced
from ackclock.input.link.rate import is_recorded, mean_rate
from ackclock.input.units import PS_PER_S, show_rate

ETHERNET_HEADER = 14
"""Header bytes that tc counts in each packet; link files do not."""
FULL_PACKET = 1500
POLICED_MTU = "64kb"
NETEM_LIMIT = 1_000_000
"""netem's limit in packets, high enough that it drops none."""

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
    """A shell script, `tc.sh`. Lost properties are added to the lines' `missing`."""
    body = "".join(_commands(line) for line in lines.values())
    missing_texts = [text for line in lines.values() for text in line.missing]
    missing = "\n".join(f"# - {text}" for text in missing_texts) or "# nothing"
    return {"tc.sh": HEADER.format(title=title or "A link", missing=missing) + body}


def _commands(line: Line) -> str:
    device = f'"${line.direction.upper()}"'
    rate = _rate_bps(line)
    queue = queue_arguments(_counted_in_cells(line, rate), rate)
    is_cake = line.queue is not None and line.queue.kind == "cake"
    # A size table of the root holds for what is below it; the kernel takes none elsewhere.
    table = f"{_stab(line)} " if rate and not is_cake else ""
    commands = [
        f"tc qdisc del dev {device} root 2>/dev/null || true",
        (
            f"tc qdisc add dev {device} root handle 1: {table}netem limit "
            f"{NETEM_LIMIT}{_delay(line)}{_loss(line, rate)}{_duplicate(line)}"
        ),
    ]
    if is_cake:
        if line.burst:
            line.missing.append(f"{line.direction}: a burst of {line.burst} B: cake has none")
        bandwidth = f"bandwidth {rate}bit" if rate else "unlimited"
        commands.append(f"tc qdisc add dev {device} parent 1:1 handle 2: cake {bandwidth} {queue}")
    elif rate:
        peak = f" peakrate {line.peak}bit mtu {_burst(line, line.peak)}" if line.peak and line.burst else ""
        shaper = f"tbf rate {rate}bit burst {line.burst or _burst(line, rate)}{peak} limit {_tbf_limit(line)}"
        commands.append(f"tc qdisc add dev {device} parent 1:1 handle 2: {shaper}")
        commands.append(f"tc qdisc add dev {device} parent 2:1 handle 3: {queue}")
    commands += _policer(line)
    if line.loss or line.jitter:
        line.missing.append(
            f"{line.direction}: loss and jitter after the queue: netem applies them, and the delay, before it"
        )
    return "".join(f"{command}\n" for command in commands)


def _policer(line: Line) -> list[str]:
    """A filter where packets of the direction enter, before their header of Ethernet counts
    (tc-police(8)). Without `mtu` a packet above 2040 B exceeds any rate.
    """
    if line.policer is None:
        return []
    if line.policer.exceed == "ce":
        line.missing.append(f"{line.direction}: ECN marks of the policer: tc's drops")
    device = '"$UP"' if line.direction == "down" else '"$DOWN"'
    rate, framing = line.policer.rate, line.policed
    if framing and framing.cake_cells == "ptm":
        line.missing.append(f"{line.direction}: PTM's codewords: the policer has 64/65 of the rate instead")
        rate = rate * 64 // 65
    words = ["action", "police", "rate", f"{rate}bit", "burst", str(line.policer.burst), "mtu", POLICED_MTU]
    if framing:
        layer = "atm" if framing.cake_cells == "atm" else "ethernet"
        words += ["overhead", str(framing.cake_overhead), "linklayer", layer]
        words += ["mpu", str(framing.cake_mpu)] if framing.cake_mpu else []
    return [
        f"tc qdisc del dev {device} ingress 2>/dev/null || true",
        f"tc qdisc add dev {device} handle ffff: ingress",
        f"# GRO would merge packets before the policer: ethtool -K {device} gro off",
        f"tc filter add dev {device} parent ffff: matchall {' '.join(words)} conform-exceed drop/pipe",
    ]


def _rate_bps(line: Line) -> int | None:
    if isinstance(line.rate, int | None):
        return _without_codewords(line, line.rate)
    mean = round(mean_rate(line.rate))
    kind = "a recorded rate" if is_recorded(line.rate) else "a schedule of the rate"
    line.missing.append(f"{line.direction}: {kind}: its mean, {show_rate(mean)}, replaces it")
    return _without_codewords(line, mean)


def _without_codewords(line: Line, rate: int | None) -> int | None:
    """The rate of the bytes in PTM's codewords, which cake counts, and tc-stab(8) does not."""
    is_cake = line.queue is not None and line.queue.kind == "cake"
    if rate is None or is_cake or not line.framing or line.framing.cake_cells != "ptm":
        return rate
    line.missing.append(f"{line.direction}: PTM's codewords: tbf has 64/65 of the rate instead")
    return rate * 64 // 65


def _stab(line: Line) -> str:
    """The size table of tc-stab(8), by which tbf counts the bytes of a packet on the line. On
    Ethernet the packet has its header there, on a ppp or tun interface not.
    """
    if not line.framing:
        return f"stab overhead -{ETHERNET_HEADER} linklayer ethernet"
    overhead, mpu = line.framing.cake_overhead - ETHERNET_HEADER, line.framing.cake_mpu
    layer = "atm" if line.framing.cake_cells == "atm" else "ethernet"
    return f"stab{f' mpu {mpu}' if mpu else ''} overhead {overhead} linklayer {layer}"


def _counted_in_cells(line: Line, rate: int | None) -> Line:
    """A line whose limit in bytes is that of full packets on the line: a queue below tbf counts
    packets by tbf's size table.
    """
    queue = line.queue
    if line.framing is None or rate is None or not queue or queue.kind not in ("droptail", "red") or not queue.bytes:
        return line
    line.missing.append(
        f"{line.direction}: a limit of {queue.bytes} B of packets: here of their {_what(line.framing)}, the same for "
        f"packets of {FULL_PACKET} B"
    )
    size = ceil(queue.bytes * _counted(line.framing) / FULL_PACKET)
    return replace(line, queue=replaced(queue, bytes=f"{size} B"))


def _what(framing: CheckedTable) -> str:
    return "cells" if framing.cake_cells == "atm" else "bytes on the line"


def _counted(framing: CheckedTable) -> int:
    """Bytes of a full packet by the size table."""
    if framing.cake_cells == "ptm":
        return FULL_PACKET + int(framing.cake_overhead)
    return _native.on_wire(json.dumps(framing.plan()), FULL_PACKET)


def _burst(line: Line, rate: int) -> int:
    """The burst of tbf in bytes: a packet, or the bytes of a tick of 1 ms / 8, below which tbf
    cannot keep the rate.
    """
    packet = _counted(line.framing) if line.framing else FULL_PACKET
    return max(packet + ETHERNET_HEADER, ceil(rate / 8 / 8000))


def _tbf_limit(line: Line) -> int:
    """tbf requires a limit in bytes before its queue, which has the real limit."""
    queue = line.queue
    packets = queue.packets if queue else None
    return (queue.bytes if queue else None) or (packets or NETEM_LIMIT) * FULL_PACKET


def _ms(ps: float) -> str:
    return f"{ps / 1e9:.9g}ms"


def _delay(line: Line) -> str:
    jitter = line.jitter
    if jitter is None:
        return f" delay {_ms(line.delay)}" if line.delay else ""
    if jitter.in_order:
        line.missing.append(f"{line.direction}: jitter that keeps the order: netem's reorders packets")
    if jitter.kind == "uniform":
        middle, half_range = (jitter.low + jitter.high) / 2, (jitter.high - jitter.low) / 2
        return f" delay {_ms(line.delay + middle)} {_ms(half_range)}"
    if jitter.kind == "normal":
        return f" delay {_ms(line.delay + jitter.mean)} {_ms(jitter.sd)} distribution normal"
    if jitter.kind == "pareto":
        line.missing.append(f"{line.direction}: a Pareto shape of {jitter.shape:g}: netem has its own")
        return f" delay {_ms(line.delay + jitter.mean)} {_ms(jitter.mean)} distribution pareto"
    line.missing.append(f"{line.direction}: {jitter.kind} jitter: its mean is added to the delay")
    return f" delay {_ms(line.delay + jitter.mean)}"


def _loss(line: Line, rate: int | None) -> str:
    loss = line.loss
    if loss is None:
        return ""
    if loss.kind == "list":
        line.missing.append(f"{line.direction}: an exact list of lost packets")
    if loss.kind == "gilbert-elliott":
        return _gilbert_elliott(line, loss, rate)
    return f" loss random {_percent(loss.mean)}" if loss.kind == "bernoulli" and loss.mean else ""


def _gilbert_elliott(line: Line, loss: CheckedTable, rate: int | None) -> str:
    """netem's states change with packets: sojourn times become numbers of full packets at the
    link's rate.
    """
    plan = loss.plan()
    if plan is None:
        return ""
    if rate is None:
        line.missing.append(
            f"{line.direction}: loss by states in time: without a rate, times have no equivalent in packets"
        )
        return ""
    per_second = rate / 8 / FULL_PACKET
    leave_good, leave_bad = (min(1.0, PS_PER_S / (plan[key] * per_second)) for key in ("good_ps", "bad_ps"))
    line.missing.append(
        f"{line.direction}: loss by states in time: here in packets, which is correct for a link "
        f"full of {FULL_PACKET} B"
    )
    shares = (leave_good, leave_bad, plan["loss_bad"], plan["loss_good"])
    return " loss gemodel " + " ".join(_percent(share) for share in shares)


def _duplicate(line: Line) -> str:
    return f" duplicate {_percent(line.duplicate)}" if line.duplicate else ""


def _percent(share: float) -> str:
    return f"{100 * share:.9g}%"
