"""`python -m studies.papers.page [FILE]`: alternative readings of the papers by their claims, as
Markdown.

`make readings` writes it to docs, and the verdicts that an alternative changes to `readings.csv` of
each paper, from which `reproduce` names causes. Runs are kept and reused.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import fill
from typing import Any

from ackclock.format import significant
from ackclock.papers.claims import PAPERS
from ackclock.papers.evidence import ClaimResult
from ackclock.papers.experiments import Experiments
from ackclock.papers.readings import Alternative, Reading, cause_of, readings_of
from ackclock.papers.reproduce import EVALUATORS, verdicts

SEEDS = {"asymmetry": 10, "wimax-measured": 3}
"""Seeds by paper, 1 for the others: a run of wimax-simulated lasts minutes for each."""
DURATION = {"wimax-simulated": "100 s"}
"""Duration of the runs where it is not the paper's: all of 300 s would take hours."""
KEPT = Path("runs/readings")
COLUMNS = ("claim", "reading", "alternative", "verdict", "ours")
SOURCES = Path(__file__).resolve().parents[2] / "python" / "ackclock" / "papers"


@dataclass(frozen=True)
class Outcome:
    """The verdicts with one alternative, by claim; the choice has no alternative."""

    reading: Reading | None
    alternative: Alternative | None
    verdicts: Mapping[str, ClaimResult]

    def simulated(self) -> tuple[int, int]:
        """The number of simulated claims that hold, and that fail."""
        found = [each.verdict for each in self.verdicts.values() if each.by == "simulation"]
        return found.count("holds"), found.count("fails")

    def changed(self, choice: Outcome) -> Iterator[ClaimResult]:
        """The simulated claims whose verdict differs from that with the choice."""
        for name, found in self.verdicts.items():
            pair = {found.verdict, choice.verdicts[name].verdict}
            if pair == {"holds", "fails"} and found.by == "simulation":
                yield found


def outcomes(paper: str, seeds: Sequence[int], kept: Path) -> list[Outcome]:
    """The choice first, then every alternative in the order of `readings.toml`."""
    pairs: list[tuple[Reading | None, Alternative | None]] = [(None, None)]
    pairs += [(reading, each) for reading in readings_of(paper) for each in reading.alternatives]
    found = []
    for reading, alternative in pairs:
        runs = Experiments(seeds, None, kept / paper, None, paper, _shortened(paper, alternative))
        results = verdicts(paper, EVALUATORS[paper](runs))
        found.append(Outcome(reading, alternative, {each.claim.id: each for each in results}))
        print(f"{paper}: {alternative.name if alternative else 'the choice'}", file=sys.stderr, flush=True)
    return found


def _shortened(paper: str, alternative: Alternative | None) -> Alternative | None:
    """The alternative with the duration of its runs; its own keys apply to its experiments only."""
    if paper not in DURATION:
        return alternative
    every = {"duration": DURATION[paper]}
    if alternative is None or not alternative.experiments:
        return replace(
            alternative or Alternative("the choice"), keys={**every, **(alternative.keys if alternative else {})}
        )
    return _Shortened(alternative.name, alternative.keys, alternative.experiments, alternative.schemes, every)


@dataclass(frozen=True, slots=True)
class _Shortened(Alternative):
    """An alternative for some experiments, with keys for all."""

    every: Mapping[str, Any] = field(default_factory=dict)

    def keys_of(self, experiment: str, scheme: str) -> dict[str, Any]:
        """The keys for one setting: those for all, and the alternative's where it applies."""
        return {**self.every, **Alternative.keys_of(self, experiment, scheme)}


def table_of_changes(found: Sequence[Outcome]) -> str:
    """`readings.csv`: a row for each simulated claim whose verdict an alternative changes."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for outcome in found[1:]:
        assert outcome.reading and outcome.alternative
        for each in outcome.changed(found[0]):
            rows.writerow([each.claim.id, outcome.reading.name, outcome.alternative.name, each.verdict, _ours(each)])
    return text.getvalue()


def _ours(result: ClaimResult) -> str:
    ours = result.evidence.ours if result.evidence else None
    return significant(ours.mean, 4) if ours else ""


def part(paper: str, found: Sequence[Outcome], seeds: int) -> str:
    """The paper's part of the page."""
    lasting = f", runs of {DURATION[paper]} instead of the paper's 300 s" if paper in DURATION else ""
    with_seeds = f"With {seeds} {'seed' if seeds == 1 else 'seeds'}{lasting}:"
    return "\n\n".join([f"## {paper}", _choices(paper), with_seeds, _alternatives(found), _failing(paper, found[0])])


def _choices(paper: str) -> str:
    rows = [
        [each.name, each.choice, each.source, ", ".join(sorted(each.calibrated_on)) or "-"]
        for each in readings_of(paper)
    ]
    return _table(["reading", "choice", "source", "calibrated on (not judged)"], rows)


def _alternatives(found: Sequence[Outcome]) -> str:
    rows = []
    for outcome in found:
        changed = list(outcome.changed(found[0]))
        gained, lost = (
            ", ".join(each.claim.id for each in changed if each.verdict == verdict) for verdict in ("holds", "fails")
        )
        name = f"{outcome.reading.name}: {outcome.alternative.name}" if outcome.reading and outcome.alternative else ""
        hold, fail = outcome.simulated()
        rows.append([name or "**the choices above**", str(hold), str(fail), gained or "-", lost or "-"])
    if len(rows) == 1:
        return f"{rows[0][1]} simulated claims hold and {rows[0][2]} fail. No alternative was run."
    return _table(["alternative", "hold", "fail", "hold with it only", "fail with it only"], rows)


def _failing(paper: str, choice: Outcome) -> str:
    rows = []
    for name, each in choice.verdicts.items():
        if (each.by, each.verdict) == ("simulation", "fails"):
            cause = cause_of(paper, name)
            rows.append([name, each.claim.metric, each.claim.value, _ours(each) or "-", cause.text])
    return _table(["fails", "metric", "paper", "ours", "cause"], rows) if rows else "No simulated claim fails."


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def page(parts: Mapping[str, str]) -> str:
    """The whole page."""
    lead = (
        "What each paper leaves open, how ackclock reads it, and what other readings would change. An "
        "alternative replaces the keys of one choice; every experiment of the paper runs with it "
        "(a table says with how many seeds; `ackclock reproduce` has ten), and only simulated claims are "
        "counted. A claim that holds with an alternative only has its cause there; one that "
        "holds with none is unexplained. No choice was made by a count: the column of sources has the reasons. "
        "`make readings` runs the alternatives and writes this page."
    )
    return "\n\n".join(["# Readings of the papers", fill(lead, 100), *parts.values()]) + "\n"


def main() -> None:
    """Run the alternatives and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--only", choices=PAPERS)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--kept", type=Path, default=KEPT)
    asked = parser.parse_args()
    parts = {}
    for paper in [asked.only] if asked.only else PAPERS:
        seeds = asked.seeds or SEEDS.get(paper, 1)
        found = outcomes(paper, range(1, seeds + 1), asked.kept)
        if len(found) > 1 and asked.file:
            place = SOURCES / paper.replace("-", "_") / "readings.csv"
            place.write_text(table_of_changes(found), "utf-8")
            _forget()
        parts[paper] = part(paper, found, seeds)
    text = page(parts)
    if asked.file:
        asked.file.write_text(text, "utf-8")
    else:
        print(text)


def _forget() -> None:
    """Causes are read from the file that was just written."""
    from ackclock.papers import readings

    readings.outcomes.cache_clear()


if __name__ == "__main__":
    main()
