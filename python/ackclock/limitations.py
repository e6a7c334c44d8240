"""What ackclock does not do, and which verdicts that touches: for `ackclock explain`, the reports,
the verdicts on a terminal and the page of limitations.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

RECORDING = "recording"
QUIC = "quic"
FITTED = "fitted"
LATE = "late"


@dataclass(frozen=True)
class Limitation:
    """Something that is not modelled, or only in a simpler way.

    Attributes:
        name: how `ackclock explain` knows it.
        text: one or two sentences.
        commands: those whose verdicts it touches.
        when: the fact without which it does not; empty: it touches each of them.
    """

    name: str
    text: str
    commands: tuple[str, ...]
    when: str = ""


@cache
def limitations() -> tuple[Limitation, ...]:
    """All of them, in the order of their page."""
    entries = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return tuple(
        Limitation(name, entry["text"], tuple(entry["commands"]), entry.get("when", ""))
        for name, entry in entries.items()
    )


def of_command(command: str, facts: Collection[str] | None = None) -> tuple[Limitation, ...]:
    """Those that touch the verdict of a command, or can, if the facts of a verdict are None; none
    for an unknown command.

    >>> [limitation.name for limitation in of_command("diff")]
    ['what-the-capture-has']
    >>> [limitation.name for limitation in of_command("emulate", [])]
    ['one-path', 'needs-linux']
    """
    return tuple(
        one for one in limitations() if command in one.commands and (facts is None or not one.when or one.when in facts)
    )


def facts_of(hops: Sequence[Mapping[str, Any]], transports: Collection[str] = ()) -> frozenset[str]:
    """What of the hops of a scenario, and of the transports of its flows, touches a verdict.

    >>> hops = [{"rate": {"down": {"trace": "lte.down"}}}, {"medium": {"kind": "grants"}}]
    >>> sorted(facts_of(hops, ["quic"])), sorted(facts_of([{"rate": {"down": "8 Mb/s"}}]))
    (['medium', 'quic', 'recording'], [])
    """
    found = {QUIC} & set(transports)
    for hop in hops:
        if hop.get("medium") or hop.get("slots"):
            found.add("medium")
        rate = hop.get("rate")
        sides = [rate, *rate.values()] if isinstance(rate, Mapping) else []
        if any(isinstance(one, Mapping) and "trace" in one for one in sides):
            found.add(RECORDING)
    return frozenset(found)


def scenario_facts(scenario: Mapping[str, Any]) -> frozenset[str]:
    """`facts_of` a scenario with all defaults."""
    common = scenario.get("tcp", {}).get("transport", "")
    return facts_of(scenario["hop"], {str(flow.get("transport", common)) for flow in scenario.get("flow", ())})


def facts_named(names: Collection[str]) -> frozenset[str]:
    """The facts with which these limitations touch a verdict."""
    return frozenset(one.when for one in limitations() if one.name in names and one.when)


def sentence(command: str, facts: Collection[str]) -> list[str]:
    """The limitations that touch a verdict by its facts, as a line for a terminal; none without
    one.

    >>> sentence("compare", ["recording"]), sentence("compare", [])
    (['Limitation: recorded-rate (`ackclock explain recorded-rate`).'], [])
    """
    return named([one.name for one in of_command(command, facts) if one.when])


def named(names: Sequence[str], *, with_command: bool = True) -> list[str]:
    """That line for the names of limitations, with the command that explains them or without; none
    without a name.
    """
    if not names:
        return []
    explained = f" (`ackclock explain {names[0]}`)" if with_command else ""
    return [f"Limitation{'s' * (len(names) > 1)}: {', '.join(names)}{explained}."]
