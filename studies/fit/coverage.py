"""`python -m studies.fit.coverage [FILE]`: how often the intervals of fits contain what is true, by
the kind of input, as Markdown. `make coverage` writes it to docs.

A campaign has `--links` links of one seed, and each is fitted by every kind of input. `--kept FILE`
keeps each fit: a later call continues, and several campaigns in one file make one page.
`--before FILE` are the kept fits of another version to the same inputs. `--only 6,12` and `--inputs
"10 s,busy host"` fit these links, and these kinds of input, alone.
"""

from __future__ import annotations

import math
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any

import ackclock
from ackclock.errors import InputError
from ackclock.fitting.parameters import GUESS
from studies.fit.inputs import INPUTS, captures_of
from studies.fit.links import TrueLink
from studies.fit.page import percent
from studies.fit.structured_links import structured_links
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

SEED, COUNT, MINUTES = 3901, 12, 60.0
LEVEL, TAIL = 0.95, 0.01
"""What an interval promises, and the chance from which on a kind of input is below it."""
POOLED = 0.94
PENALTY = 2 / (1 - LEVEL)
"""Of Winkler's interval score: for each unit by which the truth is outside."""
SCORED = 1e3
"""Largest factor between the truth and an end of a scored interval: zero has no logarithm."""


@dataclass(frozen=True)
class ParameterOutcome:
    """A parameter of a fit beside its truth. `covers` is None unless it is `identified`; `score` is
    None where the truth is zero."""

    path: str
    covers: bool | None
    score: float | None = None
    lo: float | None = None
    hi: float | None = None
    truth: float = 0.0


@dataclass(frozen=True)
class FittedInput:
    """One link by one kind of input; `refused` is why there is no fit."""

    seed: int
    number: int
    link: str
    kind: str
    cpu_s: float
    outcomes: list[ParameterOutcome] = field(default_factory=list)
    refused: str = ""

    @property
    def cluster(self) -> tuple[int, int]:
        """The link, of which the outcomes of several parameters depend on each other."""
        return self.seed, self.number

    @property
    def covered(self) -> list[bool]:
        """For each identified parameter, whether its interval contains the truth."""
        return [one.covers for one in self.outcomes if one.covers is not None]

    @staticmethod
    def restored(of: dict[str, Any]) -> FittedInput:
        return FittedInput(**{**of, "outcomes": [ParameterOutcome(**one) for one in of["outcomes"]]})


def interval_score(lo: float, hi: float, truth: float) -> float:
    """Winkler's score of a 95 % interval of a positive value, in logarithms: the interval's width,
    and 40 times the distance of a truth outside. Less is better.

    >>> round(interval_score(0.9, 1.1, 1.0), 3)
    0.201
    >>> round(interval_score(1.1, 1.2, 1.0), 2)
    3.9
    """
    low, high = (min(max(end, truth / SCORED), truth * SCORED) for end in (lo, hi))
    outside = max(0.0, math.log(low / truth), math.log(truth / high))
    return math.log(high / low) + PENALTY * outside


def chance_of(covered: Sequence[Sequence[bool]], level: float = LEVEL) -> float:
    """The probability of at most as many hits, if each interval contains its truth with `level`:
    one-sided binomial, over as many independent outcomes as the clusters are worth.

    Args:
        covered: the outcomes of each cluster.

    >>> chance_of([[True] * 10] * 10)
    1.0
    >>> chance_of([[True, False]] * 20) < 1e-6
    True
    """
    from scipy.stats import binom

    groups = [group for group in covered if group]
    count = sum(map(len, groups))
    hits = sum(map(sum, groups))
    if not count or hits == count:
        return 1.0
    share = hits / count
    between = sum((sum(group) - share * len(group)) ** 2 for group in groups)
    of_independent = count * share * (1 - share)
    effect = max(1.0, between / of_independent * len(groups) / max(1, len(groups) - 1)) if of_independent else 1.0
    worth = max(1, round(count / effect))
    return float(binom.cdf(round(share * worth), worth, level))


def fitted(link: TrueLink, kind: str, seed: int, folder: Path) -> FittedInput:
    """The fit to one kind of input, beside the truth."""
    captures = captures_of(kind, link, folder, seed)
    began = time.process_time()
    try:
        fit = ackclock.fit(*captures, score=False)
    except InputError as refused:
        return FittedInput(seed, link.number, link.kind, kind, time.process_time() - began, refused=str(refused))
    cpu_s = time.process_time() - began
    return FittedInput(seed, link.number, link.kind, kind, cpu_s, list(outcomes(link, fit)))


def outcomes(link: TrueLink, fit: ackclock.Fit) -> Iterator[ParameterOutcome]:
    """Each true parameter, and each that a fit identifies though the link has none."""
    rows = {row["path"].split(".", 2)[2]: row for row in fit.document["parameters"]}
    drawn = {path.split(".", 2)[2]: fit.draws[path] for path in fit.draws.columns}
    is_defined = {path: not path.startswith(link.undefined or ("\0",)) for path in rows.keys() | link.truth.keys()}
    for path, truth in link.truth.items():
        if not is_defined[path]:
            continue
        row = rows.get(path)
        if row is not None and row["status"] == "identified":
            lo, hi = row["lo"] or 0.0, row["hi"] or math.inf
            true = [value for value in (truth, link.also_true.get(path)) if value is not None and lo <= value <= hi]
            nearest = true[0] if true else truth
            yield ParameterOutcome(path, bool(true), interval_score(lo, hi, nearest), lo, hi, nearest)
        elif path in drawn and len(drawn[path]):
            lo, hi = (drawn[path].quantile(share) or 0.0 for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
            yield ParameterOutcome(path, None, interval_score(lo, hi, truth), lo, hi, truth)
        else:
            yield ParameterOutcome(path, None, interval_score(truth / GUESS, truth * GUESS, truth), truth=truth)
    for path, row in rows.items():
        if is_defined[path] and path not in link.truth and row["status"] == "identified" and row["lo"] is not None:
            truth = link.also_true.get(path, 0.0)
            lo, hi = row["lo"], row["hi"] or math.inf
            yield ParameterOutcome(
                path, lo <= truth <= hi, interval_score(lo, hi, truth) if truth else None, lo, hi, truth
            )


def rows_of(done: Sequence[FittedInput], before: Sequence[FittedInput]) -> Iterator[str]:
    """The table by kind of input."""
    for kind in (*INPUTS, "all"):
        of = [one for one in done if kind in (one.kind, "all")]
        old = [one for one in before if kind in (one.kind, "all")]
        identified = [covers for one in of for covers in one.covered]
        clusters = [
            [covers for one in of if one.cluster == cluster for covers in one.covered]
            for cluster in dict.fromkeys(one.cluster for one in of)
        ]
        times = [one.cpu_s for one in of] or [math.nan]
        both = {(one.cluster, one.kind) for one in old}
        same = [one for one in of if (one.cluster, one.kind) in both]
        yield (
            f"| {kind} | {len(of)} | {sum(bool(one.refused) for one in of)} | {len(identified)} | {sum(identified)} "
            f"| {percent(sum(identified) / len(identified)) if identified else '-'} | {chance_of(clusters):.2g} "
            f"| {_score(of)} | {_score(old)} | {_score(same)} | {median(times):.1f} | {max(times):.0f} |"
        )


def _score(of: Iterable[FittedInput]) -> str:
    scores = [row.score for one in of for row in one.outcomes if row.score is not None]
    return f"{fmean(scores):.2f}" if scores else "-"


def misses(done: Sequence[FittedInput]) -> Iterator[str]:
    """A line for each identified interval without the truth."""
    for one in done:
        for of in one.outcomes:
            if of.covers is False:
                yield (
                    f"- {one.kind}, link {one.seed}/{one.number} ({one.link}): `{of.path}` "
                    f"{of.lo:.6g} .. {of.hi:.6g}, true {of.truth:.6g}"
                )


def _of_before(before: Sequence[FittedInput]) -> str:
    """What the columns `before` and `now` are of."""
    links = len({one.cluster for one in before})
    if not links:
        return "`before` and `now`: no fits of another version."
    covered = [covers for one in before for covers in one.covered]
    share = percent(sum(covered) / len(covered)) if covered else "-"
    return (
        f"`before`: the fits of another version to {len(before)} of the inputs, of {links} links, of whose {len(covered)} "
        f"intervals {share} contain the truth; `now`: this version's to the same."
    )


def page(done: Sequence[FittedInput], before: Sequence[FittedInput]) -> str:
    """The page; of `before`, the fits to the same inputs count."""
    fits = {(one.cluster, one.kind) for one in done}
    before = [one for one in before if (one.cluster, one.kind) in fits]
    seeds = sorted({one.seed for one in done})
    links = {one.cluster: one.link for one in done}
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(links.values()).items())
    text = [
        f"Written by `make coverage` ([coverage.py](../../studies/fit/coverage.py)): {len(done)} fits to {len(links)} links "
        f"of the seeds {', '.join(map(str, seeds))} ({kinds}). Each link is fitted by every kind of input "
        "([inputs.py](../../studies/fit/inputs.py)).",
        "An interval of an `identified` parameter is to contain the truth in 95 of 100 cases. A parameter that is "
        "identified though the link has none counts as one that does not, unless zero is in its interval. "
        "`chance` is the probability of at most as many hits if 95 % is right: one-sided binomial, over as many "
        "independent outcomes as the links are worth, of which several parameters depend on each other.",
        "`score` is Winkler's of the 95 % intervals, in logarithms (less is better): the width of an interval, and 40 "
        "times the distance of a truth outside; of a parameter that is not identified, the interval of its draws, and "
        f"a factor of {GUESS:g} up and down without draws. {_of_before(before)}",
    ]
    return "\n".join(
        [
            "# How often the intervals of fits contain the truth",
            "",
            *(line for part in text for line in (*textwrap.wrap(part, 100), "")),
            "| input | fits | refused | identified | contain the truth | | chance | score | before | now | CPU s, median | at most |",
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
            *rows_of(done, before),
            "",
            f"Targets: no kind of input with a chance below {TAIL:g}, {percent(POOLED)} over all, and no score above the one "
            "before.",
            "",
            "## Misses",
            "",
            *(list(misses(done)) or ["None."]),
            "",
        ]
    )


def _kept(file: Path | None) -> list[FittedInput]:
    return [FittedInput.restored(fields) for fields in kept(file)]


def chosen_inputs(names: str | None) -> list[str]:
    """The kinds of input that a list with commas names, in the order of the page; all without one.
    The name of a kind may have a comma itself.

    >>> chosen_inputs("two flows, two files,10 s")
    ['10 s', 'two flows, two files']

    Raises:
        SystemExit: no kind has a name of the list.
    """
    rest = names if names is not None else ",".join(INPUTS)
    found = [kind for kind in INPUTS if f",{kind}," in f",{rest},"]
    for kind in found:
        rest = f",{rest},".replace(f",{kind},", ",", 1).strip(",")
    if rest:
        sys.exit(f"{rest}: no kind of input; kinds are {'; '.join(INPUTS)}")
    return found


def main() -> None:
    parser = page_parser("link", seed=SEED, count=COUNT, minutes=MINUTES)
    parser.add_argument("--before", type=Path, help="kept fits of another version, for their scores")
    parser.add_argument("--part", default="1/1", help="such as 2/3: every third link, from the second one on")
    parser.add_argument("--only", help="numbers of the links, such as 6,12; default: all")
    parser.add_argument("--inputs", help="kinds of input, such as 10 s,busy host; default: all")
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    began = time.monotonic()
    part, parts = map(int, options.part.split("/"))
    done = {(one.cluster, one.kind) for one in _kept(options.kept)}
    numbers = set(map(int, options.only.split(","))) if options.only else range(1, options.count + 1)
    kinds = chosen_inputs(options.inputs)
    own = [
        link
        for link in structured_links(options.count, options.seed)
        if link.number % parts == part % parts and link.number in numbers
    ]
    found: list[FittedInput] = []
    for link in own:
        missing = [kind for kind in kinds if ((options.seed, link.number), kind) not in done]
        with tempfile.TemporaryDirectory() as folder:
            for kind in begun_within(options.minutes, missing, began):
                one = fitted(link, kind, options.seed, Path(folder))
                found.append(one)
                keep(options.kept, asdict(one))
                print(f"link {link.name}, {kind}: {one.cpu_s:.1f} s {one.refused}", file=sys.stderr)
    every = _kept(options.kept) if options.kept else found
    write_page(options.file, page(every, _kept(options.before)))


if __name__ == "__main__":
    main()
