"""The configuration of an emulation, and its run in this process."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError, RunFailed, format_value, native_errors
from ackclock.input.document import read_document
from ackclock.input.scenario.draft import Draft, draft_of, find_link
from ackclock.input.scenario.model import Scenario
from ackclock.simulation.plan import build_plan

if TYPE_CHECKING:
    from ackclock.documents.emulate import SeededReport

PLAN_DURATION = "90 day"
"""Duration of the plan, which requires one. An emulation ends with its command."""

SAMPLE_PS = 100 * 10**9
"""Sampling interval of queues and simulated flows in the log."""

LIVE_FLOW = {"name": "live", "workload": {"kind": "live"}}
SCENARIO_KEYS = frozenset({"link", "flow", "duration", "tcp", "sweep", "measure", "clients", "seeds"})
MAX_DEPTH = 31
MAX_NAME = 253
"""Maximum length of a host name in characters (RFC 1123, section 2.1; RFC 1035, section 2.3.4)."""
LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
OTHER_HOST = re.compile(r"localhost|client(?:-\d+)?", re.IGNORECASE)
PAIR_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
"""Allowed names of a pair. The names of its namespaces are file names."""


@dataclass(frozen=True)
class EmulationConfig:
    """The commands of an emulation, its time limit, and what it writes.

    ``command``: runs at the client's end. ``server``: runs at the server's end. ``server_ready``:
    the server socket that the command waits for: "any" open port, "none", or a port number.
    ``seconds``: time from the command's start to SIGTERM. ``quiet_stdout``: redirects the command's
    standard output to standard error. ``deadline_us``: a packet released later than this after its
    due time, in microseconds, is late; None follows from the link and the machine's timer.
    ``log``: the folder of captures and log. ``pair``: prefix of the namespaces' names for `ip netns
    exec`; without a command they remain until the emulation is ended. ``internet``: connects the
    server's end to this machine's network.
    ``names``: names of the server beside ``server``, for the commands.
    ``depth``: nesting depth in other emulations.
    """

    command: Sequence[str]
    server: Sequence[str] = ()
    server_ready: str | int = "any"
    seconds: float | None = None
    quiet_stdout: bool = False
    deadline_us: float | None = None
    log: Path | None = None
    pair: str | None = None
    internet: bool = False
    names: Sequence[str] = ()
    depth: int = field(default_factory=lambda: int(os.environ.get("ACKCLOCK_DEPTH", "0")))

    def text(self) -> str:
        """The JSON that the engine reads."""
        if self.depth > MAX_DEPTH:
            raise InputError.problem(
                f"emulations are nested {self.depth} deep already", f"leave one: the maximum depth is {MAX_DEPTH}"
            )
        ready, log = self.server_ready, self.log
        own = {
            "server_ready": {"port": ready} if isinstance(ready, int) else ready,
            "log": None if log is None else str(log.absolute()),
        }
        return json.dumps({**vars(self), **own, "sample_ps": SAMPLE_PS})


def emulation_scenario(name: str, clients: int = 1) -> Scenario:
    """The scenario of a packaged link, a link file or a scenario file, with a live flow for each
    client.

    The other flows of a scenario are simulated on the same link. Their clients follow the live
    ones.
    """
    return _with_live(emulation_draft(name), clients).check()


def emulation_draft(name: str) -> Draft:
    """The scenario of a name: a scenario file, or a link without flows."""
    path = find_link(name, Path())
    document = read_document(path) if path else None
    if document is not None and SCENARIO_KEYS & set(document.data):
        return Draft(document)
    # A link. The lookup of the link reports an unknown name.
    return draft_of({"link": name, "flow": []})


def _with_live(draft: Draft, clients: int) -> Draft:
    data = draft.document.data
    flows = list(data.get("flow", []))
    has_live = any(
        isinstance(flow, dict) and isinstance(w := flow.get("workload"), dict) and w.get("kind") == "live"
        for flow in flows
    )
    # The log has its own sampling interval. Samples of 90 days would exceed the limit of a
    # simulation.
    return draft.replaced(
        {
            "duration": PLAN_DURATION,
            "sample": "0 s",
            "clients": max(clients, data.get("clients", 1)),
            "flow": flows if has_live else [{**LIVE_FLOW, "count": clients}, *flows],
        }
    )


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """The further names of the server, each a host name (RFC 1123, section 2.1, and `_`).

    Raises InputError, also for a name that another host has.
    """
    for name in names:
        if len(name) > MAX_NAME or not all(LABEL.fullmatch(label) for label in name.split(".")):
            raise InputError(format_value(name), "a host name, such as shop.example", option="--hostname")
        if OTHER_HOST.fullmatch(name):
            raise InputError(format_value(name), "a name that no other host has", option="--hostname")
    return tuple(names)


def server_ready(text: str) -> str | int:
    """The server socket that the command waits for, parsed from ``--server-ready``.

    Raises InputError.
    """
    if text in ("any", "none"):
        return text
    if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16:
        return int(text)
    raise InputError(f'"{text}"', "a port from 1 to 65535, any or none", option="--server-ready")


def check_uplink() -> None:
    """Raise InputError if this machine cannot forward traffic, which requires root, and nftables or
    iptables."""
    if os.geteuid() != 0:
        raise InputError.problem(
            "--internet requires root: traffic leaves through this machine's network",
            "run it as root",
            option="--internet",
        )
    if not (shutil.which("nft") or shutil.which("iptables")):
        raise InputError.problem("--internet requires nft or iptables", "install nftables", option="--internet")


def seed_of(scenario: Scenario, seed: int | None) -> int:
    """The seed of an emulation: ``seed``, else the first that the scenario states, else drawn."""
    if seed is not None:
        return seed
    return scenario.seeds[0] if scenario.has_key("seeds") else secrets.randbelow(2**31)


def emulate_here(scenario: Scenario, seed: int, settings: EmulationConfig) -> SeededReport:
    """Emulate in this process and return the document.

    Moves the process into a network namespace for good.

    Raises RunFailed if the machine refuses or the emulation fails.
    """
    from ackclock import _native, congestion_control
    from ackclock.emulation.tries import graded

    plan = build_plan(scenario, seed, live=True)
    try:
        with native_errors():
            classes = congestion_control.classes(plan.user_classes)
            document = _native.emulate(plan.text(), settings.text(), classes)
    except _native.ControlError as error:
        raise RunFailed(congestion_control.traceback_of(error)) from error.__cause__
    return {**graded(document), "seed": seed}
