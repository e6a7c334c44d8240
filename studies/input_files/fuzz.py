"""Gives mutated link files, scenarios and set-ups to the commands that read one, for some time.

    python -m studies.input_files.fuzz MINUTES OUT [--seed N] [--first N]

The inputs are made of the packaged links, the examples and the bases of
`tests/input/messages.jsonl`, which together have every key of every table: other values, numbers
and units, lines left out, doubled or taken from another file, keys renamed, bytes overwritten,
cut or not UTF-8. The set-ups of `tests/link_import/setups.toml` are among them. `show` and `import`
read each input, and `export` each link. An accepted one is simulated if
its run is short, so that the engine checks the plan, too. A command has to end with status 0, or
with status 2 and one line. An input is fixed by the seed and its number; one that ends a command
otherwise is kept in OUT with the command that shows it, each place of the source once. The exit
status is 1 if there is any.
"""

from __future__ import annotations

import faulthandler
import json
import random
import re
import shutil
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from ackclock.input.link.names import PACKAGED
from ackclock.overview import OverviewDocument, overview
from studies.run_folders.fuzz import MAX_S, Failure, main, play

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = ROOT / "tests/input/messages.jsonl"
SETUPS = ROOT / "tests/link_import/setups.toml"
FILE = "input.toml"
SCENARIO_OF_LINK = f'link = "{FILE}"\nduration = "50 ms"\n[[flow]]\nworkload.kind = "bulk"\n'
SIMULATED = "simulated.toml"
MAX_MUTATIONS = 4
MAX_EVENTS = 2e5
"""Packets and samples of a run that is short."""
SHORT_PS = 50_000_000_000
"""Duration of the runs that are simulated, in picoseconds."""
VALUES = (
    "true", "-1", "0", "1", "2", "0.5", "1e308", "1e-308", "nan", "inf", "-inf", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "1_000", "0x7fffffff", '""', '"x"', '"-5 ms"', '"0 s"', '"1 ns"',
    '"1 ps"', '"100 day"', '"1e30 day"', '"0 b/s"', '"1 b/s"', '"100 Tb/s"', '"1e400 Mb/s"', '"0 B"', '"1 B"',
    '"5 GB"', '"1.5 packets"', '"5 packets"', '"\\u0000"', '"\\ud7ff"', '"é µs"', '"auto"', '"none"', '"link"', '"..."',
    '"/"', "'''\nx'''", "[]", "{}", "[[]]", "[1, 0]", '["x"]', "{ kind = 1 }", '{ kind = "zz" }', '{ down = 1, up = "x" }',
    '[["0 s", "1 Mb/s"]]', "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z",
)  # fmt: skip
NUMBERS = ("0", "-1", "1", "0.1", "1.5", "1e3", "1e9", "1e18", "1e19", "1e308", "99999999999999999999", "٣", "1__0")
_LINE = re.compile(r"^(\s*)([\w.\"-]+)(\s*=\s*)(.+)$")
_NUMBER = re.compile(r"\d[\d_.]*")


def corpus() -> list[str]:
    """The valid texts: packaged links, examples, one of each table with all its keys, set-ups."""
    files = [*sorted(PACKAGED.glob("*.toml")), *sorted((ROOT / "examples").glob("*.toml"))]
    rows = map(json.loads, MESSAGES.read_text("utf-8").splitlines())
    tables = [row[3] for row in rows if row[0] == "base"]
    setups = [setup["input"] for setup in tomllib.loads(SETUPS.read_text("utf-8"))["setup"]]
    return [*(file.read_text("utf-8") for file in files), *tables, *setups]


@dataclass(frozen=True)
class Mutations:
    """Changes of a text, with the lines of the corpus from which other keys and values come."""

    lines: Sequence[str]

    def _values(self, rng: random.Random) -> str:
        if rng.random() < 0.5:
            return rng.choice(VALUES)
        line = _LINE.match(rng.choice(self.lines))
        return line[4] if line else "1"

    def _line(self, lines: list[str], rng: random.Random, change: Callable[[re.Match[str]], str]) -> None:
        """Change a line that has a key."""
        places = [place for place, line in enumerate(lines) if _LINE.match(line)]
        if places:
            place = rng.choice(places)
            lines[place] = change(_LINE.match(lines[place]))

    def _number(self, lines: list[str], rng: random.Random) -> None:
        def changed(line: re.Match[str]) -> str:
            numbers = list(_NUMBER.finditer(line[4]))
            if not numbers:
                return line[0]
            start, end = rng.choice(numbers).span()
            return line[1] + line[2] + line[3] + line[4][:start] + rng.choice(NUMBERS) + line[4][end:]

        self._line(lines, rng, changed)

    def lines_changed(self, text: str, rng: random.Random) -> str:
        """A text with a value, number, key or line that is another, missing or new."""
        lines = text.splitlines()
        place = rng.randrange(len(lines) + 1)
        kind = rng.choice(("value", "value", "number", "number", "key", "without", "doubled", "new", "new", "moved"))
        if kind == "value":
            self._line(lines, rng, lambda line: line[1] + line[2] + line[3] + self._values(rng))
        elif kind == "number":
            self._number(lines, rng)
        elif kind == "key":
            other = _LINE.match(rng.choice(self.lines))
            self._line(lines, rng, lambda line: line[1] + (other[2] if other else "x") + line[3] + line[4])
        elif kind == "new":
            lines.insert(place, rng.choice(self.lines))
        elif lines:
            taken = lines.pop(rng.randrange(len(lines)))
            if kind == "moved":
                lines.insert(place, taken)
            elif kind == "doubled":
                lines += [taken, taken]
        return "\n".join(lines) + "\n"

    def bytes_changed(self, content: bytes, rng: random.Random) -> bytes:
        """A content with other bytes, which no longer may be TOML."""
        place = rng.randrange(len(content) + 1)
        kind = rng.choice(("overwritten", "cut", "not UTF-8", "inserted", "mark", "returns", "deep", "long"))
        if kind == "overwritten":
            changed = bytearray(content)
            for _ in range(rng.randint(1, 8)):
                if changed:
                    changed[rng.randrange(len(changed))] = rng.choice((rng.randrange(256), *b"\"'[]{}=.,#\n\0"))
            return bytes(changed)
        deep = rng.choice((10, 100, 1_000, 5_000))
        return {
            "cut": lambda: content[:place],
            "not UTF-8": lambda: content[:place] + b"\xff\xfe\x80" + content[place:],
            "inserted": lambda: content[:place] + rng.choice((b"[[", b"]]", b'"""', b"'", b"\0", b"=", b".")) + content[place:],
            "mark": lambda: b"\xef\xbb\xbf" + content,
            "returns": lambda: content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\r"))),
            "deep": lambda: content + rng.choice((b"x = " + b"[" * deep, b"x = " + b"[" * deep + b"]" * deep,
                                                  b"a" + b".a" * deep + b" = 1", b"x = " + b"{a=" * deep + b"1" + b"}" * deep)) + b"\n",
            "long": lambda: content + b'source = "' + b"x" * 10 * deep + b'"\n',
        }[kind]()  # fmt: skip

    def draw(self, texts: Sequence[str], rng: random.Random) -> bytes:
        text = rng.choice(texts)
        if rng.random() < 0.7:  # so that an accepted input is simulated
            text = re.sub(r'^duration = ".*"', 'duration = "50 ms"', text, flags=re.MULTILINE)
        for _ in range(rng.randint(1, MAX_MUTATIONS)):
            text = self.lines_changed(text, rng)
        content = text.encode()
        return self.bytes_changed(content, rng) if rng.random() < 0.15 else content


def is_short(document: OverviewDocument) -> bool:
    """Whether the runs of an overview take no time."""
    scenario = document.get("scenario", {})
    rates = [side["bottleneck_bps"] or 1e11 for side in document["directions"].values()]
    flows = sum(flow["count"] for flow in scenario.get("flow", ()))
    seconds = SHORT_PS / 1e12
    return bool(max(rates) * seconds / 12_000 + 100 * flows < MAX_EVENTS)


def commands(folder: Path) -> list[list[str]]:
    """What reads the input, as typed, in its folder; the last ones only if its runs are short."""
    reading = [["show", FILE], ["show", FILE, "--json"], ["import", FILE, "--json"]]
    try:
        document = overview(FILE).document
    except Exception:  # `show` is played, which says it
        return reading
    reading.append(["export", FILE, "--to", "tc", "--out", "tc", "--force"] if document["kind"] == "link" else [])
    scenario = document.get("scenario", {})
    if document["kind"] == "link":
        (folder / SIMULATED).write_text(SCENARIO_OF_LINK)
    elif scenario["duration"] in ("50 ms", "0.05 s") and document["runs"] <= 4:
        shutil.copy(folder / FILE, folder / SIMULATED)
    else:
        return [words for words in reading if words]
    if is_short(document):
        reading.append(["simulate", SIMULATED, "--no-report", "--quiet", "--workers", "1", "--out", "run", "--force"])
    return [words for words in reading if words]


def run(minutes: float, out: Path, seed: int, first: int) -> int:
    """Play inputs until the time is over; return the number of places that failed."""
    out.mkdir(parents=True, exist_ok=True)
    out = out.resolve()
    texts = corpus()
    mutations = Mutations([line for text in texts for line in text.splitlines() if line.strip()])
    print(f"seed {seed}, {len(texts)} link files, scenarios and set-ups, {minutes:.1f} minutes", flush=True)
    places: Counter[str] = Counter()
    played: Counter[str] = Counter()
    current, number = out / "current-input", first
    with tempfile.TemporaryDirectory() as name, chdir(name):
        folder = Path(name)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end:
            current.write_text(f"--seed {seed} --first {number}\n")
            faulthandler.dump_traceback_later(6 * MAX_S, exit=True, file=sys.__stderr__ or 2)
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            content = mutations.draw(texts, random.Random(f"{seed} {number}"))
            (folder / FILE).write_bytes(content)
            for arguments in commands(folder):
                played[arguments[0]] += 1
                if failure := play(arguments):
                    places[failure.place] += 1
                    if places[failure.place] == 1:
                        print(_kept(out, seed, number, content, failure), flush=True)
            number += 1
        faulthandler.cancel_dump_traceback_later()
    current.unlink()
    counts = ", ".join(f"{count} times {command}" for command, count in sorted(played.items()))
    print(f"{number - first} inputs ({counts}), {len(places)} findings")
    for place, count in sorted(places.items(), key=lambda item: -item[1]):
        print(f"{count:>6} times: {place}")
    return len(places)


def _kept(out: Path, seed: int, number: int, content: bytes, failure: Failure) -> str:
    """Write the input; return the lines that show it."""
    kept = out / f"{seed}-{number}.toml"
    kept.write_bytes(content)
    typed = " ".join(word.replace(FILE, str(kept)) for word in failure.arguments)
    return f"input {number}: {failure.place}\n  ackclock {typed}"


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
