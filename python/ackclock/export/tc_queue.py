"""A queue as a tc qdisc: pfifo(8), red(8), codel(8), fq_codel(8), pie(8), cake(8)."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from ackclock.export.line import Line, cake_words
from ackclock.input.checked_table import CheckedTable, ReadBy
from ackclock.input.link.queue import limit_in_packets, read_queue

LARGEST_PIE_GAIN = 32  # tc's alpha and beta are sixteenths, from 0 to 32
FQ_CODEL_LIMIT = 10_240  # the kernel's default in packets; a limit in bytes is memory_limit
RED_LIMIT = 1000  # packets of a red queue without a limit
UNLIMITED = 1_000_000  # the limit in packets of a queue without one
DEFAULT_LIMITS = {"codel": 1000, "pie": 1000}  # tc-codel(8), tc-pie(8): packets, no bytes
FULL_PACKET = 1514  # bytes of a full packet with its Ethernet header


def queue_arguments(line: Line, rate: int | None) -> str:
    """The qdisc's name and arguments; for cake the arguments only, since its rate is part of it."""
    queue = line.queue
    if queue is None:
        return f"pfifo limit {UNLIMITED}"
    if queue.ack and queue.kind != "cake":
        line.missing.append(f"{line.direction}: the queue's handling of ACKs: only cake filters them")
    return WRITERS[queue.kind](line, queue, rate)


def _droptail(line: Line, queue: CheckedTable, _rate: int | None) -> str:
    if queue.mark is not None:
        line.missing.append(f"{line.direction}: ECN marks above {queue.mark}")
    if queue.bytes and queue.packets:
        line.missing.append(f"{line.direction}: a limit of {queue.bytes} B in addition to that in packets")
    if queue.drop == "front":
        if not queue.packets:
            line.missing.append(f"{line.direction}: a limit in bytes for a queue that drops at its head")
        return f"pfifo_head_drop limit {queue.packets or UNLIMITED}"
    if queue.bytes and not queue.packets:
        return f"bfifo limit {queue.bytes}"
    return f"pfifo limit {queue.packets or UNLIMITED}"


def _red(line: Line, queue: CheckedTable, rate: int | None) -> str:
    plan = queue.plan()
    size = queue.mean_packet if plan["amount"] == "packets" else 1
    low, high = (ceil(plan[key] * size) for key in ("min", "max"))
    if plan["amount"] == "packets":
        line.missing.append(f"{line.direction}: red's limits in packets: here bytes, of {queue.mean_packet} B each")
    if queue.only == "data":
        line.missing.append(f"{line.direction}: red for data only")
    if queue.gentle:
        line.missing.append(f"{line.direction}: red's gentle slope above max")
    line.missing.append(f"{line.direction}: red's weight of {queue.weight:g}: tc derives one from a burst")
    limit = queue.bytes or (queue.packets or RED_LIMIT) * queue.mean_packet
    # The minimum burst by tc's manual for these thresholds: (min + min + max) / (3 * avpkt).
    burst = max(1, ceil((2 * low + high) / (3 * queue.mean_packet)))
    bandwidth = f" bandwidth {rate}bit" if rate else ""
    ecn = " ecn" if queue.ecn else ""
    return (
        f"red limit {limit} min {low} max {high} avpkt {queue.mean_packet} burst {burst}{bandwidth} "
        f"probability {queue.max_p:g}{ecn}"
    )


def _us(ps: int) -> str:
    return f"{ps / 1e6:.6g}us"


def _ecn(queue: Any) -> str:
    return "ecn" if queue.ecn else "noecn"


def _limit_in_packets(line: Line, kind: str, queue: CheckedTable) -> int:
    """The limit of a qdisc that has none in bytes: tc's default, or as many full packets as the
    bytes hold if these are more. The AQM keeps the queue far below either.
    """
    packets, size = limit_in_packets(queue), queue.bytes
    if packets:
        return packets
    found = max(DEFAULT_LIMITS[kind], ceil((size or 0) / FULL_PACKET))
    line.missing.append(f"{line.direction}: a limit of {size} B: {kind}'s is {found} packets")
    return found


def _codel(line: Line, queue: CheckedTable, _rate: int | None) -> str:
    packets = _limit_in_packets(line, "codel", queue)
    return f"codel limit {packets} target {_us(queue.target)} interval {_us(queue.interval)} {_ecn(queue)}"


def _fq_codel(_line: Line, queue: CheckedTable, _rate: int | None) -> str:
    packets = queue.packets or FQ_CODEL_LIMIT
    limit = f" limit {packets}" if packets != FQ_CODEL_LIMIT else ""
    memory = f" memory_limit {queue.bytes}" if queue.bytes else ""
    return (
        f"fq_codel{limit} flows {queue.flows} quantum {queue.quantum} target {_us(queue.target)} "
        f"interval {_us(queue.interval)}{memory} {_ecn(queue)}"
    )


def _cake(line: Line, queue: CheckedTable, _rate: int | None) -> str:
    isolation = "triple-isolate" if queue.hosts else "flows"
    if (queue.flows, queue.quantum) != (1024, 1514):
        line.missing.append(f"{line.direction}: flows and quantum: cake has its own")
    if queue.target * 20 != queue.interval:
        line.missing.append(f"{line.direction}: target: cake's is a twentieth of its interval")
    filtered = _cake_filter(line, queue.ack) if queue.ack else "no-ack-filter"
    memory = f" memlimit {queue.bytes}" if queue.bytes else ""
    cells = " ".join(cake_words(line.framing)) if line.framing else "overhead 0"
    return f"besteffort {isolation} rtt {_us(queue.interval)} {filtered} {cells}{memory}"


def _cake_filter(line: Line, acks: CheckedTable) -> str:
    if acks.first or acks.drop != "tail":
        line.missing.append(f"{line.direction}: ACKs sent first, or dropped at the head")
    if acks.filter is None:
        return "no-ack-filter"
    for preset, name in (("cake", "ack-filter"), ("cake-aggressive", "ack-filter-aggressive")):
        rule = ReadBy("Filter")(preset)
        if all(getattr(acks.filter, key) == getattr(rule, key) for key in ("keep", "window", "sack", "duplicates")):
            return name
    line.missing.append(f'{line.direction}: an ACK filter other than cake\'s own: "ack-filter" replaces it')
    return "ack-filter"


def _pie(line: Line, queue: CheckedTable, _rate: int | None) -> str:
    gains = {name: round(16 * gain) for name, gain in (("alpha", queue.alpha), ("beta", queue.beta))}
    for name, sixteenths in gains.items():
        if sixteenths != 16 * getattr(queue, name) or sixteenths > LARGEST_PIE_GAIN:
            line.missing.append(
                f"{line.direction}: pie's {name} of {getattr(queue, name):g}: tc has sixteenths up to 2"
            )
    alpha, beta = (min(LARGEST_PIE_GAIN, gain) for gain in gains.values())
    packets = _limit_in_packets(line, "pie", queue)
    return (
        f"pie limit {packets} target {_us(queue.target)} tupdate {_us(queue.update)} alpha {alpha} "
        f"beta {beta} {_ecn(queue)}"
    )


def _dualpi2(line: Line, queue: CheckedTable, _rate: int | None) -> str:
    line.missing.append(f"{line.direction}: dualpi2, which tc has since iproute2 6.15: pie replaces it")
    pie = {"kind": "pie", "packets": queue.plan()["packets"], "target": f"{queue.target} ps"}
    return _pie(line, read_queue(pie), None)


WRITERS: dict[str, Callable[[Line, CheckedTable, int | None], str]] = {
    "droptail": _droptail,
    "red": _red,
    "codel": _codel,
    "fq-codel": _fq_codel,
    "cake": _cake,
    "pie": _pie,
    "dualpi2": _dualpi2,
}
