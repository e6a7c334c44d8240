"""`python -m studies.oracles.page stored|aqm|closed-forms`: the figures that are compared with an
oracle, as a Markdown table: with the stored results of ns-2 and the papers, AQMs with ns-3, or AQMs
with closed forms.

`make accuracy` renews docs/evidence/accuracy.md, which has all of them. The status is 77, with the
reason on standard error, if this machine has not what the figures need: ACKCLOCK_ORACLES names the
folder of the stored results, the AQMs need the program `ackclock-bench`, and ns-3.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import fill

from studies.oracles import aqm, closed_forms, scenario_a, scenario_b, scenario_e, table1
from studies.oracles.agreement import Check, markdown

SCENARIOS = (scenario_e, scenario_a, scenario_b, table1)


SKIPPED = 77
"""The exit status of a part that cannot be made here, as in Automake."""


class NotInstalledError(Exception):
    """What a part needs is not on this machine."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    part = parser.parse_args().part
    try:
        checks = PARTS[part]()
    except NotInstalledError as missing:
        sys.stderr.write(f"no rows for {part}: {missing}\n")
        return SKIPPED
    figures = [(figure, dict(check.known).get(figure.name)) for check in checks for figure in check.figures()]
    print(markdown([figure for figure, _ in figures]))
    for reason in dict.fromkeys(reason for figure, reason in figures if reason and not figure.holds):
        print("\n" + fill(reason, 100, break_on_hyphens=False, break_long_words=False))
    return 0


def _stored() -> list[Check]:
    named = os.environ.get("ACKCLOCK_ORACLES")
    if not named or not Path(named).is_dir():
        raise NotInstalledError("ACKCLOCK_ORACLES names no folder: set it to the oracles' results")
    return [check for scenario in SCENARIOS for check in scenario.checks(Path(named))]


def _replayed() -> list[Check]:
    _require_replay()
    if aqm.ns3_program() is None:
        raise NotInstalledError("ns-3 (Debian: libns3-dev) or g++ is not installed")
    return aqm.checks()


def _closed_forms() -> list[Check]:
    _require_replay()
    return closed_forms.checks()


def _require_replay() -> None:
    if not aqm.BINARY.exists():
        raise NotInstalledError(f"{aqm.BINARY.name} is not built")


PARTS: Mapping[str, Callable[[], list[Check]]] = {
    "stored": _stored,
    "aqm": _replayed,
    "closed-forms": _closed_forms,
}


if __name__ == "__main__":
    sys.exit(main())
