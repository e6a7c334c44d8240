"""A paper's statements and our answers as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from ackclock.documents.reproduce import Survival
from ackclock.format import joined, significant

if TYPE_CHECKING:
    from ackclock.documents.reproduce import AskedQuestion, OurFigure

VERDICTS: dict[Survival, str] = {
    "survives": "survives",
    "smaller": "is smaller",
    "larger": "is larger",
    "gone": "is gone",
    "reversed": "is reversed",
    "undecided": "undecided",
}
"""What becomes of a statement, as a clause."""
MEANINGS: dict[Survival, str] = {
    "survives": "the paper's difference, or its absence, is here, too",
    "smaller": "the paper's sign, with less than half of its effect (the logarithm of the ratio)",
    "larger": "the paper's sign, with more than twice its effect (the logarithm of the ratio)",
    "gone": "the difference is below 5 %, or below half of a smaller one of the paper; two that were alike differ",
    "reversed": "the difference has the other sign",
    "undecided": "the interval of the difference leaves more than one of these answers",
}
_SEVERAL: dict[Survival, str] = {
    "survives": "survive",
    "smaller": "are smaller",
    "larger": "are larger",
    "gone": "are gone",
    "reversed": "are reversed",
    "undecided": "are undecided",
}
TIMES_FROM = 3.0
"""Ratios from here on, and below its inverse, are shown as factors and not in per cent."""


def todays_sentence(link: str, questions: Sequence[AskedQuestion], seeds: int) -> str:
    """What becomes of a paper's statements on a link, in one sentence."""
    if not questions:
        return f"No statement of the paper can be asked on {link}."
    if seeds < 2:
        return f"On {link} one seed shows figures without intervals, which decide nothing."
    counts = Counter(question["verdict"] for question in questions)
    parts = [
        f"{counts[verdict]} {VERDICTS[verdict] if counts[verdict] == 1 else _SEVERAL[verdict]}"
        for verdict in get_args(Survival)
        if counts[verdict]
    ]
    if counts["undecided"] == 1:
        parts[-1] = "1 is undecided"
    return f"On {link}, of the paper's {len(questions)} statements {joined(parts)}."


def change(ratio: float, *, factor: bool = False) -> str:
    """A ratio as a relative change, or as a factor.

    >>> change(1.96), change(0.963), change(0.1, factor=True)
    ('+96 %', '-3.7 %', '0.100 times')
    """
    if factor:
        return f"{significant(ratio, 3)} times"
    percent = 100.0 * (ratio - 1.0)
    digits = 0 if abs(percent) >= 9.95 else 1
    return f"{round(percent, digits) + 0.0:+.{digits}f} %"


def _as_factor(question: AskedQuestion) -> bool:
    """Whether the paper's ratio or ours is too large, or too small, for per cent."""
    ours = question["today"]["ratio"]["value"]
    both = (question["paper"]["ratio"], ours if question["base"] is not None else None)
    return any(ratio is not None and not 1.0 / TIMES_FROM < ratio < TIMES_FROM for ratio in both)


def stated(question: AskedQuestion) -> str:
    """The paper's figure: a change, a bound or a value."""
    paper, unit = question["paper"], question["unit"]
    match paper["states"]:
        case "more" | "less" as order:
            return order if paper["ratio"] is None else change(paper["ratio"], factor=_as_factor(question))
        case "alike":
            return "the same"
        case "above" | "below" as order:
            return f"{order} {paper['value']:g} {unit}".rstrip()
        case "level":
            return f"{significant(paper['value'] or 0.0, 3)} {unit}".rstrip()


def answered(question: AskedQuestion) -> str:
    """Our figure beside `stated`, with its interval."""
    today = question["today"]
    if today["point"]["mean"] is None:
        return today["why"]
    if question["base"] is None:
        return figure(today["point"], question["unit"], wide=True)
    ratio = today["ratio"]
    value, lo, hi = ratio["value"], ratio["lo"], ratio["hi"]
    if value is None:
        return "from nothing"
    factor = _as_factor(question)
    text = change(value, factor=factor)
    if ratio["n"] < 2 or lo is None or hi is None or lo == hi:
        return text
    low, high = (change(edge, factor=factor).rpartition(" ")[0] for edge in (lo, hi))
    return f"{text} ({low} to {high})"


def figure(ours: OurFigure, unit: str, *, wide: bool = False) -> str:
    """One of our figures with its unit, and if ``wide`` with its interval; a dash without one."""
    mean, lo, hi = ours["mean"], ours["lo"], ours["hi"]
    if mean is None:
        return "-"
    text = f"{significant(mean, 3)} {unit}".rstrip()
    if not wide or ours["n"] < 2 or lo is None or hi is None or lo == hi:
        return text
    return f"{text} ({significant(lo, 3)} to {significant(hi, 3)})"


def compared(question: AskedQuestion) -> list[str]:
    """The figures of a question: of its point, and of its base, if any."""
    unit, today = question["unit"], question["today"]
    each = [f"{question['point']} {figure(today['point'], unit)}"]
    if question["base"] is not None and today["base"] is not None:
        each.append(f"{question['base']} {figure(today['base'], unit)}")
    return each
