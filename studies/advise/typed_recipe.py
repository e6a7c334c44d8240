"""A printed recipe on models of the machines, and the scenario that the typed lines make.

The lines are the text of the advice's document, read by `studies.advise.machine`; what an
interface is for stands in the printed preconditions. The scenario is made from what the machines
are afterwards (qdiscs, routes, sysctls, options of programs), and from nothing else of the advice:
a line that is missing, or does something else than the advice means, changes what is simulated.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ackclock.advisor.situation import Situation
from ackclock.comparison.socket_buffers import CORE_MAX, MEM_MIN, WMEM_DEFAULT, HostBuffers
from ackclock.input.scenario.draft import draft_of
from ackclock.input.scenario.hosts import Tcp
from ackclock.input.variant_groups import KERNEL_NAMES
from studies.advise.machine import Machine, RootQdisc, Shell
from studies.advise.windows_machine import Prompt, WindowsMachine

Data = dict[str, Any]
LINUX, WINDOWS = "linux", "windows"
"""Beginnings of the names of host stacks with sysctl, ip and tc, and with reg and netsh."""
REGISTRY = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters".lower()
"""The key of TCP's values in the registry of Windows."""
CONTROL = "net.ipv4.tcp_congestion_control"
AAL5_TRAILER = 8
"""Bytes of the trailer of a packet in ATM cells (RFC 2684)."""
TX_QUEUE = 1000
"""The limit in packets of a FIFO without one: txqueuelen of an Ethernet interface (tc-pfifo(8)),
which the bands of `prio` have, too (tc-prio(8))."""
HOST_ISOLATION = ("triple-isolate", "hosts", "srchost", "dsthost", "dual-srchost", "dual-dsthost")


@dataclass(frozen=True)
class Place:
    """What an interface sends: a direction of a hop; without a hop, the traffic of a host."""

    direction: str = ""
    hop: str = ""


class ProgramsOnly(Shell):
    """A host without a shell that recipes know: options of programs, as comments, are all."""

    def type(self, lines: Iterable[str]) -> None:
        for line in lines:
            if not line.startswith("# "):
                raise ValueError(f"a host with another system gets a line of Linux: {line}")
            self.comments.append(line.removeprefix("# "))


@dataclass
class Typed:
    """Machines after a recipe.

    Attributes:
        situation: what the recipe is for.
        shells: the shell or prompt of each of those who type something.
        before: the state of each machine before.
        places: what each interface sends, by who and by the variable of the shell.
        undo: the lines that undo the recipe, in order, each with who types it.
    """

    situation: Situation
    shells: dict[str, Shell | Prompt]
    places: Mapping[tuple[str, str], Place]
    undo: Sequence[tuple[str, str]]
    before: dict[str, Data] = field(default_factory=dict)

    def scenario(self) -> tuple[Data, dict[str, Any]]:
        """The tables of the scenario that the machines make, and values by dotted path over them.

        Raises ValueError for a state without an equivalent.
        """
        data = copy.deepcopy(self.situation.draft.document.data)
        keys: dict[str, Any] = {}
        for who, shell in self.shells.items():
            keys |= self._programs(shell)
            machine = shell.machine
            if isinstance(machine, WindowsMachine):
                keys |= self._windows(who, machine)
                continue
            if who in ("sender", "receiver"):
                keys |= self._host(who, machine)
            for (owner, variable), place in self.places.items():
                if owner == who and place.hop:
                    keys |= self._interface(data, machine, self.before[who], shell.variables[variable], place)
            for variable in ("DEV",) if who == "router" and (who, "DEV") in self.places else ():
                _arriving(data, machine, shell.variables[variable])
        keys |= self._agreed()
        return data, keys

    def differences_after_undo(self) -> list[str]:
        """What is not as it was after the undo, by machine."""
        for who, text in self.undo:
            self.shells[who].type([text])
        return self._differences()

    def differences_after_waiting(self) -> list[str]:
        """What is not as it was where the user does not cancel the undo in the background; the
        hosts, which have none, are left out.
        """
        remote = {who: shell for who, shell in self.shells.items() if isinstance(shell, Shell) and shell.jobs}
        for shell in remote.values():
            shell.wait()
        return [text for text in self._differences() if text.partition(":")[0] in remote]

    def _differences(self) -> list[str]:
        found = []
        for who, shell in self.shells.items():
            now, was = shell.machine.state(), self.before[who]
            found += [f"{who}: {key}" for key in sorted(now.keys() | was.keys()) if now.get(key) != was.get(key)]
            found += [f"{who}: an undo in the background"] if shell.jobs else []
        return found

    def _own(self, key: str, value: Any, flow: str = "", who: str = "") -> dict[str, Any]:
        """A TCP key of the own flows, or of one; where the ends have different ones, of `who`'s end
        (default: the end that the key is about).
        """
        scenario = self.situation.base
        flows = dict(zip(scenario.flow_names(), scenario.flow, strict=True))
        if flow and flow not in self.situation.own:
            raise ValueError(f"no flow of the situation: {flow}")
        names = [flow] if flow else self.situation.own
        if not any(table.server or table.client for table in (scenario.tcp, *(flows[name] for name in names))):
            return {f"flow.{name}.{key}": value for name in names}
        receives = who == "receiver" or (not who and key.startswith(("receive", "delayed_ack")))
        ends = {name: flows[name].sending_end for name in names}
        if receives:
            ends = {name: "client" if end == "server" else "server" for name, end in ends.items()}
        return {f"flow.{name}.{end}.{key}": value for name, end in ends.items()}

    def _host(self, who: str, machine: Machine) -> dict[str, Any]:
        """The TCP keys that a host's sysctls, default route and qdisc set."""
        keys: dict[str, Any] = {}
        before = self.before[who]
        changed = {key: value for key, value in machine.sysctls.items() if before[key] != value}
        for key, value in changed.items():
            match who, key:
                case "sender", "net.ipv4.tcp_congestion_control":
                    if value not in KERNEL_NAMES:
                        raise ValueError(f"no congestion control that the simulator has: {value}")
                    keys |= self._own("variant", KERNEL_NAMES[value])
                case ("sender", "net.ipv4.tcp_wmem") | ("receiver", "net.ipv4.tcp_rmem"):
                    end = "send" if who == "sender" else "receive"
                    _, start, limit = value.split()
                    keys |= self._own(f"{end}_limit", f"{limit} B")
                    if start != before[key].split()[1]:
                        keys |= self._own(f"{end}_start", f"{start} B")
                case _, "net.ipv4.tcp_window_scaling" | "net.ipv4.tcp_ecn":
                    pass
                case _, "net.core.rmem_max" | "net.core.wmem_max":
                    pass
                case _:
                    raise ValueError(f"no effect of {key} on the {who} is known")
        for metric, key in (("initcwnd", "initial_window"), ("quickack", "delayed_ack")):
            value = machine.route.get(metric, "")
            if value and value != before["route"].get(metric):
                if (who, metric) not in (("sender", "initcwnd"), ("receiver", "quickack")):
                    raise ValueError(f"no effect of {metric} on the {who}")
                keys |= self._own(key, int(value) if metric == "initcwnd" else value != "1")
        for device, root in machine.roots.items():
            if before.get(f"root of {device}") != machine.state()[f"root of {device}"]:
                if who != "sender" or root.kind != "fq" or root.parameters.get("pacing") is False:
                    raise ValueError(f"no effect of {root.kind} on the {who}")
                keys |= self._own("pacing", True)
        return keys

    def _windows(self, who: str, machine: WindowsMachine) -> dict[str, Any]:
        """The TCP keys that the registry and TCP's global parameters of a host set, after a restart
        (Microsoft's pages; a program that sets SO_SNDBUF or SO_RCVBUF has its own buffer).
        """
        keys: dict[str, Any] = {}
        state, before = machine.state(), self.before[who]
        for name, value in state.items():
            if before.get(name) == value:
                continue
            match who, name:
                case ("sender", "DefaultSendWindow") | ("receiver", "TcpWindowSize" | "DefaultReceiveWindow"):
                    keys |= self._own("send_buffer" if who == "sender" else "receive_buffer", f"{value} B")
                case "receiver", "TcpAckFrequency":
                    keys |= self._own("delayed_ack", value != 1)
                case _, "Tcp1323Opts" | "ecncapability":
                    pass
                case "receiver", "autotuninglevel" if value == "normal":
                    keys |= self._own("receive_buffer", "auto")
                case _, "autotuninglevel" if value == "normal":
                    pass
                case _:
                    raise ValueError(f"no effect of {name} on the {who} is known")
        return keys

    def _agreed(self) -> dict[str, Any]:
        """What both ends have to agree on: window scaling, timestamps, and ECN, for which the
        client asks.
        """
        client = "receiver" if self.situation.direction == "down" else "sender"
        server = "sender" if client == "receiver" else "receiver"
        now, was = ([_offers(one) for one in self._ends(client, server, before=before)] for before in (False, True))
        return {
            key: value
            for name in ("window_scaling", "timestamps", "ecn")
            if (now[0][name] and now[1][name if name != "ecn" else "answers ecn"])
            and not (was[0][name] and was[1][name if name != "ecn" else "answers ecn"])
            for who in ("sender", "receiver")
            for key, value in self._own(name, True, who=who).items()
        }

    def _ends(self, client: str, server: str, *, before: bool) -> list[Machine | WindowsMachine]:
        """The machines of both ends; of one that types nothing, as it is."""
        typing = {} if before else self.shells
        return [typing[who].machine if who in typing else _host(self.situation, who) for who in (client, server)]

    def _programs(self, shell: Shell | Prompt) -> dict[str, Any]:
        """The TCP keys of socket options, and the keys of devices, that comments name."""
        keys: dict[str, Any] = {}
        for comment in shell.comments:
            if found := re.fullmatch(r"in the program(?: of ([\w.-]+))?: (.+)", comment):
                keys |= self._option(shell.machine, found[2], found[1] or "")
            elif found := re.fullmatch(r"on the device: (\S+) = (.+)", comment):
                bare = re.fullmatch(r"[a-z][\w:.+-]*|\d+:\d+", found[2])
                value = found[2] if bare and found[2] not in ("true", "false") else _toml(found[2])
                keys[found[1]] = None if value == "none" else value
        return keys

    def _option(self, machine: Machine | WindowsMachine, text: str, flow: str) -> dict[str, Any]:
        ends = {"SO_SNDBUF": ("send", "wmem_max"), "SO_RCVBUF": ("receive", "rmem_max")}
        name, _, value = text.partition(" = ")
        if name.startswith("no ") and name[3:] in ends:
            return self._own(f"{ends[name[3:]][0]}_buffer", "auto", flow)
        if name == "TCP_CONGESTION" and value in KERNEL_NAMES:
            return self._own("variant", KERNEL_NAMES[value], flow)
        if name in ends and value.isdecimal():
            end, core = ends[name]
            host = HostBuffers.of(_stack(self.situation, "sender" if end == "send" else "receiver").host)
            size = int(value)
            if host.tuned(end) and isinstance(machine, Machine):
                # socket(7): the kernel bounds the value by net.core.*_max and doubles it.
                size = int(2 * min(size, int(machine.sysctls[f"net.core.{core}"])) / host.memory(end))
            return self._own(f"{end}_buffer", f"{size} B", flow)
        raise ValueError(f"no socket option that is read: {text}")

    def _interface(self, data: Data, machine: Machine, before: Data, device: str, place: Place) -> dict[str, Any]:
        """What the root qdisc of an interface changes: the queue that it sends from. One with a
        rate of its own is the queue of the line where it rules, else a device before it.
        """
        root = machine.roots.get(device)
        name = f"root of {device}"
        if root is None or machine.state()[name] == before.get(name):
            return {}
        if root.kind == "prio":
            return {f"hop.{place.hop}.queue.{place.direction}": _banded(machine, device, root)}
        hop = _shaper(root, place.direction)
        keys = {f"hop.{place.hop}.queue.{place.direction}": queue_of(root)}
        if hop is None:
            return keys
        if self._rules(place, hop):
            # The next packet leaves when the shaper permits, so the line's own queue remains empty.
            return keys | {f"hop.{place.hop}.rate.{place.direction}": hop["rate"]}
        at = next(index for index, one in enumerate(data["hop"]) if one["name"] == place.hop)
        data["hop"].insert(at + (place.direction == "up"), hop)
        return {}

    def _rules(self, place: Place, shaper: Data) -> bool:
        """Whether a shaper is not faster than the line behind it, and counts the same bytes."""
        line = next(getattr(hop, place.direction) for hop in self.situation.hops if hop.name == place.hop)
        cells = None if isinstance(line.framing, str) else f"{line.framing.cake_overhead - AAL5_TRAILER:.0f} B"
        same = cells == shaper.get("framing", {}).get("overhead")
        return same and isinstance(line.rate, int) and float(shaper["rate"].split()[0]) <= line.rate


def _toml(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        raise ValueError(f"no value of a device's key: {text}") from None


def _arriving(data: Data, machine: Machine, device: str) -> None:
    """What shapes the packets that arrive at the router: a device behind the link."""
    root = machine.queue("down", device)
    if root is not None:
        hop = _shaper(root, "down")
        if hop is None:
            raise ValueError(f"{root.kind} without a rate behind the link: its queue remains empty")
        data["hop"].append(hop)


def _shaper(root: RootQdisc, direction: str) -> Data | None:
    """The device that a qdisc with a rate of its own is; None for one without."""
    rate = root.parameters.get("bandwidth", root.parameters.get("rate", 0.0))
    if root.kind not in ("cake", "tbf") or not rate:
        return None
    if root.kind == "tbf":
        raise ValueError("tbf alone is no queue of an advice")
    hop: Data = {"name": f"typed-{direction}", "only": direction, "rate": f"{rate:.0f} b/s", "queue": queue_of(root)}
    cells, overhead = root.parameters["cells"], float(root.parameters["overhead"])
    if cells == "atm" and overhead >= AAL5_TRAILER:
        hop["framing"] = {"kind": "atm", "overhead": f"{overhead - AAL5_TRAILER:.0f} B"}
    elif cells != "noatm" or overhead:
        raise ValueError(f"no framing for {cells} with an overhead of {overhead:.0f}")
    return hop


def _banded(machine: Machine, device: str, root: RootQdisc) -> Data:
    """`prio`: FIFOs of the interface's txqueuelen; a filter sends ACKs to the first one."""
    filters = [words for (dev, parent, _), words in machine.filters.items() if (dev, parent) == (device, root.handle)]
    if not any(words[-2:] == ("flowid", "1:1") for words in filters):
        raise ValueError("prio without a filter that sends ACKs to its first band")
    return {"kind": "droptail", "packets": TX_QUEUE, "ack": {"first": True}}


def queue_of(root: RootQdisc) -> Data:
    """The queue of a root qdisc as a link file has it, by tc's manual pages.

    Raises ValueError for one without an equivalent.
    """
    has = root.parameters
    times: Data = {key: f"{float(has[key]):g} us" for key in ("target", "interval") if key in has}
    match root.kind:
        case "pfifo" | "pfifo_fast" | "pfifo_head_drop":
            front = {"drop": "front"} if root.kind == "pfifo_head_drop" else {}
            return {"kind": "droptail", "packets": int(has.get("limit", TX_QUEUE)), **front}
        case "bfifo":
            return {"kind": "droptail", "bytes": f"{float(has['limit']):.0f} B"}
        case "codel":
            return {"kind": "codel", "packets": int(has["limit"]), **times, "ecn": has["ecn"]}
        case "fq_codel":
            sizes = {
                "bytes": f"{float(has.get('memory_limit', 32 * 2**20)):.0f} B",
                "quantum": f"{float(has.get('quantum', 1514)):.0f} B",
            }
            limits = {"packets": int(has["limit"]), "flows": int(has["flows"]), **sizes}
            return {"kind": "fq-codel", **limits, **times, "ecn": has["ecn"]}
        case "pie":
            gains: Data = {key: float(has[key]) / 16 for key in ("alpha", "beta") if key in has}
            update = {"update": f"{float(has['tupdate']):g} us"}
            return {"kind": "pie", "packets": int(has["limit"]), **times, **update, **gains, "ecn": has["ecn"]}
        case "cake":
            if has["isolation"] not in (*HOST_ISOLATION, "flows"):
                raise ValueError(f"no queue for cake's {has['isolation']}")
            interval = float(has["rtt"])
            found: Data = {"kind": "cake", "interval": f"{interval:g} us", "target": f"{interval / 20:g} us"}
            found["hosts"] = has["isolation"] in HOST_ISOLATION
            if has["ack-filter"] != "no-ack-filter":
                found["ack"] = {"filter": str(has["ack-filter"]).replace("ack-filter", "cake")}
            return found | ({"bytes": f"{float(has['memlimit']):.0f} B"} if "memlimit" in has else {})
    raise ValueError(f"no queue for {root.kind}")


def _offers(machine: Machine | WindowsMachine) -> dict[str, bool]:
    """What an end offers in its SYN, and whether it uses ECN if the other asks."""
    if isinstance(machine, WindowsMachine):
        options = machine.registry.get((REGISTRY, "Tcp1323Opts"), 0)
        ecn = machine.parameters["ecncapability"] == "enabled"
        scaled = bool(options & 1) or machine.parameters["autotuninglevel"] != "disabled"
        return {"window_scaling": scaled, "timestamps": bool(options & 2), "ecn": ecn, "answers ecn": ecn}
    value = machine.sysctls.get
    return {
        "window_scaling": value("net.ipv4.tcp_window_scaling") == "1",
        "timestamps": value("net.ipv4.tcp_timestamps") == "1",
        "ecn": value("net.ipv4.tcp_ecn") == "1",
        "answers ecn": value("net.ipv4.tcp_ecn") in ("1", "2"),
    }


def _stack(situation: Situation, who: str) -> Tcp:
    """The host stack of an end of the first own flow."""
    scenario = situation.base
    flows = dict(zip(scenario.flow_names(), scenario.flow, strict=True))
    flow = flows[situation.own[0]]
    other = "client" if flow.sending_end == "server" else "server"
    return scenario.tcp_of(flow, flow.sending_end if who == "sender" else other)


def _host(situation: Situation, who: str) -> Machine | WindowsMachine:
    """The host at an end: sysctls, or registry and parameters, as its flows have them; another
    system has neither.
    """
    stack = _stack(situation, who)
    tcp = stack.keys
    if stack.host.startswith(WINDOWS):
        scaled, ecn = bool(tcp["window_scaling"]), bool(tcp["ecn"])
        found = WindowsMachine({(REGISTRY, "Tcp1323Opts"): int(scaled and stack.host == "windows-xp")})
        found.parameters |= {"autotuninglevel": "normal" if scaled else "disabled"}
        found.parameters |= {"ecncapability": "enabled" if ecn else "disabled"}
        return found
    if not stack.host.startswith(LINUX):
        return Machine(interfaces={})
    host = HostBuffers.of(stack.host).tcp.keys
    names = {variant: name for name, variant in KERNEL_NAMES.items() if not name.startswith("ackclock_")}
    memory = {
        end: (tcp.get(f"{end}_start", host[f"{end}_start"]), tcp.get(f"{end}_limit", host[f"{end}_limit"]))
        for end in ("send", "receive")
    }
    return Machine(
        interfaces={},
        sysctls={
            CONTROL: names.get(str(tcp["variant"]), "cubic"),
            "net.ipv4.tcp_wmem": f"{MEM_MIN} {WMEM_DEFAULT} {memory['send'][1]}",
            "net.ipv4.tcp_rmem": f"{MEM_MIN} {memory['receive'][0]} {memory['receive'][1]}",
            "net.core.rmem_max": str(CORE_MAX),
            "net.core.wmem_max": str(CORE_MAX),
            "net.ipv4.tcp_window_scaling": "1" if tcp["window_scaling"] else "0",
            "net.ipv4.tcp_timestamps": "1" if tcp["timestamps"] else "0",
            # Since 2.6.31 a server uses ECN if it is asked to (ip-sysctl.rst).
            "net.ipv4.tcp_ecn": "1" if tcp["ecn"] else "0" if stack.host.startswith("linux-2") else "2",
        },
    )


def _places(situation: Situation, who: Sequence[str], preconditions: Sequence[str]) -> dict[tuple[str, str], Place]:
    """What each variable with an interface stands for, by the printed preconditions."""
    found: dict[tuple[str, str], Place] = {}
    last = situation.hops[-1].name
    remote = [one for one in who if one in ("router", "operator")]
    for text in preconditions:
        if sends := re.fullmatch(r"(\w+) is the interface that sends (down|up) over ([\w-]+)", text):
            # A router's interface is $DEV; an operator has a variable for each queue.
            owner = "router" if sends[1] == "DEV" else "operator"
            found[owner, sends[1]] = Place(sends[2], sends[3])
        elif to_link := re.fullmatch(r"(\w+) is the router's interface to the link", text):
            found.setdefault(("router", to_link[1]), Place("up", last))
        elif of_host := re.fullmatch(r"(\w+) is the (sender|receiver)'s interface", text):
            found[of_host[2], of_host[1]] = Place()
    return {key: place for key, place in found.items() if key[0] not in ("router", "operator") or key[0] in remote}


def lines_of(row: Mapping[str, Any], system: str = "") -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The lines of an advice and of its undo, in order, each with who types it. With `system` those
    of this alternative replace the lines of whom it is for.
    """
    typed = [(step["who"], step["command"]) for step in row["steps"]]
    undo = list(dict.fromkeys((step["who"], text) for step in reversed(row["steps"]) for text in step["undo"]))
    if {text for _, text in undo} != set(row["undo"]) or [text for _, text in typed] != row["commands"]:
        raise ValueError("the lists of lines differ from the steps")
    if not system:
        return typed, undo
    other = next(one for one in row["alternatives"] if one["system"] == system)
    who = other["who"]
    rest = [[line for line in lines if line[0] != who] for lines in (typed, undo)]
    return (
        [*rest[0], *((who, text) for text in other["commands"])],
        [*((who, text) for text in other["undo"]), *rest[1]],
    )


def typed(situation: Situation, row: Mapping[str, Any], system: str = "", root: Sequence[str] = ()) -> Typed:
    """A recipe typed on machines of the situation. `root` are the arguments of the root qdisc that
    the interfaces have before.

    Raises ValueError for a line that is not read, or that its tool would refuse.
    """
    lines, undo = lines_of(row, system)
    people = list(dict.fromkeys(who for who, _ in lines))
    places = _places(situation, people, row["preconditions"])
    shells: dict[str, Shell | Prompt] = {}
    for who in people:
        shells[who] = _shell(situation, who, [name for owner, name in places if owner == who], root)
    found = Typed(situation, shells, places, undo)
    found.before = {who: shell.machine.state() for who, shell in shells.items()}
    for who, text in lines:
        try:
            shells[who].type([text])
        except (KeyError, IndexError) as unknown:
            raise ValueError(f"no value for {unknown} in: {text}") from None
    return found


def _shell(situation: Situation, who: str, variables: Sequence[str], root: Sequence[str]) -> Shell | Prompt:
    """The shell of one of those who type, with an interface for each variable."""
    is_host = who in ("sender", "receiver")
    machine = _host(situation, who) if is_host else Machine(interfaces={})
    if isinstance(machine, WindowsMachine):
        return Prompt(machine)
    names = {name: f"eth{place}" for place, name in enumerate(variables)}
    machine.interfaces |= dict.fromkeys(names.values(), "up")
    if is_host and not _stack(situation, who).host.startswith(LINUX):
        return ProgramsOnly(machine, names)
    shell = Shell(machine, names)
    if root:
        shell.type(" ".join(["tc qdisc add dev", device, "root", *root]) for device in names.values())
    return shell


def scenario_situation(found: Typed) -> tuple[Situation, dict[str, Any]]:
    """The situation that typed lines make, and values by dotted path over it."""
    data, keys = found.scenario()
    return replace(found.situation, draft=draft_of(data)), keys
