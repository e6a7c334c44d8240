"""``emulate --beside household``: the household's calls, games, pages and transfers as programs
over the kernel's sockets, at both ends of the emulated link (crates/programs).

`python -m ackclock.emulation.programs END FOLDER [COMMAND ..]` is one end: it runs inside the
emulated network and leaves its results in the folder, and runs COMMAND beside them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from ackclock.documents.emulate import EmulationAudit
    from ackclock.documents.simulate import RunFlows

FIRST_PORT = 7000
"""Of the first flow's program; the next flow has the next port (crates/programs)."""
TCP = ("page", "bulk")
"""Workloads whose server listens."""
LEFT_S = 5.0
"""The client's end waits so long for the server's results."""
BOTH_ENDS = ("server", "client")


@dataclass(frozen=True)
class Programs:
    """The household's programs on a link.

    Attributes:
        folder: what both ends share; it exists as long as the emulation.
        plan: of the household on the link.
        ready_port: the server has opened all sockets when it listens here.
    """

    folder: Path
    plan: str
    ready_port: int

    @classmethod
    def on(cls, link: str, folder: Path) -> Programs:
        """The programs for a link or a scenario, of which the link alone counts.

        Raises InputError.
        """
        from ackclock.emulation.config import emulation_draft
        from ackclock.emulation.kernel_cc import KERNEL_NAMES
        from ackclock.input.document import read_document
        from ackclock.simulation.household import FILE
        from ackclock.simulation.plan import build_plan

        household = {key: value for key, value in read_document(FILE).data.items() if key != "title"}
        draft = emulation_draft(link).replaced({**household, "sweep": {}, "sample": "0 s"})
        plan = build_plan(draft.check(), 0, live=True)
        hosts = (flow["tcp"] for flow in plan.document["flows"] if flow["tcp"])
        variant = next(host["variant"] for host in hosts)
        (folder / "plan.json").write_text(plan.text(), "utf-8")
        (folder / "congestion_control").write_text(KERNEL_NAMES.get(variant, variant), "ascii")
        works = [flow["workload"] for flow in plan.document["flows"]]
        listening = [n for n, work in enumerate(works) if work["kind"] in TCP and not work.get("connection")]
        return cls(folder, plan.text(), FIRST_PORT + listening[-1])

    def command(self, end: str, command: Sequence[str]) -> list[str]:
        """The command line of an end."""
        return [sys.executable, "-m", "ackclock.emulation.programs", end, str(self.folder), *command]

    def report(self, document: EmulationAudit, command: Sequence[str]) -> EmulationAudit:
        """The document with what the programs report.

        Raises RunFailed without results of both ends, for which standard error has the reason.
        """
        from ackclock import _native
        from ackclock.errors import RunFailed
        from ackclock.simulation.household import judgement

        texts = [self.folder / f"{end}.json" for end in BOTH_ENDS]
        if missing := [path.stem for path in texts if not path.is_file()]:
            raise RunFailed(f"the programs of the {' and the '.join(missing)} have no results", "see standard error")
        rows = _native.program_rows(self.plan, *(path.read_text("utf-8") for path in texts))
        late = [row["flow"] for row in rows if not row["valid"]]
        notes = (
            [f"the programs waited for a CPU, and their figures are this machine's: {', '.join(late)}"] if late else []
        )
        return {
            **document,
            "command": {**document["command"], "argv": ["--beside", "household", *command]},
            "notes": [*document["notes"], *notes],
            "programs": rows,
            "household": judgement([cast("Any", {"flows": rows})]),
        }


def flows_of(document: EmulationAudit) -> list[RunFlows]:
    """The programs' rows in the form of a run's flows; empty without any."""
    rows = document.get("programs")
    return [cast("RunFlows", {"flows": rows})] if rows else []


def main(end: str, folder: Path, command: Sequence[str]) -> int:
    """One end. Returns the exit status of the command beside it, or 0."""
    from ackclock import _native

    options = {
        "end": end,
        "server": os.environ["ACKCLOCK_SERVER"],
        "client": os.environ["ACKCLOCK_CLIENT"],
        "congestion_control": (folder / "congestion_control").read_text("ascii"),
        "start_file": str(folder / "start"),
    }
    beside = subprocess.Popen(command) if command else None
    try:
        result = _native.run_programs((folder / "plan.json").read_text("utf-8"), json.dumps(options))
    except _native.FailedError as error:
        print(f"ackclock: {error}", file=sys.stderr)
        return 1
    new = folder / f"{end}.new"
    new.write_text(result, "utf-8")
    new.rename(folder / f"{end}.json")
    if end == "server":
        return 0
    until = time.monotonic() + LEFT_S
    while not (folder / "server.json").exists() and time.monotonic() < until:
        time.sleep(0.01)
    return beside.wait() if beside else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
