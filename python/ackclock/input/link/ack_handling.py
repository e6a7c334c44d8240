"""What a queue does to ACKs, and what makes ACKs behind it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input.quantity_fields import SomeBytes, Span
from ackclock.input.schema import Count, Flag, Probability, Table, choice_field, int_field

Plan = dict[str, Any]

PRESETS: dict[str, dict[str, Any]] = {
    "safe": {},
    "p1": {"window": False, "sack": "off", "signs": False, "duplicates": "below"},
    "cake": {"keep": 2, "window": False, "sack": "covered", "duplicates": "sacked"},
    "cake-aggressive": {"keep": 1, "window": False, "sack": "covered", "duplicates": "sacked"},
}
"""Rules by name: `safe` takes out what nobody can miss, `p1` is `asymmetry`'s, the others are CAKE's."""


class Filter(Table):
    """ACK filtering: an ACK that comes takes older ones of its connection out of the queue.

    `keep` ACKs of a connection stay; nothing goes while fewer than `occupancy` packets wait; each that may go does so with
    `probability`; the one that comes goes to the tail, or to the place of the oldest taken out. Guards: ACKs with another
    `window`, with SACK blocks (`sack`: `new` ones, ones not `covered` by the survivor, or `off`), with other congestion echoes or
    unknown options (`signs`), and `duplicates`.
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
    """What a queue does to ACKs: `filter` them, send them `first`, or `drop` the oldest one where there is no room for another."""

    filter: Annotated[Filter | None, BeforeValidator(_filter)] = None
    first: Flag = False
    drop: Annotated[str, choice_field("tail", "front")] = "tail"

    def plan(self) -> Plan:
        return {"first": self.first, "drop": self.drop, "filter": self.filter.plan() if self.filter else None}


class Reconstruction(Table):
    """ACKs put in again where the hop ends, one for `every` so many bytes, each held back by no more than `within`."""

    every: SomeBytes
    within: Span = 100 * 10**9

    def plan(self) -> Plan:
        return {"every": self.every, "within_ps": self.within}
