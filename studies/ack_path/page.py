"""`python -m studies.ack_path.page [FILE]`: the effect of each ACK technique on today's asymmetric
links, as Markdown.

`make ack-path` writes it to docs. Runs are kept in `runs/ack-path`, so that a call that was stopped
goes on.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from ackclock.comparison.asymmetry import asymmetry, implied
from ackclock.documents.simulate import SimulatedFlow
from ackclock.simulation.plan import build_plan
from ackclock.simulation.runner import RunResult
from ackclock.statistics import SAME_WITHIN, interval, paired_p
from studies.ack_path import proxies
from studies.ack_path.runs import LINKS, LOADS, SEEDS, TECHNIQUES, VARIANTS, run, scenario

FOLDER = Path("runs/ack-path")
ABOUT = f"""# ACK techniques on today's links: the runs

Written by `make ack-path` ([runs.py](../../studies/ack_path/runs.py)); the discussion is in
[ack-path.md](../guides/ack-path.md). One download, alone or beside one upload, over packaged links; Linux 6
hosts; seeds {SEEDS[0]} to {SEEDS[-1]}; figures from after the first seconds to the end. Rates in Mb/s with their 95 %
intervals (Student's t over seeds), RTT the download's p95 in ms, ACKs the number that reaches the
server for 100 segments of the download alone. **Bold**: differs from *as it is* with the same seeds
by more than {SAME_WITHIN:.0%} (paired test, p below 0.05, not corrected for the number of rows: one in twenty
may be chance).
"""
HEADINGS = ["", "alone", "RTT", "ACKs", "beside an upload", "RTT", "upload"]


def flow(result: RunResult, name: str) -> SimulatedFlow:
    """A flow's row of a summary."""
    return next(row for row in result.summary["flows"] if row["flow"] == name)


def rates(results: Sequence[RunResult], name: str) -> list[float]:
    return [float(flow(one, name)["goodput_bps"] or 0.0) / 1e6 for one in results]


def shown(values: Sequence[float], base: Sequence[float]) -> str:
    """A mean with half its interval, bold where it differs from the base."""
    found = interval(values)
    digits = 1 if found.mean >= 100 else 2
    text = f"{found.mean:.{digits}f} ± {(found.hi - found.lo) / 2:.{digits}f}"
    reference = sum(base) / len(base)
    differences = [value - other for value, other in zip(values, base, strict=True)]
    differs = reference and abs(found.mean / reference - 1) > SAME_WITHIN and paired_p(differences, reference) < 0.05
    return f"**{text}**" if differs else text


def round_trip(results: Sequence[RunResult]) -> str:
    return f"{interval([float(flow(one, 'download')['rtt_ms']['p95'] or 0.0) for one in results]).mean:.0f}"


def acks(results: Sequence[RunResult]) -> str:
    """Packets that the first hop delivers up, for 100 of the download's segments that come that
    far.
    """
    shares = []
    for one in results:
        first = one.summary["hops"][0]["hop"]
        directions = {row["direction"]: row for row in one.summary["hops"] if row["hop"] == first}
        shares.append(100 * directions["up"]["delivered"] / max(1, directions["down"]["delivered"]))
    return f"{interval(shares).mean:.0f}"


def rows(link: str, variant: str, done: dict[tuple[str, str, str, str], list[RunResult]]) -> Iterator[list[str]]:
    base = {load: done[link, variant, load, "as it is"] for load in LOADS}
    for name in TECHNIQUES:
        alone, beside = (done[link, variant, load, name] for load in LOADS)
        yield [
            name,
            shown(rates(alone, "download"), rates(base["alone"], "download")),
            round_trip(alone),
            acks(alone),
            shown(rates(beside, "download"), rates(base["upload"], "download")),
            round_trip(beside),
            shown(rates(beside, "upload"), rates(base["upload"], "upload")),
        ]


def table(link: str, variant: str, done: dict[tuple[str, str, str, str], list[RunResult]]) -> Iterator[str]:
    yield "| " + " | ".join([variant, *HEADINGS[1:]]) + " |"
    yield "|" + "---|" * len(HEADINGS)
    for row in rows(link, variant, done):
        yield "| " + " | ".join(row) + " |"
    yield ""


def section(link: str, folder: Path) -> Iterator[str]:
    made = scenario(link, VARIANTS[0], LOADS[0], TECHNIQUES["as it is"])
    found = asymmetry(build_plan(made, SEEDS[0]))
    about = f"{made.title}.{f' k = {found.k:.2g}: {implied(found.k)}.' if found else ''}"
    yield f"## {link}\n\n{textwrap.fill(about, 100)}\n"
    done = run([link], folder)
    for variant in VARIANTS:
        yield from table(link, variant, done)


def main() -> int:
    lines = [ABOUT, *(line for link in LINKS for line in section(link, FOLDER)), *proxies.section(FOLDER)]
    text = "\n".join(lines)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
