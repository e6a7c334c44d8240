"""The lines that a user types for an advice and for its undo.

An advice is one recipe, not the sum of its changes' recipes: what is there is saved once and before
anything is changed, and OpenWrt's queue has to do all that the router's lines do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.advisor.commands import (
    UNDO_AFTER_S,
    AutoUndo,
    CancelUndo,
    ClearQdisc,
    Command,
    Comment,
    LinkKey,
    Qdisc,
    RestoreQdisc,
    RestoreRoute,
    SaveQdisc,
    SaveRoute,
    SaveSysctl,
    SocketOption,
    Sysctl,
)
from ackclock.advisor.openwrt import SqmQueue
from ackclock.advisor.windows_commands import RestoreNetsh, RestoreRegistry, SaveNetsh, SaveRegistry

if TYPE_CHECKING:
    from ackclock.advisor.action import Action
    from ackclock.documents.advise import AdviceAlternative, AdviceStep

REMOTE = ("router", "operator")
"""Those whose machine is usually reached over the link that they change."""
CANCEL = Comment(
    f"If the connection works, cancel the undo that follows in {UNDO_AFTER_S // 60} minutes: {CancelUndo().text()}"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A command, who types it, and the commands that undo it (in their order, several or none)."""

    who: str
    command: Command
    undo: tuple[Command, ...] = ()

    def as_json(self) -> AdviceStep:
        """An entry of `steps` in the JSON document."""
        return {"who": self.who, "command": self.command.text(), "undo": [one.text() for one in self.undo]}


@dataclass(frozen=True, slots=True)
class Alternative:
    """Commands with the same effect on another system, in place of those of `who`."""

    system: str
    who: str
    commands: tuple[Command, ...]
    undo: tuple[Command, ...]

    def as_json(self) -> AdviceAlternative:
        """An entry of `alternatives` in the JSON document."""
        commands, undo = ([one.text() for one in typed] for typed in (self.commands, self.undo))
        return {"system": self.system, "who": self.who, "commands": commands, "undo": undo}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to type for an advice, in order, and how to undo it."""

    steps: tuple[Step, ...]
    alternatives: tuple[Alternative, ...]

    @property
    def undo_steps(self) -> tuple[Step, ...]:
        """The undo, each command with who types it: that of the last step first."""
        found = (Step(step.who, command) for step in reversed(self.steps) for command in step.undo)
        return tuple(dict.fromkeys(found))

    @property
    def undo(self) -> tuple[Command, ...]:
        """The commands of `undo_steps`."""
        return tuple(step.command for step in self.undo_steps)

    @classmethod
    def of(cls, actions: Sequence[Action]) -> Recipe:
        """The recipe of actions that are made together."""
        changes = [step for action in actions for step in action.steps]
        steps: list[Step] = []
        for who in dict.fromkeys(step.who for step in changes):
            of_who = [step for step in changes if step.who == who]
            back = tuple(dict.fromkeys(one for step in reversed(of_who) for one in step.undo))
            saves = list(dict.fromkeys(_saves(back)))
            steps += [Step(who, save) for save in saves]
            guarded = who in REMOTE and (typed := tuple(one for one in back if not isinstance(one, _UNTYPED)))
            if guarded:
                steps.append(Step(who, AutoUndo(typed)))
            steps += [Step(who, ClearQdisc(save.device)) for save in saves if isinstance(save, SaveQdisc)]
            steps += of_who
            steps += [Step(who, CANCEL, (CancelUndo(),))] if guarded else []
        queue = _sqm(actions)
        return cls(tuple(steps), (_openwrt(queue),) if queue else ())


_UNTYPED = (SocketOption, LinkKey)
"""Commands that no shell takes."""


def _saves(undo: Sequence[Command]) -> Iterator[Command]:
    """The commands that save what an undo restores."""
    for command in undo:
        if isinstance(command, Sysctl):
            yield SaveSysctl(command.key)
        elif isinstance(command, RestoreRoute):
            yield SaveRoute()
        elif isinstance(command, RestoreQdisc):
            yield SaveQdisc(command.device)
        elif isinstance(command, RestoreRegistry):
            yield SaveRegistry(command.value)
        elif isinstance(command, RestoreNetsh):
            yield SaveNetsh()


def restored(key: str) -> tuple[Command, ...]:
    """The undo of a sysctl: the value that the host had."""
    return (Sysctl(key, f"${SaveSysctl(key).variable}"),)


def restored_root(device: str) -> tuple[Command, ...]:
    """The undo of a root qdisc: the one that the interface had."""
    return (Qdisc(device), RestoreQdisc(device))


def _sqm(actions: Sequence[Action]) -> SqmQueue | None:
    """SQM's queue that does all that the router's lines do; None where none does."""
    on_router = [action for action in actions if any(step.who == "router" for step in action.steps)]
    queues = [action.sqm for action in on_router if action.sqm]
    return SqmQueue.merged(queues) if len(queues) == len(on_router) else None


def _openwrt(queue: SqmQueue) -> Alternative:
    # SQM removes the root qdisc that it finds, also where it does not shape.
    undo = (*queue.undo(), RestoreQdisc(queue.interface))
    commands = (*_saves(undo), AutoUndo(undo), *queue.notes(), *queue.commands(), CANCEL)
    return Alternative("OpenWrt with sqm-scripts", "router", commands, (CancelUndo(), *undo))
