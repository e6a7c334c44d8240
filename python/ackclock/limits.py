"""The kinds of limit of a flow and their words: one list for `simulate`, `compare` and `analyze`
(docs/limits.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LimitWords:
    """The words of one kind of limit.

    Attributes:
        noun: its name in a sentence.
        title: its name as the title of a column.
        claim: the clause that names it. `{of}` is its hop or its size, `{time}` its share of the
            flow's time.
        meaning: the time that counts for it.
    """

    noun: str
    title: str
    claim: str
    meaning: str


WORDS: Mapping[str, LimitWords] = {
    "bottleneck": LimitWords(
        "the bottleneck",
        "Bottleneck",
        "the bottleneck{of} is full",
        "a hop in the direction of the data has no free capacity for an RTT (`full_share`)",
    ),
    "ack_path": LimitWords(
        "the path of the ACKs",
        "ACK path",
        "ACKs wait in the queue{of}",
        "ACKs wait in a queue: that part of the RTT of a sender that waits for ACKs",
    ),
    "receive_window": LimitWords(
        "the receive window",
        "Receive window",
        "the receive window{of} limits goodput {time}",
        "the window that the receiver advertises has no room; `cause`: `buffer`, `scaling` (65,535 B), `autotuning`",
    ),
    "send_buffer": LimitWords(
        "the send buffer",
        "Send buffer",
        "the send buffer{of} limits goodput {time}",
        "the send buffer has no room",
    ),
    "cwnd": LimitWords(
        "the congestion window",
        "cwnd",
        "the congestion window limits goodput {time}",
        "the congestion window has no room; `cause`: `overflow` (a queue dropped), `channel`, `mark`, `none`",
    ),
    "application": LimitWords(
        "the application",
        "Application",
        "the application limits goodput",
        "the sender has no data, or the receiver does not read (`cause`: `reader`; `proxy`: the part behind it is "
        "slower; `proxy_buffer`: its buffer is less than an RTT behind it takes)",
    ),
    "recovery": LimitWords(
        "loss recovery",
        "Recovery",
        "loss recovery takes {time}",
        "losses are repaired; `cause` as for `cwnd`",
    ),
    "pacing": LimitWords(
        "pacing",
        "Pacing",
        "pacing limits goodput",
        "the pacing rate holds data back",
    ),
}
KINDS = tuple(WORDS)
"""The kinds of limit, in order of precedence among equal shares."""
_RAISES = 1.2
"""A limit matters if goodput without it would be a fifth higher."""


def claim(kind: str, of: str = "", share: float = 0.0) -> str:
    """The clause that names a limit, without a capital letter.

    Args:
        kind: one of `KINDS`.
        of: its hop (" of `dsl up`") or its size (" (64 KiB)"), with a leading blank.
        share: its share of the flow's time, 0 to 1.
    """
    return WORDS[kind].claim.format(of=of, time=f"{share_text(share)} of the time")


def largest(shares: Mapping[str, float], *, after_loss: bool) -> str:
    """The kind of limit with the largest share of the time.

    Args:
        shares: share of the flow's time by kind; kinds may be absent.
        after_loss: whether a loss or a mark reduced cwnd. A reduced cwnd and the recovery before it
            have the same cause, so their shares count together. A cwnd without a reduction grows by
            a factor in each RTT, so the wait of the ACKs in a queue lengthens each step of the
            growth: the path of the ACKs is the limit if goodput without that wait would be a fifth
            higher.
    """
    rest = {kind: shares.get(kind, 0.0) for kind in KINDS}
    if not after_loss:
        kind = max(rest, key=lambda of: rest[of])
        return "ack_path" if kind == "cwnd" and 1.0 - rest["ack_path"] <= 1.0 / _RAISES else kind
    reduced = rest.pop("cwnd") + rest.pop("recovery")
    kind = max(rest, key=lambda of: rest[of])
    if rest[kind] >= reduced:
        return kind
    return "cwnd" if shares.get("cwnd", 0.0) >= shares.get("recovery", 0.0) else "recovery"


def share_text(share: float) -> str:
    """A share in percent, without decimals from 10 % on."""
    return f"{100.0 * share:.0f} %" if share >= 0.1 or share == 0.0 else f"{100.0 * share:.2g} %"


def sentence(clause: str) -> str:
    """A clause with a capital letter."""
    return clause[:1].upper() + clause[1:]
