"""The first difference of a failing script, as a short kind such as `psh` or `info:snd_cwnd`."""

from __future__ import annotations

import re

from ackclock.packetdrill import ScriptResult

_FIELDS = {"sequence number": "seq", "window": "win", "ECN": "ecn"}
_CONJUNCT = re.compile(r"^(?:(?P<low>\d+) <= )?(?P<sum>[a-z_+ ]+?) (?P<sign>==|<=) (?P<bound>\d+)$")


def kind(result: ScriptResult) -> str:
    """What differs at the statement that ends the run.

    `silent`: nothing was sent; `call`: a call returned another value; `info:` and the fields of
    `struct tcp_info` that an assertion does not find; `psh`, `win`, `seq`, `payload`, `ack`,
    `flags`, `ecn`, `option`, `time-early`, `time-late`: the differences of a segment, joined by
    `+`. Empty for a script that passes.
    """
    if result.verdict != "fails":
        return ""
    if "%{" in result.statement:
        return "info:" + "+".join(_failing_fields(result.expected, result.got))
    if result.differs:
        return "+".join(dict.fromkeys(_segment_difference(text) for text in result.differs))
    return "silent" if result.got.startswith("nothing") else "call"


def _segment_difference(text: str) -> str:
    what, _, rest = text.partition(": ")
    found = re.fullmatch(r"expected (.*), got (.*)", rest)
    expected, got = found.groups() if found else ("", "")
    if what == "flags":
        return "psh" if set(expected) ^ set(got) == {"P"} else "flags"
    if what == "time":
        first = float(expected.split()[0])
        return "time-early" if float(got.split()[0]) < first else "time-late"
    return _FIELDS.get(what, what)


def _failing_fields(assertion: str, got: str) -> list[str]:
    """The fields of those parts of an assertion that do not hold."""
    values = {name: int(value) for name, value in re.findall(r"tcpi_(\w+) = (-?\d+)", got)}
    failing: set[str] = set()
    for part in assertion.split(" and "):
        names = re.findall(r"tcpi_(\w+)", part)
        found = _CONJUNCT.match(part.strip())
        if found is None or not set(names) <= set(values):
            continue
        value, bound = sum(values[name] for name in names), int(found["bound"])
        holds = value == bound if found["sign"] == "==" else int(found["low"] or 0) <= value <= bound
        if not holds:
            failing |= set(names)
    return sorted(failing)
