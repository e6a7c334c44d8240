"""An action of an advice: one change of the hosts or of the link, with what to type, how to undo
it, and who can do it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ackclock.advisor.commands import Qdisc
from ackclock.advisor.openwrt import SqmQueue
from ackclock.advisor.recipe import Step
from ackclock.input.objects import Hop

if TYPE_CHECKING:
    from ackclock.documents.advise import Change as ChangeDocument

WHO = ("sender", "receiver", "router", "operator")
"""Who can change something: the hosts, the router at the clients' end, the operator of the link."""


@dataclass(frozen=True, slots=True)
class Change:
    """A key of a scenario or link file with its value before and after."""

    path: str
    before: Any
    to: Any

    def as_json(self) -> ChangeDocument:
        """An entry of `change` in the JSON document."""
        return {"path": self.path, "from": self.before, "to": self.to}


@dataclass(frozen=True)
class Action:
    """A change that can be made.

    Attributes:
        kind: actions of a kind exclude each other.
        label: a few words.
        changes: the keys that it changes.
        steps: what to type.
        preconditions: what must be true for the commands to have this effect.
        hop: a hop that it adds, and the name of the hop before it, empty for the first.
        sqm: the queue of OpenWrt's SQM that does what the router's steps do, if one does.
        drop_in: a queue without a rate of its own: it is empty in front of a slower device.
    """

    kind: str
    label: str
    changes: tuple[Change, ...]
    steps: tuple[Step, ...]
    preconditions: tuple[str, ...] = ()
    hop: tuple[str, Hop] | None = field(default=None, hash=False)
    sqm: SqmQueue | None = None
    drop_in: bool = False

    @property
    def roots(self) -> frozenset[tuple[str, str]]:
        """The interfaces whose root qdisc it replaces, each with who types it."""
        qdiscs = ((step.who, step.command) for step in self.steps)
        return frozenset((who, one.device) for who, one in qdiscs if isinstance(one, Qdisc) and one.at[0] == "root")

    @property
    def who(self) -> tuple[str, ...]:
        """Who has to do something, in the order of `WHO`."""
        doing = {step.who for step in self.steps}
        return tuple(who for who in WHO if who in doing)
