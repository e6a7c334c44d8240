"""Damages run folders and gives them to the commands that read one, for a bounded time.

    python -m studies.run_folders.fuzz MINUTES OUT [--seed N] [--first N]

A copy that was interrupted, a full disk or an editor damages a folder: files are absent, cut,
empty, replaced by others or by folders, overwritten, not UTF-8, or have other JSON values. Each
command has to end with status 0, or with status 2 and one line. An input is fixed by the seed and
its number; a folder that ends a command otherwise is kept in OUT with the command that shows it,
each place of the source once. The exit status is 1 if there is any.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import ackclock
from ackclock import cli
from ackclock.folder_damage import native_stderr
from ackclock.storage.run_folder import DIGESTED

KINDS = ("simulate", "sweep", "compare", "analyze", "advise")
"""Kinds of run folder that need no real time."""
MAX_DAMAGES = 3
MAX_S = 20.0
REPORT_SHARE = 0.1
"""Share of the inputs whose report is drawn, which takes a second."""
JSON_VALUES: tuple[Any, ...] = (None, True, -1, 0, 1e308, "", "text", [], {}, [None], {"a": 1}, float("nan"), 10**30)
FOLDER = "folder"
"""The damaged folder, as commands name it."""


def make(folder: Path, kinds: Sequence[str] = KINDS) -> None:
    """Write a small run folder of each kind."""
    given: dict[str, Any] = {"link": "dsl-16m", "duration": "1 s"}
    bulk = [{"workload": {"kind": "bulk"}}]
    makers: dict[str, Callable[[Path], object]] = {
        "simulate": lambda out: ackclock.simulate(flows=bulk, out=out, captures="pcap", **given),
        "sweep": lambda out: ackclock.sweep(flows=bulk, over={"tcp.variant": ["reno", "bbr"]}, out=out, **given),
        "compare": lambda out: ackclock.compare(
            variants=["reno", "bbr"], buffers=["auto"], delayed_ack=[True], seeds=2, out=out, **given
        ),
        "analyze": lambda out: ackclock.analyze(next((folder / "simulate/captures").glob("*.server.pcap")), out=out),
        "advise": lambda out: ackclock.advise({**given, "flow": bulk}, may=["sender"], out=out),
    }
    for kind in kinds:
        makers[kind](folder / kind)


def files(folder: Path) -> list[Path]:
    """The files of a run folder that commands read, in a fixed order.

    Captures have a fuzz target of their own.
    """
    return [path for path in sorted(folder.rglob("*")) if path.suffix in DIGESTED and path.is_file()]


def _places(document: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of the values of a JSON document."""
    below = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in below:
        yield (*at, key)
        yield from _places(value, (*at, key))


def _other_value(content: bytes, rng: random.Random) -> bytes:
    """JSON with another value, or without a key."""
    document = json.loads(content)
    places = list(_places(document))
    if not places:
        return b"null"
    changed = copy.deepcopy(document)
    *above, last = rng.choice(places)
    part = changed
    for key in above:
        part = part[key]
    if rng.random() < 0.25:
        del part[last]
    else:
        part[last] = rng.choice(JSON_VALUES)
    return json.dumps(changed).encode()


def _other_table(path: Path, rng: random.Random) -> None:
    """A table without a column, with a renamed one, with no row, or with text or nulls in one."""
    frame = pl.read_parquet(path)
    column = rng.choice(frame.columns)
    changes = (
        lambda: frame.drop(column),
        lambda: frame.rename({column: "other"}),
        lambda: frame.clear(),
        lambda: frame.with_columns(pl.lit("text").alias(column)),
        lambda: frame.with_columns(pl.lit(None).cast(frame.schema[column]).alias(column)),
    )
    rng.choice(changes)().write_parquet(path)


def _overwritten(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _without_a_line(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if lines:
        del lines[rng.randrange(len(lines))]
    return b"".join(lines)


def damage(path: Path, folder: Path, rng: random.Random) -> str:
    """Damage one file of a folder; return what was done."""
    content = path.read_bytes()
    place = rng.randrange(len(content) + 1)
    others = [other for other in files(folder) if other != path]
    kinds = ["removed", "emptied", "cut", "replaced", "a folder", "overwritten", "not UTF-8"]
    # Damage that leaves the format whole reaches what reads the values.
    kinds += {".json": ["a value"] * 8, ".parquet": ["a table"] * 8, ".toml": ["without a line"] * 4}[path.suffix]
    kind = rng.choice(kinds)
    if kind in ("removed", "a folder"):
        path.unlink()
        if kind == "a folder":
            path.mkdir()
    elif kind == "a table":
        _other_table(path, rng)
    else:
        changed = {
            "emptied": lambda: b"",
            "cut": lambda: content[:place],
            "replaced": lambda: rng.choice(others).read_bytes() if others else b"hello\n",
            "overwritten": lambda: _overwritten(content, rng),
            "not UTF-8": lambda: content[:place] + b"\xff\xfe\x80" + content[place:],
            "a value": lambda: _other_value(content, rng),
            "without a line": lambda: _without_a_line(content, rng),
        }[kind]()
        path.write_bytes(changed)
    return f"{path.relative_to(folder)}: {kind}"


def draw(whole: Path, folder: Path, seed: int, number: int, kinds: Sequence[str] = KINDS) -> tuple[str, list[str]]:
    """Write the damaged folder with this number of a seed; return its kind and what was done."""
    rng = random.Random(f"{seed} {number}")
    kind = rng.choice(kinds)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole / kind, folder, ignore=shutil.ignore_patterns("captures", "xplot", "report.html"))
    done = []
    for _ in range(rng.randint(1, MAX_DAMAGES)):
        left = files(folder)
        if not left:
            break
        path = rng.choice(left)
        damaged_already = (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
        with contextlib.suppress(*damaged_already), native_stderr() as native:
            try:
                done.append(damage(path, folder, rng))
            finally:
                native.truncate(0)
    return kind, done


def commands(whole: Path, folder: Path, seed: int, number: int) -> list[list[str]]:
    """What reads the folder, as typed."""
    report = random.Random(f"report {seed} {number}").random() < REPORT_SHARE
    reading = [["show"], ["show", "--json"], ["diff", str(whole)], *([["report", "--quiet"]] if report else [])]
    return [[*words, str(folder)] for words in reading] + [["diff", str(folder), str(whole)]]


@dataclass(frozen=True)
class Failure:
    """A command that ended otherwise than it may, and the place in the source."""

    arguments: list[str]
    place: str


def play(arguments: list[str]) -> Failure | None:
    """Run a command in this process; None if it ends as it may."""
    out, err = io.StringIO(), io.StringIO()
    begin = time.monotonic()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), native_stderr() as native:
            status = cli.run(arguments)
            native.seek(0)
            printed = native.read().splitlines()
            native.truncate(0)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of native code is no Exception
        own = [one for one in traceback.extract_tb(error.__traceback__) if "/ackclock/" in one.filename]
        at = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "elsewhere"
        return Failure(arguments, f"{type(error).__name__} at {at}: {str(error).splitlines()[:1]}")
    if time.monotonic() - begin > MAX_S:
        return Failure(arguments, f"longer than {MAX_S:.0f} s")
    lines = err.getvalue().splitlines()
    if status == 2 and "--json" in arguments and "error" not in json.loads(out.getvalue()):
        return Failure(arguments, "no error in the document")
    if printed:
        return Failure(arguments, f"{len(printed)} lines of native code: {printed[:2]}")
    if status not in (0, 2) or (status == 2 and len(lines) != 1) or "Traceback" in err.getvalue():
        return Failure(arguments, f"status {status} with {len(lines)} lines: {lines[-1:]}")
    return None


def run(minutes: float, out: Path, seed: int, first: int) -> int:
    """Play inputs until the time is over; return the number of places that failed."""
    out.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}, run folders of {', '.join(KINDS)}, {minutes:.1f} minutes", flush=True)
    places: Counter[str] = Counter()
    current, number = out / "current-folder", first
    with tempfile.TemporaryDirectory() as name:
        whole, folder = Path(name) / "whole", Path(name) / FOLDER
        make(whole)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            # An abort of a library leaves the number of its input.
            current.write_text(f"--seed {seed} --first {number}\n")
            kind, done = draw(whole, folder, seed, number)
            for arguments in commands(whole / kind, folder, seed, number):
                if failure := play(arguments):
                    places[failure.place] += 1
                    if places[failure.place] == 1:
                        kept = shutil.copytree(folder, out / f"{seed}-{number}", dirs_exist_ok=True)
                        typed = " ".join(word.replace(str(folder), str(kept)) for word in arguments)
                        print(f"input {number} ({kind}; {', '.join(done)}): {failure.place}\n  ackclock {typed}")
            number += 1
    current.unlink()
    print(f"{number - first} inputs, {len(places)} findings")
    for place, count in sorted(places.items(), key=lambda one: -one[1]):
        print(f"{count:>6} times: {place}")
    return len(places)


def main(description: str | None, run: Callable[[float, Path, int, int], int]) -> int:
    """The command of a fuzz target, with the exit status of its `run`."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("minutes", type=float)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    return 1 if run(options.minutes, options.out, options.seed, options.first) else 0


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
