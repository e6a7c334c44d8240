"""`python -m studies.limits.page [FILE]`: how often the limit that a run reports is its limit, as
Markdown.

`make limits` writes it to docs. With `--seed N` other rows are drawn.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from ackclock.limit_words import WORDS
from studies.limits.rows import (
    CELLS,
    HOPS,
    LEAVES,
    LIMITS,
    RAISES,
    CaptureLimit,
    Row,
    captured,
    drawn,
    evaluate,
)

SEED = 19
EACH = 5
"""Minimum number of rows of each cell: a kind of hop with a limit."""
CELL_ROWS = 7
"""Maximum number of rows of a cell, so that no cell rules the table."""
MAX_DRAWS = 40
"""Maximum number of settings that are drawn for a cell."""
SAMPLED_CELLS = 8
"""Cells of a sample that are evaluated at once."""


def table(seed: int) -> tuple[list[Row], int]:
    """Rows with one limit, `EACH` or more of each cell, and the number of drawn settings."""
    found: list[Row] = []
    cells: Counter[tuple[str, str]] = Counter()
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(MAX_DRAWS):
            wanted = [cell for cell in CELLS if cells[cell] < EACH]
            if not wanted:
                break
            tried += len(wanted)
            for row in evaluate([drawn(seed, number, *cell) for cell in wanted], Path(folder)):
                cell = (row.setting.kind, row.truth or "")
                if row.truth and cells[cell] < CELL_ROWS:
                    cells[cell] += 1
                    found.append(row)
    return found, tried


def sample(seed: int, rows: int) -> list[Row]:
    """This number of rows with one limit, from cells in a random order."""
    found: list[Row] = []
    cells = random.Random(seed).sample(CELLS, len(CELLS))
    with tempfile.TemporaryDirectory() as folder:
        for number, first in itertools.product(range(MAX_DRAWS), range(0, len(cells), SAMPLED_CELLS)):
            settings = [drawn(seed, number, *cell) for cell in cells[first : first + SAMPLED_CELLS]]
            found += [row for row in evaluate(settings, Path(folder)) if row.truth]
            if len(found) >= rows:
                break
    return found[:rows]


def of_captures(rows: Sequence[Row]) -> list[CaptureLimit]:
    """What `analyze` reports of each row."""
    with tempfile.TemporaryDirectory() as folder:
        return [captured(row, Path(folder)) for row in rows]


def page(seed: int) -> str:
    """The page."""
    rows, tried = table(seed)
    right = sum(row.right for row in rows)
    captures = of_captures(rows)
    agree = sum(row.right for row in captures)
    kinds = "\n".join(f"| `{kind}` | {words.meaning} |" for kind, words in WORDS.items())
    text = f"""# The limit of a flow

`simulate` and `compare` report what limits each flow ([decision.rs](../../crates/diagnose/src/limit/decision.rs)):
`limits` are the shares of the flow's time, `limit` is the kind with the largest share, `why` the
sentence. `analyze` names limits by the same kinds ([words](../../crates/diagnose/src/limit/kind.rs)).

| kind | time in which |
|---|---|
{kinds}

The sender's own account divides the time in which the bottleneck has free capacity. A reduced cwnd
and the recovery before it have one cause, so their shares count together. A cwnd that was never
reduced grows by a factor in each RTT; if goodput without the ACKs' wait would be a fifth higher, the
path of the ACKs is the limit of the growth.

## How often `simulate` is right

Written by `make limits` ([rows.py](../../studies/limits/rows.py)) with seed {seed}. A row is a run, and
the same run with each limit relaxed: twice the rate of the bottleneck, twenty times that of the ACKs'
direction (not on a medium that both share), twice the buffers, window scaling, no loss on the
channel, a queue of two and a half RTTs, no marks, unlimited data read at once. A row has a limit if
relaxing that limit alone raises goodput by {RAISES - 1:.0%} or more, and every other one by less than {LEAVES - 1:.0%}:
{len(rows)} of {tried} drawn settings. **{right} of {len(rows)} rows, {right / len(rows):.1%}, name the limit.** Loss recovery
counts as the loss that it follows. No host has a pacing rate of its own, so no row is limited by
pacing.
"""
    analyzed = f"""## How often `analyze` is right

The same rows, each with a capture at the sender (of a proxied connection: of the part that the label
belongs to), and `limit` of the direction. One capture does not show where a loss was, so `cwnd` and
`recovery` are right for each of the three causes; nor does it show a queue of ACKs that stands from
the flow's first packet on, which is a part of its minimum RTT. **{agree} of {len(rows)} rows, {agree / len(rows):.1%}, name the limit.**
"""
    parts = [_filled(text), *_matrix(rows), "", *_wrong(rows), "", _filled(analyzed), *_matrix(captures)]
    return "\n".join([*parts, "", *_confused(captures), ""])


def _filled(text: str) -> str:
    """The text with its paragraphs at 100 columns; headings and tables stay."""
    parts = (
        part if part.startswith(("#", "|")) else fill(part, 100, break_on_hyphens=False, break_long_words=False)
        for part in text.rstrip("\n").split("\n\n")
    )
    return "\n\n".join(parts) + "\n"


def _matrix(of: Sequence[Row] | Sequence[CaptureLimit]) -> list[str]:
    """Right rows of all rows by limit and kind of hop."""
    rows = [(one, one.row if isinstance(one, CaptureLimit) else one) for one in of]

    def cell(kind: str | None, limit: str | None) -> str:
        mine = [
            one.right for one, row in rows if kind in (None, row.setting.kind) and limit in (None, row.truth)
        ]  # fmt: skip
        return f"{sum(mine)}/{len(mine)}" if mine else "-"

    lines = [f"| limit | {' | '.join(HOPS)} | all |", "|---|" + "--:|" * (len(HOPS) + 1)]
    lines += [f"| {limit} | {' | '.join(cell(kind, limit) for kind in (*HOPS, None))} |" for limit in LIMITS]
    return [*lines, f"| all | {' | '.join(cell(kind, None) for kind in (*HOPS, None))} |"]


def _wrong(rows: Sequence[Row]) -> list[str]:
    wrong = [row for row in rows if not row.right]
    if not wrong:
        return ["No row names another limit."]
    lines = ["The other rows:", "", "| hop | limit | named | goodput Mb/s | by relaxation |", "|---|---|---|--:|---|"]
    for row in wrong:
        gains = ", ".join(f"{name} {gain:.2f}" for name, gain in row.gains.items() if abs(gain - 1.0) >= 0.01)
        lines.append(f"| {row.setting.kind} | {row.truth} | {row.named} | {row.goodput_bps / 1e6:.2f} | {gains} |")
    return lines


def _confused(captures: Sequence[CaptureLimit]) -> list[str]:
    """The limits that the other rows name, by their own."""
    counts = Counter((one.row.truth, one.kind or "not visible") for one in captures if not one.right)
    if not counts:
        return ["No row names another limit."]
    lines = ["The other rows:", "", "| limit | named | rows |", "|---|---|--:|"]
    return lines + [
        f"| {limit} | {kind} | {count} |" for (limit, kind), count in sorted(counts.items(), key=lambda one: -one[1])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    asked = parser.parse_args()
    text = page(asked.seed)
    if asked.file:
        asked.file.write_text(text, "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
