"""Find retired words (tools/retired-words.txt) in sources, documentation, file names and commit
subjects.

python tools/retired_words.py                 all files that git knows, and commit subjects
python tools/retired_words.py PATH ...        files below these paths only
python tools/retired_words.py --count         number of findings of each folder
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATTERNS = ROOT / "tools" / "retired-words.txt"
EXCEPTIONS = ROOT / "tools" / "retired-words-exceptions.txt"
MAX_EXCEPTIONS = 40
MAX_SUBJECT = 72
SOURCES = {".rs", ".py", ".pyi", ".md", ".toml", ".sh", ".service"}
SKIPPED = (
    "tools/retired",
    "tests/tools/test_retired_words.py",
    "tests/tools/test_retired_words.py",
    "Cargo.lock",
    "requirements.lock",
)
SUBJECT = re.compile(r"[a-z][a-z0-9 ,/_.-]*: [a-z`]")

RUST_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
      | (?P<string>b?"(?:\\.|[^"\\])*")
      | (?P<char>b?'(?:\\.[^']*|[^'\\])')
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)""",
    re.VERBOSE | re.DOTALL,
)
NAME_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
CODE_SPAN = re.compile(r"`[^`\n]*`|\]\([^)\s]*\)|<[^>\s]*>")


@dataclass(frozen=True)
class Pattern:
    """A retired word of one kind, and the term that replaces it."""

    kind: str
    expression: re.Pattern[str]
    instead: str


@dataclass(frozen=True)
class Exemption:
    """A line of the exceptions: where a word stays, and why."""

    path: str
    kind: str
    word: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether it allows this finding."""
        return (
            fnmatch(finding.path, self.path)
            and self.kind in ("*", finding.kind)
            and fnmatch(finding.word.lower(), self.word.lower())
        )


@dataclass(frozen=True)
class Finding:
    """A retired word in a line of a file."""

    path: str
    line: int
    kind: str
    word: str
    instead: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind} `{self.word}`: use {self.instead}"


def read_patterns(text: str) -> list[Pattern]:
    """Patterns of a file in the form of retired-words.txt."""
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return [Pattern(kind, _compile(kind, expression), instead) for kind, expression, instead in rows]


def _compile(kind: str, expression: str) -> re.Pattern[str]:
    flags = re.IGNORECASE if expression == expression.lower() else 0
    whole = rf"\b(?:{expression})(?!\w)" if kind == "prose" else rf"(?:{expression})\Z"
    return re.compile(whole, flags)


def read_exemptions(text: str) -> list[Exemption]:
    """Exceptions of a file in the form of retired-words-exceptions.txt."""
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return [Exemption(path, kind, word, reason) for path, kind, word, reason in rows]


def parts(name: str) -> list[str]:
    """Lower-case parts of an identifier: `RtoTimer` and `rto_timer` both give ["rto", "timer"]."""
    return [part.lower() for part in NAME_PART.findall(name)]


def split(path: Path, text: str) -> tuple[Iterable[tuple[int, str]], Iterable[tuple[int, str]]]:
    """Prose and identifiers of a file, each with its line number."""
    if path.suffix == ".rs":
        return _split_rust(text)
    if path.suffix in (".py", ".pyi"):
        return _split_python(text)
    if path.suffix == ".md":
        return _markdown(text), ()
    comments = ((n, line.partition("#")[2]) for n, line in enumerate(text.splitlines(), 1) if "#" in line)
    return comments, ()


def _split_rust(text: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    prose: list[tuple[int, str]] = []
    names: list[tuple[int, str]] = []
    for token in RUST_TOKEN.finditer(text):
        line = text.count("\n", 0, token.start()) + 1 if token.lastgroup != "name" else 0
        if token["name"]:
            names.append((token.start(), token["name"]))
        elif token["comment"]:
            prose += _lines(line, CODE_SPAN.sub(" ", token["comment"]))
        elif token["raw"] or token["string"]:
            prose += _sentences(line, token[0])
    return prose, _numbered(text, names)


def _numbered(text: str, names: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Names with line numbers instead of offsets, which increase."""
    out, line, last = [], 1, 0
    for offset, name in names:
        line += text.count("\n", last, offset)
        last = offset
        out.append((line, name))
    return out


def _split_python(text: str) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    prose: list[tuple[int, str]] = []
    names: list[tuple[int, str]] = []
    strings = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            names.append((token.start[0], token.string))
        elif token.type == tokenize.COMMENT:
            prose.append((token.start[0], CODE_SPAN.sub(" ", token.string)))
        elif token.type in strings:
            prose += _sentences(token.start[0], token.string)
    return prose, names


def _sentences(line: int, text: str) -> Iterator[tuple[int, str]]:
    """Lines of a string that has words between blanks; others are keys and names."""
    return _lines(line, CODE_SPAN.sub(" ", text)) if " " in text.strip("\"' ") else iter(())


def _lines(first: int, text: str) -> Iterator[tuple[int, str]]:
    return enumerate(text.splitlines(), first)


def _markdown(text: str) -> Iterator[tuple[int, str]]:
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, CODE_SPAN.sub(" ", line)


def findings(path: str, text: str, patterns: list[Pattern]) -> Iterator[Finding]:
    """Retired words of one file, its name included."""
    file = Path(path)
    last = parts(file.stem)[-1:] or [""]
    for pattern in patterns:
        if pattern.kind == "file" and pattern.expression.match(last[0]) and file.suffix in (".rs", ".py"):
            yield Finding(path, 1, "file", file.name, pattern.instead)
    prose, names = split(file, text)
    words = [p for p in patterns if p.kind == "prose"]
    for line, sentence in prose:
        for pattern in words:
            for match in pattern.expression.finditer(sentence):
                yield Finding(path, line, "prose", match[0], pattern.instead)
    seen: dict[str, Pattern | None] = {}
    for line, name in names:
        if name not in seen:
            seen[name] = _retired(name, patterns)
        if (pattern_of := seen[name]) is not None:
            yield Finding(path, line, "identifier", name, pattern_of.instead)


def _retired(name: str, patterns: list[Pattern]) -> Pattern | None:
    """The pattern that a part of this name matches; `at_least`, `at_most` and `one_way` (RFC 7679)
    are right.
    """
    named = parts(name)
    for at, part in enumerate(named):
        if at and (named[at - 1], part) in (("at", "least"), ("at", "most"), ("one", "way")):
            continue
        for pattern in patterns:
            if pattern.kind == "identifier" and pattern.expression.match(part):
                return pattern
    return None


def subject_faults(subject: str, patterns: list[Pattern]) -> list[str]:
    """What is wrong with a commit subject."""
    faults = []
    if len(subject) > MAX_SUBJECT:
        faults.append(f"{len(subject)} characters, at most {MAX_SUBJECT}")
    if not SUBJECT.match(subject):
        faults.append("not `area: imperative`")
    matches = ((p, p.expression.search(subject)) for p in patterns if p.kind == "prose")
    return faults + [f"`{match[0]}`: use {p.instead}" for p, match in matches if match]


def files(below: list[str]) -> list[str]:
    """Paths, relative to the root, of the sources that git knows and new ones that it does not
    ignore.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *below]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    known = (path for path in dict.fromkeys(listed) if Path(path).suffix in SOURCES and not path.startswith(SKIPPED))
    return [path for path in known if (ROOT / path).is_file()]


def subjects() -> list[str]:
    """Subjects of the commits after the one that added the patterns; none where git has no such
    history.
    """
    relative = str(PATTERNS.relative_to(ROOT))
    added = ["git", "log", "--diff-filter=A", "--format=%H", "--", relative]
    commits = subprocess.run(added, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not commits:
        return []
    since = ["git", "log", "--no-merges", "--format=%s", f"{commits[-1]}..HEAD"]
    return subprocess.run(since, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> int:
    """Print the findings; exit status 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--count", action="store_true", help="number of findings of each folder")
    options = parser.parse_args()
    patterns, exemptions = read_patterns(PATTERNS.read_text("utf-8")), read_exemptions(EXCEPTIONS.read_text("utf-8"))
    if len(exemptions) > MAX_EXCEPTIONS:
        print(f"{EXCEPTIONS.name}: {len(exemptions)} exceptions, at most {MAX_EXCEPTIONS}")
        return 1
    found = [
        finding
        for path in files(options.paths)
        for finding in findings(path, (ROOT / path).read_text("utf-8"), patterns)
        if not any(exemption.covers(finding) for exemption in exemptions)
    ]
    if options.count:
        for folder, count in Counter(str(Path(f.path).parent) for f in found).most_common():
            print(f"{count:6}  {folder}")
    else:
        print("\n".join(map(str, found)) or "no retired words in files")
    faults = (
        []
        if options.paths
        else [(subject, fault) for subject in subjects() for fault in subject_faults(subject, patterns)]
    )
    for subject, fault in faults:
        print(f"commit {subject!r}: {fault}")
    return 1 if found or faults else 0


if __name__ == "__main__":
    sys.exit(main())
