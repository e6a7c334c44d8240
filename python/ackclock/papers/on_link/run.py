"""The runs of a paper's design on another link, and its statements beside our figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from ackclock.documents.reproduce import Survival
from ackclock.errors import InputError
from ackclock.notebook import Progress
from ackclock.papers.claims import claims_of
from ackclock.papers.on_link.design import Design, Question, design_of
from ackclock.papers.on_link.placement import Placement
from ackclock.papers.on_link.verdict import Alike, Bound, Difference, Expected, Level, survival
from ackclock.papers.reproduce import FULL_SEEDS, QUICK_SEEDS
from ackclock.result import Result
from ackclock.simulation.runner import RunResult, RunSpec, RunStore, run_specs
from ackclock.statistics import Interval, Ratio, interval, ratios
from ackclock.storage import atomic_files, run_kind
from ackclock.storage.run_folder import Identity, opened

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.reproduce import (
        AskedQuestion,
        OurFigure,
        PaperOnLink,
        PaperStatement,
        PutLink,
        StayingExperiment,
    )
    from ackclock.report.page import Page

DOCUMENT = run_kind.ON_LINK.document


@dataclass(frozen=True)
class Answer:
    """A question with our figures on the link. ``base`` is None where the paper states a value.

    ``why`` is what limits the flow of the point with the first seed, or why there is no figure.
    """

    question: Question
    point: Interval
    base: Interval | None
    ratio: Ratio
    verdict: Survival
    why: str

    def as_json(self) -> AskedQuestion:
        """The entry in the document."""
        question = self.question
        return {
            "id": question.id,
            "claims": list(question.claims),
            "text": question.text,
            "measure": question.measure.label,
            "unit": question.measure.unit,
            "point": question.point,
            "base": question.base,
            "paper": statement(question.expected),
            "today": {
                "point": _figure(self.point),
                "base": _figure(self.base) if self.base else None,
                "ratio": self.ratio.as_json(),
                "why": self.why,
            },
            "verdict": self.verdict,
        }


def statement(expected: Expected) -> PaperStatement:
    """What a paper states, as in the document."""
    match expected:
        case Difference():
            return {"states": "more" if expected.more else "less", "ratio": expected.ratio, "value": None}
        case Alike():
            return {"states": "alike", "ratio": 1.0, "value": expected.within}
        case Bound():
            return {"states": "above" if expected.above else "below", "ratio": None, "value": expected.value}
        case Level():
            return {"states": "level", "ratio": None, "value": expected.value}


def _figure(found: Interval) -> OurFigure:
    whole = found.as_json()
    return {"mean": whole["mean"], "lo": whole["lo"], "hi": whole["hi"], "n": whole["n"]}


@dataclass(frozen=True, repr=False)
class PutOnLink(Result):
    """A paper's statements and what becomes of each on another link. ``folder`` is the run folder,
    None without one.
    """

    design: Design
    on: PutLink
    answers: Sequence[Answer]
    not_transferred: Sequence[StayingExperiment]
    seeds: Sequence[int]
    folder: Path | None = None

    @property
    def document(self) -> PaperOnLink:
        """The document of ``reproduce PAPER --on LINK --json``."""
        from ackclock.papers.on_link.words import todays_sentence

        questions = [answer.as_json() for answer in self.answers]
        made: PaperOnLink = {
            "paper": self.design.paper,
            "on": self.on,
            "sentence": {
                "paper": self.design.sentence,
                "where": self.design.where,
                "today": todays_sentence(self.on["name"], questions, len(self.seeds)),
            },
            "questions": questions,
            "not_transferred": list(self.not_transferred),
            "seeds": list(self.seeds),
            "totals": {
                verdict: sum(answer.verdict == verdict for answer in self.answers) for verdict in get_args(Survival)
            },
        }
        if self.folder:
            made["folder"] = str(self.folder)
        return made

    @property
    def questions(self) -> pl.DataFrame:
        """One row for each question: the fields of the JSON, nested names joined by underscores."""
        from ackclock.simulation.run_files import entries_frame

        return entries_frame(answer.as_json() for answer in self.answers)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`questions`."""
        return {"questions": self.questions}

    def _page(self) -> Page:
        from ackclock.papers.on_link.report_page import page

        return page(self.document)

    def _title(self) -> str:
        return f"{self.design.paper} on {self.on['name']}"

    def _tables(self) -> list[Table]:
        from ackclock.papers.on_link.terminal_tables import answer_tables

        return answer_tables(self.document)


def reproduce_on(
    paper: str,
    link: str | Path,
    *,
    quick: bool = False,
    seeds: int | Sequence[int] | None = None,
    workers: int | None = None,
    out: str | Path | None = None,
    force: bool = False,
    keep: bool = False,
    progress: Progress | None = None,
) -> PutOnLink:
    """Put a paper's design on another link, and ask there what the paper states.

    Args:
        paper: one of ``PAPERS``, such as "asymmetry".
        link: a packaged link or a link file.
        quick: one seed instead of ten: figures without verdicts.
        seeds: how many (10 means 1 to 10), or a list, instead.
        workers: threads; all cores when None.
        out: the run folder; finished runs in it are reused.
        force: rename another run in ``out`` (to ``out.1``) instead of raising InputError.
        keep: without ``out``, keep the runs in ``runs/<hash>``.
        progress: called with the number of finished runs, the number of all runs, and the label of
            the last one.

    Raises:
        InputError: no paper or no link has that name, the link file is not valid, or another run is
            in ``out``.
        RunFailed: a run failed in the engine.
    """
    claims_of(paper)
    asked = range(1, seeds + 1) if isinstance(seeds, int) else seeds
    chosen = tuple(asked) if asked is not None else QUICK_SEEDS if quick else FULL_SEEDS
    design = design_of(paper)
    place = Placement(design, str(link))
    scenarios, refused = placed(place)
    specs = {
        name: [RunSpec(scenario, seed, {"point": name}) for seed in chosen] for name, scenario in scenarios.items()
    }
    identity = Identity.of(
        run_kind.ON_LINK.command, [paper, {name: [spec.plan.digest for spec in each] for name, each in specs.items()}]
    )
    folder = Path(out) if out is not None else identity.default_folder() if keep else None
    with opened(folder, identity, seeds=chosen, force=force) as run:
        flat = [spec for each in specs.values() for spec in each]
        results = iter(run_specs(flat, workers=workers, store=RunStore(folder) if folder else None, progress=progress))
        found = {name: [next(results) for _ in each] for name, each in specs.items()}
        done = PutOnLink(design, link_entry(place), answers(design, found), left_out(design, refused), chosen, folder)
        if run:
            if done.answers:
                atomic_files.write_parquet(run.path / "questions.parquet", done.questions)
            atomic_files.write_json(run.path / DOCUMENT, done.document)
            run.finish()
    return done


def placed(place: Placement) -> tuple[dict[str, Any], dict[str, str]]:
    """The scenario of each point, and of the points that the link cannot have the reason."""
    scenarios, refused = {}, {}
    for name, point in place.design.points.items():
        try:
            scenarios[name] = place.scenario(point)
        except InputError as error:
            what = error.statement or f"{error.key}: {error.found}"
            refused[name] = f"{place.link} cannot have it: {what}"
    return scenarios, refused


def link_entry(place: Placement) -> PutLink:
    """The link in the document."""
    return {
        "name": place.link,
        "title": place.title,
        "down_bps": place.rate_bps("down"),
        "up_bps": place.rate_bps("up"),
        "base_rtt_ms": place.base_rtt_ms,
        "bdp_bytes": place.bdp_bytes,
    }


def left_out(design: Design, refused: Mapping[str, str]) -> list[StayingExperiment]:
    """The experiments that stay with the paper's network, and the questions that the link cannot
    have, by reason.
    """
    names: dict[str, list[str]] = {}
    for question in design.questions:
        if why := refused.get(question.point) or refused.get(question.base or ""):
            names.setdefault(why, []).append(question.id)
    for experiment, why in design.stays.items():
        names.setdefault(why, []).append(experiment)
    return [{"names": ids, "why": why} for why, ids in names.items()]


def answers(design: Design, found: Mapping[str, Sequence[RunResult]]) -> list[Answer]:
    """The answer to each question whose points have runs, with intervals that hold together.

    Args:
        design: the paper's.
        found: the runs of each point, one for each seed, in the same order.
    """
    asked = [
        _Figures.of(one, found)
        for one in design.questions
        if one.point in found and (one.base is None or one.base in found)
    ]
    intervals = ratios({one.question.id: one.pairs for one in asked})
    return [one.answer(intervals[one.question.id]) for one in asked]


@dataclass(frozen=True)
class _Figures:
    """The figures of a question, one for each seed: of its point, and of its base, if any."""

    question: Question
    point: Sequence[float]
    base: Sequence[float] | None
    why: str

    @classmethod
    def of(cls, question: Question, found: Mapping[str, Sequence[RunResult]]) -> _Figures:
        """Those of the runs of its points."""
        measure, runs = question.measure, found[question.point]
        return cls(
            question,
            [measure.of(run, question.flow) for run in runs],
            [measure.of(run, question.base_flow) for run in found[question.base]] if question.base else None,
            next(flow["why"] or "" for flow in runs[0].summary["flows"] if question.flow in ("", flow["flow"])),
        )

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The figures whose means are compared: with the base, or with the paper's value."""
        negligible = max([*self.point, *(self.base or ())]) < self.question.measure.negligible
        if self.base is not None:
            base = [1.0 if negligible else value for value in self.base]
            return list(zip(base if negligible else self.point, base, strict=True))
        value = cast("Bound | Level", self.question.expected).value
        return [(0.0 if negligible else figure, value) for figure in self.point]

    def answer(self, ratio: Ratio) -> Answer:
        """The answer, by the ratio with its simultaneous interval."""
        base = interval(self.base) if self.base is not None else None
        verdict = survival(self.question.expected, ratio)
        point = interval(self.point)
        why = self.question.measure.absent if math.isnan(point.mean) else self.why
        return Answer(self.question, point, base, ratio, verdict, why)
