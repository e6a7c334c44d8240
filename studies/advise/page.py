"""`python -m studies.advise.page [FILE]`: advices for drawn situations beside the full grid of
their changes, as Markdown.

`make advise-accuracy` writes it to docs. `--minutes M` and `--seed N` select others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice

from studies.advise.grid import LEFT, SEEDS, Outcome, outcome
from studies.advise.situations import KINDS, situations
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

SEED = 40417
MINUTES = 45.0
COUNT = 40
TARGET_REGRET, TARGET_WORSE = 0.05, 0.98


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def summary(done: Sequence[Outcome]) -> list[str]:
    """The figures beside their targets."""
    regrets = sorted(one.regret for one in done)
    good = [one for one in done if one.is_good]
    left = sum(one.advised == LEFT for one in good)
    worse = [one for one in done if one.gain < TARGET_WORSE]
    within = sum(regret <= TARGET_REGRET for regret in regrets)
    missed = sum(one.advised == LEFT and not one.is_good for one in done)
    return [
        "| figure | measured | target |",
        "|---|--:|--:|",
        f"| regret, mean | {100 * sum(regrets) / len(regrets):.1f} % | 5 % |",
        f"| regret, maximum | {100 * regrets[-1]:.1f} % | 5 % |",
        f"| situations with a regret of at most 5 % | {within} of {len(done)} | all |",
        f"| advices more than 2 % worse than the situation as it is | {len(worse)} | 0 |",
        f"| good situations that are left as they are | {left} of {len(good)} | 9 of 10 |",
        f"| situations left as they are although a change gains 3 % | {missed} | 0 |",
        f"| time of an advice on one core, maximum | {max(one.advise_s for one in done):.0f} s | 60 s on two cores |",
    ]


def page(done: Sequence[Outcome], seed: int) -> str:
    """The page."""
    kinds = ", ".join(
        f"{sum(one.kind == kind for one in done)} {kind}"
        for kind in dict.fromkeys(name.partition(",")[0] for name in KINDS)
    )
    grid = sorted(one.grid for one in done)
    parts = [
        "# Advices for situations of a known best change",
        "",
        "Written by `make advise-accuracy` ([situations.py](../../studies/advise/situations.py)):",
        f"{len(done)} situations of seed {seed} ({kinds}),",
        f"{sum(one.seconds for one in done):.0f} s on one core. Each has one advice for the goal `balanced` of all who may act.",
        "",
        "The truth is the full grid of the same changes: all single ones and all pairs,",
        f"{grid[0]} to {grid[-1]} a situation. Two seeds cut it down to the 16 best; {len(SEEDS)} further seeds, which no advice",
        "has seen, give the gains below. The best of 16 on 20 seeds is partly lucky, so regrets are overestimates.",
        "A situation is good if nothing in the grid gains 3 % by the rules of `advise`. Advice and truth are of the same",
        "simulator and the same changes: the page shows the search, not the simulator (`advise --verify` does). The times",
        "are of a machine with other work.",
        "",
        *summary(done),
        "",
        "A pair that gains less than 3 % over one of its parts is not advised, and within 1 % fewer changes come",
        "first: a regret of up to 3 % is the price of fewer changes.",
        "",
        "## Situations",
        "",
        "| | situation | advised | gain | best of the grid | gain | regret | s |",
        "|--:|---|---|--:|---|--:|--:|--:|",
        *(one.row(_percent) for one in done),
        "",
    ]
    return "\n".join(parts)


def main() -> None:
    parser = page_parser("situation", seed=SEED, count=COUNT, minutes=MINUTES)
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    done = {one.number: one for one in (Outcome(**fields) for fields in kept(options.kept))}
    left = (one for one in islice(situations(options.seed), options.count) if one.number not in done)
    for drawn in begun_within(options.minutes, left):
        one = done[drawn.number] = outcome(drawn)
        print(
            f"{one.number} {one.kind}: {one.advised} {_percent(one.gain)}; best {one.best} {_percent(one.best_gain)}; "
            f"{one.advise_s:.0f} s, {one.seconds:.0f} s with the grid",
            file=sys.stderr,
        )
        keep(options.kept, asdict(one))
    if not done:
        parser.error("no situation is done: there is no page")
    text = page([done[number] for number in sorted(done)], options.seed)
    write_page(options.file, text)


if __name__ == "__main__":
    main()
