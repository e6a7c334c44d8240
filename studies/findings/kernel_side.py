"""Runs a situation with the kernel's sockets in namespaces, and what `analyze` finds in its
captures.

Only the flows of the situation count where it is true; where it is not, and for the download
beside, no flow may have the finding.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ackclock import analyze
from ackclock.documents.engine import FlowReport
from studies.analyzer.host_namespaces import SCRATCH, SERVER, Testbed, end_tcpdump
from studies.findings import edits
from studies.findings.situations import BESIDE, EDGE, Conditions, Scene, Situation

_PROGRAMS = "studies.findings.programs"
_SETTLE_S = 1.1
"""tcpdump reads a block of the kernel after a second at the latest."""
_BESIDE_BYTES = 250_000
_BESIDE_ACCOUNT = "beside.json"
LIMITS_FROM = 0.1
"""Share of the time from which the kernel's account says that a limit held; `analyze` names one
from half of it on.
"""
ACCOUNTED: tuple[Literal["receive_window", "send_buffer"], ...] = ("receive_window", "send_buffer")
"""Limits that the kernel has an account of, too (tcpi_rwnd_limited, tcpi_sndbuf_limited)."""


@dataclass(frozen=True)
class Found:
    """Findings: of the situation's flows and of the capture; of the download beside."""

    own: frozenset[str]
    beside: frozenset[str]


def observe(situation: Situation, conditions: Conditions) -> Found:
    """Run a situation once. Return what is found in its captures. Inside `enter_user_namespace`.

    A limit of the download beside that the kernel's own account names, too, is true, and left out.
    """
    document, kernel = _observed(situation, conditions)
    found = _found(document)
    true = {name for name, share in kernel.items() if share >= LIMITS_FROM}
    return replace(found, beside=found.beside - true)


def analyzed(situation: Situation, conditions: Conditions) -> dict[str, Any]:
    """Run a situation once. Return the document of its captures. Inside `enter_user_namespace`."""
    return _observed(situation, conditions)[0]


def _observed(situation: Situation, conditions: Conditions) -> tuple[dict[str, Any], dict[str, float]]:
    """The document, and the kernel's account of the download beside, as shares of its time."""
    scene = situation.make(conditions)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        captures = _captures(scene, conditions, Path(scratch))
        if scene.edit:
            edits.apply(scene.edit, captures, conditions.seed)
        document = dict(analyze(*(captures[end] for end in scene.ends)).document)
        file = Path(scratch) / _BESIDE_ACCOUNT
        return document, _shares(file) if file.exists() else {}


@dataclass(frozen=True)
class Account:
    """Shares of a flow's time in which a limit held: by the kernel's own account, and by
    `analyze`."""

    kernel: dict[str, float]
    analyzer: dict[str, float]


def account(situation: Situation, conditions: Conditions) -> Account:
    """Run a download of a situation once, with the kernel's account of it. Inside
    `enter_user_namespace`.
    """
    scene = situation.make(conditions)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as scratch:
        file = Path(scratch) / "account.json"
        (download,) = scene.server
        captures = _captures(replace(scene, server=[{**download, "account": str(file)}]), conditions, Path(scratch))
        kernel = _shares(file)
        flow = next(one for one in analyze(captures["server"]).document["flows"] if not _is_beside(one))
    limited = flow["b2a"]["limited"]
    assert limited is not None
    return Account(kernel, {name: limited[name] for name in ACCOUNTED})


def _shares(account: Path) -> dict[str, float]:
    """Of the time, by limit."""
    figures = json.loads(account.read_text("utf-8"))
    elapsed = figures.pop("elapsed_s")
    return {name.removesuffix("_s"): seconds / elapsed for name, seconds in figures.items()}


def _captures(scene: Scene, conditions: Conditions, scratch: Path) -> dict[str, Path]:
    server, client = list(scene.server), list(scene.client)
    if conditions.beside:
        server.append(
            {"kind": "download", "port": BESIDE, "size": _BESIDE_BYTES, "account": str(scratch / _BESIDE_ACCOUNT)}
        )
        client.append({"kind": "read", "port": BESIDE, "start_s": 0.1})
    paths = {host: scratch / f"{host}.pcap" for host in scene.ends}
    with Testbed(scene.path, scratch) as testbed:
        for namespace, command in scene.before:
            _execute(testbed, namespace, command)
        dumps = [
            testbed.start_tcpdump(host, path, conditions.snap_bytes, scene.expression) for host, path in paths.items()
        ]
        testbed.start("server", _program("server", SERVER[0], server))
        if scene.injector is not None:
            # `host` is the interface of the edge to the client.
            testbed.start(testbed.edge("client"), _program("server", "host", [scene.injector]))
        for part in server:
            testbed.wait_until_listening(part["port"])
        over = threading.Event()
        actions = threading.Thread(target=_act, args=(testbed, scene, over), daemon=True)
        actions.start()
        running = testbed.start("client", _program("client", scene.address, client))
        with suppress(subprocess.TimeoutExpired):
            running.wait(scene.at_most_s)
        time.sleep(_SETTLE_S)
        over.set()
        actions.join()
        for dump in dumps:
            end_tcpdump(dump)
    return paths


def _program(role: str, address: str, parts: list[dict[str, object]]) -> list[str]:
    return [sys.executable, "-m", _PROGRAMS, role, address, json.dumps(parts)]


def _act(testbed: Testbed, scene: Scene, over: threading.Event) -> None:
    began = time.monotonic()
    for after_s, namespace, command in scene.actions:
        if over.wait(max(0.0, began + after_s - time.monotonic())):
            return
        _execute(testbed, namespace, command)


def _execute(testbed: Testbed, namespace: str, command: str) -> None:
    testbed.output(testbed.edge("client") if namespace == EDGE else namespace, *command.split())


def _found(document: dict[str, Any]) -> Found:
    own: set[str] = set()
    beside: set[str] = set()
    for flow in document["flows"]:
        codes = {finding["finding"] for finding in flow["diagnosis"]}
        (beside if _is_beside(flow) else own).update(codes)
    whole = {finding["finding"] for finding in document["summary"]["findings"]}
    return Found(frozenset(own | (whole - beside)), frozenset(beside))


def _is_beside(flow: FlowReport) -> bool:
    return any(end.endswith(f":{BESIDE}") for end in (flow["client"], flow["server"]))
