"""`advise --verify`: the situation as it is and the first advice with the running kernel's TCP,
over the emulated link, beside what the simulation predicts.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NotRequired, TypedDict

from ackclock.advice.tables import gain_text
from ackclock.advisor import live_transfer
from ackclock.advisor.commands import SocketOption, Sysctl
from ackclock.advisor.host_system import SYSTEMS, LinuxSystem
from ackclock.advisor.live_transfer import Config, EndResult
from ackclock.advisor.race import Actions, label_of
from ackclock.advisor.situation import Situation
from ackclock.comparison.socket_buffers import HostBuffers
from ackclock.errors import AckclockError
from ackclock.format import percent
from ackclock.input.link.hop import DIRECTIONS
from ackclock.input.units import show_size
from ackclock.input.variant_groups import AVAILABLE, LINUX_NAMES
from ackclock.notebook import Progress
from ackclock.simulation.sparse_flow import SparseDelays, path_lost_share, path_p95_ms
from ackclock.storage.stored_files import read_json

if TYPE_CHECKING:
    from ackclock.documents.advise import Advice, Advised

MAX_S = 15.0
"""Maximum duration of an emulated transfer."""
ATTEMPTS = 3
"""Maximum number of emulations of a transfer."""
BASELINE_ERROR = 0.10
"""Up to this difference of the goodputs the emulated baseline is the one that was captured, or
simulated without a capture."""
ENDS = ("serve", "fetch")
"""The ends of an emulated transfer: the server's and the client's."""
SETTABLE = (
    "tcp.variant",
    "tcp.receive_buffer",
    "tcp.send_buffer",
    "tcp.receive_limit",
    "tcp.send_limit",
    "tcp.window_scaling",
)
"""The keys of a host that the running kernel takes here; those of the link are the emulator's."""
_SCALING = "net.ipv4.tcp_window_scaling"
MEMORY_OF_WINDOW = 4
"""Memory that holds a window, relative to it, whatever a device's packets take up."""


Side = Literal["baseline", "advised"]
SIDES: tuple[Side, Side] = ("baseline", "advised")


class Figures(TypedDict):
    """The figures of an emulated transfer."""

    goodput_bps: float
    sparse_rtt_p95_ms: float
    sparse_loss_rate: float
    retransmitted_segments: int
    seconds: float


class Emulated(Figures):
    """A transfer with the verdict of the emulation's audit."""

    valid: bool
    why: str


class Verification(TypedDict):
    """`verification` of the JSON document. `concluded` is false, with the reason as `text`, where
    the emulation shows nothing: changes that the running kernel does not take here, an emulation
    that the audit calls invalid, or a baseline that differs by more than 10 %.
    """

    label: str
    measured: NotRequired[Mapping[Side, Emulated]]
    predicted: NotRequired[Mapping[Side, Mapping[str, float | None]]]
    concluded: bool
    agrees: NotRequired[bool | None]
    gain: NotRequired[Mapping[str, float]]
    text: str


def verify(
    situation: Situation,
    advised: Sequence[Actions],
    document: Advice,
    progress: Progress | None = None,
) -> Verification:
    """The emulated baseline and the first advice that the emulator can show, beside the predicted
    ones.
    """
    reasons = [cannot(situation, actions) for actions in advised]
    possible = next((place for place, why in enumerate(reasons) if not why), None)
    if possible is None:
        return {"label": document["advice"][0]["label"], "concluded": False, "text": f"Not verified: {reasons[0]}."}
    row = document["advice"][possible]
    changes = dict(zip(SIDES, ((), advised[possible]), strict=True))
    measured = {}
    try:
        for number, (name, of) in enumerate(changes.items()):
            if progress:
                progress(number, len(changes), f"the running kernel: {label_of(of)}, {_seconds(situation):.0f} s")
            measured[name] = _attempted(situation, of)
    except AckclockError as error:
        return {"label": row["label"], "concluded": False, "text": f"Not verified: {error}."}
    seconds = measured["baseline"]["seconds"]
    captured_bps = situation.captured.goodput_bps(seconds) if situation.captured else None
    return judgement(measured, row, document["goal"], captured_bps, document["direction"])


def judgement(
    measured: Mapping[Side, Emulated],
    row: Advised,
    goal: str,
    captured_bps: float | None,
    direction: str = "down",
) -> Verification:
    """What emulated transfers show of an advice (`row` of the document). `captured_bps` is the
    goodput that was captured, `direction` that of the transfer, whose load is compared.
    """
    loads = row.get("loads")
    gains = loads[direction]["gain"] if loads else row["gain"]
    predicted = {
        side: {name: row["effect"][name][side] for name in ("goodput_bps", "sparse_rtt_p95_ms")} for side in SIDES
    }

    def inconclusive(why: str) -> Verification:
        return {
            "label": row["label"],
            "measured": measured,
            "predicted": predicted,
            "concluded": False,
            "agrees": None,
            "text": f"Not concluded: {why}.",
        }

    if invalid := [name for name, of in measured.items() if not of["valid"]]:
        return inconclusive(f"the emulation of {' and '.join(invalid)} is invalid by its audit")
    base, origin = (captured_bps, "captured") if captured_bps else (predicted["baseline"]["goodput_bps"], "simulated")
    share = measured["baseline"]["goodput_bps"] / (base or math.nan)
    if not abs(share - 1.0) <= BASELINE_ERROR:
        return inconclusive(f"the emulated baseline has {percent(share)} of the {origin} goodput")
    gain = _score(measured["advised"], goal) / _score(measured["baseline"], goal)
    one = gains.get("one_run") or {"lo": gains["ratio"], "hi": gains["ratio"]}
    agrees = one["lo"] <= gain <= one["hi"]
    return {
        "label": row["label"],
        "measured": measured,
        "predicted": predicted,
        "concluded": True,
        "agrees": agrees,
        "gain": {"measured": gain, "predicted": gains["ratio"]},
        "text": (
            f"With the running kernel over the emulated link, {row['label']} gains {gain_text(gain)}: this "
            f"{'agrees with' if agrees else 'differs from'} the predicted {gain_text(one['lo'])} .. "
            f"{gain_text(one['hi'])} of one run."
        ),
    }


def _score(of: Figures, goal: str) -> float:
    """The score of an emulated transfer of one flow."""
    goodput, sparse = of["goodput_bps"], of["sparse_rtt_p95_ms"]
    if goal == "throughput":
        return goodput
    return 1.0 / sparse if goal == "latency" else float(goodput / sparse**0.5)


def cannot(situation: Situation, actions: Actions) -> str:
    """Why the emulator cannot show a change; empty if it can."""
    flows = [flow for flow in situation.base.flow if not flow.is_udp]
    if len(flows) != 1 or flows[0].instances != 1 or flows[0].workload.kind != "bulk":
        return "the emulator verifies one bulk transfer"
    if situation.is_quic:
        return "the running kernel has no QUIC"
    if not isinstance(SYSTEMS[situation.host], LinuxSystem):
        return f"the running kernel has not the TCP of {SYSTEMS[situation.host].name}"
    wanted = {change.path: change.to for action in actions for change in action.changes}
    for path in wanted:
        if path.startswith("tcp.") and path not in SETTABLE:
            return f"{path} is set by a route or a qdisc, which the emulator's ends do not have"
        if path.endswith(".pep"):
            return "the emulator has no proxy for traffic of real hosts"
    try:
        available = AVAILABLE.read_text("ascii").split()
    except OSError:
        return "this machine has no Linux TCP"
    own = situation.tcp.keys["variant"]
    for variant in (own, wanted.get("tcp.variant", own)):
        if LINUX_NAMES.get(variant) not in available:
            return f"the running kernel has no {variant} loaded (`modprobe tcp_{LINUX_NAMES.get(variant, variant)}`)"
    return ""


def _attempted(situation: Situation, actions: Actions) -> Emulated:
    """The first transfer whose emulation is valid: a busy machine may release packets late."""
    for _ in range(ATTEMPTS):
        found = _emulated(situation, actions)
        if found["valid"]:
            break
    return found


def _emulated(situation: Situation, actions: Actions) -> Emulated:
    """One transfer over the emulated link. Raises RunFailed, where the machine refuses it."""
    from ackclock.emulation.run import emulate
    from ackclock.errors import RunFailed

    scenario = situation.scenario(actions)
    link = {"title": scenario.title or "a link", "hop": [hop.written() for hop in scenario.hop]}
    with tempfile.TemporaryDirectory(prefix="ackclock-verify-") as results:
        config = _config(situation, actions, results)
        ends = {
            verb: [sys.executable, str(Path(live_transfer.__file__)), verb, json.dumps({**config, "sysctls": sysctls})]
            for verb, sysctls in zip(ENDS, _sysctls(situation, actions), strict=True)
        }
        limit = config["seconds"] + 30.0
        done = emulate(
            link, ends["fetch"], server=ends["serve"], server_ready=live_transfer.PORT, seconds=limit, log=False
        ).document
        files = [Path(results) / f"{verb}.json" for verb in ENDS]
        if not all(file.is_file() for file in files):
            raise RunFailed(f"the emulated transfer ended with status {done['command']['exit']}")
        serve, fetch = map(read_json, files)
    return {**figures(serve, fetch, config["seconds"]), "valid": done["valid"], "why": done["why"]}


def figures(serve: EndResult, fetch: EndResult, seconds: float) -> Figures:
    """The figures of a transfer from the results of both of its ends, by the rules of a simulated
    run's.
    """
    ends: EndResult = {**serve, **fetch}
    sides = [
        SparseDelays.of_delays(to["sparse"]["delays_ms"], of["sparse"]["sent"])
        for of, to in ((serve, fetch), (fetch, serve))
    ]
    return {
        "goodput_bps": 8 * ends["received"] / seconds,
        "sparse_rtt_p95_ms": path_p95_ms(sides),
        "sparse_loss_rate": path_lost_share(sides),
        "retransmitted_segments": ends["retransmitted_segments"],
        "seconds": seconds,
    }


def _config(situation: Situation, actions: Actions, results: str) -> Config:
    """The transfer: the sockets of the situation, with those of the changes."""
    wanted = {change.path: change.to for action in actions for change in action.changes}
    tcp = situation.tcp.keys
    config: Config = {
        "results": results,
        "seconds": _seconds(situation),
        "sender": "server" if situation.direction == "down" else "client",
        "every_s": {direction: situation.sparse_every_s(direction) for direction in DIRECTIONS},
        "variant": LINUX_NAMES.get(wanted.get("tcp.variant", tcp["variant"]), ""),
        "sysctls": {},
    }
    if (window := _window(situation, actions)) is not None:
        config["window"] = window
    size = tcp["send_buffer"]
    if isinstance(size, int) and "tcp.send_buffer" not in wanted:
        for setting in HostBuffers.of(situation.host).settings(show_size(size), "auto"):
            name, _, value = setting["command"].partition(" = ")
            if value and SocketOption(name, value).name == "SO_SNDBUF":
                config["SO_SNDBUF"] = int(value)
    return config


def _window(situation: Situation, actions: Actions) -> int | None:
    """The bytes of a receive buffer that the situation fixes and the changes leave as it is.

    How much of a window SO_RCVBUF is hangs on the memory that the device's packets take up, so that
    the emulated receiver has the window itself.
    """
    size = situation.tcp.keys["receive_buffer"]
    is_changed = any(change.path == "tcp.receive_buffer" for action in actions for change in action.changes)
    return size if isinstance(size, int) and not is_changed else None


def _seconds(situation: Situation) -> float:
    """The duration of an emulated transfer."""
    return min(situation.base.duration / 1e12, MAX_S)


def _sysctls(situation: Situation, actions: Actions) -> tuple[dict[str, str], dict[str, str]]:
    """The sysctls of the server's and of the client's namespace: the hosts' limits, and those that
    the changes type. A receiver whose window has a bound of its own has memory for it.
    """
    host = HostBuffers.of(situation.host)
    first = {"rmem": int(host.tcp.keys["receive_start"]), "wmem": 16_384}
    own = {
        f"net.ipv4.tcp_{name}": f"4096 {first[name]} {int(host.tcp.keys[f'{end}_limit'])}"
        for name, end in (("rmem", "receive"), ("wmem", "send"))
    }
    own[_SCALING] = str(int(situation.tcp.keys["window_scaling"]))
    ends = {"sender": dict(own), "receiver": dict(own)}
    if (window := _window(situation, actions)) is not None:
        memory = MEMORY_OF_WINDOW * window
        ends["receiver"]["net.ipv4.tcp_rmem"] = f"4096 {memory} {memory}"
    for action in actions:
        for step in action.steps:
            if (
                step.who in ends
                and isinstance(step.command, Sysctl)
                and ("mem" in step.command.key or step.command.key == _SCALING)
            ):
                ends[step.who][step.command.key] = step.command.value
    sides = ("sender", "receiver") if situation.direction == "down" else ("receiver", "sender")
    return ends[sides[0]], ends[sides[1]]
