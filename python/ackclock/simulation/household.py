"""A household on a link: a call, a game and pages beside a download and an upload (household.toml),
and whether each is as people want it (docs/models/scores.md).

The targets are judgement one by one and have no weights. A figure is the median over the seeds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.format import column_percent, joined

if TYPE_CHECKING:
    from ackclock.documents.simulate import ExplainedRun, Household, HouseholdTarget
    from ackclock.input.scenario.draft import Draft

FILE = Path(__file__).resolve().parents[1] / "household.toml"
VERSION = 1
"""Of the flows in household.toml and of the targets."""
FIRST_PAGE = "page-1"
"""The load before the download and the upload begin."""
FLOWS: Mapping[str, str] = {
    "call": "call",
    "game": "game",
    **{f"page-{number}": "page" for number in range(1, 7)},
    "download": "",
    "upload": "",
}
"""Names of its flows, and their applications."""


@dataclass(frozen=True)
class Target:
    """What people want of an application.

    Attributes:
        app: the application, with its article.
        text: the target in words.
        limit: the bound of the figure.
        is_minimum: the figure is to be at least the bound; else at most.
        figure: of a run; NaN where it has none.
        shown: the figure as text.
    """

    app: str
    text: str
    limit: float
    is_minimum: bool
    figure: Callable[[ExplainedRun], float]
    shown: Callable[[float], str]

    def of(self, summaries: Iterable[ExplainedRun]) -> HouseholdTarget:
        """The target and the median of its figure over the seeds. A run without a figure, such as
        one whose pages are not complete, misses the target.
        """
        worst = -math.inf if self.is_minimum else math.inf
        figures = [self.figure(summary) for summary in summaries]
        found = statistics.median(worst if math.isnan(figure) else figure for figure in figures)
        met = found >= self.limit if self.is_minimum else found <= self.limit
        return {
            "app": self.app,
            "target": self.text,
            "found": found if math.isfinite(found) else None,
            "shown": self.shown(found) if math.isfinite(found) else "never complete",
            "met": met,
        }


def _scores(summary: ExplainedRun, kind: str) -> dict[str, Mapping[str, Any]]:
    """The scores of a kind, by the names of their flows."""
    apps = {flow["flow"]: flow["app"] for flow in summary["flows"] if "app" in flow}
    return {name: app["score"] for name, app in apps.items() if app["kind"] == kind}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _call(summary: ExplainedRun) -> float:
    return _number(next(iter(_scores(summary, "call").values()))["mos"]["mean"])


def _game(summary: ExplainedRun) -> float:
    return _number(next(iter(_scores(summary, "game").values()))["late_share"])


def _page(summary: ExplainedRun) -> float:
    """The median load time beside the download and the upload over that before them. An incomplete
    load took longer than all.
    """
    loads = {name: score["load_s"] for name, score in _scores(summary, "page").items()}
    alone = loads.pop(FIRST_PAGE)
    beside = statistics.median(math.inf if load is None else load for load in loads.values())
    return math.nan if alone is None or math.isinf(beside) else beside / alone


TARGETS = (
    Target("a call", "MOS at least 4.0", 4.0, True, _call, lambda mos: f"MOS {mos:.1f}"),
    Target(
        "a page",
        "at most 1.5 times the time alone",
        1.5,
        False,
        _page,
        lambda ratio: f"{ratio:.1f} times its time alone",
    ),
    Target(
        "a game", "at most 1 % of the answers late", 0.01, False, _game, lambda share: f"{column_percent(share)} late"
    ),
)


def household_draft(link: str) -> Draft:
    """The household on a link, a packaged one by name or a file.

    Raises:
        InputError: no such link.
    """
    from ackclock.input.document import read_document
    from ackclock.input.scenario.draft import draft_of

    data = read_document(FILE).data
    return draft_of({**{key: value for key, value in data.items() if key != "title"}, "link": link})


def is_household(summary: ExplainedRun) -> bool:
    """Whether the flows of a run are those of the household, by their names and applications."""
    flows = [flow for flow in summary["flows"] if "part_of" not in flow]
    return {flow["flow"]: flow["app"]["kind"] if "app" in flow else "" for flow in flows} == FLOWS


def judgement(summaries: Sequence[ExplainedRun]) -> Household:
    """The targets of the household, and what the link is good for."""
    targets = [target.of(summaries) for target in TARGETS]
    return {"version": VERSION, "targets": targets, "verdict": _verdict(targets)}


def _verdict(targets: Sequence[HouseholdTarget]) -> str:
    """What the link is good for, in a sentence."""
    good = [target["app"] for target in targets if target["met"]]
    bad = [f"{target['app']} ({target['shown']})" for target in targets if not target["met"]]
    if not good:
        return f"Beside a download and an upload the link holds none of these: {joined(bad)}."
    but = f", but not {' or '.join(bad)}" if bad else ""
    return f"Beside a download and an upload the link holds {joined(good)}{but}."
