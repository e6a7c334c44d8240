"""The summary of a capture: verdict, connections, findings, and worst hosts, ports and flows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ackclock.analysis.diagnosis.flow_context import ENOUGH_BYTES, FlowContext, many, share, size
from ackclock.analysis.diagnosis.loss_response import LOSSES_LIMIT
from ackclock.analysis.diagnosis.receiver_vantage import SENDER_LIMITS, SLOW_READER

NETWORK = "network"
SENDING_HOST = "sending_host"
RECEIVING_HOST = "receiving_host"
APPLICATION = "application"
NOTHING_WRONG = "nothing_wrong"
NAMES = {
    NETWORK: "network",
    SENDING_HOST: "sending host",
    RECEIVING_HOST: "receiving host",
    APPLICATION: "application",
    NOTHING_WRONG: "nothing wrong",
}
"""The verdicts and their names in sentences."""

MATTERS = 0.2
"""Share of the transfers' time, or of the connections, from which there is a verdict."""
LONG_QUEUE_MS = 50.0
"""Queueing delay (p95) above which a queue is a defect, if it also exceeds the minimum RTT."""
MANY_LOSSES = (0.02, 10)
"""Share and number of retransmitted segments from which a verdict that is not the network's says so
as well: 10 of them give the share within a factor of two (95 %, Poisson)."""
_LIMITS = {
    "receive_window": RECEIVING_HOST,
    "send_buffer": SENDING_HOST,
    "application": APPLICATION,
    "recovery": NETWORK,
    "ack_path": NETWORK,
}
_FAILURES = {
    "peer_gone": NETWORK,
    "handshake_unfinished": NETWORK,
    "reset_by_middlebox": NETWORK,
    "zero_window_death": RECEIVING_HOST,
    "reset_unknown_connection": RECEIVING_HOST,
}
"""Findings that concern a connection as a whole, whatever its time."""
_WAITS = {
    "zero_window_stall": RECEIVING_HOST,
    "server_think_time": APPLICATION,
    "client_think_time": APPLICATION,
}
"""Findings whose share of a connection's time counts."""
_REMEDIES = ("Enlarge", SLOW_READER, SENDER_LIMITS)
"""Beginnings of the advice about a buffer or a host that is too small or slow for the path."""
_TIME = {
    NETWORK: "limited by losses or by a long queue",
    SENDING_HOST: "limited by the sender's buffer, program, or pacing",
    RECEIVING_HOST: "limited by the receive window",
    APPLICATION: "without data from the application",
}


@dataclass(frozen=True)
class _Case:
    """What speaks for a verdict: a share of time or connections, and the largest part of it."""

    share: float
    evidence: str
    flow: int | None = None
    direction: str | None = None


@dataclass(frozen=True)
class _Losses:
    """Retransmitted segments of a direction, without spurious ones."""

    flow: int
    direction: str
    retransmitted: int
    segments: int

    @property
    def part(self) -> float:
        return self.retransmitted / self.segments if self.segments else 0.0

    def sentence(self) -> str:
        return (
            f" Besides, {share(self.part)} of the segments of flow {self.flow} {self.direction} were "
            f"retransmitted ({self.retransmitted} of {self.segments})."
        )


@dataclass(frozen=True)
class _Failure:
    """A connection that failed or waited."""

    flow: int
    direction: str
    evidence: str
    share: float


class SummaryBuilder:
    """Collects the findings of a capture's flows, in any order.

    Args:
        head: the document without flows: of it `summary` (the engine's `connections` and `top`),
            `duration_s` and `mirrored_packets`.
    """

    def __init__(self, head: Mapping[str, Any]) -> None:
        self._engine: Mapping[str, Any] = head["summary"]
        self._duration_s = float(head["duration_s"])
        self._mirrored = bool(head["mirrored_packets"])
        self._findings: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._largest: dict[str, tuple[float, int, str, str]] = {}
        self._directions = 0
        self._unseen = 0
        self._total_s = 0.0
        self._small: dict[str, list[_Failure]] = defaultdict(list)
        self._max_losses: _Losses | None = None

    def add(
        self, flow: Mapping[str, Any], findings: Sequence[Mapping[str, Any]], contexts: Iterable[FlowContext]
    ) -> None:
        """Add a flow with its findings.

        `contexts` are those of its directions with enough data, as its findings are made from: of
        two captures in the order receiver, sender the flow's own figures are the receiver's.
        """
        self._findings.update(dict.fromkeys(finding["finding"] for finding in findings).keys())
        is_small = True
        for context in contexts:
            is_small = False
            about = [one for one in findings if one["direction"] == context.direction]
            self._directions += 1
            self._unseen += any(one["finding"] == "far_end" for one in about)
            self._total_s += float(flow["duration_s"])
            self._add_direction(context, about)
            self._add_waits(flow, context.direction, findings)
        if is_small:
            self._add_small(flow, findings)

    def _add_waits(self, flow: Mapping[str, Any], direction: str, findings: Sequence[Mapping[str, Any]]) -> None:
        """What both ends' programs waited, and how the connection failed, for a direction of data.

        At the sender, the direction's limits have the pauses of the application already.
        """
        own = {one["finding"] for one in findings if one["direction"] == direction}
        thinking = [one for one in findings if _WAITS.get(one["finding"]) == APPLICATION and one["share"]]
        if thinking and "application" not in own and "zero_window_death" not in own:
            longest = max(thinking, key=lambda one: one["share"])
            part = min(1.0, sum(one["share"] for one in thinking))
            self._count(APPLICATION, part, flow, longest["direction"], longest["evidence"])
        for one in findings:
            party = _FAILURES.get(one["finding"])
            if party is not None and one["direction"] == direction and one["share"] and "recovery" not in own:
                self._count(party, one["share"], flow, direction, one["evidence"])

    def _add_small(self, flow: Mapping[str, Any], findings: Sequence[Mapping[str, Any]]) -> None:
        """A connection without a direction of `ENOUGH_BYTES`: the party of its worst finding."""
        failed = [one for one in findings if one["finding"] in _FAILURES]
        waits = [one for one in findings if one["finding"] in _WAITS and (one["share"] or 0.0) >= MATTERS]
        for one in failed[:1] or sorted(waits, key=lambda one: -one["share"])[:1]:
            party = _FAILURES.get(one["finding"]) or _WAITS[one["finding"]]
            part = 1.0 if one in failed else one["share"]
            self._small[party].append(_Failure(flow["flow"], one["direction"], one["evidence"], part))

    def _add_direction(self, context: FlowContext, findings: Sequence[Mapping[str, Any]]) -> None:
        flow, direction, figures = context.flow, context.direction, context.figures
        self._add_losses(flow["flow"], direction, figures)
        for finding in findings:
            party: str | None = _LIMITS.get(finding["finding"])
            part: float | None = finding["share"]
            if finding["finding"] == "bottleneck" and _has_long_queue(figures):
                party = NETWORK
            elif finding["finding"] == "receive_window" and part is None:
                part = 1.0  # at the receiver: one window per RTT explains the rate
            elif finding["advice"].startswith(LOSSES_LIMIT):
                # Without a share at the receiver, whose capture shows the rate alone.
                party, part = NETWORK, figures["limited"]["cwnd"] if finding["finding"] == "models" else 1.0
            elif finding["advice"].startswith(SENDER_LIMITS):
                party, part = SENDING_HOST, 1.0
            elif finding["finding"] == "far_end":
                has_queue = finding["share"] and _has_long_queue(context.other, "timestamp_rtt_ms")
                party, part = NETWORK, finding["share"] if has_queue else figures["recovery_share"]
            if party in (SENDING_HOST, RECEIVING_HOST) and not finding["advice"].startswith(_REMEDIES):
                party = None  # the path's rate is reached in spite of the limit
            if party is None or not part:
                continue
            self._count(party, part, flow, direction, finding["evidence"])

    def _add_losses(self, flow: int, direction: str, figures: Mapping[str, Any]) -> None:
        """Keep the direction with the largest share of retransmissions, if they are many."""
        lost = figures["retransmitted_segments"] - figures["spurious_retransmits"]
        losses = _Losses(flow, direction, lost, figures["segments"])
        part, number = MANY_LOSSES
        if lost >= number and losses.part >= max(part, self._max_losses.part if self._max_losses else 0.0):
            self._max_losses = losses

    def _count(self, party: str, part: float, flow: Mapping[str, Any], direction: str, evidence: str) -> None:
        """Count a share of a flow's time for a party."""
        seconds = part * float(flow["duration_s"])
        self._seconds[party] += seconds
        largest = self._largest.get(party)
        if largest is None or seconds > largest[0]:
            self._largest[party] = (seconds, flow["flow"], direction, evidence)

    def result(self) -> dict[str, Any]:
        """`summary` of the document (docs/reference/analyze.md)."""
        counts = self._engine["connections"]
        return {
            "verdict": self._verdict(),
            "connections": self._engine["connections"],
            "top": self._engine["top"],
            "findings": [{"finding": "mirrored_capture", "flows": sum(counts.values()) - counts["reset"]}]
            * self._mirrored
            + [
                {"finding": name, "flows": count}
                for name, count in sorted(self._findings.items(), key=lambda one: (-one[1], one[0]))
            ],
        }

    def _verdict(self) -> dict[str, Any]:
        cases = {party: self._case_of_time(party) for party in self._seconds}
        for party, case in [*self._cases_of_connections(), *self._cases_of_small_flows()]:
            if party not in cases or case.share > cases[party].share:
                cases[party] = case
        verdict = max(cases, key=lambda party: cases[party].share, default=NOTHING_WRONG)
        besides = self._max_losses.sentence() if self._max_losses and verdict != NETWORK else ""
        if verdict not in cases or cases[verdict].share < MATTERS:
            return _as_json(NOTHING_WRONG, _Case(0.0, self._nothing_wrong() + besides))
        case = cases[verdict]
        return _as_json(verdict, replace(case, evidence=case.evidence + besides))

    def _case_of_time(self, party: str) -> _Case:
        part = min(1.0, self._seconds[party] / self._total_s) if self._total_s else 0.0
        _, flow, direction, evidence = self._largest[party]
        time = f"{share(part)} of {self._total_s:.3g} s in {many(self._directions, 'direction')} of data was {_TIME[party]}."
        return _Case(part, f"{time} Flow {flow} {direction}: {evidence}", flow, direction)

    def _cases_of_connections(self) -> list[tuple[str, _Case]]:
        counts = self._engine["connections"]
        tried = sum(counts[key] for key in ("established", "refused", "unanswered", "half_open"))
        cases = []
        for key, party, meaning in (
            ("unanswered", NETWORK, "had no answer to the SYN: a filter on the path, or a host that is down"),
            (
                "refused",
                RECEIVING_HOST,
                "got a reset as the answer to the SYN: no program listens on the port, or a filter answers",
            ),
        ):
            if counts[key]:
                cases.append(
                    (
                        party,
                        _Case(
                            counts[key] / tried, f"{counts[key]} of {tried} connection{'s' * (tried > 1)} {meaning}."
                        ),
                    )
                )
        return cases

    def _cases_of_small_flows(self) -> list[tuple[str, _Case]]:
        """Connections that failed or waited, and loss recovery of the worst flow, in a capture
        without larger ones.

        The time of unanswered SYNs counts as lost, and is a case of its own.
        """
        if self._directions:
            return []
        counts = self._engine["connections"]
        all_ = max(1, sum(counts[key] for key in ("established", "refused", "unanswered", "half_open", "midstream")))
        cases = [(party, _case_of_failures(failures, all_)) for party, failures in self._small.items()]
        return cases + self._case_of_recovery()

    def _case_of_recovery(self) -> list[tuple[str, _Case]]:
        rows = top_rows(self._engine, "flow", "time_lost_s")
        has_failed = self._engine["connections"]["unanswered"] or NETWORK in self._small
        if has_failed or not rows or not self._duration_s:
            return []
        lost_s = float(rows[0]["time_lost_s"])
        evidence = (
            f"Flow {rows[0]['flow']} ({rows[0]['name']}) was in loss recovery {lost_s:.3g} s of "
            f"{self._duration_s:.3g} s, with {many(rows[0]['retransmitted_segments'], 'segment')} retransmitted."
        )
        return [(NETWORK, _Case(min(1.0, lost_s / self._duration_s), evidence, rows[0]["flow"]))]

    def _nothing_wrong(self) -> str:
        counts = self._engine["connections"]
        failed = counts["refused"] + counts["unanswered"]
        if not self._directions:
            transfers = f"No direction has {ENOUGH_BYTES // 1000} kB of data, of which limits are known."
        else:
            total_s = self._total_s or 1.0  # no direction lasts where all packets have one time
            parts = [f"{NAMES[party]} {share(seconds / total_s)}" for party, seconds in sorted(self._seconds.items())]
            transfers = f"Of {self._total_s:.3g} s in {many(self._directions, 'direction')} of data no defect took {share(MATTERS)}"
            transfers += f" ({', '.join(parts)})." if parts else "."
        if self._unseen:
            transfers += f" Of {many(self._unseen, 'direction')} the capture does not show the sender's limits."
        return f"{transfers} {many(counts['established'], 'connection')} established, {failed} refused or unanswered."


def _case_of_failures(failures: Sequence[_Failure], connections: int) -> _Case:
    """The mean share of time that connections waited (all if they failed), and the worst one."""
    worst = max(failures, key=lambda failure: failure.share)
    count = "" if connections == 1 else f"{len(failures)} of {connections} connections failed or waited. "
    part = sum(failure.share for failure in failures) / connections
    return _Case(part, f"{count}Flow {worst.flow} {worst.direction}: {worst.evidence}", worst.flow, worst.direction)


def _has_long_queue(figures: Mapping[str, Any], by: str = "rtt_ms") -> bool:
    rtt = figures[by]
    minimum, high = float(rtt["min"] or 0.0), float(rtt["p95"] or 0.0)
    return high - minimum > max(LONG_QUEUE_MS, minimum)


def _as_json(verdict: str, case: _Case) -> dict[str, Any]:
    return {
        "verdict": verdict,
        "share": case.share or None,
        "flow": case.flow,
        "direction": case.direction,
        "evidence": case.evidence,
    }


def verdict_line(summary: Mapping[str, Any]) -> str:
    """The verdict as a line: its name and its evidence."""
    verdict = summary["verdict"]
    return f"{NAMES[verdict['verdict']]}: {verdict['evidence']}"


def connections_line(summary: Mapping[str, Any]) -> str:
    """The connections by their beginning, as a clause."""
    counts = summary["connections"]
    reset = f" and {counts['reset']} reset" if counts["reset"] else ""
    parts = [f"{counts['established']} established"]
    parts += [
        f"{counts[key]} {key.replace('_', ' ')}"
        for key in ("refused", "unanswered", "half_open", "midstream")
        if counts[key]
    ]
    return ", ".join(parts) + reset


def mirrored_line(document: Mapping[str, Any]) -> str:
    """That each packet was captured twice, as a sentence; empty if it was not."""
    copies = document.get("mirrored_packets", 0)
    if not copies:
        return ""
    return (
        f"Each packet was captured twice: {copies} of {document['packets']} packets are copies, as a mirror port of both "
        "directions or a capture on several interfaces makes them. They are left out of all other figures."
    )


def udp_line(document: Mapping[str, Any]) -> str:
    """The UDP flows in sum, as a clause; empty without any."""
    udp = document.get("udp")
    if not udp or not udp["flows"]:
        return ""
    quic = f", {udp['quic_flows']} of them QUIC" if udp["quic_flows"] else ""
    more = f"; {udp['left_out']} packets of further flows" if udp["left_out"] else ""
    return f"{many(udp['flows'], 'flow')}{quic}, {udp['packets']} packets, {size(udp['bytes'])}{more}"


def worst_flows(summary: Mapping[str, Any]) -> list[int]:
    """The numbers of the flows with most time lost, then with most retransmissions, then bytes."""
    by = {top["by"]: top["rows"] for top in summary["top"] if top["of"] == "flow"}
    rows = [row for key in ("time_lost_s", "retransmitted_segments", "bytes") for row in by.get(key, ())]
    return list(dict.fromkeys(int(row["flow"]) for row in rows))


def top_rows(summary: Mapping[str, Any], of: str, by: str) -> Sequence[Mapping[str, Any]]:
    """The hosts, ports or flows with most of a quantity, at most ten."""
    return next((top["rows"] for top in summary["top"] if (top["of"], top["by"]) == (of, by)), ())
