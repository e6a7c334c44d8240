"""How often each finding of `analyze` is right: shown where it is true, silent in the nearest case.

`python -m studies.findings.page [FILE] [--kept FILE] [--minutes N] [--only FINDING] [--side SIDE]`

By the kernel's sockets in namespaces (`situations.py`) each finding is true ten times and false ten
times, half of them over drawn paths with other offloads, snapshot lengths and a download beside;
by simulated captures (`simulated_side.py`) thirty times each. Public questions about captures have
their answers (`questions.py`). `make host-findings` writes the page. Outcomes are kept: a later
call continues.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from ackclock.errors import AckclockError
from studies.analyzer.host_namespaces import enter_user_namespace
from studies.findings import kernel_side, questions, simulated_side, situations
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page

Side = Literal["kernel", "simulated", "account", "question"]
SIDES: tuple[Side, ...] = ("kernel", "simulated", "account", "question")
"""`account`: the shares of limits beside the kernel's own; `question`: public ones, one by one."""
COUNT: Mapping[Side, int] = {"kernel": 10, "simulated": 30, "account": 4}
TARGET = 0.95
ACCOUNTED = ("zero_window_stall", "receive_window", "loss_radio", "loss_congestion", "policer")
"""Findings whose first true situation, a download, is compared with the kernel's account."""
OF_ALL = (
    "capture_drops",
    "clock_steps",
    "connection_unanswered",
    "handshake_loss",
    "loss_congestion",
    "loss_radio",
    "nat_both_sides",
    "one_direction",
    "path_mtu",
    "policer",
    "reordering",
    "upload_slows_download",
    "window_scaling_stripped",
)
"""Findings whose situation, of the capture or of the path, holds for the download beside, too."""
TOLERANCE = 0.1
"""Of a share of the time."""


T = TypeVar("T")
Situations = Mapping[str, tuple[Sequence[T], Sequence[T]]]
"""By finding: the situations in which it is true, and those in which it is not."""


@dataclass(frozen=True)
class Task:
    """The run of this number of a situation of a finding."""

    side: Side
    finding: str
    holds: bool
    number: int
    seed: int

    def situation(self, of: Situations[T], position: int) -> T:
        """The one at a position, from the first again after the last."""
        cases = of[self.finding][0 if self.holds else 1]
        return cases[position % len(cases)]

    def observe(self) -> dict[str, Any]:
        """Run it. Return its outcome."""
        if self.side == "simulated":
            simulated = self.situation(simulated_side.SITUATIONS, self.number)
            seed = f"{self.seed} {self.finding} {self.holds} {self.number}"
            return self._outcome(simulated.title, simulated_side.observe(simulated, seed))
        if self.side == "question":
            answer = questions.asked(questions.QUESTIONS[self.number])
            given = {} if answer is None else asdict(answer)
            return {**asdict(self), "title": self.finding, **given}
        conditions = situations.drawn_conditions(self.finding, self.holds, self.number, self.seed)
        if self.side == "account":
            situation = self.situation(situations.SITUATIONS, 0)
            shares = kernel_side.account(situation, conditions)
            return {**asdict(self), "title": situation.title, **asdict(shares)}
        # Both kinds of conditions for each situation.
        situation = self.situation(situations.SITUATIONS, self.number // 2)
        found = kernel_side.observe(situation, conditions)
        return self._outcome(situation.title, found.own, found.beside)

    def _outcome(self, title: str, own: Iterable[str], beside: Iterable[str] = ()) -> dict[str, Any]:
        return {**asdict(self), "title": title, "found": sorted(own), "beside": sorted(beside)}


SITUATIONS: Mapping[Side, Situations[situations.Situation] | Situations[simulated_side.Simulated]] = {
    "kernel": situations.SITUATIONS,
    "simulated": simulated_side.SITUATIONS,
}
SCORED: tuple[Side, ...] = ("kernel", "simulated")


def tasks(sides: Sequence[Side], only: Sequence[str], seed: int, count: int) -> Iterator[Task]:
    """All runs: of each finding the true and the false ones in turn."""
    for side in sides:
        if side == "question":
            yield from (Task(side, one.source, True, n, seed) for n, one in enumerate(questions.QUESTIONS))
            continue
        if side == "account":
            yield from (Task(side, name, True, n, seed) for name in ACCOUNTED for n in range(count or COUNT[side]))
            continue
        for number in range(count or COUNT[side]):
            for finding in SITUATIONS[side]:
                if not only or finding in only:
                    for holds in (True, False):
                        yield Task(side, finding, holds, number, seed)


def _key(outcome: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(outcome[name] for name in ("side", "finding", "holds", "number", "seed"))


@dataclass
class Score:
    """Of one finding on one side: right, missed, wrong and silent, and which situations failed."""

    right: int = 0
    missed: int = 0
    wrong: int = 0
    silent: int = 0

    @property
    def precision(self) -> float | None:
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None

    @property
    def recall(self) -> float | None:
        return self.right / (self.right + self.missed) if self.right + self.missed else None


def score(outcomes: Sequence[Mapping[str, Any]], side: str, finding: str) -> tuple[Score, Counter[str]]:
    """The score, and by situation how often it failed. One of the download beside is wrong."""
    result, failed = Score(), Counter[str]()
    for outcome in outcomes:
        if outcome["side"] != side or outcome["finding"] != finding:
            continue
        shown, holds = finding in outcome["found"], outcome["holds"]
        beside = finding in outcome["beside"] and not (holds and finding in OF_ALL)
        result.right += holds and shown
        result.missed += holds and not shown
        result.wrong += (not holds and shown) or beside
        result.silent += not holds and not shown
        if shown != holds or beside:
            failed[("" if holds else "silent: ") + outcome["title"] + (" (the download beside)" if beside else "")] += 1
    return result, failed


def page(outcomes: Sequence[Mapping[str, Any]], seed: int, missing: int) -> str:
    """The page's text."""
    lines = [
        "# How often each finding is right",
        "",
        f"Made by `make host-findings`, seed {seed}. Each finding is looked for where it is true, and in the",
        "nearest situations in which it is not: by the kernel's sockets in network namespaces (what is true",
        "follows from what the programs and the path do), ten times each, half of them over a round trip of",
        "20 ms at 20 Mb/s, half over drawn paths with offloads on or off, 96 to 65,535 captured bytes and, in",
        "every second, a download beside; and by simulated captures, thirty times each. Precision is the share",
        "of right ones among those that are shown; recall the share of those shown among the true.",
        f"The target of both is {TARGET:g}. {f'{missing} runs are not made yet.' if missing else ''}".rstrip(),
        "",
        "| finding | side | shown, true | missed | shown, not true | silent | precision | recall |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    failures: list[str] = []
    for finding in sorted({outcome["finding"] for outcome in outcomes if outcome["side"] in SCORED}):
        for side in SCORED:
            result, failed = score(outcomes, side, finding)
            if not result.right + result.missed + result.wrong + result.silent:
                continue
            figures = (result.right, result.missed, result.wrong, result.silent)
            lines.append(
                f"| `{finding}` | {side} | {' | '.join(map(str, figures))} | {_share(result.precision)} | {_share(result.recall)} |"
            )
            failures += [f"- `{finding}`, {side}, {title}: {count}" for title, count in failed.items()]
    lines += accounts([outcome for outcome in outcomes if outcome["side"] == "account"])
    lines += answers([outcome for outcome in outcomes if outcome["side"] == "question"])
    lines += ["", "## Where it fails", "", *(failures or ["Nowhere."]), "", "## What is run", ""]
    for finding in sorted({*SITUATIONS["kernel"], *SITUATIONS["simulated"]}):
        for side in SCORED:
            if finding in SITUATIONS[side]:
                true, false = ([one.title for one in part] for part in SITUATIONS[side][finding])
                lines.append(f"- `{finding}`, {side}. True: {'; '.join(true)}. Not: {'; '.join(false)}.")
    return "\n".join(lines) + "\n"


def accounts(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The limits of downloads beside the kernel's account of them."""
    if not outcomes:
        return []
    lines = [
        "",
        "## Limits beside the kernel's account",
        "",
        "The share of a download's time in which the receive window or the send buffer limited it: by the sender's",
        "kernel (`tcpi_rwnd_limited`, `tcpi_sndbuf_limited`) and by `analyze` of its capture. **Bold**: they differ by",
        f"more than {TOLERANCE:g}.",
        "",
        "| download | receive window, kernel | `analyze` | send buffer, kernel | `analyze` |",
        "|---|---:|---:|---:|---:|",
    ]
    agreeing = 0
    for outcome in outcomes:
        cells, agrees = [], True
        for name in kernel_side.ACCOUNTED:
            kernel, analyzer = outcome["kernel"][name], outcome["analyzer"][name]
            near = abs(kernel - analyzer) <= TOLERANCE
            agrees = agrees and near
            cells += [f"{kernel:.2f}", f"{analyzer:.2f}" if near else f"**{analyzer:.2f}**"]
        agreeing += agrees
        lines.append(f"| {outcome['title']} | {' | '.join(cells)} |")
    return [*lines, "", f"{agreeing} of {len(outcomes)} agree."]


def answers(outcomes: Sequence[Mapping[str, Any]]) -> list[str]:
    """The public questions with what is said to a customer."""
    known = {one.source: one for one in questions.QUESTIONS}
    given = [outcome for outcome in outcomes if "text" in outcome and outcome["finding"] in known]
    if not given:
        return []
    right = sum(outcome["right"] for outcome in given)
    lines = [
        "",
        "## Public questions",
        "",
        "Questions about captures from public trackers, whose answer was accepted there: rebuilt with the kernel's",
        "sockets, simulated, or the public capture itself. Right is what names the cause, and says nothing of those",
        f"that the question's readers were led to at first. {right} of {len(given)} are right.",
        "",
        "| question | problem | accepted answer | said to a customer | |",
        "|---|---|---|---|---|",
    ]
    for outcome in given:
        one = known[outcome["finding"]]
        verdict = "right" if outcome["right"] else "**wrong**"
        lines.append(f"| {one.source} | {one.problem} | {one.answer} | {outcome['text']} | {verdict} |")
    return lines


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value >= TARGET else f"**{value:.2f}**"


def _run_part(options: argparse.Namespace) -> None:
    """Run what is missing of a part, inside the namespace."""
    number, parts = map(int, options.part.split("/"))
    stored = {_key(outcome) for outcome in kept(options.kept)}
    wanted = list(tasks(options.side or SIDES, options.only, options.seed, options.count))[number - 1 :: parts]
    for task in begun_within(options.minutes, (task for task in wanted if _key(asdict(task)) not in stored)):
        try:
            keep(options.kept, task.observe())
        except (AckclockError, RuntimeError, OSError) as error:
            print(f"{task.finding}, run {task.number}: not run: {error}", file=sys.stderr)


def main() -> int:
    """Run what is missing, in parts beside each other, and write the page."""
    parser = page_parser("run", seed=1, count=0, minutes=45.0)
    parser.add_argument("--only", action="append", default=[], metavar="FINDING", help="these findings alone")
    parser.add_argument("--side", action="append", choices=SIDES, help="one side alone")
    parser.add_argument("--parts", type=int, default=2, help="runs beside each other")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        if (outside := enter_user_namespace(["studies.findings.page", *sys.argv[1:]])) is not None:
            return outside
        _run_part(options)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        store = options.kept or Path(scratch) / "outcomes.jsonl"
        command = [sys.executable, "-m", "studies.findings.page", *sys.argv[1:], "--kept", str(store.resolve())]
        parts = [
            subprocess.Popen([*command, "--part", f"{part}/{options.parts}"]) for part in range(1, options.parts + 1)
        ]
        failed = [part for part in parts if part.wait()]
        stored = {_key(outcome): outcome for outcome in kept(store)}
        wanted = [
            _key(asdict(task)) for task in tasks(options.side or SIDES, options.only, options.seed, options.count)
        ]
        missing = [key for key in wanted if key not in stored]
        if missing:
            print(f"{len(missing)} of {len(wanted)} runs are left: call it again with the same --kept", file=sys.stderr)
        write_page(options.file, page([stored[key] for key in wanted if key in stored], options.seed, len(missing)))
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
