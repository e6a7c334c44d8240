"""``emulate``: a command behind a link, in real time."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.errors import InputError, native_errors
from ackclock.input.document import read_document
from ackclock.input.scenario.draft import Draft, draft_of, find_link
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.plan import build_plan

LONGEST = "90 day"
"""An emulation ends with its command; a plan wants a duration all the same."""

SAMPLE_PS = 100 * 10**9
"""How often the log looks at queues and simulated flows."""

LIVE_FLOW = {"name": "live", "workload": {"kind": "live"}}
SCENARIO_KEYS = frozenset({"link", "flow", "duration", "tcp", "sweep", "measure", "clients", "seeds"})
MOST_DEPTH = 31
PAIR_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""Allowed names of a pair: its namespaces' names are file names."""


@dataclass(frozen=True)
class EmulationConfig:
    """How to emulate: what runs where, for how long, and what counts as late.

    ``deadline_us``: a packet that leaves later than this, in microseconds, has missed its deadline. ``log``: where captures and the
    link's log go. ``server_ready``: the server socket that the command waits for: "any" open port, "none", or a port number. ``pair``: the name of the two namespaces, for `ip netns exec`; without a command they stay until the
    emulation is ended. ``internet``: the server's end leads out through this machine.
    """

    command: Sequence[str]
    server: Sequence[str] = ()
    server_ready: str | int = "any"
    seconds: float | None = None
    quiet_stdout: bool = False
    deadline_us: float = 1000.0
    log: Path | None = None
    pair: str | None = None
    internet: bool = False
    depth: int = field(default_factory=lambda: int(os.environ.get("ACKCLOCK_DEPTH", "0")))

    def text(self) -> str:
        """The JSON that the engine reads."""
        if self.depth > MOST_DEPTH:
            raise InputError.problem(
                f"this is inside {self.depth} emulations already", f"leave one: at most {MOST_DEPTH} go into one another"
            )
        return json.dumps(
            {
                "command": list(self.command),
                "server": list(self.server),
                "server_ready": {"port": self.server_ready} if isinstance(self.server_ready, int) else self.server_ready,
                "seconds": self.seconds,
                "quiet_stdout": self.quiet_stdout,
                "deadline_us": self.deadline_us,
                "log": None if self.log is None else str(self.log.absolute()),
                "sample_ps": SAMPLE_PS,
                "pair": self.pair,
                "internet": self.internet,
                "depth": self.depth,
            }
        )


def emulation_scenario(name: str, clients: int = 1) -> Scenario:
    """The scenario to emulate: a packaged link, a link file, or a scenario file, with a live flow for each client.

    Flows that a scenario has beside run simulated, on the same link, with the clients after the live ones.
    """
    path = find_link(name, Path())
    document = read_document(path) if path else None
    if document is not None and SCENARIO_KEYS & set(document.data):
        return _with_live(Draft(document), clients).check()
    # A link; an unknown name is complained about where links are looked up.
    return _with_live(draft_of({"link": name, "flow": []}), clients).check()


def _with_live(draft: Draft, clients: int) -> Draft:
    data = draft.document.data
    flows = list(data.get("flow", []))
    said = any(
        isinstance(flow, dict) and isinstance(w := flow.get("workload"), dict) and w.get("kind") == "live" for flow in flows
    )
    # The log has a sampling step of its own: as many samples as 90 days have would be too many for a simulation.
    keys: dict[str, Any] = {"duration": LONGEST, "sample": "0 s", "clients": max(clients, data.get("clients", 1))}
    if not said:
        keys["flow"] = [{**LIVE_FLOW, "count": clients}, *flows]
    return draft.replaced(keys)


def server_ready(text: str) -> str | int:
    """The server socket that the command waits for, parsed from ``--server-ready``. Raises InputError."""
    if text in ("any", "none"):
        return text
    if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16:
        return int(text)
    raise InputError(f'"{text}"', "a port from 1 to 65535, any or none", option="--server-ready")


def check_uplink() -> None:
    """Raise InputError where this machine cannot let traffic out: that takes root, and nftables or iptables."""
    if os.geteuid() != 0:
        raise InputError.problem(
            "--internet requires root: traffic leaves through this machine's network", "run it as root", option="--internet"
        )
    if not (shutil.which("nft") or shutil.which("iptables")):
        raise InputError.problem("--internet requires nft or iptables", "install nftables", option="--internet")


def emulate_here(scenario: Scenario, seed: int, settings: EmulationConfig) -> dict[str, Any]:
    """Emulate in this process, which moves into a network namespace of its own and stays there.

    Raises RunFailed where the machine refuses.
    """
    from ackclock import _native

    plan = build_plan(scenario, seed, live=True)
    with native_errors():
        document: dict[str, Any] = json.loads(_native.emulate(plan.text(), settings.text()))
    return document
