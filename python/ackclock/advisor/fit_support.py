"""Which changes a fit supports: gains that its error may explain, sizes that it does not show, and
rates that its input does not show are not advised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackclock.input.link.hop import DIRECTIONS

if TYPE_CHECKING:
    from ackclock.advisor.outcome import Prediction
    from ackclock.advisor.race import Actions
    from ackclock.documents.fit import FitScore, FittedInput, FittedLink

LONG_S = 60.0
"""Duration of a capture that is proposed."""
SHORT_S = 45.0
"""Shorter captures are too short where the fit's prediction has a large error."""
SIZE = "the fit is not good enough to choose a size"
ERROR = "with the error of the fit, a run may gain nothing"
RATE = "it sets the rate {}, which the input does not show"


@dataclass(frozen=True)
class FitSupport:
    """What a fit supports.

    Attributes:
        good_for: of `fitting.prediction.GOOD_FOR`; empty without a fit or its score.
        direction: of the transfer that was predicted; empty without a score.
        unseen: the directions whose rate, or that of their bucket, is not identified.
        unseen_lines: those whose line's rate is not.
        inputs: the captures, as in a fit's document.
        one_end: one end was captured alone.
        has_others: others used the path during the capture.
    """

    good_for: str = ""
    direction: str = ""
    unseen: frozenset[str] = frozenset()
    unseen_lines: frozenset[str] = frozenset()
    inputs: Sequence[FittedInput] = field(default=(), repr=False)
    one_end: bool = False
    has_others: bool = False

    @classmethod
    def of(cls, fit: FittedLink | None) -> FitSupport:
        """That of a fit's document, or of a link file's [fit] table, which may lack parts
        (docs/reference/fit.md).
        """
        from ackclock.fitting.sender_end import UNSEEN

        if not fit:
            return cls()
        score = fit.get("score")
        return cls(
            (score.get("good_for") or _good_for(score)) if score else "",
            str(score["held_out"][0]["direction"]) if score else "",
            _unseen(fit, ("policer.{}.rate", "shaper.{}.rate")),
            _unseen(fit, ()),
            fit.get("inputs", ()),
            any(row["why"] == UNSEEN for row in fit.get("not_identified", ())),
            any("cross traffic" in text for text in fit.get("remarks", ())),
        )

    @property
    def refuses_all(self) -> bool:
        """Whether no change can be judged by the fit."""
        return self.good_for == "nothing"

    def refusal(self, actions: Actions, one_run: Prediction | None) -> str:
        """Why a change whose gain is beyond chance is not advised; empty if it is. `one_run` is the
        interval of the gain of one run, with the error of the fit.
        """
        if unseen := self._unseen(actions):
            return RATE.format(" and ".join(unseen))
        if self.good_for not in ("variants", "large differences"):
            return ""
        if _chooses_a_size(actions):
            return SIZE
        return "" if one_run and one_run.lo > 1.0 else ERROR

    def _unseen(self, actions: Actions) -> list[str]:
        """The directions whose unknown rate a change types."""
        typed = {
            direction
            for action in actions
            for change in action.changes
            for direction in DIRECTIONS
            if change.path.endswith(f".rate.{direction}")
        }
        of_line = {
            direction
            for action in actions
            for change in action.changes
            for direction in DIRECTIONS
            if change.path.endswith(f".queue.{direction}") and _kind(change.to) == "cake" and not action.hop
        }
        refused = (typed & self.unseen) | (of_line & self.unseen_lines)
        return [direction for direction in DIRECTIONS if direction in refused]

    def captures(self, refused: Iterable[str] = ()) -> list[str]:
        """What to capture next, as clauses: what would show more than the input does. `refused` are
        the reasons of the refused changes.
        """
        texts = ["both ends of the transfer at the same time"] if self.one_end else []
        longest = max((float(one.get("duration_s", 0.0)) for one in self.inputs), default=0.0)
        if self.good_for == "receive window":
            texts.append("a transfer that the receive window does not limit")
        elif self.good_for in ("variants", "large differences", "nothing"):
            again = "the same transfer at another time, to compare both with `ackclock diff`"
            texts.append(f"a transfer of {LONG_S:.0f} s, not {longest:.0f} s" if longest < SHORT_S else again)
        if self.has_others and texts:
            texts.append("a transfer while others do not use the path")
        for direction, what in (("up", "an upload"), ("down", "a download")):
            if direction != self.direction and any(
                why == RATE.format(name) for why in refused for name in (direction, "down and up")
            ):
                texts.append(f"{what}, too, which shows the rate {direction}")
        return texts


def _unseen(fit: FittedLink, buckets: Sequence[str]) -> frozenset[str]:
    """The directions whose rate is not identified: that of a bucket, where the link has one."""
    rows: dict[str, str] = {row["path"].split(".", 2)[-1]: row["status"] for row in fit.get("parameters", ())}

    def status(direction: str) -> set[str]:
        of_bucket = {rows[path] for key in buckets if (path := key.format(direction)) in rows}
        of_line = {rows[path] for key in ("rate", "medium.cap") if (path := f"{key}.{direction}") in rows}
        return of_bucket or of_line

    return frozenset(direction for direction in DIRECTIONS if status(direction) - {"identified"})


def _good_for(score: FitScore) -> str:
    """That of a link file of an earlier version."""
    from ackclock.fitting.prediction import verdict

    goodput, rtt = (score[key]["median"] or 0.0 for key in ("goodput_error", "rtt_p95_error"))
    return str(verdict(goodput, rtt)["good_for"])


def _kind(value: object) -> object:
    return value.get("kind") if isinstance(value, Mapping) else None


def _chooses_a_size(actions: Actions) -> bool:
    """Whether a change is the size of a buffer or of a queue."""
    return any(
        (action.kind == "buffers" and change.to not in ("auto", True))
        or _kind(change.to) == "droptail"
        or change.path.endswith(".burst")
        for action in actions
        for change in action.changes
    )
