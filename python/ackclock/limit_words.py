"""The kinds of limit of a flow and their words: one list for `simulate`, `compare` and `analyze`
(docs/evidence/limits.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ackclock import _native


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
