"""A household on a link: a call, a game and pages beside a download and an upload (household.toml),
and whether each is as people want it (docs/models/scores.md).

The targets are judged one by one and have no weights. A figure is the median over the seeds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.format import column_percent, joined, milliseconds, sentence, significant
from ackclock.input.link.bottleneck import unfit_for_household
from ackclock.input.link.hop import Hop, base_rtt_ps
from ackclock.simulation.apps import app_metrics
from ackclock.simulation.metrics import Run, together_bps
from ackclock.statistics import mean_of_known

if TYPE_CHECKING:
    from ackclock.documents.engine import Summary
    from ackclock.documents.simulate import ExplainedRun, Household, HouseholdTarget
    from ackclock.input.scenario.draft import Draft

FILE = Path(__file__).resolve().parents[1] / "household.toml"
VERSION = 2
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
GAME_MS = 100.0
"""The deadline of a game's answers."""
NEVER = "not complete"
"""Of a page: it has no load time, since the run ended before."""
LONG_RTT = "The path has an RTT of"
"""What the sentence of `bounds` about a game begins with."""
DURATION_S, MIN_DURATION_S = 60.0, 12.0
"""The duration in the file, and the minimum of a shorter household, with times in proportion."""


@dataclass(frozen=True)
class Target:
    """What people want of an application.

    Attributes:
        app: the application, with its article.
        goal: the goal that counts this target alone.
        text: the target in words; `wanted`: in a few.
        metric: the figure that is judged, of `figures`.
        limit: the bound of the figure.
        is_minimum: the figure is to be at least the bound; else at most.
        felt: the figure that people feel, which may be another.
        shown: that figure as text.
        figure: the judged figure as text.
        scale: what the figure that people feel is, for a chart, and its minimum and maximum; the
            maximum is infinite where it has none.
        before_and_after: the clause of what people feel before and after, from `plain` texts.
        plain: the figure that people feel as text beside its name.
        worse: a figure that is worse than another one by this matters.
        share: how near a figure that misses the target is to it, 0 to 1.
        value: what the goal makes of the figures where the target is met or missed alike, better
            the larger it is.
    """

    app: str
    goal: str
    text: str
    wanted: str
    metric: str
    limit: float
    is_minimum: bool
    felt: str
    shown: Callable[[float], str]
    figure: Callable[[float], str]
    scale: tuple[str, float, float]
    before_and_after: str
    plain: Callable[[float], str]
    worse: Callable[[float, float], bool]
    share: Callable[[float], float]
    value: Callable[[Run], float]

    def median(self, runs: Iterable[Run]) -> float:
        """The median of the judged figure over the seeds; infinite, or less than any, where it has
        none: a run without a figure, such as one whose pages are not complete, misses the target.
        """
        worst = -math.inf if self.is_minimum else math.inf
        return statistics.median(_or(run.get(self.metric, math.nan), worst) for run in runs)

    def clause(self, before: str, after: str | None) -> str:
        """What people feel before and after, from texts; None: before alone."""
        alone = self.before_and_after.partition(", now")[0].format(before)
        if after is None:
            return alone
        return f"{alone}, as before" if after == before else self.before_and_after.format(before, after)

    def nearness(self, run: Run) -> float:
        """1 where a run meets the target, and less, 0 at least, the further it is from it."""
        figure = run.get(self.metric, math.nan)
        if math.isnan(figure):
            return 0.0
        return 1.0 if self.is_met(figure) else 0.9 * min(max(self.share(figure), 0.0), 1.0)

    def is_met(self, figure: float) -> bool:
        """Whether a figure is within the bound."""
        return figure >= self.limit if self.is_minimum else figure <= self.limit

    def felt_by(self, runs: Sequence[Run]) -> float:
        """The median of what people feel over the seeds; infinite without one."""
        return statistics.median(_or(run.get(self.felt, math.nan), math.inf) for run in runs)

    def text_of(self, runs: Sequence[Run]) -> str:
        """What people feel, the median over the seeds, as in `before_and_after`."""
        found = self.felt_by(runs)
        return self.plain(found) if math.isfinite(found) else NEVER

    def of(self, runs: Sequence[Run]) -> HouseholdTarget:
        """The target and the median of its figure over the seeds, with their range."""
        found, felt = self.median(runs), self.felt_by(runs)
        seeds = [value for run in runs if not math.isnan(value := run.get(self.metric, math.nan))]
        text = self.shown(felt) if math.isfinite(felt) else NEVER
        details = f", {self.figure(found)}" if self.felt != self.metric and math.isfinite(found) else ""
        return {
            "app": self.app,
            "target": self.text,
            "found": found if math.isfinite(found) else None,
            "lo": min(seeds, default=None),
            "hi": max(seeds, default=None),
            "felt": felt if math.isfinite(felt) else None,
            "felt_text": self.plain(felt) if math.isfinite(felt) else NEVER,
            "shown": text + details,
            "met": self.is_met(found),
        }


def _or(value: float, without: float) -> float:
    return without if math.isnan(value) else value


def mos_text(mos: float) -> str:
    """A mean opinion score with one decimal; with two where one would say that a missed target is
    met.
    """
    return f"{math.floor(100.0 * mos) / 100.0:.2f}" if 3.95 <= mos < 4.0 else f"{mos:.1f}"


def whole_percent(share: float) -> str:
    """A share in percent, with a decimal below 10 % and where it is not quite all; with two where
    one would say that a missed target is met.
    """
    if share == 0.0:
        return "0 %"
    if 0.01 < share < 0.0105:
        return f"{math.ceil(1e4 * share) / 100.0:.2f} %"
    return f"{100.0 * share:.0f} %" if 0.1 <= share < 0.995 or share == 1.0 else column_percent(share)


TARGETS = (
    Target(
        "a call",
        "call",
        "MOS at least 4.0",
        "at least 4.0",
        "call_mos",
        4.0,
        True,
        "call_mos",
        lambda mos: f"MOS {mos_text(mos)}",
        mos_text,
        ("Call: mean opinion score, 1 (bad) to 4.5 (best)", 1.0, 4.5),
        "a call: MOS {}, now {}",
        mos_text,
        lambda mos, base: mos <= base - 0.1,
        lambda mos: (mos - 1.0) / 3.0,
        lambda run: run.get("call_mos", math.nan),
    ),
    Target(
        "a page",
        "page",
        "at most 1.5 times the time alone",
        "at most 1.5 x",
        "page_times_alone",
        1.5,
        False,
        "page_load_s",
        lambda seconds: f"{significant(seconds, 2)} s",
        lambda times: f"{significant(times, 2)} times its time alone",
        ("Page: seconds until it is complete", 0.0, math.inf),
        "a page {}, now {}",
        lambda seconds: f"{significant(seconds, 2)} s",
        lambda times, base: times >= 1.1 * base,
        lambda times: 1.5 / times,
        lambda run: 1.0 / _or(run.get("page_load_s", math.nan), math.inf),
    ),
    Target(
        "a game",
        "game",
        "at most 1 % of the round trips above 100 ms",
        "at most 1 %",
        "game_late_share",
        0.01,
        False,
        "game_late_share",
        lambda share: f"{whole_percent(share)} late",
        whole_percent,
        ("Game: round trips above 100 ms, or lost", 0.0, 1.0),
        "round trips of a game above 100 ms: {}, now {}",
        whole_percent,
        lambda share, base: share >= base + 0.01,
        lambda share: 1.0 - share,
        lambda run: 1.0 - _or(run.get("game_late_share", math.nan), 1.0),
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


def tables(duration_s: float = DURATION_S) -> dict[str, Any]:
    """The keys of a scenario that make it a household of a duration in s, at least
    `MIN_DURATION_S`: `duration`, `measure` and `flow`. All times are in proportion to the file's.
    """
    from ackclock.input.document import read_document

    factor = max(duration_s, MIN_DURATION_S) / DURATION_S

    def scaled(text: str) -> str:
        return f"{round(1e3 * factor * float(text.removesuffix(' s')))} ms"

    data = read_document(FILE).data
    flows = []
    for flow in data["flow"]:
        timed = {**flow}
        if "start" in flow:
            timed["start"] = scaled(flow["start"])
        if "repeat" in flow:
            timed["repeat"] = {**flow["repeat"], "every": scaled(flow["repeat"]["every"])}
        flows.append(timed)
    window = [scaled(text) for text in data["measure"]["window"]]
    return {"duration": scaled(data["duration"]), "measure": {"window": window}, "flow": flows}


def bounds(hops: Sequence[Hop]) -> list[str]:
    """What no queue and no congestion control changes of a household on a path, as sentences: an
    RTT above that of a game in time, a rate below that of a call.
    """
    found = []
    rtt_ms = base_rtt_ps(hops) / 1e9
    if rtt_ms > GAME_MS:
        found.append(
            f"{LONG_RTT} {milliseconds(rtt_ms)} without any queue: no change of queues brings the round trips "
            f"of a game below {milliseconds(GAME_MS)}."
        )
    if (why := unfit_for_household(hops)).startswith("a call"):
        found.append(f"{sentence(why)}.")
    return found


def is_household(summary: ExplainedRun) -> bool:
    """Whether the flows of a run are those of the household, by their names and applications."""
    flows = [flow for flow in summary["flows"] if "part_of" not in flow]
    return {flow["flow"]: flow["app"]["kind"] if "app" in flow else "" for flow in flows} == FLOWS


def figures(summary: Summary | ExplainedRun) -> dict[str, float]:
    """The figures of a household's run; NaN where it has none.

    - ``call_mos``, ``call_mos_p10``, ``game_late_share``: as in `apps.METRICS`.
    - ``page_load_s``: the median load time beside the download and the upload, an incomplete load
      as longer than all; ``page_alone_s``: that before them; ``page_times_alone``: their ratio.
    - ``down_goodput_bps``, ``up_goodput_bps``: of the download and of the upload;
      ``bulk_goodput_bps``: their geometric mean, so that a slow upload counts as much as a fast
      download.
    """
    bulk = {
        direction: together_bps(flow for flow in summary["flows"] if flow["flow"] == name and not flow.get("feeds"))
        for name, direction in (("download", "down"), ("upload", "up"))
    }
    rates = {f"{direction}_goodput_bps": bps for direction, bps in bulk.items()}
    return _felt(summary) | rates | {"bulk_goodput_bps": math.sqrt(math.prod(bulk.values()))}


def _felt(summary: Summary | ExplainedRun) -> dict[str, float]:
    """The figures of its applications."""
    of_apps = app_metrics(summary["flows"])
    found: dict[str, float] = {
        name: of_apps[name] for name in ("call_mos", "call_mos_p10", "game_late_share") if name in of_apps
    }
    apps = {flow["flow"]: flow["app"] for flow in summary["flows"] if "app" in flow}
    loads: dict[str, float | None] = {
        name: app["score"]["load_s"] for name, app in apps.items() if app["kind"] == "page"
    }
    if FIRST_PAGE in loads:
        alone = mean_of_known([loads.pop(FIRST_PAGE)])
        beside = statistics.median(math.inf if load is None else load for load in loads.values()) if loads else math.inf
        beside = beside if math.isfinite(beside) else math.nan
        found |= {"page_load_s": beside, "page_alone_s": alone, "page_times_alone": beside / alone}
    return found


def targets_of(runs: Sequence[Run]) -> list[HouseholdTarget]:
    """The targets by the figures of the applications, one of each seed."""
    return [target.of(runs) for target in TARGETS]


def judgement(summaries: Sequence[ExplainedRun]) -> Household:
    """The targets of the household, and what the link is good for."""
    targets = targets_of([_felt(summary) for summary in summaries])
    return {"version": VERSION, "targets": targets, "verdict": _verdict(targets)}


def _verdict(targets: Sequence[HouseholdTarget]) -> str:
    """What the link is good for, in a sentence."""
    good = [target["app"] for target in targets if target["met"]]
    bad = [f"{target['app']} ({target['shown']})" for target in targets if not target["met"]]
    if not good:
        return f"Beside a download and an upload the link holds none of these: {joined(bad)}."
    but = f", but not {' or '.join(bad)}" if bad else ""
    return f"Beside a download and an upload the link holds {joined(good)}{but}."
