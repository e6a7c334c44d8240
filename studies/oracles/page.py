"""`python -m studies.oracles.page`: every figure that is compared with an oracle, as a Markdown
table.

ACKCLOCK_ORACLES names the folder of the oracles' results; `make accuracy` sets it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from studies.oracles import scenario_a, scenario_b, scenario_e, table1
from studies.oracles.agreement import Check, markdown

SCENARIOS = (scenario_e, scenario_a, scenario_b, table1)


def main() -> int:
    named = os.environ.get("ACKCLOCK_ORACLES")
    if not named or not Path(named).is_dir():
        sys.stderr.write("ACKCLOCK_ORACLES names no folder: set it to the oracles' results\n")
        return 1
    checks: list[Check] = [check for scenario in SCENARIOS for check in scenario.checks(Path(named))]
    figures = [figure for check in checks for figure in check.figures()]
    print(markdown(figures))
    reasons = {reason for check in checks for _, reason in check.known}
    for reason in sorted(reasons):
        print(f"\n{reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
