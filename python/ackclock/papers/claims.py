"""The papers' claims: ``claims.csv``, a row for each."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ackclock.errors import InputError, choices, format_value

PAPERS: dict[str, str] = {
    "wimax-measured": "P0",
    "asymmetry": "P1",
    "wimax-bursts": "P2",
    "wimax-simulated": "P3",
    "wibro": "P4",
}
"""The papers' names and the prefix of their claims' ids."""

_ALSO_SETTINGS = frozenset({"P1-056", "P1-126"})
"""Other names of settings: the reverse link's rate, and the size of the Web workload's
transfers.
"""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_UNIT = re.compile(r"\s*(Mbps|Kbps|kbps|KB|KBytes|ms|s|%|bytes|packets)?(?![A-Za-z])")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number as printed, its unit ("" for a pure number) and half a unit of its last printed
    digit.
    """

    value: float
    unit: str
    rounding: float


@dataclass(frozen=True, slots=True)
class Claim:
    """A row of ``claims.csv``; every field is text as in the file."""

    id: str
    paper: str
    where: str
    scenario: str
    metric: str
    variant: str
    parameters: str
    value: str
    tolerance: str
    tolerance_reason: str
    kind: str
    network_bound: str

    @property
    def is_configuration(self) -> bool:
        """Whether the row is a setting of an experiment, not a result."""
        return self.tolerance_reason == "configuration" or self.id in _ALSO_SETTINGS

    @property
    def do_not_gate(self) -> bool:
        """Whether the paper's figure is doubtful, so that agreement would be meaningless."""
        return self.tolerance == "do not gate"

    def quantity(self) -> Quantity | None:
        """The first number in ``value`` that is no part of a word, with its unit; None without
        one.
        """
        text = self.value.removeprefix("k = ")
        found = _NUMBER.search(text)
        if found is None:
            return None
        unit = _UNIT.match(text, found.end())
        digits = len(found[0].partition(".")[2])
        return Quantity(float(found[0]), (unit[1] or "") if unit else "", 0.5 * 10.0**-digits)


@cache
def all_claims() -> tuple[Claim, ...]:
    """Every claim of every paper, in the file's order."""
    text = resources.files(__package__).joinpath("claims.csv").read_text("utf-8")
    return tuple(Claim(**row) for row in csv.DictReader(text.splitlines()))


def claims_of(paper: str) -> tuple[Claim, ...]:
    """The claims of one paper, by its name (a key of ``PAPERS``).

    Raises:
        InputError: no paper has that name.
    """
    if paper not in PAPERS:
        raise InputError(format_value(paper), f"a paper: {choices(PAPERS, paper)}", option="PAPER")
    prefix = PAPERS[paper] + "-"
    return tuple(claim for claim in all_claims() if claim.id.startswith(prefix))


def expand_ids(named: Sequence[str]) -> list[str]:
    """Claim ids, with each range in full.

    >>> expand_ids(["P1-033..P1-035", "P1-040"])
    ['P1-033', 'P1-034', 'P1-035', 'P1-040']
    """
    found = []
    for name in named:
        if spanned := re.fullmatch(r"(P\d)-(\d{3})\.\.\1-(\d{3})", name):
            prefix, first, last = spanned.groups()
            found += [f"{prefix}-{number:03d}" for number in range(int(first), int(last) + 1)]
        else:
            found.append(name)
    return found
