"""The kinds of limit of a flow and their words: one list for `simulate`, `compare` and `analyze`
(docs/evidence/limits.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ackclock import _native
from ackclock.format import share_text


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


def _words() -> dict[str, LimitWords]:
    return {words.pop("kind"): LimitWords(**words) for words in _native.limit_words()}


WORDS: Mapping[str, LimitWords] = _words()
"""The words of each kind, from the engine, whose decision names limits by them, too."""
KINDS = tuple(WORDS)
"""The kinds of limit, in order of precedence among equal shares."""
VISIBLE = tuple(kind for kind in KINDS if kind != "pacing")
"""The kinds that a capture shows: time of pacing counts for `cwnd`."""


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
    return _native.largest_limit({kind: shares.get(kind, 0.0) for kind in KINDS}, after_loss)


def sentence(clause: str) -> str:
    """A clause with a capital letter."""
    return clause[:1].upper() + clause[1:]
