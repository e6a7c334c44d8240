"""`python -m studies.limits.page [FILE]`: how often the limit that a run reports is its limit, as
Markdown.

`make limits` writes it to docs. With `--seed N` other rows are drawn.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from studies.limits.rows import HOPS, LEAVES, LIMITS, RAISES, Row, drawn, evaluate

SEED = 19
ROWS = 240
EACH = 5
"""Minimum number of rows of each kind of hop and of each limit."""
BATCH = len(HOPS) * len(LIMITS)
MAX_BATCHES = 20
CELL_ROWS = 9
"""Maximum number of rows of one limit on one kind of hop, so that no cell rules the table."""


def table(seed: int, rows: int = ROWS, each: int = EACH) -> tuple[list[Row], int]:
    """Rows with one limit, `each` or more of each kind, and the number of drawn settings."""
    found: list[Row] = []
    cells: Counter[tuple[str, str]] = Counter()
    settings = drawn(seed)
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(MAX_BATCHES):
            batch = [setting for _, _, setting in itertools.islice(settings, BATCH)]
            tried += len(batch)
            for row in evaluate(batch, Path(folder)):
                cell = (row.setting.kind, row.truth or "")
                if row.truth and cells[cell] < CELL_ROWS:
                    cells[cell] += 1
                    found.append(row)
            counts = Counter(part for row in found for part in (row.setting.kind, row.truth))
            if len(found) >= rows and all(counts[part] >= each for part in (*HOPS, *LIMITS)):
                break
    return found, tried


def page(seed: int) -> str:
    """The page."""
    rows, tried = table(seed)
    right = sum(row.right for row in rows)
    about = f"""# The limit of a flow

`simulate` and `compare` report what limits each flow ([limits.py](../python/ackclock/simulation/limits.py)):
`limits` are the shares of the flow's time, `limit` is the kind with the largest share, `why` the
sentence.

| kind | time in which |
|---|---|
| `bottleneck` | a hop in the direction of the data has no free capacity for an RTT (`full_share`) |
| `ack_path` | ACKs wait in a queue: that part of the RTT of a sender that waits for ACKs |
| `receive_window` | the window that the receiver advertises has no room; `cause`: `buffer`, `scaling` (65,535 B), `autotuning` |
| `send_buffer` | the send buffer has no room |
| `cwnd` | the congestion window has no room; `cause`: `overflow` (a queue dropped), `channel`, `mark`, `none` |
| `application` | the sender has no data, or the receiver does not read (`cause`: `reader`) |
| `recovery` | losses are repaired; `cause` as for `cwnd` |
| `pacing` | the pacing rate holds data back |

The sender's own account divides the time in which the bottleneck has free capacity. A reduced cwnd
and the recovery before it have one cause, so their shares count together.

## How often it is right

Written by `make limits` ([rows.py](../studies/limits/rows.py)) with seed {seed}. A row is a run, and
the same run with each limit relaxed: twice the rate of the bottleneck, twenty times that of the ACKs'
direction (not on a medium that both share), buffers without a limit and window scaling, no loss on
the channel, a queue of two and a half RTTs, no marks, unlimited data read at once. A row has a limit
if relaxing that limit alone raises goodput by {RAISES - 1:.0%} or more, and every other one by less
than {LEAVES - 1:.0%}: {len(rows)} of {tried} drawn settings (at most {CELL_ROWS} of a kind). **{right} of
{len(rows)} rows, {right / len(rows):.1%}, name the limit.** Loss recovery counts as the loss that it
follows. No host has a pacing rate of its own, so no row is limited by pacing.
"""
    return "\n".join([about, *_matrix(rows), "", *_wrong(rows), ""])


def _matrix(rows: Sequence[Row]) -> list[str]:
    """Right rows of all rows by limit and kind of hop."""

    def cell(of: Sequence[Row]) -> str:
        return f"{sum(row.right for row in of)}/{len(of)}" if of else "-"

    lines = [f"| limit | {' | '.join(HOPS)} | all |", "|---|" + "--:|" * (len(HOPS) + 1)]
    for limit in LIMITS:
        mine = [row for row in rows if row.truth == limit]
        cells = [cell([row for row in mine if row.setting.kind == kind]) for kind in HOPS]
        lines.append(f"| {limit} | {' | '.join(cells)} | {cell(mine)} |")
    cells = [cell([row for row in rows if row.setting.kind == kind]) for kind in HOPS]
    return [*lines, f"| all | {' | '.join(cells)} | {cell(rows)} |"]


def _wrong(rows: Sequence[Row]) -> list[str]:
    wrong = [row for row in rows if not row.right]
    if not wrong:
        return ["No row names another limit."]
    lines = ["The other rows:", "", "| hop | limit | named | goodput Mb/s | by relaxation |", "|---|---|---|--:|---|"]
    for row in wrong:
        gains = ", ".join(f"{name} {gain:.2f}" for name, gain in row.gains.items() if abs(gain - 1.0) >= 0.01)
        lines.append(f"| {row.setting.kind} | {row.truth} | {row.named} | {row.goodput_bps / 1e6:.2f} | {gains} |")
    return lines


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
