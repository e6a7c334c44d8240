"""`python -m studies.advise.regret [FILE]`: the first advice for drawn situations beside the best
of a grid of changes that is not the advisor's, and what it does to others, as Markdown.

`make advise-regret` writes it to docs. `--minutes M`, `--seed N` and `--count N` select others.
"""

from __future__ import annotations

import datetime
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, islice
from pathlib import Path

import ackclock
from ackclock.advice.tables import gain_text
from ackclock.advisor.actions import WHO
from ackclock.advisor.outcome import refusal
from ackclock.advisor.race import CPU_S, Entry, Runs, mean_gain
from ackclock.advisor.situation import Situation, situation_of
from ackclock.errors import InputError
from ackclock.simulation.metrics import Run
from ackclock.statistics import against
from studies.advise import beside
from studies.advise.changes import Changes, applied, grid, label_of
from studies.advise.grid import FIRST_SEEDS, SEEDS
from studies.advise.grid import Outcome as GridOutcome
from studies.advise.lines import REGRETS, drawn
from studies.advise.recipes import SCORE, meant_scenario
from studies.advise.situations import Drawn
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

SEEDS_OF_CAMPAIGNS = (51203, 51204)
COUNT = 20
MINUTES = 58.0
TARGET_REGRET = 0.03
CAUSES = Path(__file__).parent / "regret_causes.toml"
LEFT, ADVISED = label_of(()), "advised"


@dataclass(frozen=True)
class Width:
    """How much of the grid is tried: changes of each kind that are combined, pairs that get a third
    change, changes whose truth is simulated.
    """

    of_kind: int = 3
    tripled: int = 3
    kept: int = 12


@dataclass(frozen=True)
class Outcome(GridOutcome):
    """An advice beside the grid of this study; gains are ratios of the balanced score over `SEEDS`,
    the best change is one within the bound of harm and the rules of `advise`.

    Attributes:
        seed: the campaign's.
        harmful: changes of the grid that gain more, and harm.
        figures: what the advice does to others, in words; those below the bound.
    """

    seed: int
    harmful: list[str]
    figures: list[str]


def outcome(
    one: Drawn, seed: int, cpu_s: float = CPU_S, seeds: Sequence[int] = SEEDS, width: Width = Width()
) -> Outcome:
    """The advice for a situation beside its grid."""
    begun = time.monotonic()
    # All who may act are named: by default what the reader can apply comes first.
    document = ackclock.advise(one.data, may=WHO, workers=1, cpu_s=cpu_s).document
    advise_s = time.monotonic() - begun
    situation = situation_of([one.data])
    search = _Search(situation, width)
    finalists = search.best()
    entries = [Entry(LEFT, situation.scenario())]
    entries += [Entry(label_of(changes), applied(situation, changes)) for changes in finalists]
    first = document["advice"][0] if document["advice"] else None
    if first:
        entries.append(Entry(ADVISED, meant_scenario(situation, first["change"])))
    truth = search.run(entries, seeds)
    gains = against(
        {name: {s: run[SCORE] for s, run in of.items()} for name, of in truth.items()},
        LEFT,
        [name for name in truth if name != LEFT],
    )
    useful = [
        changes
        for changes in finalists
        if not refusal(truth[label_of(changes)], truth[LEFT], gains[label_of(changes)], "balanced")
    ]
    order = sorted(useful, key=lambda changes: gains[label_of(changes)].value, reverse=True)
    best, harmful = _within_bound(situation, order)
    advised_figures: list[beside.Figure] = []
    if first:
        advised_figures = beside.figures(situation, meant_scenario(situation, first["change"]))
    return Outcome(
        one.number,
        one.kind,
        first["label"] if first else LEFT,
        gains[ADVISED].value if first else 1.0,
        label_of(best),
        gains[label_of(best)].value if best else 1.0,
        search.count,
        advise_s,
        time.monotonic() - begun,
        seed,
        [f"{label_of(changes)} ({gain_text(gains[label_of(changes)].value)})" for changes in harmful],
        [figure.text() for figure in advised_figures if figure.is_harm],
    )


def _within_bound(situation: Situation, order: Sequence[Changes]) -> tuple[Changes, list[Changes]]:
    """The first change within the bound of harm, and those before it."""
    harmful: list[Changes] = []
    for changes in order:
        if not any(figure.is_harm for figure in beside.figures(situation, applied(situation, changes))):
            return changes, harmful
        harmful.append(changes)
    return (), harmful


class _Search:
    """The grid's best changes: all single ones, pairs of the best of each kind, and the best pairs
    with a third.
    """

    def __init__(self, situation: Situation, width: Width) -> None:
        self.situation, self.width = situation, width
        self.runs = Runs(situation, None, workers=1)
        self.found: dict[str, dict[int, Run]] = {}
        self.gains: dict[Changes, float] = {}

    @property
    def count(self) -> int:
        """The number of changes tried."""
        return len(self.gains)

    def run(self, entries: Sequence[Entry], seeds: Sequence[int]) -> dict[str, dict[int, Run]]:
        names = [entry.label for entry in entries]
        return dict(zip(names, self.runs.run("grid", entries, seeds), strict=True))

    def best(self) -> list[Changes]:
        """At most `width.kept` changes, the best first."""
        self.found = self.run([Entry(LEFT, self.situation.scenario())], FIRST_SEEDS)
        singles = grid(self.situation)
        self._try([(one,) for one in singles])
        singles.sort(key=lambda one: self.gains.get((one,), 0.0), reverse=True)
        kinds: dict[str, int] = {}
        few = []
        for one in singles:
            kinds[one.kind] = kinds.get(one.kind, 0) + 1
            if kinds[one.kind] <= self.width.of_kind:
                few.append(one)
        pairs = [pair for pair in combinations(few, 2) if pair[0].kind != pair[1].kind]
        self._try(pairs)
        firsts = sorted(pairs, key=lambda pair: self.gains.get(pair, 0.0), reverse=True)[: self.width.tripled]
        self._try([(*pair, one) for pair in firsts for one in few if one.kind not in {of.kind for of in pair}])
        return sorted(self.gains, key=lambda changes: self.gains[changes], reverse=True)[: self.width.kept]

    def _try(self, many: Sequence[Changes]) -> None:
        """Runs changes; one that the situation cannot have is left out."""
        entries = []
        for changes in many:
            try:
                entries.append((changes, Entry(label_of(changes), applied(self.situation, changes))))
            except InputError:
                continue
        found = self.run([entry for _, entry in entries], FIRST_SEEDS) if entries else {}
        for changes, entry in entries:
            self.gains[changes] = mean_gain(found[entry.label], self.found[LEFT], SCORE)


def summary(done: Sequence[Outcome]) -> list[str]:
    """The figures of a campaign beside their targets."""
    regrets = [one.regret for one in done]
    good = [one for one in done if one.is_good]
    left = sum(one.advised == LEFT for one in good)
    return [
        "| figure | measured | target |",
        "|---|--:|--:|",
        f"| regret, mean | {100 * sum(regrets) / len(regrets):.1f} % | {100 * TARGET_REGRET:.0f} % |",
        f"| regret, maximum | {100 * max(regrets):.1f} % | |",
        f"| advices that harm beyond the bound | {sum(bool(one.figures) for one in done)} | 0 |",
        f"| advices worse than the situation as it is | {sum(one.gain < 1.0 for one in done)} | 0 |",
        f"| good situations that are left as they are | {left} of {len(good)} | all |",
        f"| situations left as they are although a change gains 3 % "
        f"| {sum(one.advised == LEFT and not one.is_good for one in done)} | 0 |",
        f"| time of an advice on one core, maximum | {max(one.advise_s for one in done):.0f} s | |",
    ]


def traced(seed: int) -> dict[int, str]:
    """The causes of regrets that were traced by hand, by the situation's number."""
    return {
        one["number"]: one["text"]
        for one in tomllib.loads(CAUSES.read_text("utf-8")).get("cause", ())
        if one["seed"] == seed
    }


def misses(done: Sequence[Outcome]) -> list[str]:
    """What a reader asks about first: harm, large regrets, changed good situations."""
    found = []
    known = traced(done[0].seed)
    for one in done:
        causes = [*one.figures]
        if one.regret > TARGET_REGRET:
            causes.append(
                f"regret {100 * one.regret:.1f} %: {one.best} {gain_text(one.best_gain)}, advised {one.advised} "
                f"{gain_text(one.gain)}"
            )
        if one.is_good and one.advised != LEFT:
            causes.append(f"a good situation is changed: {one.advised}, {gain_text(one.gain)}")
        if causes:
            cause = f" Cause: {known[one.number]}." if one.number in known else ""
            found.append(f"- **{one.number}, {one.kind}**: {'; '.join(causes)}.{cause}")
    return found or ["None."]


def page(done: Mapping[int, Sequence[Outcome]], today: datetime.date) -> str:
    """The page of all campaigns, by seed."""
    parts = [
        "# First advices beside a grid that is not the advisor's",
        "",
        "Written by `make advise-regret` ([regret.py](../../studies/advise/regret.py)) on "
        f"{today.isoformat()}: campaigns of seed",
        f"{' and '.join(map(str, done))} over DSL with and without ATM, recorded LTE, long paths; Linux, Windows, "
        "hosts without",
        "window scaling, and lines that are good as they are ([lines.py](../../studies/advise/lines.py)).",
        "",
        "The grid ([changes.py](../../studies/advise/changes.py)) has congestion controls, buffers in BDP, window scaling,",
        "ECN, queues, FIFOs in BDP and shapers with the line's framing: all single changes, pairs of the best three of",
        "each kind, the best pairs with a third. Two seeds cut it down to "
        f"{Width().kept}; {len(SEEDS)} further seeds, which no advice has seen,",
        "give the gains; the best of these is partly lucky. The best of the grid is one within the bound of harm",
        "([beside.py](../../studies/advise/beside.py)): one cubic or reno flow beside it, 100 kB transfers, and the flow",
        "itself beside one cubic flow keep half of what the host's defaults give there (ten seeds, 60 s after 10),",
        "or nine tenths of an equal share.",
    ]
    for seed, found in done.items():
        parts += [
            "",
            f"## Seed {seed}",
            "",
            f"{len(found)} situations, {sum(one.seconds for one in found):.0f} s on one core.",
            "",
            *summary(found),
            "",
            *misses(found),
            "",
            "| | situation | advised | gain | best of the grid | gain | regret | s |",
            "|--:|---|---|--:|---|--:|--:|--:|",
            *(one.row(gain_text) for one in found),
        ]
        more = [f"- {one.number}: {'; '.join(one.harmful)}" for one in found if one.harmful]
        parts += ["", "Better changes that harm:", "", *more] if more else []
    return "\n".join([*parts, ""])


def _done(path: Path | None) -> dict[int, dict[int, Outcome]]:
    found: dict[int, dict[int, Outcome]] = {}
    for fields in kept(path):
        one = Outcome(**fields)
        found.setdefault(one.seed, {})[one.number] = one
    return found


def main() -> None:
    parser = page_parser("situation", seed=SEEDS_OF_CAMPAIGNS[0], count=COUNT, minutes=MINUTES)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    done = _done(options.kept)
    of_seed = done.setdefault(options.seed, {})
    left = (one for one in islice(drawn(REGRETS, options.seed), options.count) if one.number not in of_seed)
    for one in begun_within(options.minutes, left):
        found = of_seed[one.number] = outcome(one, options.seed)
        keep(options.kept, asdict(found))
        print(
            "\n".join([found.row(gain_text), *misses([found])]), f"{found.seconds:.0f} s", file=sys.stderr, flush=True
        )
    if not of_seed:
        parser.error("no situation is done: there is no page")
    ordered = {seed: [found[number] for number in sorted(found)] for seed, found in sorted(done.items()) if found}
    write_page(options.file, page(ordered, datetime.date.today()))


if __name__ == "__main__":
    main()
