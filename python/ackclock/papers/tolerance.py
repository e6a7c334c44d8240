"""The tolerances of ``claims.csv``, and whether a number is within one.

A tolerance that is a sentence ("westwood/BIC tie within 10 %") or ``none`` is not read here: such a
claim is an ordering, a pattern or an inequality, and the claim's own evaluator judges it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ackclock.papers.claims import Quantity

Kind = Literal["relative", "absolute", "factor", "range", "rounding", "stated"]

_NUM = r"(\d+(?:\.\d+)?)"
_SEVERAL = re.compile(r"^(?P<first>[^(]+)\((?P<for1>[^)]*)\), (?P<second>[^(]+)\((?P<for2>[^)]*)\)$")
_EXCEPTION = re.compile(r"^(?P<base>[^(]+)\((?P<case>[^:]+): (?P<other>[^)]*)\)$")
_SIMPLE: tuple[tuple[str, Kind], ...] = (
    (rf"^\+-{_NUM} %(?: relative)?$", "relative"),
    (rf"^\+-{_NUM} ?(?:points?|ms|s)?$", "absolute"),
    (rf"^{_NUM}$", "absolute"),
    (rf"^{_NUM} ms$", "absolute"),
    (rf"^factor {_NUM}$", "factor"),
    (rf"^{_NUM} to {_NUM}(?: s| packets)?$", "range"),
)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Maximum distance of a number from the paper's.

    ``relative``: ``a`` is a fraction of the paper's value. ``absolute``: ``a`` in the unit of the
    paper's value. ``factor``: within a factor ``a`` up or down. ``range``: from ``a`` to ``b``,
    independent of the paper's value. ``rounding``: equal as printed. ``stated``: the evaluator
    decides by the claim's text.
    """

    kind: Kind
    a: float = 0.0
    b: float = 0.0

    def admits(self, ours: float, paper: Quantity) -> bool:
        """Whether ``ours``, in the paper's unit, is within the tolerance.

        Raises:
            ValueError: the tolerance is ``stated``; only the claim's evaluator can judge.
        """
        slack = 1e-9 * max(1.0, abs(paper.value))
        match self.kind:
            case "relative":
                return abs(ours - paper.value) <= self.a * abs(paper.value) + slack
            case "absolute":
                return abs(ours - paper.value) <= self.a + slack
            case "factor":
                return paper.value / self.a - slack <= ours <= paper.value * self.a + slack
            case "range":
                return self.a - slack <= ours <= self.b + slack
            case "rounding":
                return abs(ours - paper.value) <= paper.rounding + slack
            case "stated":
                raise ValueError("a stated tolerance requires the claim's evaluator")


def read_tolerance(text: str, case: str = "") -> Tolerance:
    """Read a tolerance; ``case`` picks one of several, as in ``+-15 % (rates, RTT), factor 2
    (retransmissions)``.
    """
    if text == "exact":
        return Tolerance("rounding")
    if several := _SEVERAL.match(text):
        second = case != "" and case in several["for2"]
        return read_tolerance((several["second"] if second else several["first"]).strip())
    if exception := _EXCEPTION.match(text):
        other = case != "" and case.casefold() == exception["case"].casefold()
        return read_tolerance((exception["other"] if other else exception["base"]).strip())
    for pattern, kind in _SIMPLE:
        if found := re.match(pattern, text):
            numbers = [float(g) for g in found.groups()]
            if kind == "relative":
                numbers[0] /= 100.0
            return Tolerance(kind, *numbers)
    return Tolerance("stated")
