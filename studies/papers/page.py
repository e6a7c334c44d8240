"""`python -m studies.papers.page [FILE]`: alternative readings of the papers by their claims, and
the experiments that show causes, as Markdown.

`make readings` writes it to docs, with the verdicts that an alternative changes (`readings.csv` of
each paper) and what the experiments of causes did (`causes.csv`), from which `reproduce` names
causes. Runs and outcomes are kept and reused. With `--minutes` the command ends with status 3 when
that time is over before all outcomes exist; the same command continues. With `--only` the other
papers' parts of the file stay. With `--causes` only the choices and the experiments of causes run,
and what the alternatives do stays as in `readings.csv`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import get_args

from ackclock.format import significant
from ackclock.papers.causes import (
    cause_outcomes,
    forget_outcomes,
    predictions,
    suspected_causes,
    withdrawn_causes,
)
from ackclock.papers.claims import PAPERS, claims_of
from ackclock.papers.evidence import Verdict
from ackclock.papers.readings import Alternative, Reading, readings_of, undecidable_claims
from ackclock.papers.readings import (
    outcomes as stored_outcomes,
)
from ackclock.papers.standings import (
    CRUDE_MODELS,
    WORDS,
    CrudeVerdict,
    Standing,
    crude_outcomes,
    failing_cause,
    over_ensemble,
    standing,
)
from studies.papers.causes import CauseResult, examine
from studies.papers.outcomes import DURATION, SOURCES, FoundClaim, Outcome, OutOfTime, Runner
from studies.papers.parts import OUT_OF_TIME, csv_text, deadline, markdown_table, parser

SEEDS = {"asymmetry": 10, "wimax-measured": 3}
"""Seeds by paper, 1 for the others: a run of wimax-simulated lasts minutes for each."""
KEPT = Path("runs/readings")
READINGS = ("claim", "reading", "alternative", "verdict", "ours")
CAUSES = ("claim", "experiment", "required", "choice", "found", "shown")
SCORES = (
    "paper",
    *("hold", "hold, also in crude models"),
    *("fail: cause shown", "cause suggested", "holds with another reading", "unexplained"),
    *("not decidable", "experiments", "predicted", "came true"),
)


@dataclass(frozen=True)
class PaperOutcomes:
    """A paper's outcomes: with the choices, with each alternative, and of the causes'
    experiments.
    """

    paper: str
    choice: Outcome
    alternatives: Sequence[tuple[Reading, Alternative, Outcome]]
    causes: Sequence[CauseResult]

    @property
    def failing(self) -> list[tuple[str, FoundClaim, tuple[str, ...]]]:
        """The simulated claims that fail over the ensemble of phases, and the readings of it with
        which they hold.
        """
        verdicts = [
            (name, each, *over_ensemble(self.paper, name, each.verdict))
            for name, each in self.choice.claims.items()
            if each.decided
        ]
        return [(name, each, unless) for name, each, verdict, unless in verdicts if verdict == "fails"]


def run(runner: Runner, *, causes_only: bool = False) -> PaperOutcomes:
    """Run a paper's choices, experiments of causes, and alternatives, if not ``causes_only``."""
    choice = runner.outcome()
    causes = examine(runner.paper, choice, runner.outcome)
    alternatives = [
        (reading, each, _stored(runner.paper, choice, reading, each) if causes_only else runner.outcome(each))
        for reading in readings_of(runner.paper)
        for each in reading.alternatives
    ]
    return PaperOutcomes(runner.paper, choice, alternatives, causes)


def _stored(paper: str, choice: Outcome, reading: Reading, alternative: Alternative) -> Outcome:
    """The choice's verdicts with those that differ in `readings.csv`."""
    claims = dict(choice.claims)
    for row in stored_outcomes(paper):
        if (row["reading"], row["alternative"]) == (reading.name, alternative.name):
            ours = float(row["ours"]) if row["ours"] else None
            verdict: Verdict = "holds" if row["verdict"] == "holds" else "fails"
            claims[row["claim"]] = replace(claims[row["claim"]], verdict=verdict, ours=ours)
    return Outcome(claims, frozenset())


def keep(found: PaperOutcomes) -> None:
    """Write `readings.csv` and `causes.csv` of a paper, where it has alternatives and causes."""
    folder = SOURCES / "papers" / found.paper.replace("-", "_")
    if found.alternatives:
        rows = [
            [claim, reading.name, each.name, result.verdict, ours(result)]
            for reading, each, outcome in found.alternatives
            for claim, result in outcome.changed(found.choice)
        ]
        (folder / "readings.csv").write_text(csv_text(READINGS, rows), "utf-8")
    if suspected_causes(found.paper):
        (folder / "causes.csv").write_text(csv_text(CAUSES, [each.row() for each in found.causes]), "utf-8")
    forget_outcomes()


def ours(result: FoundClaim) -> str:
    """Our figure, or "" without one."""
    return significant(result.ours, 4) if result.ours is not None else ""


def part(found: PaperOutcomes, seeds: int) -> str:
    """The paper's part of the page."""
    lasting = f", runs of {DURATION[found.paper]} instead of the paper's 300 s" if found.paper in DURATION else ""
    with_seeds = f"With {seeds} {'seed' if seeds == 1 else 'seeds'}{lasting}:"
    parts = [f"## {found.paper}", _choices(found.paper), with_seeds, _alternatives(found)]
    parts += [*_causes(found.paper), *_withdrawn(found.paper), *_undecidable(found), *_holding(found), _failing(found)]
    return "\n\n".join(parts)


def _choices(paper: str) -> str:
    rows = [
        [each.name, each.choice, each.source, ", ".join(sorted(each.calibrated_on)) or "-"]
        for each in readings_of(paper)
    ]
    return markdown_table(["reading", "choice", "source", "calibrated on (not judged)"], rows)


def _alternatives(found: PaperOutcomes) -> str:
    hold, fail = found.choice.simulated()
    if not found.alternatives:
        return f"{hold} simulated claims hold and {fail} fail. No alternative was run."
    rows = [["**the choices above**", str(hold), str(fail), "-", "-"]]
    for reading, each, outcome in found.alternatives:
        changed = list(outcome.changed(found.choice))
        gained, lost = (
            ", ".join(name for name, result in changed if result.verdict == verdict) for verdict in ("holds", "fails")
        )
        hold, fail = outcome.simulated()
        rows.append([f"{reading.name}: {each.name}", str(hold), str(fail), gained or "-", lost or "-"])
    return markdown_table(["alternative", "hold", "fail", "hold with it only", "fail with it only"], rows)


def _causes(paper: str) -> list[str]:
    """The suspected causes with what their experiments did; nothing for a paper without."""
    rows = []
    for cause in suspected_causes(paper):
        for experiment in cause.experiments:
            ran = [
                row
                for row in cause_outcomes(paper)
                if row["experiment"] == experiment.name and row["claim"] in experiment.claims
            ]
            figures = "; ".join(
                f"{row['claim']} {row['choice']} -> {row['found']}" + ("" if row["shown"] == "yes" else " (not shown)")
                for row in ran
            )
            if ran:
                made = f"{each.commit}, {each.date}" if (each := experiment.predicted) else "chosen"
                rows.append([cause.text, experiment.name, made, str(experiment.requirement), figures])
    heads = ["suspected cause", "experiment", "predicted in", "each claim must", "ours -> with the experiment"]
    return [markdown_table(heads, rows)] if rows else []


def _withdrawn(paper: str) -> list[str]:
    rows = [[", ".join(each.claims), each.cause, each.refuted_by] for each in withdrawn_causes(paper)]
    return [markdown_table(["withdrawn", "the cause that was named", "refuted by"], rows)] if rows else []


def _holding(found: PaperOutcomes) -> list[str]:
    """What becomes of the holding claims in crude models; nothing before these ran."""
    rows = []
    for model, change in CRUDE_MODELS.items():
        ran = [row for row in crude_outcomes(found.paper) if row["model"] == model]
        by_verdict = (
            ", ".join(row["claim"] for row in ran if row["verdict"] == verdict) or "-"
            for verdict in get_args(CrudeVerdict)
        )
        if ran:
            rows.append([model, change, *by_verdict])
    heads = ["crude model", "in the link", *(f"holding claims that {words}" for words in ("hold", "fail", "have none"))]
    return [markdown_table(heads, rows)] if rows else []


def _undecidable(found: PaperOutcomes) -> list[str]:
    rows = [
        [", ".join(each.claims), "; ".join(each.quotes), each.source, ", ".join(_decidable_ours(found, each.claims))]
        for each in undecidable_claims(found.paper)
    ]
    return [markdown_table(["not decidable", "the paper has", "noted in", "ours"], rows)] if rows else []


def _decidable_ours(found: PaperOutcomes, claims: Sequence[str]) -> list[str]:
    return [ours(found.choice.claims[name]) or "-" for name in claims]


def _failing(found: PaperOutcomes) -> str:
    claims = {claim.id: claim for claim in claims_of(found.paper)}
    rows = [
        [name, claims[name].metric, claims[name].value, ours(each) or "-", WORDS[cause.kind], cause.text]
        for name, each, unless in found.failing
        if (cause := failing_cause(found.paper, name, unless))
    ]
    heads = ["fails", "metric", "paper", "ours", "class", "cause"]
    return markdown_table(heads, rows) if rows else "No simulated claim fails."


def score(found: PaperOutcomes) -> list[str]:
    """The paper's row of the first table: its simulated claims by standing, over the ensemble of
    phases, and the predictions.
    """
    stood = [
        standing(found.paper, name, *over_ensemble(found.paper, name, each.verdict))
        for name, each in found.choice.claims.items()
        if each.decided
    ]
    counts = [stood.count(kind) for kind in get_args(Standing)]
    undecidable = sum(len(each.claims) for each in undecidable_claims(found.paper))
    made = predictions(found.paper)
    return [found.paper, *map(str, (*counts, undecidable, made.experiments, made.predicted, made.true))]


def page(scores: Sequence[Sequence[str]], parts: Mapping[str, str]) -> str:
    """The whole page."""
    lead = (
        "What each paper leaves open, how ackclock reads it, and what other readings would change. An "
        "alternative replaces the keys of one choice; every experiment of the paper runs with it "
        "(a line says with how many seeds; `ackclock reproduce` has ten), and only simulated claims are "
        "counted. A claim over a medium in frames is judged over the choices and every alternative that changes "
        "nothing but jitter, and holds if it holds with more than half of them. A claim that holds is run in three "
        "crude models of its link, too (below): where it holds in each of them, it proves little about the model. A "
        "failing claim is in one class. Its cause is shown where an experiment that stood in a commit before it ran "
        "came out as predicted; it is suggested where experiments that were chosen among several, with keys that add "
        "or remove what is suspected, make the claim hold or reach the paper's figure; the claim holds with another "
        "reading; or it is unexplained. No choice was made by a count: the column of sources has the reasons. "
        "`make crude`, then `make readings` run all; the second writes this page."
    )
    total = [sum(int(row[column]) for row in scores) for column in range(1, len(SCORES))]
    # A part of the former page has no row until its paper has run again.
    name = "**all**" if len(scores) == len(PAPERS) else "**these papers**"
    rows = [*scores, [name, *map(str, total)]]
    decided = sum(total[: len(get_args(Standing))])
    share = (
        f"Unexplained: {total[5]} of {decided} simulated claims ({100.0 * total[5] / max(1, decided):.1f} %). "
        f"Predicted: {total[8]} of {total[7]} experiments on causes ({100.0 * total[8] / max(1, total[7]):.0f} %), of "
        f"which {total[9]} came true."
    )
    return (
        "\n\n".join(["# Readings of the papers", fill(lead, 100), markdown_table(SCORES, rows), share, *parts.values()])
        + "\n"
    )


def _existing(file: Path) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The rows of the first table and the parts of a page, by paper."""
    if not file.is_file():
        return {}, {}
    head, *parts = re.split(r"^(?=## )", file.read_text("utf-8"), flags=re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in head.splitlines() if line.startswith("|")]
    by_paper = {part.partition("\n")[0].removeprefix("## ").strip(): part.strip() for part in parts}
    return {row[0]: row for row in rows if row[0] in PAPERS and len(row) == len(SCORES)}, by_paper


def main() -> int:
    """Run the alternatives and experiments, and write the page."""
    options = parser(__doc__, KEPT)
    options.add_argument("file", nargs="?", type=Path)
    options.add_argument("--seeds", type=int)
    options.add_argument("--causes", action="store_true", help="leave the alternatives as in readings.csv")
    asked = options.parse_args()
    until = deadline(asked.minutes)
    scores, parts = _existing(asked.file) if asked.file else ({}, {})
    unfinished = []
    for paper in asked.only or PAPERS:
        seeds = asked.seeds or SEEDS.get(paper, 1)
        try:
            found = run(Runner(paper, range(1, seeds + 1), asked.kept, asked.workers, until), causes_only=asked.causes)
        except OutOfTime:
            unfinished.append(paper)
            continue
        if asked.file:
            keep(found)
        scores[paper], parts[paper] = score(found), part(found, seeds)
    ordered = [paper for paper in PAPERS if paper in parts]
    text = page([scores[paper] for paper in ordered if paper in scores], {paper: parts[paper] for paper in ordered})
    if asked.file:
        asked.file.write_text(text, "utf-8")
    else:
        print(text)
    for paper in unfinished:
        print(f"{paper} is not finished: run the same command again", file=sys.stderr)
    return OUT_OF_TIME if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
