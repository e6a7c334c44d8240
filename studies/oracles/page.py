"""`python -m studies.oracles.page [stored|aqm]`: every figure that is compared with an oracle, as a
Markdown table: with the stored results, of AQMs, or both.

ACKCLOCK_ORACLES names the folder of ns-2's and the papers' results; `make accuracy` sets it. The
rows of the AQMs need ns-3.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from textwrap import fill

from studies.oracles import aqm, closed_forms, scenario_a, scenario_b, scenario_e, table1
from studies.oracles.agreement import Check, markdown

SCENARIOS = (scenario_e, scenario_a, scenario_b, table1)


def main() -> int:
    parts = {"stored": _stored, "aqm": _replayed}
    checks = [check for part in sys.argv[1:] or parts for check in parts[part]()]
    if not checks:
        return 1
    figures = [(figure, dict(check.known).get(figure.name)) for check in checks for figure in check.figures()]
    print(markdown([figure for figure, _ in figures]))
    for reason in dict.fromkeys(reason for figure, reason in figures if reason and not figure.holds):
        print("\n" + fill(reason, 100, break_on_hyphens=False, break_long_words=False))
    return 0


def _stored() -> list[Check]:
    named = os.environ.get("ACKCLOCK_ORACLES")
    if not named or not Path(named).is_dir():
        sys.stderr.write("ACKCLOCK_ORACLES names no folder: set it to the oracles' results\n")
        return []
    return [check for scenario in SCENARIOS for check in scenario.checks(Path(named))]


def _replayed() -> list[Check]:
    if not aqm.BINARY.exists():
        sys.stderr.write(f"no rows for AQMs: {aqm.BINARY.name} is not built\n")
        return []
    if aqm.ns3_program() is None:
        sys.stderr.write("no rows of ns-3: ns-3 (Debian: libns3-dev) or g++ is not installed\n")
        return closed_forms.checks()
    return [*aqm.checks(), *closed_forms.checks()]


if __name__ == "__main__":
    sys.exit(main())
