"""Findings about connections that fail or wait, however few packets they have: refused, without an
answer, a closed window, resets by kind, think times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ackclock.analysis.diagnosis.flow_context import Finding, many, size, span
from ackclock.analysis.diagnosis.receiver_vantage import SLOW_READER

Flow = Mapping[str, Any]

THINK_S = 0.5
"""Sum of an end's think times, in seconds, from which there is a finding."""
MATTERS = 0.05
"""Share of the flow's time below which think time and a closed window are no finding."""
LONG_STALL_S = 0.2
"""A window that is closed for longer is a finding, whatever its share."""
TTL_DIFFERENCE = 1
"""Maximum difference of the TTLs of one host's packets."""
MIN_PROBES = 2
"""Probes of a window that is closed at the end, from which the reader has stopped."""
_DOUBLING = (1.6, 2.5)
"""Ratios of successive waits that are a doubling: timers have ticks."""
_SIDES = {"a2b": "client", "b2a": "server"}
_OTHER = {"a2b": "b2a", "b2a": "a2b"}


def findings(flow: Flow) -> Iterator[Finding]:
    """The findings about a flow's failures and waits, in the order in which they happen."""
    yield from _opening(flow)
    for direction in ("a2b", "b2a"):
        for rule in (_think, _closed_window, _unanswered):
            if (found := rule(flow, direction)) is not None:
                yield found
    if (reset := _reset(flow)) is not None:
        yield reset


def _opening(flow: Flow) -> Iterator[Finding]:
    """What became of the SYN."""
    reset, syn = flow["reset"], flow["a2b"]["unanswered"]
    tries = flow["a2b"]["causes"].get("handshake", {}).get("count", 0) + 1
    if reset["kind"] == "refused":
        times = f" The client sent it {tries} times." if tries > 1 else ""
        evidence = (
            f"{flow['server']} answered the SYN with a reset after {span(reset['at_s'])}: no program "
            f"listens on that port, or a filter answers in its name.{times}"
        )
        advice = "Check on the server that the program runs and listens on this address and port, then the filters."
        yield Finding("a2b", "connection_refused", evidence, advice=advice)
    elif syn["what"] == "syn":
        evidence = (
            f"The SYN was sent {syn['copies']} times{_waits(syn['sent_at_s'])}, and nothing returned: "
            f"{flow['server']} is down, or a filter or the path drops it or the answer."
        )
        advice = "Capture at the server: if the SYN arrives there, search for its answer; if not, for a filter."
        yield Finding("a2b", "connection_unanswered", evidence, advice=advice)
    if flow["b2a"]["unanswered"]["what"] == "syn":
        answer = flow["b2a"]["unanswered"]
        evidence = (
            f"The SYN-ACK was sent {answer['copies']} times{_waits(answer['sent_at_s'])}, and the client "
            "never acknowledged it: it does not arrive, or the SYN came from an address that another "
            "host uses (a scan, a SYN flood)."
        )
        yield Finding("b2a", "handshake_unfinished", evidence)


def _unanswered(flow: Flow, direction: str) -> Finding | None:
    what = flow[direction]["unanswered"]
    if what["what"] not in ("data", "fin"):
        return None
    name = f"The segment of {size(what['bytes'])}" if what["what"] == "data" else "The FIN"
    first, lasted = what["sent_at_s"][0], what["lasted_s"]
    end = f"; the {_SIDES[direction]} then gave up with a reset" if flow["reset"]["kind"] == "gave_up" else ""
    since = f" {span(first)} after the flow's first packet" if first else " first"
    evidence = (
        f"{name} that the {_SIDES[direction]} sent{since} was sent "
        f"{what['copies']} times{_waits(what['sent_at_s'])}, and nothing came back for {span(lasted)}{end}: "
        f"the {_SIDES[_OTHER[direction]]} or the path to it is gone."
    )
    advice = (
        "Capture at the other end: it shows whether the copies arrive and whether answers leave. Search for a host "
        "that went down, a changed route or address, or a filter or NAT that forgot the connection."
    )
    return Finding(direction, "peer_gone", evidence, _part(flow, lasted), advice)


def _closed_window(flow: Flow, direction: str) -> Finding | None:
    figures = flow[direction]
    closed = figures["zero_window"]
    reader, at_end = _SIDES[_OTHER[direction]], closed["closed_at_end_s"]
    part = _part(flow, closed["closed_s"])
    if not closed["acks"] or (closed["longest_s"] < LONG_STALL_S and (part or 0.0) < MATTERS):
        return None
    probes = figures["zero_window_probes"]
    probed = f", which the {_SIDES[direction]} probed {many(probes, 'time')}" if probes else ""
    # A program that resets the connection has not stopped; one that paused for longer may go on.
    has_ended = flow["reset"]["from"] == reader
    if at_end and at_end >= closed["longest_s"] and probes >= MIN_PROBES and not has_ended:
        evidence = (
            f"The {reader}'s window was zero for the last {span(at_end)} of the flow{probed}, and never opened "
            f"again: the program there has stopped reading."
        )
        advice = "Examine the receiving application: it hangs, or has forgotten this connection."
        return Finding(direction, "zero_window_death", evidence, part, advice)
    times = f"{many(figures['zero_windows'], 'time')}, {span(closed['closed_s'])} in all and "
    times = (
        times + f"{span(closed['longest_s'])} at most"
        if figures["zero_windows"] > 1
        else f"for {span(closed['closed_s'])}"
    )
    evidence = f"The {reader}'s window was zero {times}{probed}: the program there reads more slowly than data arrives."
    return Finding(direction, "zero_window_stall", evidence, part, SLOW_READER)


def _think(flow: Flow, direction: str) -> Finding | None:
    think = flow[direction]["think_time"]
    part = _part(flow, think["total_s"])
    if think["total_s"] < THINK_S or (part or 0.0) < MATTERS:
        return None
    side, count = _SIDES[direction], think["count"]
    waited = "its answer" if side == "server" else "its request or its next data"
    if count == 1:
        evidence = f"The {side} began {waited} {span(think['total_s'])} later than the RTT explains (until "
    else:
        evidence = (
            f"The {side} began {waited} {count} times later than the RTT explains: {span(think['total_s'])} in all, "
            f"{span(think['total_s'] / count)} on average, {span(think['longest_s'])} at most (which ended "
        )
    ended = f"{span(think['longest_at_s'])} after the flow's first packet)."
    advice = (
        "This time is the server's program or what it waits for, not the network: see its log, its database."
        if side == "server"
        else "This time is the client's program or its user, not the network and not the server."
    )
    return Finding(direction, f"{side}_think_time", evidence + ended, part, advice)


_RESETS = {
    "half_open": (
        "before the handshake was complete: its host does not know the connection (a scan, an address that another "
        "host uses), or the client gave up",
        "",
    ),
    "unknown_connection": (
        "in answer to a segment of a connection that its host does not have (the reset has no ACK flag): the program "
        "or the host restarted, or a load balancer or NAT sent the segment to another host",
        "Search for a restart there, or for idle connections that something on the path forgets: keep-alives below its "
        "timeout help.",
    ),
    "after_close": (
        "in answer to data that arrived after the program had closed its socket: that data is lost",
        "The two programs disagree about who ends the connection, or the reader ended early.",
    ),
    "gave_up": ("after its own retransmissions had no answer", ""),
    "unread_data": (
        "while data of the other end was arriving: the program closed its socket before it had read all (or with a "
        "linger time of 0)",
        "Harmless if the program does not want the rest, as measurement tools at the end of a test; otherwise search "
        "there for a crash or a timeout.",
    ),
    "abort": (
        "with nothing in flight: the program aborted the connection (a linger time of 0, or its host closed it)",
        "Harmless at the end of a connection: it saves the FINs.",
    ),
}


def _reset(flow: Flow) -> Finding | None:
    reset = flow["reset"]
    if reset["kind"] in (None, "refused"):
        return None
    direction = "a2b" if reset["from"] == "client" else "b2a"
    meaning, advice = _RESETS[reset["kind"]]
    when = f"{span(reset['at_s'])} after the flow's first packet"
    if is_by_middlebox(reset):
        evidence = (
            f"A reset in the {reset['from']}'s name came {when} with a TTL of {reset['ttl']}; its other packets have "
            f"{reset['usual_ttl']}: a middlebox on the path ended the connection, not the {reset['from']}."
        )
        advice = "Search the path for a firewall, a proxy or an intrusion prevention system with a rule or a timeout."
        return Finding(direction, "reset_by_middlebox", evidence, advice=advice)
    evidence = f"The {reset['from']} reset the connection {when}, {meaning}."
    return Finding(direction, f"reset_{reset['kind']}", evidence, advice=advice)


def is_by_middlebox(reset: Mapping[str, Any]) -> bool:
    """Whether a reset has another TTL than the other packets of the end in whose name it came."""
    usual = reset["usual_ttl"]
    return usual is not None and abs(reset["ttl"] - usual) > TTL_DIFFERENCE


def _part(flow: Flow, seconds: float) -> float | None:
    """The share of the flow's duration; None if that is 0."""
    return min(1.0, seconds / flow["duration_s"]) if flow["duration_s"] > 0.0 else None


def _waits(sent_at: Sequence[float]) -> str:
    """The times between copies, and whether they double."""
    waits = [after - before for before, after in pairwise(sent_at)]
    if not waits:
        return ""
    ratios = [after / before for before, after in pairwise(waits) if before > 0.0]
    backoff = ", each about twice the one before it (RFC 6298)"
    doubles = len(ratios) > 0 and all(_DOUBLING[0] <= ratio <= _DOUBLING[1] for ratio in ratios)
    listed = [span(wait) for wait in waits[:6]] + (["..."] if len(waits) > 6 else [])
    return f" (after waits of {', '.join(listed)}{backoff if doubles else ''})"
