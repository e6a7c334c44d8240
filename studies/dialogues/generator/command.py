"""`python -m studies.dialogues.generator.command --out FOLDER`: record dialogues with the kernel.

`make dialogues-record` calls it. Each dialogue is recorded in a network namespace of its process,
replayed there at other phases of the tick, and kept if the kernel did the same each time.
`PACKETDRILL` may name a packetdrill binary that plays it, too. What is there already is not
recorded again.
"""

from __future__ import annotations

import argparse
import csv
import gc
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from studies.dialogues.generator.categories import CATEGORIES, plan
from studies.dialogues.generator.clock import Late
from studies.dialogues.generator.host import Host, NotPossible, enter, kernel, machine_sysctls
from studies.dialogues.generator.record import GivenUp, Plan, Recording
from studies.dialogues.generator.replay import Differs, replay
from studies.dialogues.generator.script import Call, Dialogue, Inbound, Info, Outbound, read
from studies.outcome_files import keep, kept

T = TypeVar("T")
RECORDED_AT_MS = 3.3
"""The phase of the tick at which a dialogue is recorded."""
REPLAYED_AT_MS = (0.25, 1.6, 2.9)
"""The phases at which it is replayed."""
ATTEMPTS = 4
"""How often a recording or a replay is tried in which the process was late."""
PACKETDRILL = "PACKETDRILL"
PACKETDRILL_S = 60.0
"""The longest dialogue takes some seconds."""
OUTCOMES = "outcomes.jsonl"


def possible() -> str:
    """Empty if this machine permits what a recording needs, otherwise the reason why not."""
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(_try).result()
    except Exception as error:
        return str(error)


def _try() -> str:
    try:
        enter()
        Host({}).close()
    except (NotPossible, OSError, subprocess.CalledProcessError) as error:
        return str(error) or type(error).__name__
    return ""


def prepare() -> None:
    """A process that records: its namespace, and as much of real time as it is permitted."""
    enter()
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))
    gc.disable()


def record(category: str, seed: int, out: Path, packetdrill: str = "") -> dict[str, str]:
    """Record and replay a dialogue in this process's namespace, and write it if it is stable.

    Returns its outcome: `kept`, `late` (try again), `given up` or `differs`, and why.
    """
    made = plan(category, seed)
    found = {"category": category, "name": made.name}
    host = Host(made.setup.all_sysctls(), tso=made.setup.tso)
    try:
        dialogue = _unless_late(lambda: Recording(made, host, RECORDED_AT_MS).dialogue())
        as_read = read(dialogue.text())
        for phase in REPLAYED_AT_MS:
            _unless_late(partial(replay, as_read, host, phase))
    except Late as late:
        return found | {"outcome": "late", "why": str(late)}
    except GivenUp as given_up:
        return found | {"outcome": "given up", "why": str(given_up)}
    except Differs as differs:
        return found | {"outcome": "differs", "why": str(differs)}
    finally:
        host.close()
        gc.collect()
    file = out / category / f"{made.name}.pkt"
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".tmp")
    beside.write_text(dialogue.text(), "utf-8")
    if packetdrill and (why := _packetdrill(packetdrill, beside)):
        beside.unlink()
        return found | {"outcome": "differs", "why": f"packetdrill: {why}"}
    beside.rename(file)
    return found | {"outcome": "kept", "why": ""} | _columns(made, dialogue)


def _unless_late(run: Callable[[], T]) -> T:
    """What `run` returns, in the first attempt in which the process is not late.

    Raises Late.
    """
    for _ in range(ATTEMPTS - 1):
        with suppress(Late):
            return run()
    return run()


def _packetdrill(binary: str, script: Path) -> str:
    """Play a script with a packetdrill binary on this kernel. Returns what it says against it.

    A busy machine fails it by time alone, so that it is repeated.
    """
    message = ""
    for _ in range(ATTEMPTS):
        try:
            done = subprocess.run(
                [binary, str(script)], capture_output=True, text=True, check=False, timeout=PACKETDRILL_S
            )
        except subprocess.TimeoutExpired:
            return f"does not end within {PACKETDRILL_S:.0f} s"
        if done.returncode == 0:
            return ""
        message = (done.stderr or done.stdout).strip().splitlines()[0] if done.stderr or done.stdout else "fails"
    return message


def _columns(made: Plan, dialogue: Dialogue) -> dict[str, str]:
    """What the index says of a script."""
    counts = Counter(type(step) for step in dialogue.steps)
    return {
        "seed": str(made.seed),
        "kernel": kernel(),
        "congestion_control": made.setup.congestion_control,
        "sack": str(int(made.peer.sack)),
        "timestamps": str(int(made.peer.timestamps)),
        "ecn": str(int(made.peer.ecn)),
        "sysctls": " ".join(f"{name}={value}" for name, value in made.setup.sysctls.items()),
        "inbound": str(counts[Inbound]),
        "outbound": str(counts[Outbound]),
        "calls": str(counts[Call]),
        "asserts": str(counts[Info]),
    }


INDEX = ("name", "file", "category", "seed", "kernel", "congestion_control", "sack", "timestamps", "ecn", "sysctls")
COUNTS = ("inbound", "outbound", "calls", "asserts")


def write_index(out: Path) -> Counter[str]:
    """Write index.csv of the scripts kept below a folder. Returns how many outcomes there are of
    each kind.
    """
    latest = {outcome["name"]: outcome for outcome in kept(out / OUTCOMES)}
    rows = [outcome for outcome in latest.values() if outcome["outcome"] == "kept"]
    with (out / "index.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*INDEX, *COUNTS], extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for row in sorted(rows, key=lambda row: (row["category"], int(row["seed"]))):
            writer.writerow(row | {"file": f"{row['category']}/{row['name']}.pkt"})
    return Counter(outcome["outcome"] for outcome in latest.values())


class Tasks:
    """Categories and seeds that are not recorded yet, category by category in turn.

    `enough`: how many scripts of a category are kept at most.
    """

    def __init__(self, categories: Sequence[str], seeds: range, out: Path, enough: int | None) -> None:
        self._done = {outcome["name"] for outcome in kept(out / OUTCOMES) if outcome["outcome"] != "late"}
        self._kept = Counter(outcome["category"] for outcome in kept(out / OUTCOMES) if outcome["outcome"] == "kept")
        self._running: Counter[str] = Counter()
        self._left = {category: iter(seeds) for category in categories}
        self._enough = enough

    def take(self) -> tuple[str, int] | None:
        """The next one; None where nothing is left, or the rest hangs on those running."""
        for category in list(self._left):
            if self._enough is not None and self._kept[category] + self._running[category] >= self._enough:
                continue
            for seed in self._left[category]:
                if plan(category, seed).name not in self._done:
                    self._running[category] += 1
                    self._left[category] = self._left.pop(category)
                    return category, seed
            del self._left[category]
        return None

    def ended(self, category: str, outcome: str) -> None:
        """One that was taken has this outcome."""
        self._running[category] -= 1
        self._kept[category] += outcome == "kept"


def record_all(tasks: Tasks, out: Path, workers: int, until: float) -> None:
    """Record what is left in as many processes, each in a namespace of its own, until this time of
    the monotonic clock.
    """
    binary = os.environ.get(PACKETDRILL, "")
    running: dict[Future[dict[str, str]], str] = {}
    with ProcessPoolExecutor(workers, get_context("spawn"), prepare) as pool:
        while True:
            while len(running) < workers and time.monotonic() < until and (task := tasks.take()):
                running[pool.submit(record, *task, out, binary)] = task[0]
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                outcome = future.result()
                tasks.ended(running.pop(future), outcome["outcome"])
                keep(out / OUTCOMES, outcome)
                print(f"{outcome['name']}: {outcome['outcome']} {outcome['why']}", file=sys.stderr)


def _seeds(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/dialogues"))
    parser.add_argument("--seeds", type=_seeds, default=_seeds("1-20"), help="FIRST-LAST (default: 1-20)")
    parser.add_argument("--category", action="append", help="one category, or more (default: all)")
    parser.add_argument("--kept", type=int, help="scripts of a category that are enough")
    parser.add_argument("--minutes", type=float, default=10.0, help="none is begun after this time")
    parser.add_argument("--workers", type=int, default=2, help="dialogues at a time")
    asked = parser.parse_args()
    categories = asked.category or list(CATEGORIES)
    for name in categories:
        if name not in CATEGORIES:
            parser.error(f"no category {name}; allowed: {', '.join(CATEGORIES)}")
    if why := possible():
        print(f"skipped: dialogues are not recorded here ({why})", file=sys.stderr)
        return 0
    before = machine_sysctls()
    asked.out.mkdir(parents=True, exist_ok=True)
    try:
        tasks = Tasks(categories, asked.seeds, asked.out, asked.kept)
        record_all(tasks, asked.out, asked.workers, time.monotonic() + 60 * asked.minutes)
    finally:
        changed = sorted(name for name, value in machine_sysctls().items() if before.get(name) != value)
    counts = write_index(asked.out)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    if changed:
        print(f"the machine's sysctls have changed: {', '.join(changed)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
