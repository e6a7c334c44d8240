"""What the codes of errors, the findings of `analyze`, its rules of retransmissions, the words of
tables and the limitations mean: `ackclock explain`, and the pages of them. The texts of findings
and rules stand beside their rules, in the engine (crates/diagnose, crates/trace).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ackclock import _native
from ackclock.errors import InputError, choices, format_value
from ackclock.limitations import Limitation, limitations

TEXTS = Path(__file__).with_name("explanations.toml")
WORDS = Path(__file__).with_name("words.toml")
PAGES = {
    "error": "reference/errors.html",
    "finding": "reference/findings.html",
    "rule": "reference/rules.html",
    "word": "reference/words.html",
    "limitation": "reference/limitations.html",
}


@dataclass(frozen=True)
class Explanation:
    """The meaning of a name that the program prints."""

    name: str
    kind: str
    """"error", "finding", "rule", "word" or "limitation"."""
    group: str
    """The title below which pages have it."""
    text: str
    example: str = ""
    """The message of such an error."""
    source: str = ""
    """The standard that a rule applies."""

    @property
    def page(self) -> str:
        """Its address in the site."""
        title = self.group if self.kind == "word" else self.name
        return f"{PAGES[self.kind]}#{re.sub('[^a-z0-9_-]+', '-', title.lower())}"


@cache
def explanations() -> dict[str, Explanation]:
    """All by name: errors, findings, rules, words, limitations, in the order of their pages."""
    errors = tomllib.loads(TEXTS.read_text("utf-8"))["errors"]
    entries = [Explanation(name, "error", **entry) for name, entry in errors.items()]
    entries += [Explanation(kind="finding", **of) for of in _native.findings()]
    entries += [
        Explanation(name, "rule", _first_kind(text), text, source=source) for name, source, text in _native.kind_rules()
    ]
    groups = tomllib.loads(WORDS.read_text("utf-8"))
    entries += [
        Explanation(name, "word", group, text) for group, words in groups.items() for name, text in words.items()
    ]
    entries += [Explanation(of.name, "limitation", _touched(of), of.text) for of in limitations()]
    return {entry.name: entry for entry in entries}


def _touched(of: Limitation) -> str:
    """The commands whose verdicts a limitation touches."""
    return f"touches {', '.join(of.commands)}" if of.commands else "touches no verdict"


def _first_kind(text: str) -> str:
    """The kind of segment that a rule's text begins with."""
    return text.split("`")[1]


_UNIT = re.compile(r"\s*(\b(ms|us|s|kB|KB|[kMG]b/s)|%)$", re.IGNORECASE)


def _forms(name: str) -> list[str]:
    """What a reader may have copied from a table, as `ackclock explain` knows it: "retrans-mitted
    %", "queue ms", "1?".
    """
    if re.fullmatch(r"\d+[=?]", name):
        return ["rank"]
    plain = _UNIT.sub("", name).casefold()
    return [name.casefold(), plain, re.sub(r"-\s*", "", plain)]


def explain(name: str) -> Explanation:
    """The explanation of an error's code, a finding, a rule, a word of a table or a limitation, in
    any case, with the unit below the word or without.

    Raises InputError for another name.

    >>> explain("zero_window_stall").text
    "The receiver's window was zero for a time: its application did not read."
    """
    known = explanations()
    if name not in known:
        same = (one for form in _forms(name) for one in known if one.casefold() == form)
        name = next(same, name)
    if name not in known:
        raise InputError(format_value(name), choices(known, name), option="NAME")
    return known[name]
