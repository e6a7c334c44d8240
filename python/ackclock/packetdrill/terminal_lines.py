"""Verdicts on scripts as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ackclock.packetdrill.run import ScriptResult

_INDENT = " " * 13
_LABEL = 10


def result_lines(result: ScriptResult) -> Iterator[str]:
    """The verdict; below it, what was expected and what happened, or why it cannot be played."""
    place = f"{result.script}" if result.line is None else f"{result.script}:{result.line}"
    yield f"{result.verdict:<13}{place}"
    details = {
        "statement": [result.statement],
        "expected": [result.expected],
        "got": [result.got],
        "differs": result.differs,
        "sender": [result.state or ""],
        "why": [result.why],
    }
    for label, texts in details.items():
        for text in texts:
            if text:
                yield f"{_INDENT}{label:<{_LABEL}}{text}"
                label = ""
    for step in result.trace:
        line = "" if step["line"] is None else f"line {step['line']}"
        yield f"{_INDENT}{step['time_s']:12.6f} s  {line:<10}{step['text']}"


def summary_line(results: Sequence[ScriptResult], host: str, tolerance: str) -> str:
    """How many scripts pass, fail and are unsupported, and how many cannot be read, if any."""
    counts = Counter(result.verdict for result in results)
    many = "1 script" if len(results) == 1 else f"{len(results)} scripts"
    verdicts = f"{counts['passes']} pass, {counts['fails']} fail, {counts['unsupported']} unsupported"
    if counts["unreadable"]:
        verdicts += f", {counts['unreadable']} unreadable"
    return f"{many} against {host} (tolerance {tolerance}): {verdicts}"
