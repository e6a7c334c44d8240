"""Whose changes the reader of an advice can apply, where `--may` does not say it: a guess, which
the advice states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ackclock.advisor.action import WHO
from ackclock.advisor.situation import Situation
from ackclock.format import joined

if TYPE_CHECKING:
    from ackclock.documents.advise import Reader as ReaderDocument

HOME = ("sender", "receiver", "router")
"""All but the link's operator."""


@dataclass(frozen=True, slots=True)
class Reader:
    """Who applies the advice.

    Attributes:
        controls: those of `WHO` whose machines are the reader's.
        sentence: what the guess is and how to correct it; empty where it is none.
    """

    controls: tuple[str, ...] = WHO
    sentence: str = ""

    @classmethod
    def guessed(cls, situation: Situation) -> Reader:
        """The owner of the captured ends; of a link or a scenario the household at it, with its
        hosts and its router.
        """
        inputs = situation.fit.get("inputs", ()) if situation.fit and situation.captured else ()
        ends = {str(one["end"]) for one in inputs if one.get("end") in ("server", "client")}
        if ends == {"server"}:
            controls: tuple[str, ...] = ("sender",) if situation.direction == "down" else ("receiver",)
            return cls(controls, cls._sentence("the capture is of the server's end", controls))
        if ends == {"client"}:
            controls = ("receiver" if situation.direction == "down" else "sender", "router")
            return cls(controls, cls._sentence("the capture is of the client's end", controls))
        return cls(
            HOME, cls._sentence("hosts and router are taken for yours, the link's devices for its operator's", HOME)
        )

    @staticmethod
    def _sentence(why: str, controls: tuple[str, ...]) -> str:
        return f"What the {joined(list(controls))} can change stands first ({why}); --may says who may act."

    def applies(self, who: tuple[str, ...]) -> bool:
        """Whether the reader can do all of what these have to do."""
        return set(who) <= set(self.controls)

    def as_json(self) -> ReaderDocument:
        """`reader` of the JSON document."""
        return {"controls": list(self.controls), "guessed": bool(self.sentence)}
