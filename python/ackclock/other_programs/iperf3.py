"""The JSON of `iperf3 -J`: by direction, the goodput that arrived, and the sender's RTT and
retransmissions where the file is of its end (iperf3(1); times there are in us).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ackclock.errors import InputError
from ackclock.other_programs.model import ProgramTest, Reader, mean

Direction = Literal["down", "up"]


def is_iperf3(data: Mapping[str, Any]) -> bool:
    """Whether a document is of iperf3."""
    return {"start", "intervals", "end"} <= data.keys()


def read_iperf3(data: Mapping[str, Any], file: str) -> ProgramTest:
    """The test. Raises InputError for one that failed, or has no results."""
    reader = Reader(file)
    if error := reader.text(data, "error"):
        raise InputError.problem(f"iperf3 failed: {error}", "run the test again", file=file)
    start, end = reader.table(data, "start"), reader.table(data, "end")
    asked = reader.table(start, "test_start")
    protocol = reader.text(asked, "protocol") or "TCP"
    first: Direction = "down" if reader.number(asked, "reverse") else "up"
    second: Direction = "up" if first == "down" else "down"
    test = ProgramTest("iperf3", file, seconds=reader.number(asked, "duration"))
    peer = reader.text(reader.table(start, "connecting_to"), "host")
    both = f"{first} and {second}" if reader.table(end, "sum_sent_bidir_reverse") else first
    test.title = f"{protocol} {both}{f', {peer}' if peer else ''}"
    test.started = reader.text(reader.table(start, "timestamp"), "time")
    streams = reader.items(end, "streams")
    own = {bool(reader.table(one, "sender").get("sender", True)) for one in streams} if protocol == "TCP" else set()
    for direction, suffix in ((first, ""), (second, "_bidir_reverse")):
        sent, received = reader.table(end, f"sum_sent{suffix}"), reader.table(end, f"sum_received{suffix}")
        if not sent and not received:
            if not suffix and (total := reader.table(end, "sum")):  # of UDP in older versions
                sent = received = total
            else:
                continue
        sends = bool(sent.get("sender", not suffix))
        mine = [one for one in streams if bool(_part(reader, one).get("sender", True)) == sends] or streams
        where = f"{protocol} {direction}"
        if protocol == "TCP":
            rtts = [rtt for one in mine if (rtt := reader.number(reader.table(one, "sender"), "mean_rtt"))]
            minimums = [rtt for one in mine if (rtt := reader.number(reader.table(one, "sender"), "min_rtt"))]
            test.add(
                where,
                goodput_bps=reader.number(received, "bits_per_second"),
                rtt_ms_mean=None if not rtts else (mean(rtts) or 0.0) / 1e3,
                rtt_ms_min=min(minimums) / 1e3 if minimums else None,
                retransmits=reader.number(sent, "retransmits"),
            )
        else:
            lost = reader.number(received, "lost_percent")
            test.add(
                where,
                goodput_bps=_arrived(reader, received, lost),
                loss_rate=None if lost is None else lost / 100,
                jitter_ms=reader.number(received, "jitter_ms"),
            )
    if protocol == "TCP" and own == {False}:
        test.remarks.append("the server sent: its RTT is not in a file of the client")
    _over_time(test, reader, reader.items(data, "intervals"), protocol, first, second)
    if not test.figures:
        raise InputError("no results of a test", "the JSON of a finished test: iperf3 -J", file=file, key="end")
    return test


def _part(reader: Reader, stream: Any) -> Mapping[str, Any]:
    return reader.table(stream, "sender") or reader.table(stream, "udp")


def _arrived(reader: Reader, received: Mapping[str, Any], lost: float | None) -> float | None:
    """The rate of datagrams that arrived; the sum of a client is of those that were sent."""
    rate = reader.number(received, "bits_per_second")
    if rate is None or lost is None or received.get("sender") is False:
        return rate
    return rate * (1 - lost / 100)


def _over_time(
    test: ProgramTest, reader: Reader, intervals: Sequence[Any], protocol: str, first: Direction, second: Direction
) -> None:
    """Rates and the mean RTT of the streams in each interval, without those that were omitted."""
    kept = [one for one in intervals if isinstance(one, Mapping) and not reader.table(one, "sum").get("omitted")]
    for direction, key in ((first, "sum"), (second, "sum_bidir_reverse")):
        sums = [reader.table(one, key) for one in kept]
        rates = [(_middle(reader, one), reader.number(one, "bits_per_second")) for one in sums]
        name = f"{protocol} {direction}"
        test.add_series(name, "rate", ((at, rate * 1e-6) for at, rate in rates if rate is not None))
        points = []
        for interval, total in zip(kept, sums, strict=True):
            streams = [one for one in reader.items(interval, "streams") if isinstance(one, Mapping)]
            mine = [one for one in streams if bool(one.get("sender")) == bool(total.get("sender"))] if total else []
            rtt = mean(value for one in mine if (value := reader.number(one, "rtt")))
            points.append((reader.number(total, "end"), None if rtt is None else rtt / 1e3))
        test.add_series(name, "rtt", points)


def _middle(reader: Reader, interval: Mapping[str, Any]) -> float | None:
    """The middle of an interval, where its mean rate is drawn."""
    start, end = reader.number(interval, "start"), reader.number(interval, "end")
    return end if start is None or end is None else (start + end) / 2
