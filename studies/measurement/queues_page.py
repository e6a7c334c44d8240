"""Writes docs/evidence/measure-queues.md: what ``measure`` states about links drawn from a seed.

`python -m studies.measurement.queues_page [FILE] [SEED [COUNT]]`
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from studies.measurement.drawn_links import FALSE, RIGHT, UNKNOWN, DrawnLink, draw, draw_bursts, score, scored, totals

SEED, COUNT, BURSTS = 501, 126, 48
ABOUT = """# What `measure` states about queues

Written on {date} by `make measure-accuracy`: the streams of the tests `delay`, `capacity` and
`latency` (10 s each, direction down) over {count} simulated links, drawn from seed {seed}. The rates
are 0.8 to 50 Mb/s, fixed or recorded; the queues are droptail (30 to 400 ms), FQ-CoDel, CAKE, CoDel,
PIE, DualPI2 and RED with their defaults; jitter is absent, normal, uniform, exponential or out of
order; 30 % of the links lose 0.3 to 2 % after the queue. The simulation has no error of clocks or
timers.

A statement is right, false or unknown. `kind`: the queue's kind; `aqm` counts as unknown. `buffer`:
within 10 % or a packet of a droptail queue's limit with the packet in transmission, and none for
another queue. `losses`: `overflow`, `aqm` or `both`. `wanders`: whether the rate is a recorded one.
`capacity`: within 2 % of a fixed rate. `token bucket`: none is stated, as no link has one; `stalls`:
the same. The targets are at most one false statement in 30 and at most
a third unknown.
"""


ABOUT_BURSTS = """
## Token buckets and pauses

{count} links of 1 to 32 Mb/s with droptail queues of 0.3 to 0.6 s. Half have a token bucket of 0.1 to
1 s of the rate, in front of a medium that is 6 to 20 times faster: `token bucket` is right within
15 % of its depth or four packets. The other half pause for 60 to 250 ms every 2 to 5 s: `stalls` is
right if the longest is within 10 % or 5 ms.
"""
Rows = list[tuple[DrawnLink, dict[str, str], str]]


def _rows(links: Iterable[DrawnLink]) -> Rows:
    rows: Rows = []
    for drawn, found in scored(links):
        size = "" if found["buffer_bytes"] is None else f", {found['buffer_bytes'] / 1e3:.0f} kB"
        more = "" if found["token_bucket"] is None else f", bucket {found['token_bucket']['burst_bytes'] / 1e3:.0f} kB"
        more += (
            ""
            if found["stalls"] is None
            else f", {found['stalls']['count']} stalls of at most {found['stalls']['longest_ms']:.0f} ms"
        )
        rows.append((drawn, score(drawn, found), f"{found['kind']}, {found['losses']}{size}{more}: {found['because']}"))
    return rows


def _statements(rows: Rows) -> Iterator[str]:
    yield "| statement | right | false | unknown | of | holds |"
    yield "|---|---|---|---|---|---|"
    total: Counter[str] = Counter()
    for name, counts in totals([verdicts for _, verdicts, _ in rows]).items():
        yield _row(name, counts)
        total += counts
    yield _row("all", total)


def _false(rows: Rows) -> Iterator[str]:
    wrong = [
        (drawn, [name for name, verdict in verdicts.items() if verdict == FALSE], stated)
        for drawn, verdicts, stated in rows
    ]
    if not any(names for _, names, _ in wrong):
        yield "\nNo statement is false."
        return
    yield "\nLinks with a false statement:\n\n| link | false | stated |\n|---|---|---|"
    for drawn, names, stated in wrong:
        if names:
            yield f"| {drawn.name} | {', '.join(names)} | {stated} |"


def lines(seed: int = SEED, count: int = COUNT) -> Iterator[str]:
    """The lines of the page."""
    with tempfile.TemporaryDirectory() as folder:
        rows = _rows(draw(seed, count, Path(folder)))
        bursts = _rows(draw_bursts(seed, BURSTS, Path(folder)))
    yield ABOUT.format(date=datetime.now(UTC).date(), seed=seed, count=count)
    yield from _statements(rows)
    yield "\n| queue | links | kind right | false | unknown |\n|---|---|---|---|---|"
    for queue in dict.fromkeys(drawn.queue for drawn, _, _ in rows):
        counts = Counter(verdicts["kind"] for drawn, verdicts, _ in rows if drawn.queue == queue)
        yield f"| {queue} | {counts.total()} | {counts[RIGHT]} | {counts[FALSE]} | {counts[UNKNOWN]} |"
    yield from _false(rows)
    yield ABOUT_BURSTS.format(count=BURSTS)
    yield from _statements(bursts)
    yield from _false(bursts)


def _row(name: str, counts: Counter[str]) -> str:
    count = counts.total()
    holds = 30 * counts[FALSE] <= count and 3 * counts[UNKNOWN] <= count
    figures = f"{counts[RIGHT]} | {counts[FALSE]} | {counts[UNKNOWN]} | {count}"
    return f"| {name} | {figures} | {'yes' if holds else '**no**'} |"


def main() -> int:
    """Print the page, and write it to a file if one is named."""
    numbers = [int(one) for one in sys.argv[2:4]]
    made = list(lines(*numbers))
    print("\n".join(made))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text("\n".join(made) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
