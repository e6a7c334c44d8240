"""`python -m studies.analyzer.page FILE`: the analyzer's accuracy on simulated captures with ground
truth, as a Markdown page. With `--only PART` one part of it, to standard output: a grid's number (1
to 17), buffers, verdicts, losses or offsets. With `--fresh` grids of a new random seed as well,
which the page names; `--fresh SEED` repeats them.
"""

from __future__ import annotations

import argparse
import secrets
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from studies.analyzer.captures import (
    Case,
    Score,
    explained_timeouts,
    joined,
    missing,
    run,
    scores_at_middle,
    scores_at_receiver,
    scores_at_sender,
)
from studies.analyzer.grids import HELD_OUT, THIRD, TUNED, Grid
from studies.analyzer.host_grid import HostGrid, host_grids
from studies.analyzer.links import lost_by, other_links, plain_links, true_verdicts
from studies.analyzer.loss_links import NEAR, QUEUES, LossLink, LossScore, loss_links, loss_score
from studies.analyzer.random_downloads import Wide

PLACES = ("sender", "middle", "receiver")
TARGET, TARGETS = 0.93, {"sender": 0.99, ("receiver", "fast"): 0.97}
"""Of precision and recall: by capture or by capture and cause, and of the others."""
SPANS = {
    "between the ends": ("server", "client"),
    "before the middle": ("server", "middle"),
    "behind the middle": ("middle", "client"),
}
LOSS_LINKS, LOSS_SEED = 104, 5
"""Number of links with losses, and their fixed seed."""
_COMMON = 30
"""Minimum count of a cause in a grid for which precision and recall have a target."""


KNOWN = (
    "Capture not at the sender: a timeout at the moment when an ACK reaches the sender looks like "
    "a retransmission that the ACK triggers, and the go-back-N after it like a recovery (bbr, 8 "
    "Mb/s, `doubled`; windows-xp's timer, which partial ACKs do not restart).",
    "Capture not at the sender: if a timeout's first copies were all lost, the last segments of a "
    "window arrive like new data after a pause. The number of segments lost with them is inferred "
    "from gaps in the IP ID only, minus those that earlier holes explain, and not on paths that "
    "lose or reorder several per cent.",
    "Capture not at the sender: on RTTs of few milliseconds the wait for the bottleneck is many "
    "times the minimum RTT; without timestamps that wait is classified as silence of the sender.",
    "The senders ns2 and bsd-1997 do not respond to a timestamp that shows a timeout to be "
    "spurious. At the sender that is visible at once; elsewhere the segments after the timeout "
    "may be classified as a recovery.",
    "A queue that drops at its front, or an AQM, drops at any length; if it does so a few times "
    "only, the losses look like a link's losses before the bottleneck.",
)
"""Known causes of misses, from an examination of packets."""


def _fresh_grids(seed: int) -> list[Grid | Wide | HostGrid]:
    return [
        Wide(f"fresh, seed {seed}, run once", 300, seed),
        *host_grids(f"fresh hosts, seed {seed}, run once", 100, seed),
    ]


GRIDS: tuple[Grid | Wide | HostGrid, ...] = (
    TUNED,
    HELD_OUT,
    THIRD,
    Wide("random, seed 1, examined", 200, 1),
    Wide("random, seed 2, examined", 400, 2),
    Wide("random, seed 301, examined later", 300, 301),
    Wide("random, seed 302, examined later", 300, 302),
    Wide("random, seed 401, one run examined", 300, 401),
    Wide("random, seed 402, run before the last rule", 300, 402),
    Wide("random, seed 501, run once", 300, 501),
    Wide("random, seed 502, run once", 300, 502),
    *host_grids("hosts, seed 601", 100, 601),
)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m studies.analyzer.page")
    parser.add_argument("file", nargs="?", type=Path, help="default: standard output")
    parser.add_argument("--only", metavar="PART")
    parser.add_argument("--fresh", type=int, nargs="?", const=secrets.randbelow(1_000_000), metavar="SEED")
    options = parser.parse_args(arguments)
    fresh = [] if options.fresh is None else _fresh_grids(options.fresh)
    if fresh:
        print(f"fresh grids: seed {options.fresh}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as top:
        parts = _parts(Path(top), fresh, options.fresh)
        names = [options.only] if options.only else list(parts)
        lines = [line for name in names for line in parts[name]()]
    if not options.only:
        lines = [*_head(), *lines, "## Known causes of misses", "", *(f"- {line}" for line in KNOWN)]
    text = "\n".join(map(_wrapped, lines)) + "\n"
    options.file.write_text(text, "utf-8") if options.file and not options.only else print(text)
    return 0


def _wrapped(line: str) -> str:
    """A line of prose or a list item, wrapped at 100 columns; tables and headings unchanged."""
    if line.startswith(("|", "#")):
        return line
    indent = "  " if line.startswith("- ") else ""
    return textwrap.fill(line, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _parts(
    folder: Path, fresh: Sequence[Grid | Wide | HostGrid], seed: int | None
) -> dict[str, Callable[[], list[str]]]:
    """The parts of the page, in order."""
    grids = {str(number): partial(_grid, grid, folder) for number, grid in enumerate((*GRIDS, *fresh), 1)}
    seeds = [LOSS_SEED] if seed is None else [LOSS_SEED, seed]
    rest = (
        ("buffers", _buffers),
        ("verdicts", _verdicts),
        ("losses", partial(_losses, seeds=seeds)),
        ("offsets", _offsets),
    )
    return {**grids, **{name: partial(part, folder / name) for name, part in rest}}


def _head() -> list[str]:
    return [
        "# Accuracy of `ackclock analyze`",
        "",
        "Written by `make analyze-accuracy`. The captures are the simulator's, whose record has "
        "the cause of each retransmission, the lost packets and the size of each buffer. The "
        "analyzer reads only the packets.",
        "",
        "The kinds of retransmission are the Linux kernel's. `timeout` is the segment sent when a "
        "retransmission timer expires (TCPTimeouts). `go_back_n` are the retransmissions from "
        "then until the highest sequence number sent before is acknowledged, or the timeout is "
        "undone (TCPSlowStartRetrans, the state CA_Loss). `fast` is every other retransmission "
        "that ACKs or time trigger (TCPFastRetrans; RACK's among them). At the receiver a "
        "retransmission is classified on arrival, whether or not an earlier copy arrived.",
        "",
        "The rules were developed on the first grid. The second and the third, of later date, "
        "have other hosts, links, losses and seeds; single runs of both were examined afterwards, "
        "and of five random grids as well. The last two random grids, with other seeds, were run "
        "once, after the last change of the rules.",
        "",
        "Each run has a third capture between the ends, at a quarter, half or three quarters of "
        "the delay. Losses and other impairments are behind it, seen from the sender, in a third "
        "of the runs, before it in a third, and half on each side in a third.",
        "",
        "The hosts' grids draw the same downloads six times: with captures of segments; with "
        "those of hosts with GSO, TSO and GRO at the sender, at the receiver and at both "
        "([offloads](../models/offloads.md)); and with offloads at both ends and packets captured in "
        "swapped order, or with late timestamps. Some have 20 flows in one capture.",
        "",
    ]


@dataclass
class Tallied:
    """Scores of one run or many by capture; and, by span: packets lost, detected as lost, and the
    sum of the runs' differences. `explained`: timeouts at the sender's end with an ACK that
    explains them, and how many of them are true.
    """

    at: dict[str, dict[str, Score]] = field(default_factory=lambda: {place: {} for place in PLACES})
    placed: dict[str, list[int]] = field(default_factory=lambda: {span: [0, 0, 0] for span in SPANS})
    explained: tuple[int, int] = (0, 0)

    def add(self, other: Tallied) -> None:
        for place, scores in other.at.items():
            for cause, more in scores.items():
                score = self.at[place].setdefault(cause, Score())
                score.right, score.wrong, score.missed = (
                    score.right + more.right,
                    score.wrong + more.wrong,
                    score.missed + more.missed,
                )
        self.explained = (self.explained[0] + other.explained[0], self.explained[1] + other.explained[1])
        for span, more_placed in other.placed.items():
            self.placed[span] = [a + b for a, b in zip(self.placed[span], more_placed, strict=True)]


def _grid(grid: Grid | Wide | HostGrid, folder: Path) -> list[str]:
    all_runs = Tallied()
    with ProcessPoolExecutor() as pool:
        for done in pool.map(_one, _jobs(grid, folder / grid.title), chunksize=4):
            all_runs.add(done)
    return [
        f"## Causes and losses: {grid.title}",
        "",
        grid.described,
        "",
        *_causes(all_runs.at),
        *_explained(all_runs.explained),
        *_lost(all_runs.placed),
    ]


def _jobs(grid: Grid | Wide | HostGrid, folder: Path) -> Iterator[tuple[str, Case, Path]]:
    for number, (name, case) in enumerate(grid.cases()):
        yield name, case, folder / str(number)


def _one(job: tuple[str, Case, Path]) -> Tallied:
    name, case, place = job
    run(case, place)
    found = Tallied()
    scores_at_sender(place, found.at["sender"])
    found.explained = explained_timeouts(place)
    scores_at_middle(place, found.at["middle"])
    scores_at_receiver(place, found.at["receiver"])
    for span, (near, far) in SPANS.items():
        true = len(missing(place, near, far))
        flows = joined(place, near, far).document["flows"]
        detected = sum(flow["b2a"].get("lost", {}).get("between_captures", 0) for flow in flows)
        found.placed[span] = [true, detected, abs(true - detected)]
    shutil.rmtree(place)
    sys.stderr.write(f"{name}\n")
    return found


def _rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _causes(at: dict[str, dict[str, Score]]) -> list[str]:
    lines = ["| capture at the | cause | occurs | precision | recall | target |", "|---|---|---:|---:|---:|---|"]
    for end, scores in at.items():
        for cause, score in sorted(scores.items(), key=lambda item: -(item[1].right + item[1].missed)):
            occurs = score.right + score.missed
            target = "rare" if occurs < _COMMON else _met(score, TARGETS.get((end, cause), TARGETS.get(end, TARGET)))
            lines.append(
                f"| {end} | {cause} | {occurs} | {_rate(score.precision)} | {_rate(score.recall)} | {target} |"
            )
    return [*lines, ""]


def _met(score: Score, target: float) -> str:
    worst = min(score.precision or 0.0, score.recall or 0.0)
    return f"{target} met" if worst >= target else f"{target} **missed**"


def _explained(explained: tuple[int, int]) -> list[str]:
    reported, true = explained
    return [
        "Timeouts at the sender's end within 1 ms of an ACK that advances, reports new data by SACK or is "
        f"the third duplicate: {reported}, of which {true} are true and expired at that moment.",
        "",
    ]


def _lost(placed: dict[str, list[int]]) -> list[str]:
    counts = "; ".join(
        f"{span} {true}, detected {detected}, wrong {wrong}" for span, (true, detected, wrong) in placed.items()
    )
    return [f"Packets lost, by pairs of captures (wrong: sum of the differences of all runs): {counts}.", ""]


def _buffers(folder: Path) -> list[str]:
    """A droptail queue in bytes, filled by one flow, from 10 KB to 2 MB."""
    lines = [
        "## The bottleneck's buffer",
        "",
        "| buffer | link | minimum | maximum | within max(10 %, packet) |",
        "|---:|---|---:|---:|---|",
    ]
    frame, hits, number = 1500.0, 0, 0
    for size, (speed, delay) in product(
        (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000), (("2 Mb/s", "20 ms"), ("10 Mb/s", "40 ms"))
    ):
        hop = {"name": "air", "rate": speed, "delay": delay, "queue": {"kind": "droptail", "bytes": f"{size} B"}}
        run(Case(hop, {"host": "linux-6", "variant": "cubic"}, "30 s"), folder / str(number))
        (flow,) = joined(folder / str(number)).document["flows"]
        found = flow["b2a"]["bottleneck_buffer_bytes"]
        best = found["max_based"]
        good = best is not None and abs(best - size) <= max(0.1 * size, frame)
        hits, number = hits + good, number + 1
        bounds = [f"{found[key]:.0f}" if found[key] else "-" for key in ("min_based", "max_based")]
        lines.append(
            f"| {size} | {speed}, {delay} | {bounds[0]} | {bounds[1]} | "
            f"{'yes' if good else '**no**' if found['filled'] else '**no**, not filled'} |"
        )
    return [*lines, "", f"{hits} of {number} within.", ""]


def _verdicts(folder: Path) -> list[str]:
    """Links of one kind used in development, the same kind with other random draws, and links of
    all kinds.
    """
    lines = ["## Congestion or radio", ""]
    for number, (title, cases) in enumerate(_links()):
        jobs = [(case, folder / f"{number}-{at}") for at, case in enumerate(cases)]
        with ProcessPoolExecutor() as pool:
            results = [fault for fault in pool.map(_verdict, jobs, chunksize=4) if fault is not None]
        wrong = [fault for fault in results if fault]
        lines += [f"{title}: {len(results) - len(wrong)} of {len(results)} verdicts right (target 95 in 100).", ""]
        lines += [*(f"- {case}" for case in wrong), *([""] if wrong else [])]
    return lines


def _verdict(job: tuple[Case, Path]) -> str | None:
    """Description of a wrong verdict; empty if it is right, None if no packet was lost."""
    case, place = job
    right = true_verdicts(summary := run(case, place))
    (flow,) = joined(place).document["flows"]
    shutil.rmtree(place)
    if "loss_cause" not in flow["b2a"] or not flow["b2a"]["lost"]["between_captures"]:
        return None
    cause = flow["b2a"]["loss_cause"]
    if cause["verdict"] in right:
        return ""
    queue, radio = lost_by(summary)
    return (
        f"{_described(case)}: {cause['verdict']}; truth: {queue} by the queue, {radio} by a link ({cause['evidence']})"
    )


def _losses(folder: Path, seeds: Sequence[int]) -> list[str]:
    """Losses on links with every kind of queue, of a fixed seed and of a new one."""
    lines = [
        "## Share of random losses",
        "",
        f"Links drawn at random: {', '.join(QUEUES)} queues; no trouble, random loss, bursts, an outage or stalls; one "
        "flow or up to 20; captures with and without offloads. Two captures are joined. The truth is the simulator's "
        f"record of each drop. A link is right if the share of losses outside the queue is within {NEAR:g} and the "
        "verdict follows from the true share; links that lose fewer than 8 packets are not judged.",
        "",
    ]
    for seed in seeds:
        jobs = [(link, folder / f"{seed}-{number}") for number, link in enumerate(loss_links(LOSS_LINKS, seed))]
        with ProcessPoolExecutor() as pool:
            results = [result for result in pool.map(_loss_score, jobs, chunksize=4) if result is not None]
        right, verdicts = sum(result.is_right for result in results), sum(result.is_verdict_right for result in results)
        count = len(results)
        lines += [
            f"Seed {seed}: {right} of {count} links right, {verdicts} of {count} verdicts right (target 97 in 100).",
            "",
            *(_described_loss(result) for result in results if not result.is_right),
            "",
        ]
    return lines


def _loss_score(job: tuple[LossLink, Path]) -> LossScore | None:
    link, place = job
    result = loss_score(link, place)
    shutil.rmtree(place)
    return result


def _described_loss(result: LossScore) -> str:
    found = "-" if result.found_share is None else f"{result.found_share:.2f}"
    return f"- {result.name}: {found}; truth: {result.share:.2f} of {result.lost} ({result.evidence})"


def _links() -> list[tuple[str, Iterable[Case]]]:
    return [
        ("One droptail hop, the links of the development of the rules", plain_links(100)),
        ("One droptail hop, held-out links", plain_links(100, 7)),
        ("All kinds, the links of the development of the rules", other_links(150, 1)),
        ("All kinds, links of another seed, examined later", other_links(200, 9)),
        ("All kinds, links of a new seed", other_links(200, 23)),
    ]


def _described(case: Case) -> str:
    hops = (case.hop, *case.beyond)
    (queue,) = [hop["queue"] for hop in hops if "queue" in hop]
    held = ", ".join(str(value) for value in queue.values())
    lossy = "".join(f", {hop['name']} loses" for hop in hops if "loss" in hop)
    return (
        f"{', '.join(hop['rate'] for hop in hops)}, {held}{lossy}, "
        f"{' '.join(str(case.tcp[key]) for key in ('host', 'variant'))}"
    )


def _offsets(folder: Path) -> list[str]:
    """Clocks are the simulator's, so the true offset is 0 for any delays of the two directions."""
    lines = [
        "## Clock offset with unequal delays",
        "",
        "| down | up | interval, ms | covers 0 | skew, ppm |",
        "|---|---|---|---|---:|",
    ]
    for number, (down, up) in enumerate(
        (("11 ms", "76 ms"), ("76 ms", "11 ms"), ("40 ms", "40 ms"), ("5 ms", "150 ms"))
    ):
        hop = {
            "name": "air",
            "rate": "5 Mb/s",
            "delay": {"down": down, "up": up},
            "queue": {"kind": "droptail", "packets": 60},
        }
        run(Case(hop, {"host": "linux-6", "variant": "cubic"}), folder / str(number))
        clock = joined(folder / str(number)).document["clock"]
        low, high = clock["offset_interval_ms"]
        lines.append(
            f"| {down} | {up} | {low:.3f} to {high:.3f} | {'yes' if low <= 0 <= high else '**no**'} "
            f"| {clock['skew_ppm']:.2f} |"
        )
    return [*lines, ""]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
