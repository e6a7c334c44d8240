"""`python -m studies.measurement.late_hosts [FILE]`: what `measure` states over emulated links of
known truth while the machine is idle, and beside processes that keep its processors busy.

`make measure-accuracy` writes it to docs. Both ends, the emulator and the busy processes share one
machine: the sender of a stream is late, as on a small router or a busy laptop.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from ackclock.input.toml_writer import to_toml
from ackclock.measurement.consistency import contradictions
from studies.kernel.runs import ATTEMPTS, Unmeasured
from studies.measurement.drawn_links import FALSE, KINDS, PAYLOAD, RIGHT, UNKNOWN
from studies.measurement.emulated_path import measured
from studies.outcome_files import begun_within, keep, kept, page_parser, write_page
from tests.support.namespaces import namespaces

SEED, COUNT, MINUTES = 941, 20, 55.0
BUSY = (0, 4)
"""Busy processes beside a measurement."""
QUEUES = ("droptail", "pie", "fq-codel", "droptail", "codel")
TESTS, TEST = "delay,capacity,tcp,latency", "5 s"
LIMIT_S = 400.0
RATE_ERROR = 0.01
"""An interval of a capacity that misses the true rate by less is right."""
PACKET = PAYLOAD + 28


@dataclass(frozen=True)
class EmulatedLink:
    """A link of one hop: rates in b/s and queue by direction."""

    number: int
    name: str
    rates: dict[str, int]
    queue: str
    queue_bytes: dict[str, int]
    loss: float
    trace: str | None = None
    """A recorded rate, down; its rate is not known."""

    def toml(self) -> str:
        """The link file."""
        hop: dict[str, Any] = {"name": "line", "delay": "15 ms"}
        hop["rate"] = {direction: f"{rate} b/s" for direction, rate in self.rates.items()}
        if self.trace:
            hop["rate"]["down"] = {"trace": self.trace}
        if self.loss:
            hop["loss"] = {"mean": self.loss}
        sizes = self.queue_bytes.items()
        limits = {direction: {"bytes": f"{size} B"} if self.queue == "droptail" else {} for direction, size in sizes}
        hop["queue"] = {direction: {"kind": self.queue, **limit} for direction, limit in limits.items()}
        return to_toml({"title": self.name, "source": "test", "hop": [hop]})


def links(seed: int = SEED, count: int = COUNT) -> Iterator[EmulatedLink]:
    """Links of 2 to 90 Mb/s down; every tenth loses packets after its queue."""
    for number in range(count):
        rng = random.Random(f"late-{seed}-{number}")
        down = round(10 ** rng.uniform(6.3, 7.95))
        rates = {"down": down, "up": max(1_000_000, round(down * rng.uniform(0.15, 1.0)))}
        queue = QUEUES[number % len(QUEUES)]
        wait_s = rng.uniform(0.01, 0.2)
        sizes = {direction: max(10 * PACKET, round(rate / 8 * wait_s)) for direction, rate in rates.items()}
        loss = 0.01 if number % 10 == 3 else 0.0
        words = [f"{rates['down'] / 1e6:.1f} and {rates['up'] / 1e6:.1f} Mb/s", queue]
        words += [f"{sizes['down'] / 1e3:.0f} and {sizes['up'] / 1e3:.0f} kB"] if queue == "droptail" else []
        words += ["1 % loss"] if loss else []
        yield EmulatedLink(number, ", ".join(words), rates, queue, sizes, loss)


def score(link: EmulatedLink, direction: str, figures: dict[str, Any]) -> dict[str, str]:
    """Each statement about a direction: right, false or unknown."""
    queue, rate = figures["queue"], link.rates[direction]
    windows = queue["rate"]
    verdicts = {}
    if windows is None:
        above = (figures["rate_bps"] or 0.0) > (1 + RATE_ERROR) * rate
        verdicts["capacity"] = FALSE if above or not figures["at_least"] else UNKNOWN
    else:
        within = windows["lo_bps"] * (1 - RATE_ERROR) <= rate <= windows["hi_bps"] * (1 + RATE_ERROR)
        verdicts["capacity"] = RIGHT if within else FALSE
        verdicts["wanders"] = FALSE if windows["wanders"] else RIGHT
    kind = "unknown" if queue["kind"] == "aqm" and link.queue != "droptail" else queue["kind"]
    verdicts["kind"] = UNKNOWN if kind == "unknown" else RIGHT if kind == KINDS[link.queue] else FALSE
    if queue["buffer_bytes"] is not None:
        true = link.queue_bytes[direction] + PACKET
        near = abs(queue["buffer_bytes"] - true) <= max(0.1 * true, PACKET)
        verdicts["buffer"] = RIGHT if link.queue == "droptail" and near else FALSE
    elif link.queue == "droptail":
        verdicts["buffer"] = UNKNOWN
    if (loss := queue["channel_loss"]) is not None:
        verdicts["channel loss"] = RIGHT if loss["lo"] <= link.loss <= loss["hi"] else FALSE
    cause = "overflow" if link.queue == "droptail" else "aqm"
    true_losses = ("both",) if link.loss else (cause,)
    verdicts["losses"] = UNKNOWN if queue["losses"] == "unknown" else RIGHT if queue["losses"] in true_losses else FALSE
    verdicts["stalls"] = RIGHT if queue["stalls"] is None else FALSE
    verdicts["token bucket"] = RIGHT if queue["token_bucket"] is None else FALSE
    return verdicts


@dataclass(frozen=True)
class Outcome:
    """A measurement of a link beside busy processes, scored."""

    number: int
    name: str
    busy: int
    seconds: float
    failed: str = ""
    verdicts: dict[str, dict[str, str]] = field(default_factory=dict)
    contradictions: list[str] = field(default_factory=list)
    announced_s: float = 0.0
    renewed: list[dict[str, Any]] = field(default_factory=list)
    used_bytes: int = 0
    max_bytes: int = 0
    capacity: dict[str, Any] = field(default_factory=dict)
    late: dict[str, Any] = field(default_factory=dict)
    load: float | None = None
    """Load average before the busy processes began: of other work on the machine."""

    def row(self) -> str:
        """As Markdown."""
        load = "-" if self.load is None else f"{self.load:.1f}"
        if self.failed:
            return f"| {self.name} | {self.busy} | {load} | | {self.failed} | | |"
        false = [
            f"{name} {direction}"
            for direction, found in self.verdicts.items()
            for name, one in found.items()
            if one == FALSE
        ]
        unknown = [
            f"{name} {direction}"
            for direction, found in self.verdicts.items()
            for name, one in found.items()
            if one == UNKNOWN
        ]
        last = self.renewed[-2]["seconds"] if len(self.renewed) > 1 else self.announced_s
        times = f"{self.announced_s:.0f}, {last:.0f}; {self.seconds:.0f}"
        stated = " and ".join(self.capacity.values())
        return (
            f"| {self.name} | {self.busy} | {load} | {stated} | {', '.join(false) or '-'} | "
            f"{', '.join(unknown) or '-'} | {times} |"
        )


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that compute without a pause."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def outcome(link: EmulatedLink, processes: int) -> Outcome:
    """Measure a link through the emulator and score the document."""
    load = os.getloadavg()[0]
    try:
        with busy(processes):
            document = measured(link.toml(), "--tests", TESTS, "--duration", TEST, seconds=LIMIT_S)
    except (Unmeasured, AssertionError, subprocess.TimeoutExpired) as why:
        lines = str(why).strip().splitlines()
        return Outcome(link.number, link.name, processes, 0.0, lines[-1][:150] if lines else "failed")
    announced = document["announced"]
    capacity = {}
    for direction, figures in document["capacity"].items():
        windows = figures["queue"]["rate"]
        between = f" ({windows['lo_bps'] / 1e6:.4g} to {windows['hi_bps'] / 1e6:.4g})" if windows else ""
        bound = ">= " if figures["at_least"] else ""
        capacity[direction] = f"{bound}{(figures['rate_bps'] or 0.0) / 1e6:.4g}{between} {figures['queue']['kind']}"
    return Outcome(
        link.number,
        link.name,
        processes,
        document["seconds"],
        "",
        {direction: score(link, direction, figures) for direction, figures in document["capacity"].items()},
        list(contradictions(cast("Any", document))),
        announced["seconds"],
        announced["renewed"],
        document["bytes"]["used"],
        document["bytes"]["max"],
        capacity,
        {direction: figures["late"] for direction, figures in document["capacity"].items()},
        load,
    )


ABOUT = (
    "Written by `make measure-accuracy` ([late_hosts.py](../../studies/measurement/late_hosts.py)): {count} links of seed "
    "{seed}, each emulated in real time and measured by the tests `{tests}` of {test} each, on a machine of "
    "{processors} processors alone and beside {busy} processes that compute without a pause. Client, server and emulator "
    "run on that machine, too, with the other work that the load before each measurement shows (`-`: not recorded, other "
    "work of about one processor); an emulation that its audit calls invalid is repeated up to {attempts} times."
)
STATEMENTS = (
    "A capacity is right if its interval contains the true rate, within 1 %; a lower bound is unknown, and false above the "
    "true rate. `buffer`: within 10 % or a packet of a droptail queue's limit. `channel loss`: the interval contains the "
    "true loss rate after the queue. No link has pauses, a token bucket or a rate that wanders. Announced: the seconds when "
    "the capacity was known and after the last test but one; then those that were taken."
)


def page(done: Sequence[Outcome], seed: int) -> str:
    """The page."""
    parts = ["# `measure` on late hosts", ""]
    about = ABOUT.format(
        count=len({one.number for one in done}),
        seed=seed,
        tests=TESTS,
        test=TEST,
        processors=os.cpu_count(),
        busy=BUSY[1],
        attempts=ATTEMPTS,
    )
    for text in (about, STATEMENTS):
        parts += [*textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False), ""]
    parts += ["| busy processes | statement | right | false | unknown |", "|--:|---|--:|--:|--:|"]
    for processes in BUSY:
        own = [one for one in done if one.busy == processes and not one.failed]
        counts: dict[str, Counter[str]] = {}
        for one in own:
            for found in one.verdicts.values():
                for name, verdict in found.items():
                    counts.setdefault(name, Counter())[verdict] += 1
        parts += [
            f"| {processes} | {name} | {count[RIGHT]} | {count[FALSE]} | {count[UNKNOWN]} |"
            for name, count in counts.items()
        ]
    contradicting = [f"{one.name}: {text}" for one in done for text in one.contradictions]
    over = [one for one in done if one.used_bytes > one.max_bytes]
    parts += [
        "",
        f"Documents that contradict themselves: {len(contradicting)}{': ' if contradicting else ''}{'; '.join(contradicting)}. "
        f"Measurements above their maximum of bytes: {len(over)}.",
        "",
        "| link | busy | load before | capacity down and up, Mb/s | false | unknown | announced; taken, s |",
        "|---|--:|--:|---|---|---|--:|",
        *(one.row() for one in done),
        "",
    ]
    return "\n".join(parts)


def main() -> int:
    """Measure what is not kept yet, and write the page."""
    options = page_parser("link", seed=SEED, count=COUNT, minutes=MINUTES).parse_args()
    if not namespaces():
        sys.stderr.write("skipped: this machine allows no network namespaces\n")
        return 0
    done = {(one.number, one.busy): one for one in (Outcome(**fields) for fields in kept(options.kept))}
    todo = [(link, processes) for link in links(options.seed, options.count) for processes in BUSY]
    for link, processes in begun_within(options.minutes, (one for one in todo if (one[0].number, one[1]) not in done)):
        started = time.monotonic()
        one = done[link.number, processes] = outcome(link, processes)
        print(f"{one.row()} {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        keep(options.kept, asdict(one))
    write_page(options.file, page([done[key] for key in sorted(done)], options.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
