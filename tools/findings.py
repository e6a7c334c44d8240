"""Run the tests of each finding's fix and print a row for each finding: id, result, tests.

Standard library only. `tests/findings.toml` lists the findings. Python tests carry
`@pytest.mark.finding("U1")`; Rust tests a line `// finding("S1")` above `#[test]`; scripts of
packetdrill's language a line `// finding: K1`.
Exit status 0: of every listed finding at least one test passes and none fails; 1: otherwise.

usage: findings.py [--slow] [--only ID ...]     (the environment's pytest, cargo on PATH)
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTED = ROOT / "tests" / "findings.toml"
MARK = re.compile(r'^\s*// finding\(((?:"[A-Z]+[0-9]+(?:-[0-9]+)?"(?:, )?)+)\)$')
PYTEST_MARK = re.compile(r"pytest\.mark\.finding\(([^)]*)\)")
SCRIPT_MARK = re.compile(r"^// finding: (.+)$", re.MULTILINE)
FUNCTION = re.compile(r"^\s*fn (\w+)\(")
LIBTEST = re.compile(r"^test (?P<path>[\w:]+)(?: - should panic)? \.\.\. (?P<result>ok|FAILED|ignored)", re.MULTILINE)
PASSED, SKIPPED = "passed", "skipped"
APART = ("ackclock-kernel-cc",)
"""Crates with a workspace and tools of their own: `make kernel-cc` runs their tests."""


@dataclass(frozen=True)
class Shown:
    """One test of one finding.

    `result` is "passed", "failed", "skipped", "ignored" or "not run".
    """

    finding: str
    test: str
    result: str


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--slow", action="store_true", help="run tests marked slow, too")
    parser.add_argument("--only", nargs="+", metavar="ID", help="these findings only")
    args = parser.parse_args()
    findings = {id_: what for group in tomllib.loads(LISTED.read_text("utf-8")).values() for id_, what in group.items()}
    wanted = args.only or list(findings)
    unknown = [id_ for id_ in wanted if id_ not in findings]
    if unknown:
        parser.error(f"{', '.join(unknown)}: not in {LISTED.relative_to(ROOT)}")
    shown: dict[str, list[Shown]] = defaultdict(list)
    for one in [*rust(set(wanted)), *python(set(wanted), slow=args.slow)]:
        shown[one.finding].append(one)
    unlisted = sorted(marked() - set(findings))
    print_table(wanted, findings, shown)
    if unlisted:
        print(f"tests name findings that {LISTED.name} does not list: {', '.join(unlisted)}")
    passing = [id_ for id_ in wanted if verdict(shown[id_]) == "passes"]
    print(f"{len(passing)} of {len(wanted)} findings pass")
    return 0 if len(passing) == len(wanted) and not unlisted else 1


def print_table(wanted: Iterable[str], findings: dict[str, str], shown: dict[str, list[Shown]]) -> None:
    for id_ in wanted:
        print(f"{id_:6} {verdict(shown[id_]):8} {findings[id_]}")
        for one in shown[id_]:
            print(f"     {one.result:8} {one.test}")


def verdict(tests: list[Shown]) -> str:
    """A finding passes when at least one of its tests passes and none fails; a skipped test has no
    effect.
    """
    if not tests:
        return "NO TEST"
    results = {one.result for one in tests}
    return "passes" if PASSED in results and results <= {PASSED, SKIPPED} else "FAILS"


def marked() -> set[str]:
    """Every finding that a test names, whichever tests are run."""
    named = {id_ for test in rust_tests() for id_ in test.findings}
    for file in ROOT.glob("tests/**/*.py"):
        named |= {id_ for ids in PYTEST_MARK.findall(file.read_text("utf-8")) for id_ in re.findall(r'"([\w-]+)"', ids)}
    for file in ROOT.glob("tests/packetdrill/**/*.pkt"):
        named |= {id_ for ids in SCRIPT_MARK.findall(file.read_text("utf-8")) for id_ in ids.split(", ")}
    return named


@dataclass(frozen=True)
class RustTest:
    crate: str
    name: str
    findings: tuple[str, ...]


def rust_tests() -> Iterator[RustTest]:
    """Every marked test function below `crates`, with its crate's name."""
    for file in sorted(ROOT.glob("crates/*/**/*.rs")):
        crate = f"ackclock-{file.relative_to(ROOT / 'crates').parts[0]}"
        marked: tuple[str, ...] = ()
        for line in file.read_text("utf-8").splitlines():
            if mark := MARK.match(line):
                marked += tuple(re.findall(r'"([\w-]+)"', mark[1]))
            elif marked and (function := FUNCTION.match(line)):
                yield RustTest(crate, function[1], marked)
                marked = ()


def rust(wanted: set[str]) -> list[Shown]:
    """Run the marked Rust tests of the workspace's crates, those that `cargo test` ignores
    included.
    """
    tests = [test for test in rust_tests() if wanted & set(test.findings)]
    if not tests:
        return []
    # Profile and packages as in `make test`, so that nothing is compiled again. A crate outside the
    # workspace is not among them.
    command = ["cargo", "test", "--release", "--workspace", "--no-fail-fast", "--quiet"]
    command += ["--", "--include-ignored", "--format=pretty", *sorted({test.name for test in tests})]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    results = {match["path"].rpartition("::")[2]: match["result"] for match in LIBTEST.finditer(done.stdout)}
    if not results:
        print(done.stderr, file=sys.stderr)
    names = {"ok": PASSED, "FAILED": "failed", "ignored": "ignored"}
    return [
        Shown(
            id_,
            f"{test.crate}: {test.name}",
            SKIPPED if test.crate in APART else names.get(results.get(test.name, ""), "not run"),
        )
        for test in tests
        for id_ in test.findings
        if id_ in wanted
    ]


def python(wanted: set[str], *, slow: bool) -> list[Shown]:
    """Run the marked Python tests, one after another, since some need the machine for
    themselves.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        chosen = "finding" if slow else "finding and not slow"
        command = [sys.executable, "-m", "pytest", "-q", "-m", chosen, "-p", "no:xdist", f"--junitxml={report}"]
        environment = {**os.environ, "ACKCLOCK_FINDINGS": ",".join(sorted(wanted))}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if not report.exists():
            print(done.stdout, done.stderr, file=sys.stderr)
            return []
        if done.returncode not in (0, 5):
            print(done.stdout, file=sys.stderr)
        cases = list(ET.parse(report).iter("testcase"))
    return [
        Shown(str(prop.get("value")), f"{case.get('classname')}::{case.get('name')}", outcome(case))
        for case in cases
        for prop in case.iter("property")
        if prop.get("name") == "finding" and prop.get("value") in wanted
    ]


def outcome(case: ET.Element) -> str:
    for kind, result in (("failure", "failed"), ("error", "failed"), ("skipped", SKIPPED)):
        if case.find(kind) is not None:
            return result
    return PASSED


if __name__ == "__main__":
    sys.exit(main())
