"""`python -m studies.advise.verification [FILE]`: advices beside the gain of the running kernel,
with its TCP over the emulated link, as Markdown.

`make advise-verify` writes it to docs. With `--kept FILE` a later call continues, and does again
what was not concluded. `--minutes M`, `--seed N` and `--count N` select others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import median

import ackclock
from ackclock.advice.tables import gain_text
from studies.advise.situations import Drawn, situations
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

SEED = 90127
COUNT = 20
MINUTES = 25.0
TARGET = 18


@dataclass(frozen=True)
class Verified:
    """An advice and its verification.

    Attributes:
        number, kind: the situation's.
        label: what was verified; empty where nothing is advised.
        lo, hi: the prediction interval of one run's gain, as ratios; None without a conclusion.
        measured: the kernel's gain as a ratio; None without a conclusion.
        within: whether it is in the interval; None without a conclusion.
        text: the sentence of `advise --verify`.
    """

    number: int
    kind: str
    label: str
    lo: float | None
    hi: float | None
    measured: float | None
    within: bool | None
    text: str


def drawn(seed: int) -> Iterator[Drawn]:
    """The situations of one bulk transfer that are not drawn to be good."""
    return (one for one in situations(seed) if one.kind not in ("good", "upload beside it"))


def verified(one: Drawn) -> Verified:
    """The advice for a situation, with the kernel's word."""
    document = ackclock.advise(one.data, workers=1, verify=True).document
    found = document.get("verification")
    if not found:
        return Verified(one.number, one.kind, "", None, None, None, None, document["verdict"])
    row = next(row for row in document["advice"] if row["label"] == found["label"])
    interval = row["gain"]["one_run"]
    gain = found["gain"]["measured"] if found["concluded"] else None
    return Verified(
        one.number,
        one.kind,
        row["label"],
        interval["lo"] if found["concluded"] else None,
        interval["hi"] if found["concluded"] else None,
        gain,
        found.get("agrees"),
        found["text"],
    )


def _median_width(concluded: Sequence[Verified]) -> str:
    widths = [one.hi / one.lo for one in concluded if one.lo and one.hi]
    return f"{median(widths):.2f}" if widths else "-"


def page(done: Sequence[Verified], seed: int) -> str:
    """The page."""
    concluded = [one for one in done if one.within is not None]
    inside = sum(bool(one.within) for one in concluded)
    parts = [
        "# Advices beside the kernel's TCP",
        "",
        "Written by `make advise-verify` ([verification.py](../../studies/advise/verification.py)): the first",
        f"{len(done)} situations of seed {seed} with one bulk transfer that are not drawn to be good",
        "([situations.py](../../studies/advise/situations.py)). Each is advised about for the goal `balanced` of",
        "all who may act; then `--verify` runs the situation as it is and the advice, each once, with the",
        "running kernel's TCP over the emulated link. The gain is the ratio of the two scores; the interval",
        "is the prediction interval of one run's gain: wide where packets of the sparse flow are lost, since",
        "their timeouts are 1, 3, 7 or 15 s. Both ends have real-time priority, as an end that wakes late on a",
        "machine with other work sends and ACKs late, which the emulation's audit does not see.",
        "",
        "| figure | measured | target |",
        "|---|--:|--:|",
        f"| gains of the kernel within their interval | {inside} of {len(concluded)} | {TARGET} of {COUNT} |",
        f"| median interval, upper end over lower | {_median_width(concluded)} | |",
        f"| verifications without a conclusion | {len(done) - len(concluded)} | |",
        "",
        "| | situation | verified | interval | kernel | |",
        "|--:|---|---|---|--:|---|",
    ]
    for one in done:
        row = [str(one.number), one.kind]
        if one.measured is None or one.lo is None or one.hi is None:
            row += [one.label or "as it is", "", "", one.text]
        else:
            verdict = "within" if one.within else "outside"
            row += [one.label, f"{gain_text(one.lo)} .. {gain_text(one.hi)}", gain_text(one.measured), verdict]
        parts.append(f"| {' | '.join(row)} |")
    return "\n".join([*parts, ""])


def main() -> None:
    parser = page_parser("situation", seed=SEED, count=COUNT, minutes=MINUTES)
    options = parser.parse_args()
    # One that a busy machine left without a conclusion is done again.
    done = {one.number: one for one in (Verified(**fields) for fields in kept(options.kept)) if one.within is not None}
    left = (one for one in islice(drawn(options.seed), options.count) if one.number not in done)
    for situation in begun_within(options.minutes, left):
        found = done[situation.number] = verified(situation)
        print(f"{found.number} {found.kind}: {found.text}", file=sys.stderr, flush=True)
        keep(options.kept, asdict(found))
    if not done:
        parser.error("no situation is done: there is no page")
    text = page([done[number] for number in sorted(done)], options.seed)
    write_page(options.file, text)


if __name__ == "__main__":
    main()
