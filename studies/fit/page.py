"""`python -m studies.fit.page [FILE]`: fits to links of known parameters, as Markdown.

`make fit-accuracy` writes it to docs. `--links N` and `--seed N` select other links. `--kept FILE`
keeps each link's outcome: a later call continues, and calls with `--part 1/2` and `--part 2/2`
share the links.
"""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock.documents.fit import FittedParameter
from studies.fit.links import TrueLink, links
from studies.fit.predictions import ONE_END_EVERY, Cell, FittedLink, fitted
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

SEED = 523
COUNT = 40
TARGETS = {"all": (0.05, 0.15, 0.10, 0.25), "below 95 %": (0.08, 0.20, 0.10, 0.25)}
"""Median and 90th percentile of the errors of goodput and of p95 RTT."""


def quantile(values: Iterable[float], q: float) -> float:
    """The nearest rank; NaN without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, int(q * len(ordered) + 0.999999) - 1))] if ordered else float("nan")


def percent(value: float) -> str:
    return "-" if value != value else f"{100 * value:.1f} %"


def prediction_rows(done: Sequence[FittedLink]) -> list[str]:
    """Rows of the table of predictions."""
    rows = []
    cells = [cell for link in done for cell in link.cells]
    one_end = [cell for link in done for cell in link.one_end]
    uploads: dict[bool, list[Cell]] = {True: [], False: []}
    for link in done:
        uploads[link.shows_uplink()] += [cell for cell in link.cells if cell.direction == "up"]
    groups: dict[str, Sequence[Cell]] = {
        "all": cells,
        "below 95 %": [cell for cell in cells if not cell.is_full],
        "upload": [cell for cell in cells if cell.direction == "up"],
        "upload, rate shown": uploads[True],
        "upload, rate assumed": uploads[False],
        "one end": one_end,
        "one end, below 95 %": [cell for cell in one_end if not cell.is_full],
    }
    for name, group in groups.items():
        errors: list[Callable[[Cell], float]] = [
            lambda cell: abs(cell.goodput_error),
            lambda cell: abs(cell.rtt_error),
            lambda cell: abs(cell.naive_goodput_error),
            lambda cell: abs(cell.naive_rtt_error),
        ]
        figures = [percent(quantile(map(error, group), q)) for error in errors for q in (0.5, 0.9)]
        rows.append(f"| {name} | {len(group)} | " + " | ".join(figures) + " |")
    return rows


def coverage_rows(done: Sequence[FittedLink]) -> list[str]:
    """Rows of the table of parameters."""
    rows = []
    for path in sorted({path for link in done for path, *_ in link.coverage()}):
        found = [one for link in done for one in link.coverage() if one[0] == path]
        identified = [(row, truth, covers) for _, row, truth, covers in found if row and row["status"] == "identified"]
        widths = [(row["hi"] - row["lo"]) / 2 / truth for row, truth, _ in identified if truth]
        errors = [abs(row["value"] / truth - 1) for row, truth, _ in identified if truth]
        rows.append(
            f"| `{path}` | {len(found)} | {len(identified)} | {sum(covers for *_, covers in identified)} "
            f"| {percent(quantile(errors, 0.5))} | {percent(quantile(errors, 0.9))} | {percent(quantile(widths, 0.5))} |"
        )
    found = [one for link in done for one in link.coverage()]
    of = [covers for _, row, _, covers in found if row and row["status"] == "identified"]
    rows.append(f"| all | {len(found)} | {len(of)} | {sum(of)} ({percent(sum(of) / max(1, len(of)))}) | | | |")
    return rows


BURST_SPLIT = 50
"""Number of bursts from which on their length has a target."""


def burst_lines(done: Sequence[FittedLink]) -> list[str]:
    """The table of burst lengths, by the number of bursts."""
    groups: dict[bool, list[tuple[FittedParameter, float]]] = {False: [], True: []}
    for link in done:
        row, truth = link.rows().get("loss.down.bad_sojourn"), link.link.truth.get("loss.down.bad_sojourn")
        if row and truth:
            groups[(bursts_of(row) or 0) >= BURST_SPLIT].append((row, truth))
    lines = [
        "## Burst length",
        "",
        "| bursts in the input | links | interval contains it | error, median | half-width, median |",
        "|---|--:|--:|--:|--:|",
    ]
    for is_many, found in groups.items():
        covers = sum(row["lo"] <= truth <= row["hi"] for row, truth in found)
        errors = [abs((row["value"] or (row["lo"] * row["hi"]) ** 0.5) / truth - 1) for row, truth in found]
        widths = [(row["hi"] - row["lo"]) / 2 / truth for row, truth in found]
        name = f"{BURST_SPLIT} or more" if is_many else f"fewer than {BURST_SPLIT}"
        lines.append(
            f"| {name} | {len(found)} | {covers} | {percent(quantile(errors, 0.5))} | {percent(quantile(widths, 0.5))} |"
        )
    text = (
        "Target from 50 bursts on: an error of 25 %, and a half-width of twice that. The mean of n exponential lengths that "
        "are known exactly has a half-width of 1.96 / sqrt(n): 28 % for 50 bursts."
    )
    return [*lines, "", *textwrap.wrap(text, 100), ""]


def bursts_of(row: Mapping[str, Any]) -> int | None:
    """The number of bursts in a row's evidence."""
    found = re.search(r"in (\d+) bursts?", row["evidence"])
    return int(found[1]) if found else None


def misses(done: Sequence[FittedLink]) -> list[str]:
    """A line for each identified interval that does not contain the truth, and each large error."""
    lines = []
    for link in done:
        for path, row, truth, covers in link.coverage():
            if row and row["status"] == "identified" and not covers:
                lines.append(f"- link {link.link.name}: `{path}` {row['lo']:.6g} .. {row['hi']:.6g}, truth {truth:.6g}")
        for cell in link.cells:
            if abs(cell.goodput_error) > TARGETS["all"][1]:
                of = f"{cell.direction} {cell.variant} {cell.buffer}"
                lines.append(f"- link {link.link.name}: goodput of {of} {percent(cell.goodput_error)}")
    return lines


def page(done: Sequence[FittedLink], seed: int, asked: int) -> str:
    """The page; `asked` is the number of links that were to be fitted."""
    kinds = ", ".join(
        f"{sum(link.link.kind == kind for link in done)} {kind}"
        for kind in dict.fromkeys(link.link.kind for link in done)
    )
    parts = [
        "# Fits to links of known parameters",
        "",
        f"Written by `make fit-accuracy` ([links.py](../../studies/fit/links.py)): {len(done)} links of seed {seed} ({kinds}), "
        f"{sum(link.seconds for link in done):.0f} s; the fit alone took {quantile((link.fit_s for link in done), 0.5):.0f} s in "
        f"the median and {max(link.fit_s for link in done):.0f} s at most, beside other work on two cores.",
        "The input of each fit are the captures of both ends of one cubic download of 30 s. Predicted are reno, bbr and",
        "vegas with socket buffers of 64 KiB and automatic ones, and an upload; truth and prediction are means of 10",
        "seeds that the input has not. The naive fit is the mean rate, the minimum RTT and one bandwidth-delay product",
        "of droptail. Links of the kind `other` have cross traffic, handovers, reordering or a token bucket.",
        *([f"These are {len(done)} of {asked} links: the run had a time limit."] if len(done) < asked else []),
        "",
        "## Predictions",
        "",
        "| cells | n | goodput, median | 90 % | p95 RTT, median | 90 % | naive goodput, median | 90 % | naive RTT, median | 90 % |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
        *prediction_rows(done),
        "",
        "`below 95 %`: the truth uses less than 95 % of the bottleneck. `one end`: fits to the capture of the server's",
        f"end alone, of every {ONE_END_EVERY}th link, downloads. Targets: 5 % and 15 % of goodput over all,",
        "8 % and 20 % below 95 %, 10 % and 25 % of p95 RTT; a median of 8 % from one end. A download shows the rate of",
        "the uplink only where ACKs of different lengths differ in delay, as one link: `upload, rate shown`.",
        "",
        "## Parameters",
        "",
        "| path | links | identified | interval contains it | error, median | 90 % | half-width, median |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *coverage_rows(done),
        "",
        "Targets: 90 to 99 % of the intervals contain the truth; half-widths of at most 4 % of a rate, 20 % of a queue.",
        "",
        *burst_lines(done),
        "## Misses",
        "",
        *(misses(done) or ["None."]),
        "",
    ]
    return "\n".join(parts)


def kept_links(file: Path | None, drawn: Mapping[int, TrueLink]) -> dict[int, FittedLink]:
    """The outcomes in a file of JSON lines, by number."""
    done = (FittedLink.restored(fields, drawn) for fields in kept(file))
    return {link.link.number: link for link in done}


def main() -> None:
    parser = page_parser("link", seed=SEED, count=COUNT)
    parser.add_argument("--parameters", action="store_true", help="without predictions")
    parser.add_argument("--part", default="1/1", help="such as 2/3: every third link, from the second one on")
    options = parser.parse_args()
    print(f"seed {options.seed}", file=sys.stderr)
    started = time.monotonic()
    drawn = {link.number: link for link in links(options.count, options.seed)}
    part, parts = map(int, options.part.split("/"))
    own = [link for number, link in drawn.items() if number % parts == part % parts]
    done = kept_links(options.kept, drawn)
    for link in begun_within(options.minutes, (link for link in own if link.number not in done), started):
        with tempfile.TemporaryDirectory() as folder:
            one = done[link.number] = fitted(link, Path(folder) / "run", predict=not options.parameters)
        print(f"link {link.name}: {one.seconds:.0f} s, its fit {one.fit_s:.0f} s", file=sys.stderr)
        keep(options.kept, one.kept())
    # Those that other parts have kept meanwhile.
    done |= kept_links(options.kept, drawn)
    text = page([done[number] for number in sorted(done)], options.seed, options.count)
    write_page(options.file, text)


if __name__ == "__main__":
    main()
