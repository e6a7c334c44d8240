"""Compare the results of the working tree with those of a commit, to show that a refactoring
changed none.

The results are the tables, captures, JSON documents and resolved scenarios of all examples,
packaged links, congestion controls, hosts, papers (`--quick`) and some comparisons, and the
analyses of the captures below ACKCLOCK_ORACLES and simulations of the recorded links below
ACKCLOCK_DATA, where these are set. `digest_items.py` lists the jobs and what is compared of each
kind of file.

The commit is built in a git worktree below the store. Its results are kept, so a second comparison
with the same commit runs the working tree only. STORE/COMMIT/items.txt has a line for each item:
name, SHA-256, kind. STORE/working/items.txt has those of the working tree.

`tools/digest-exceptions.txt` lists the values that are meant to change, a line each, below the
commit that changes them:

    since COMMIT
    ITEM  PATH  REASON

They count if the compared commit is older: one that has the change is held against all values.

ITEM is the name of an item. PATH is a path in a JSON or TOML document (`flows.0.rtt_ms.p95`), a
Parquet column, or `-` for a whole item (a capture, a missing item). Both may have the wildcards *
and ?.

Exit status 0: all values agree, except those listed. 1: other values differ, or an item is missing.
2: a tree does not build, or a job failed.

usage: digest.py [--store DIR] [--workers N] [--only PATTERN] COMMIT
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import digest_items
import polars as pl
from digest_items import Item, Tree

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "tools" / "digest-exceptions.txt"
KEPT_COMMITS = 4
WHOLE = "-"
"""The path of a difference that has no place inside its item."""
ABSENT = "absent"


class DigestError(RuntimeError):
    """A tree that does not build, a failed job, or a mistake in the exceptions."""


@dataclass(frozen=True)
class ExpectedChange:
    """Values that are meant to change: patterns of item and path, and the reason."""

    item: str
    path: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        return fnmatchcase(difference.item, self.item) and fnmatchcase(difference.path, self.path)


@dataclass(frozen=True)
class Difference:
    """One value: in which item and where, before and now, as text."""

    item: str
    path: str
    before: str
    now: str


@dataclass(frozen=True)
class Comparison:
    """Unexpected differences by item, the number of differences that each exception covers, and the
    jobs that only the working tree has."""

    items: int
    unexpected: Mapping[str, Sequence[Difference]]
    expected: Mapping[ExpectedChange, int]
    added: Sequence[str]

    @property
    def agrees(self) -> bool:
        return not self.unexpected


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--store", type=Path, default=ROOT / "target" / "digest", help="where digests are kept")
    parser.add_argument("--workers", type=int, default=2, help="jobs at a time")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="jobs with such names only, such as 'link/*'")
    args = parser.parse_args()
    args.store.mkdir(parents=True, exist_ok=True)
    with (args.store / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            commit = resolve(args.commit)
            exceptions = read_exceptions(EXCEPTIONS.read_text("utf-8"), lambda change: is_in(change, commit))
            remove_stale(args.store, commit)
            before = of_commit(args.store, commit, args.workers)
            now = of_tree(Tree(ROOT, *inputs()), args.store / "working", args.workers, args.only)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"digest: {error}", file=sys.stderr)
            return 2
    comparison = compare(only(before, args.only), now, exceptions)
    print_comparison(comparison, commit, exceptions)
    return 0 if comparison.agrees else 1


def resolve(commit: str) -> str:
    done = git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if done.returncode:
        raise DigestError(f"{commit}: no such commit")
    return done.stdout.strip()[:12]


def is_in(change: str, commit: str) -> bool:
    """Whether a commit has a change: it is that commit, or follows it. Raises DigestError if the
    repository has no such change.
    """
    return git("merge-base", "--is-ancestor", resolve(change), commit).returncode == 0


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def inputs() -> tuple[Path | None, Path | None]:
    """The folders of shared captures and of recorded links."""
    named = (os.environ.get(variable) for variable in ("ACKCLOCK_ORACLES", "ACKCLOCK_DATA"))
    oracles, data = (Path(name) if name and Path(name).is_dir() else None for name in named)
    return oracles, data


def remove_stale(store: Path, commit: str) -> None:
    """Remove the worktrees of other commits, digests beyond the newest, and what an interrupted run
    left.
    """
    folders = sorted(
        (path for path in store.glob("*/items.txt") if path.parent.name != "working"),
        key=lambda path: -path.stat().st_mtime,
    )
    keep = {commit, *(path.parent.name for path in folders[:KEPT_COMMITS])}
    for tree in store.glob("*/tree"):
        if tree.parent.name != commit:
            git("worktree", "remove", "--force", "--force", str(tree))
            shutil.rmtree(tree, ignore_errors=True)
    for path in store.iterdir():
        if path.is_dir() and path.name not in {*keep, "cargo", "working"}:
            shutil.rmtree(path, ignore_errors=True)
        elif path.is_dir():
            shutil.rmtree(path / "scratch", ignore_errors=True)


def of_commit(store: Path, commit: str, workers: int) -> dict[str, Item]:
    """The items of a commit: the kept ones where jobs and inputs are the same, otherwise those of a
    new run.
    """
    folder = store / commit
    oracles, data = inputs()
    key = key_of(oracles, data)
    meta = folder / "meta.json"
    if meta.exists():
        kept = json.loads(meta.read_text("utf-8"))
        changed = [name for name in key if key[name] != kept.get(name)]
        if not changed:
            return read_items(folder)
        print(f"digest: {commit}: runs again; changed: {', '.join(changed)}", flush=True)
    tree = folder / "tree"
    if not (tree / "Makefile").exists():
        folder.mkdir(exist_ok=True)
        shutil.rmtree(tree, ignore_errors=True)
        added = git("worktree", "add", "--force", "--detach", str(tree), commit)
        if added.returncode:
            raise DigestError(added.stderr.strip())
    build(tree, store / "cargo")
    meta.unlink(missing_ok=True)
    items = of_tree(Tree(tree, oracles, data), folder, workers)
    meta.write_text(json.dumps(key), "utf-8")
    return items


def build(tree: Path, cargo: Path) -> None:
    """Run `make build` in a tree, without the variables of the `make` that runs this tool."""
    mine = ("MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS", "VENV", "VIRTUAL_ENV", "BASE")
    env = {
        **{name: value for name, value in os.environ.items() if name not in mine},
        "CARGO_TARGET_DIR": str(cargo.resolve()),
    }
    log = tree.parent / "build.log"
    print(f"digest: {tree.parent.name}: builds ({log})", flush=True)
    with log.open("w") as file:
        done = subprocess.run(["make", "build"], cwd=tree, env=env, stdout=file, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise DigestError(f"{tree.parent.name} does not build: {log}")


def key_of(oracles: Path | None, data: Path | None) -> dict[str, Any]:
    """What kept items depend on besides the commit: the jobs, their canonical form, the shared
    captures and links.
    """
    folders = [folder for folder in (oracles, data) if folder]
    files = [
        f"{path.name} {path.stat().st_size}"
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return {
        "digest_items.py": hashlib.sha256(Path(digest_items.__file__).read_bytes()).hexdigest(),
        "ACKCLOCK_ORACLES and ACKCLOCK_DATA": hashlib.sha256("\n".join(files).encode()).hexdigest(),
        "polars": pl.__version__,
    }


def of_tree(tree: Tree, folder: Path, workers: int, pattern: str = "*") -> dict[str, Item]:
    """Run a tree's jobs, keep their items in `folder`, and return them."""
    scratch = folder / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    began, cpu = time.monotonic(), cpu_seconds()
    chosen = [job for job in digest_items.jobs(tree, scratch) if fnmatchcase(job.name, pattern)]
    if not chosen:
        raise DigestError(f"no job has a name such as {pattern}")
    label = "the working tree" if folder.name == "working" else folder.name
    print(f"digest: {label}: runs {len(chosen)} jobs", flush=True)
    items, failed = digest_items.collect(tree, chosen, scratch, workers)
    shutil.rmtree(scratch, ignore_errors=True)
    if failed:
        raise DigestError("\n".join([f"{label}: {len(failed)} commands failed", *failed]))
    took = f"{time.monotonic() - began:.0f} s, {cpu_seconds() - cpu:.0f} s of CPU"
    print(f"digest: {label}: {len(items)} items ({took})", flush=True)
    write_items(folder, items)
    return items


def cpu_seconds() -> float:
    used = [resource.getrusage(of) for of in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def write_items(folder: Path, items: Mapping[str, Item]) -> None:
    with zipfile.ZipFile(folder / "kept.zip", "w") as kept:
        for name, item in sorted(items.items()):
            if item.kept is not None:
                kept.writestr(zipfile.ZipInfo(name), item.kept)
    lines = [f"{name}  {item.sha256}  {item.kind}\n" for name, item in sorted(items.items())]
    (folder / "items.txt").write_text("".join(lines), "utf-8")


def read_items(folder: Path) -> dict[str, Item]:
    items = {}
    with zipfile.ZipFile(folder / "kept.zip") as kept:
        names = set(kept.namelist())
        for line in (folder / "items.txt").read_text("utf-8").splitlines():
            name, sha256, kind = line.split("  ")
            items[name] = Item(sha256, kind, kept.read(name) if name in names else None)
    return items


def only(items: Mapping[str, Item], pattern: str) -> dict[str, Item]:
    """The items of jobs whose names match."""
    return {name: item for name, item in items.items() if fnmatchcase(job_of(name), pattern)}


def compare(before: Mapping[str, Item], now: Mapping[str, Item], exceptions: Sequence[ExpectedChange]) -> Comparison:
    """All differences. The items of a job that is new have nothing to be compared with."""
    unexpected: dict[str, list[Difference]] = defaultdict(list)
    expected: Counter[ExpectedChange] = Counter()
    jobs = {job_of(name) for name in before}
    added = sorted({job_of(name) for name in now} - jobs)
    for name in sorted({*before, *now}):
        if job_of(name) in added:
            continue
        for difference in differences(name, before.get(name), now.get(name)):
            exception = next((one for one in exceptions if one.covers(difference)), None)
            if exception:
                expected[exception] += 1
            else:
                unexpected[name].append(difference)
    return Comparison(len(before), unexpected, expected, added)


def job_of(name: str) -> str:
    """The job of an item: JOB:FILE."""
    return name.partition(":")[0]


def differences(name: str, before: Item | None, now: Item | None) -> Iterator[Difference]:
    """What differs between two items of one name."""
    if before is None or now is None:
        yield Difference(name, WHOLE, "present" if before else ABSENT, "present" if now else ABSENT)
    elif before.sha256 != now.sha256 or before.kind != now.kind:
        inside: Iterable[tuple[str, str, str]] = ()
        if before.kind == now.kind and before.kept is not None and now.kept is not None:
            if before.kind == "parquet":
                inside = table_differences(before.kept, now.kept)
            else:
                inside = document_differences(*(json.loads(digest_items.unpacked(item)) for item in (before, now)))
        found = [Difference(name, *one) for one in inside]
        yield from found or [Difference(name, WHOLE, before.sha256[:12], now.sha256[:12])]


def document_differences(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, value before and value now of everything that differs between two documents."""
    below = f"{path}." if path else ""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}):
            if key not in now:
                yield f"{below}{key}", shown(before[key]), ABSENT
            elif key not in before:
                yield f"{below}{key}", ABSENT, shown(now[key])
            else:
                yield from document_differences(before[key], now[key], f"{below}{key}")
    elif isinstance(before, list) and isinstance(now, list):
        for place, (old, new) in enumerate(zip(before, now, strict=False)):
            yield from document_differences(old, new, f"{below}{place}")
        if len(before) != len(now):
            yield f"{below}length", str(len(before)), str(len(now))
    elif shown(before) != shown(now):
        yield path or WHOLE, shown(before), shown(now)


def shown(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:60]}... ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def table_differences(before: bytes, now: bytes) -> Iterator[tuple[str, str, str]]:
    """Column, value before and value now of each column that differs, by its first row that
    does.
    """
    old, new = digest_items.table(before), digest_items.table(now)
    for name in [*old.columns, *(name for name in new.columns if name not in old.columns)]:
        if name not in new.columns or name not in old.columns:
            yield name, str(old.schema.get(name, ABSENT)), str(new.schema.get(name, ABSENT))
        elif old.schema[name] != new.schema[name]:
            yield name, str(old.schema[name]), str(new.schema[name])
        elif digest_items.content(old[name]) != digest_items.content(new[name]):
            yield name, *first_difference(old[name], new[name])
    if old.columns != new.columns and sorted(old.columns) == sorted(new.columns):
        yield "order", ", ".join(old.columns), ", ".join(new.columns)


def first_difference(before: pl.Series, now: pl.Series) -> tuple[str, str]:
    if len(before) != len(now):
        return f"{len(before)} rows", f"{len(now)} rows"
    pairs = zip(before.to_list(), now.to_list(), strict=True)
    row, old, new = next((row, old, new) for row, (old, new) in enumerate(pairs) if repr(old) != repr(new))
    return f"row {row}: {old!r}", repr(new)


def read_exceptions(text: str, is_compared: Callable[[str], bool]) -> list[ExpectedChange]:
    """The exceptions of a file's text, each with a reason, but for those of a change that the
    compared commit has (`is_compared`).
    """
    found: list[ExpectedChange] = []
    counts: bool | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split(maxsplit=2)
        if not fields or line.startswith("#"):
            continue
        if fields[0] == "since" and len(fields) == 2:
            counts = not is_compared(fields[1])
        elif len(fields) < 3 or counts is None:
            allowed = "since COMMIT, or below it ITEM PATH REASON"
            raise DigestError(f"{EXCEPTIONS.name}:{number}: found {line!r}; allowed: {allowed}")
        elif counts:
            found.append(ExpectedChange(*fields))
    return found


def print_comparison(comparison: Comparison, commit: str, exceptions: Sequence[ExpectedChange]) -> None:
    for name, found in comparison.unexpected.items():
        first, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        place = "" if first.path == WHOLE else f"{first.path}: "
        print(f"differs: {name}: {place}{first.before} -> {first.now}{more}")
    for job in comparison.added:
        print(f"new job, not in {commit}: {job}")
    for exception in exceptions:
        print(
            f"expected: {comparison.expected.get(exception, 0)} of {exception.item} "
            f"{exception.path}: {exception.reason}"
        )
    agree = comparison.items - len(comparison.unexpected)
    print(
        f"digest: of {comparison.items} items of {commit} {agree} agree, {len(comparison.unexpected)} differ; "
        f"expected: {sum(comparison.expected.values())}"
    )


if __name__ == "__main__":
    sys.exit(main())
