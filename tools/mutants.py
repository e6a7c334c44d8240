"""Mutation testing of the engine: one changed operator, constant or function at a time, and the
tests of its crate, which have to fail.

The mutants are made in copies of the tree, so that an interruption leaves nothing behind. Most of
a crate's mutants are in one program (tools/mutant_switch.py), and only the tests that reach the
place of a mutant judge it: a second each. Core's are judged by the scripts of tests/packetdrill
too. The others take a build each, and come last. Outcomes are kept in a file of JSON lines: a
further run goes on with the mutants that have none, and with those that survived. Their order is
that of a hash, so that any first part is a sample. A survivor needs a line with its reason in
tools/mutants-survivors.txt; without one the status is 1.

The first builds of a crate's tests take minutes, and so do its tests one at a time, which are
needed after each change of a crate.

    python tools/mutants.py recovery --part 1/8 --minutes 60 --kept runs/mutants.jsonl
    python tools/mutants.py classify --match 'impatient_rto' --kept runs/mutants.jsonl
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any
from unittest.mock import patch

from mutant_switch import SWITCH, Change, Switched

ROOT = Path(__file__).resolve().parents[1]
SURVIVORS = ROOT / "tools" / "mutants-survivors.txt"
COPY = ROOT / "target" / "mutants"
SETS = {
    "classify": ("ackclock-trace", ("crates/trace/src/flow/classify", "crates/trace/src/flow/rules.rs")),
    "join": ("ackclock-trace", ("crates/trace/src/join",)),
    "recovery": ("ackclock-core", ("crates/core/src/tcp/recovery",)),
    "queue": ("ackclock-core", ("crates/core/src/queue",)),
    "cc": ("ackclock-core", ("crates/core/src/tcp/cc",)),
}
"""The crate whose tests have to fail, and the sources, by the name of a set."""
UNVIABLE, CAUGHT, SURVIVED, TIMEOUT = "unviable", "caught", "survived", "timeout"
MAX_TEST_S = 600.0
MAX_BYTES = 6 << 30
"""Memory of a program of tests."""
FIRST_TESTS = 20
"""Tests that judge a mutant before all others that reach its place."""
MAX_LEFT_OUT = 3
"""Tests that may fail in the program of the switches, as they read the sources."""
KINDS_OF_TEST = (("--lib",), ("--test", "suite"))
"""Options of `cargo test`: the tests in a crate's modules, and those of its public interface."""
PLAYERS = {
    "ackclock-core": tuple(("--test", name) for name in ("played", "linux_rules", "congestion_controls", "scripts")),
}
"""Tests of ackclock-packetdrill that judge a crate too. `played`: those of [`played`]."""
PLAYED = """//! The scripts of tests/packetdrill, each with the TCP of its host.
use ackclock_core::tcp::TcpConfig;
use ackclock_packetdrill::{RunOptions, Script, Verdict, run};

fn play(name: &str) {
    let all: serde_json::Value = serde_json::from_str(include_str!("played.json")).unwrap();
    let config: TcpConfig = serde_json::from_str(all[name]["tcp"].as_str().unwrap()).unwrap();
    let script = Script::parse(all[name]["text"].as_str().unwrap()).unwrap();
    assert_eq!(run(&script, &config.resolved(), &RunOptions::default()).verdict, Verdict::Passes);
}
"""
NOT_BUILT = ("docs/", "lab/")
"""Folders of the tree that no crate reads."""

SWAPS = {
    "<": ("<=", ">="),
    "<=": ("<", ">"),
    ">": (">=", "<="),
    ">=": (">", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "+=": ("-=",),
    "-=": ("+=",),
}
_OPERATOR = re.compile(r"(?<= )(<=|>=|==|!=|&&|\|\||\+=|-=|[<>+\-*/])(?= )|(?<= )(&&|\|\||[+\-*/])(?=$)")
_NEGATION = re.compile(r"(?<=[ (|])!(?=[\w(])")
_NUMBER = re.compile(r"(?<![\w.])(\d[\d_]*(?:\.\d[\d_]*)?)(?![\w.]|\.\w)")
_FUNCTION = re.compile(r"\bfn (\w+)[^;{}]*?(?:-> ([^{;]+?))? (?:where [^{]*)?\{")
_DEFAULTS = {"bool": ("true", "false"), "()": ("",), "Verdict": ("None",)}
_NUMERIC = re.compile(r"[ui](8|16|32|64|size)|f64|f32")


@dataclass(frozen=True)
class Mutant:
    """A change of one place in a file of the tree."""

    file: str
    line: int
    """From 1; not a part of the key."""
    before: str
    """The source line, without the blanks at both ends."""
    change: str
    start: int
    end: int
    text: str
    kind: str

    @property
    def key(self) -> str:
        """Equal in all versions of the tree in which the line is equal."""
        return f"{self.file}: {self.before} [{self.change}]"

    @property
    def order(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]


def code_of(source: str) -> str:
    """The source with blanks in the place of comments, strings, characters, attributes and tests.
    Offsets stay.
    """
    tests = re.search(r"^#\[cfg\(test\)\]\nmod ", source, re.MULTILINE)
    kept = source[: tests.start()] if tests else source
    literal = re.compile(r'//[^\n]*|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|#!?\[[^\n]*\]|/\*.*?\*/', re.DOTALL)
    blank = literal.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), kept)
    return blank + re.sub(r"[^\n]", " ", source[len(kept) :])


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """The mutants of a source file, in the order of their places."""
    code = code_of(source)
    found: Counter[str] = Counter()
    for start, end, text, change, kind in sorted(_changes(code)):
        first = source.rfind("\n", 0, start) + 1
        before = source[first : source.find("\n", start)].strip()
        # The same change at several places of equal lines.
        found[before + change] += 1
        number = found[before + change]
        place = change if number == 1 else f"{change}, place {number}"
        yield Mutant(file, source.count("\n", 0, start) + 1, before, place, start, end, text, kind)


def _changes(code: str) -> Iterator[tuple[int, int, str, str, str]]:
    for found in _OPERATOR.finditer(code):
        start, end = found.span()
        if found.group() == "||" and re.search(r"(?:[=(,{|&]|\bmove|\breturn)$", code[:start][-40:].rstrip()):
            continue  # A closure without arguments.
        for text in SWAPS[found.group()]:
            yield start, end, text, f"{found.group()} to {text}", "operator"
    for found in _NEGATION.finditer(code):
        yield found.start(), found.end(), "", "negation deleted", "negation"
    for found in _NUMBER.finditer(code):
        if code[: found.start()].endswith("; ") and code[found.end()] == "]":
            continue  # The length of an array.
        for text in _numbers(found.group()):
            yield found.start(), found.end(), text, f"{found.group()} to {text}", "number"
    for found in _FUNCTION.finditer(code):
        end = _closing(code, found.end() - 1)
        for text in _defaults((found.group(2) or "()").strip()):
            if code[found.end() : end].strip() == text:
                continue
            yield found.end(), end, f" {text} ", f"{found.group(1)} returns {text or 'at once'}", "function"


def _numbers(text: str) -> tuple[str, ...]:
    """A tenth more and less of a number, at least one of an integer.

    One nanosecond of a second is no change that a test should see.
    """
    plain = text.replace("_", "")
    if "." in plain:
        value = float(plain)
        return (f"{value * 1.1:.6}", f"{value * 0.9:.6}") if value else ("1.0",)
    value_int = int(plain)
    step = max(1, value_int // 10)
    return (str(value_int + step), str(value_int - step)) if value_int else ("1",)


def _defaults(kind: str) -> tuple[str, ...]:
    """Values of a return type that need no argument."""
    if kind in _DEFAULTS:
        return _DEFAULTS[kind]
    if kind.startswith("Option<"):
        return ("None",)
    return ("Default::default()",) if _NUMERIC.fullmatch(kind) else ()


def _closing(code: str, opening: int) -> int:
    """The place of the brace that closes the one at `opening`."""
    depth = 0
    for place in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return len(code)


def all_mutants(paths: Sequence[str]) -> list[Mutant]:
    """The mutants of files and folders of the tree, by hash."""
    files = sorted(
        file for path in paths for file in ([ROOT / path] if path.endswith(".rs") else (ROOT / path).rglob("*.rs"))
    )
    found = [
        mutant
        for file in files
        if file.name not in ("tests.rs", "testing.rs")
        for mutant in mutants_of(file.relative_to(ROOT).as_posix(), file.read_text("utf-8"))
    ]
    return sorted(found, key=lambda mutant: mutant.order)


def reasons(text: str) -> dict[str, str]:
    """The known survivors and their reasons: a key on a line, its reason on the next, indented."""
    known: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            known[key] = f"{known[key]} {line.strip()}".strip()
        else:
            key = line.strip()
            known[key] = ""
    return known


class TestsFailError(Exception):
    """The tests of a crate fail, or cannot be built, without a mutant."""


class Copy:
    """A copy of the tree's files, some of them changed, in which tests are built."""

    def __init__(self, crate: str, tree: Path, changed: Mapping[str, str]) -> None:
        self.crate = crate
        self.tree = tree
        self.cargo = shlex.split(os.environ.get("CARGO", "cargo"))
        listing = ["git", "ls-files", "-zco", "--exclude-standard"]
        listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True).stdout
        names = {name for name in listed.decode().split("\0") if name and not name.startswith(NOT_BUILT)}
        names = {name for name in names if (ROOT / name).is_file()}
        for copy in [path for path in tree.rglob("*") if path.is_file()]:
            if copy.relative_to(tree).as_posix() not in names | changed.keys():
                copy.unlink()
        digest = hashlib.sha256()
        for name in sorted(names):
            content = (ROOT / name).read_bytes()
            if name.startswith(("crates/", "Cargo")):
                digest.update(f"{name} {len(content)}\n".encode() + content)
            if name not in changed:
                self.write(name, content)
        self.digest = digest.hexdigest()
        for name, text in changed.items():
            self.write(name, text.encode())

    def write(self, name: str, content: bytes) -> None:
        """Writes a file unless it is equal: cargo builds what is newer."""
        copy = self.tree / name
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)

    def build(self, kind: Sequence[str], package: str = "") -> tuple[str | None, list[dict[str, Any]]]:
        """The program of these tests; None and the compiler's errors if it cannot be built."""
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(COPY / "target"),
            "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
            "CARGO_PROFILE_DEV_DEBUG": "0",
        }
        command = [*self.cargo, "test", "--quiet", "--offline", "--package", package or self.crate, *kind, "--no-run"]
        command += ["--message-format", "json"]
        built = subprocess.run(command, cwd=self.tree, env=environment, capture_output=True, text=True)
        messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
        if built.returncode:
            errors = [one["message"] for one in messages if one["reason"] == "compiler-message"]
            errors = [one for one in errors if one["level"] == "error"]
            return None, errors or [{"message": built.stderr[:300], "spans": []}]
        return next(one["executable"] for one in messages if one.get("executable")), []

    def run(
        self, program: str, options: Sequence[str], limit_s: float, environment: Mapping[str, str]
    ) -> tuple[str, list[str]]:
        """The outcome of the tests that `options` select, up to the first that fails."""
        environment = {**os.environ, "PROPTEST_RNG_SEED": "1", "RUST_BACKTRACE": "0", **environment}
        folder = self.tree / "crates" / self.crate.removeprefix("ackclock-")
        running = subprocess.Popen(
            [program, *options],
            cwd=folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=_limit_memory,
        )
        late = Timer(limit_s, running.kill)
        late.start()
        failed = ""
        with running:
            for line in running.stdout or ():
                if found := re.fullmatch(r"test (\S+)(?: - .*)? \.\.\. FAILED\n", line):
                    failed = found.group(1)
                    break
            if failed:
                running.kill()
        is_late = late.finished.is_set()
        late.cancel()
        if failed:
            return CAUGHT, [failed]
        if is_late:
            return TIMEOUT, []
        # An abort, such as of a stack that is used up, names no test.
        return (CAUGHT, [f"status {running.returncode}"]) if running.returncode else (SURVIVED, [])


def _limit_memory() -> None:
    """A mutant may allocate without end."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))


def played() -> dict[str, str]:
    """The scripts of tests/packetdrill as tests of their player's crate."""
    sys.path[:0] = [str(ROOT / "python"), str(ROOT)]
    from ackclock import _native
    from ackclock.packetdrill import run_script, scripts_in
    from studies.conformance.suites import header, tcp_keys

    cases: dict[str, dict[str, str]] = {}
    folder = ROOT / "tests" / "packetdrill"
    for script in scripts_in(folder):
        if header(script, "fails"):
            continue
        with patch.object(_native, "packetdrill_run", return_value={"verdict": "passes"}) as call:
            run_script(script, header(script, "host", "linux-6"), tcp=tcp_keys(script))
        text, tcp, *_ = call.call_args.args
        name = re.sub(r"\W", "_", script.relative_to(folder).with_suffix("").as_posix())
        cases[name] = {"text": text, "tcp": tcp}
    tests = [f'#[test]\nfn {name}() {{\n    play("{name}");\n}}\n' for name in cases]
    return {
        "crates/packetdrill/tests/played.rs": "\n".join([PLAYED, *tests]),
        "crates/packetdrill/tests/played.json": json.dumps(cases),
    }


class Program:
    """A crate's tests with a switch for each mutant, and the places that each test reaches."""

    def __init__(self, crate: str) -> None:
        self.crate = crate
        folder = f"crates/{crate.removeprefix('ackclock-')}"
        sources = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / folder).rglob("*.rs")}
        paths = [path for of, own in SETS.values() if of == crate for path in own]
        mutants = sorted(all_mutants(paths), key=lambda mutant: (mutant.file, mutant.start, mutant.end))
        changes: dict[str, list[Change]] = {}
        self.numbers = {mutant.key: number for number, mutant in enumerate(mutants, 1)}
        for mutant in mutants:
            change = Change(self.numbers[mutant.key], mutant.start, mutant.end, mutant.text, mutant.kind)
            changes.setdefault(mutant.file, []).append(change)
        self.switched = Switched(sources, changes)
        kept = COPY / f"{crate}.switches.json"
        known = json.loads(kept.read_text("utf-8")) if kept.is_file() else {}
        tool = hashlib.sha256((ROOT / "tools" / "mutant_switch.py").read_bytes()).hexdigest()
        if known.get("tool") == tool:
            self.switched.apart |= {self.numbers[key] for key in known["apart"] if key in self.numbers}
        root = f"{folder}/src/lib.rs"
        added = {f"{folder}/src/mutant_switch.rs": SWITCH.replace("COUNT", str(len(mutants) + 1))}
        if crate in PLAYERS:
            added |= played()
        programs: list[str] = []
        while not programs:
            texts = self.switched.texts()
            texts[root] = f"{texts.get(root, sources[root])}\npub mod mutant_switch;\n"
            self.copy = Copy(crate, COPY / "switched", {**added, **texts})
            digest = hashlib.sha256(json.dumps([self.copy.digest, added, texts]).encode()).hexdigest()
            if known.get("digest") == digest and all(Path(path).is_file() for path in known["programs"]):
                programs, self.tests = known["programs"], [TestCase(**one) for one in known["tests"]]
                break
            keys = [key for key, number in self.numbers.items() if number in self.switched.apart]
            known = {"tool": tool, "apart": keys}
            kept.write_text(json.dumps(known), "utf-8")
            begun = time.monotonic()
            programs = self._build(texts)
            took = time.monotonic() - begun
            print(f"{crate}: {len(mutants)} mutants, {len(keys)} apart, built in {took:.0f} s", flush=True)
        if "digest" not in known:
            self.tests = self._measure(programs)
            known |= {"digest": digest, "programs": programs, "tests": [vars(test) for test in self.tests]}
            kept.write_text(json.dumps(known), "utf-8")

    def _build(self, texts: Mapping[str, str]) -> list[str]:
        """The programs; none if mutants were set apart, to which the compiler's errors belong."""
        programs = []
        own = [(self.crate, kind) for kind in KINDS_OF_TEST]
        for package, kind in [*own, *(("ackclock-packetdrill", kind) for kind in PLAYERS.get(self.crate, ()))]:
            program, errors = self.copy.build(kind, package)
            if program:
                programs.append(program)
                continue
            found = False
            for error in errors:
                for span in error["spans"]:
                    while span["file_name"] not in texts and span["expansion"]:
                        span = span["expansion"]["span"]
                    if span["is_primary"] and (text := texts.get(span["file_name"])):
                        start, end = (len(text.encode()[: span[at]].decode()) for at in ("byte_start", "byte_end"))
                        found |= self.switched.drop(text, start, end)
            if not found:
                raise TestsFailError(f"{self.crate}: the switches cannot be built: {errors[0]['message']}")
            return []
        return programs

    def _measure(self, programs: Sequence[str]) -> list[TestCase]:
        """Each test alone, its time and the places it reaches."""
        begun = time.monotonic()
        with TemporaryDirectory() as folder:

            def measure(work: tuple[int, str, str]) -> TestCase | None:
                number, program, name = work
                reached = Path(folder) / str(number)
                since = time.monotonic()
                outcome, _ = self.copy.run(program, ("--exact", name), MAX_TEST_S, {"MUTANTS_REACHED": str(reached)})
                took = time.monotonic() - since
                places = [int(line) for line in reached.read_text().split()] if reached.is_file() else []
                return TestCase(program, name, took, places) if outcome == SURVIVED else None

            work: list[tuple[int, str, str]] = []
            for program in programs:
                listed = subprocess.run(
                    [program, "--list", "--format", "terse"], capture_output=True, text=True, check=True
                )
                names = [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]
                work += [(len(work) + place, program, name) for place, name in enumerate(names)]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                tests = list(pool.map(measure, work))
        wrong = [name for (_, _, name), test in zip(work, tests, strict=True) if test is None]
        print(f"{self.crate}: {len(work)} tests one at a time, {time.monotonic() - begun:.0f} s", flush=True)
        if len(wrong) > MAX_LEFT_OUT:
            raise TestsFailError(f"{self.crate}: {len(wrong)} tests fail without a mutant: {' '.join(wrong[:5])}")
        for name in wrong:
            print(f"  left out, it fails without a mutant: {name}")
        return sorted((test for test in tests if test), key=lambda test: test.seconds)

    def has(self, mutant: Mutant) -> bool:
        return self.switched.first(self.numbers[mutant.key]) is not None

    def test(self, mutant: Mutant) -> tuple[str, list[str]]:
        """The outcome, and the first test that failed. The shortest tests come first."""
        number = self.numbers[mutant.key]
        place = self.switched.first(number)
        tests = [test for test in self.tests if place in test.places]
        for part in (tests[:FIRST_TESTS], tests[FIRST_TESTS:]):
            for program in sorted({test.program for test in part}):
                own = [test for test in part if test.program == program]
                limit_s = min(MAX_TEST_S, 5.0 * sum(test.seconds for test in own) + 10.0)
                names = [test.name for test in own]
                outcome, failed = self.copy.run(program, ("--exact", *names), limit_s, {"MUTANT": str(number)})
                if outcome != SURVIVED:
                    return outcome, failed
        return SURVIVED, [] if tests else ["no test reaches it"]


@dataclass(frozen=True)
class TestCase:
    """A test, and the places of mutants that it reaches, by the number of their first mutant."""

    program: str
    name: str
    seconds: float
    places: list[int]


class Bench:
    """A copy of the tree, in which one mutant at a time is built and tested."""

    def __init__(self, crate: str) -> None:
        self.crate = crate
        self.copy = Copy(crate, COPY / "tree", {})
        self.limits_s: dict[Sequence[str], float] = {}

    def test(self, mutant: Mutant) -> tuple[str, list[str]]:
        """The outcome, and the first test that failed. The tests of the changed module come first,
        then those of all modules, then those of the public interface, which take another build.

        Raises TestsFailError: tests fail, or cannot be built, without a mutant.
        """
        file = self.copy.tree / mutant.file
        source = file.read_text("utf-8")
        for kind in KINDS_OF_TEST:
            self._check(kind)
            try:
                file.write_text(mutant.apply(source), "utf-8")
                program, errors = self.copy.build(kind)
                if program is None:
                    return UNVIABLE, [errors[0]["message"]]
                for names in ((module_of(mutant.file),), ()) if kind == KINDS_OF_TEST[0] else ((),):
                    outcome, failed = self.copy.run(program, names, self.limits_s[kind], {})
                    if outcome != SURVIVED:
                        return outcome, failed
            finally:
                file.write_text(source, "utf-8")
        return SURVIVED, []

    def _check(self, kind: Sequence[str]) -> None:
        """These tests pass without a mutant; of an equal tree this is known from the last time. A
        mutant may take five times as long.
        """
        if kind in self.limits_s:
            return
        kept = COPY / f"{self.crate}{kind[-1]}.json"
        if kept.is_file() and (known := json.loads(kept.read_text("utf-8")))["digest"] == self.copy.digest:
            self.limits_s[kind] = known["limit_s"]
            return
        print(f"{self.crate} {' '.join(kind)}: without a mutant; the first build takes minutes", flush=True)
        begun = time.monotonic()
        program, errors = self.copy.build(kind)
        built_s, begun = time.monotonic() - begun, time.monotonic()
        outcome, failed = (
            (UNVIABLE, [errors[0]["message"]]) if program is None else self.copy.run(program, (), MAX_TEST_S, {})
        )
        test_s = time.monotonic() - begun
        if outcome != SURVIVED:
            raise TestsFailError(f"{self.crate}: the tests fail without a mutant: {outcome} {' '.join(failed)}")
        print(f"{self.crate} {' '.join(kind)}: built in {built_s:.0f} s, tests took {test_s:.0f} s", flush=True)
        self.limits_s[kind] = min(MAX_TEST_S, 5.0 * test_s + 10.0)
        kept.write_text(json.dumps({"digest": self.copy.digest, "limit_s": self.limits_s[kind]}), "utf-8")


def module_of(file: str) -> str:
    """The module of a source file, as the names of its tests begin.

    >>> module_of("crates/core/src/queue/codel.rs"), module_of("crates/trace/src/join/mod.rs")
    ('queue::codel::', 'join::')
    """
    path = file.split("/src/", 1)[1].removesuffix(".rs").removesuffix("/mod")
    return path.replace("/", "::") + "::"


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutation testing of the engine.")
    parser.add_argument("sets", nargs="*", choices=[*SETS, []], help="sets of files (default: all)")
    parser.add_argument("--part", default="1/1", help="one of several parts, such as 1/8")
    parser.add_argument("--minutes", type=float, default=60.0, help="no mutant begins after this time")
    parser.add_argument("--kept", type=Path, default=ROOT / "runs" / "mutants.jsonl", help="the file of outcomes")
    parser.add_argument("--match", default="", help="only mutants whose key has this regular expression")
    parser.add_argument("--list", action="store_true", help="print the mutants, and test none")
    options = parser.parse_args()
    begun = time.monotonic()
    part, parts = (int(number) for number in options.part.split("/"))
    known = reasons(SURVIVORS.read_text("utf-8"))
    kept: dict[str, dict[str, object]] = {}
    if options.kept.is_file():
        for line in options.kept.read_text("utf-8").splitlines():
            outcome = json.loads(line)
            kept[outcome["key"]] = outcome
    status = 0
    crates: dict[str, tuple[Program, Bench]] = {}
    for name in options.sets or SETS:
        crate, paths = SETS[name]
        mutants = [one for one in all_mutants(paths) if re.search(options.match, one.key)]
        mutants = [one for one in mutants if int(one.order, 16) % parts == part - 1]
        if options.list:
            print("\n".join(one.key for one in mutants))
            continue
        # A survivor without a reason may have a test by now.
        survived = {key for key, one in kept.items() if one["outcome"] == SURVIVED and not known.get(key)}
        left = [one for one in mutants if one.key not in kept] + [one for one in mutants if one.key in survived]
        print(f"{name}: {len(mutants)} mutants, {len(left)} to test", flush=True)
        if left and crate not in crates:
            try:
                crates[crate] = (Program(crate), Bench(crate))
            except TestsFailError as error:
                print(error)
                return 2
        left.sort(key=lambda mutant: not crates[crate][0].has(mutant))
        for number, mutant in enumerate(left, 1):
            if time.monotonic() - begun > 60.0 * options.minutes:
                break
            program, bench = crates[crate]
            since = time.monotonic()
            try:
                outcome, failed = program.test(mutant) if program.has(mutant) else bench.test(mutant)
            except TestsFailError as error:
                print(error)
                return 2
            took = time.monotonic() - since
            kept[mutant.key] = {"key": mutant.key, "line": mutant.line, "outcome": outcome, "failed": failed[:5]}
            options.kept.parent.mkdir(parents=True, exist_ok=True)
            with options.kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(kept[mutant.key]) + "\n")
            print(f"{number}/{len(left)} {took:4.0f} s {outcome:9} {mutant.key} {' '.join(failed[:1])}", flush=True)
        done = [kept[one.key] for one in mutants if one.key in kept]
        counts = Counter(str(one["outcome"]) for one in done)
        total = f"{len(done)} of {len(mutants)} mutants judged"
        print(f"{name}: {total}{''.join(f', {n} {what}' for what, n in sorted(counts.items()))}", flush=True)
        unexplained = [str(one["key"]) for one in done if one["outcome"] == SURVIVED and not known.get(str(one["key"]))]
        for key in unexplained:
            print(f"  without a reason: {key}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
