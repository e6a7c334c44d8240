"""ACK filters and priorities of a queue, and the reconstruction of ACKs after it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input.form import Shorthand, words
from ackclock.input.quantity_fields import SomeBytes, Span
from ackclock.input.schema import Count, Flag, Probability, Table, choice_field, int_field

Plan = dict[str, Any]

PRESETS: dict[str, dict[str, Any]] = {
    "safe": {},
    "p1": {"window": False, "sack": "off", "signs": False, "duplicates": "below"},
    "cake": {"keep": 2, "window": False, "sack": "covered", "duplicates": "sacked"},
    "cake-aggressive": {"keep": 1, "window": False, "sack": "covered", "duplicates": "sacked"},
}
"""Filter rules by name: `safe` removes only redundant ACKs, `p1` is `asymmetry`'s, the others are
CAKE's.
"""


class Filter(Table):
    """ACK filtering: an arriving ACK removes older ACKs of its connection from the queue.

    `keep` ACKs of a connection remain; the filter is inactive while fewer than `occupancy` packets
    wait; each removable ACK is removed with `probability`; the arriving ACK goes to the tail, or to
    the position of the oldest removed one (`survivor`). An ACK is not removed if it differs in
    `window`, has SACK blocks (`sack`: `new` ones, ones not `covered` by the survivor, or `off`),
    has other ECN flags or unknown options (`signs`), or is a duplicate (`duplicates`).
    """

    preset: Annotated[str, choice_field(*PRESETS)] = "safe"
    keep: Count = 1
    occupancy: Annotated[int, int_field(0, "a whole number of packets, 0 or more")] = 0
    probability: Probability = 1.0
    survivor: Annotated[str, choice_field("tail", "head")] = "tail"
    window: Flag = True
    sack: Annotated[str, choice_field("off", "covered", "new")] = "new"
    signs: Flag = True
    duplicates: Annotated[str, choice_field("keep", "below", "sacked", "mark")] = "keep"

    def plan(self) -> Plan:
        return self.model_dump(exclude={"preset"})


def _filter(value: Any) -> Filter:
    if isinstance(value, str):
        if value not in PRESETS:
            raise InvalidValue(format_value(value), f"a rule: {choices(PRESETS, value)}, or a table of its keys")
        return Filter.model_validate({"preset": value, **PRESETS[value]})
    preset = value.get("preset", "safe") if isinstance(value, dict) else "safe"
    rule = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    return Filter.model_validate({**rule, **value} if isinstance(value, dict) else value)


class Acks(Table):
    """Handling of ACKs in a queue: `filter` them, send them `first`, or `drop` the oldest one when
    the queue is full.
    """

    filter: Annotated[Filter | None, BeforeValidator(_filter), Shorthand(words(*PRESETS))] = None
    first: Flag = False
    drop: Annotated[str, choice_field("tail", "front")] = "tail"

    def plan(self) -> Plan:
        return {"first": self.first, "drop": self.drop, "filter": self.filter.plan() if self.filter else None}


class Reconstruction(Table):
    """Reconstruction of filtered ACKs at the end of the hop: one for `every` so many bytes, each
    delayed by at most `within`.
    """

    every: SomeBytes
    within: Span = 100 * 10**9

    def plan(self) -> Plan:
        return {"every": self.every, "within_ps": self.within}
