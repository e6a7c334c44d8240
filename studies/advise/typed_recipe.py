"""A printed recipe on models of the machines, and the scenario that the typed lines make.

The lines are the text of the advice's document, read by `ackclock.export.machine`; what an
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
from ackclock.export.machine import Machine, RootQdisc, Shell
from ackclock.input.link.framing import TRAILER, Atm
from ackclock.input.variant_groups import KERNEL_NAMES

Data = dict[str, Any]
LINUX = "linux"
"""Beginning of the names of host stacks that have sysctl, ip and tc."""
CONTROL = "net.ipv4.tcp_congestion_control"
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
        shells: the shell of each of those who type something.
        before: the state of each machine before.
        places: what each interface sends, by who and by the variable of the shell.
        undo: the lines that undo the recipe, in order, each with who types it.
    """

    situation: Situation
    shells: dict[str, Shell]
    places: Mapping[tuple[str, str], Place]
    undo: Sequence[tuple[str, str]]
    before: dict[str, Data] = field(default_factory=dict)

    def scenario(self) -> tuple[Data, dict[str, Any]]:
        """The tables of the scenario that the machines make, and values by dotted path over them.

        Raises ValueError for a state without an equivalent.
        """
        data = copy.deepcopy(dict(self.situation.data))
        keys: dict[str, Any] = {}
        for who, shell in self.shells.items():
            keys |= self._programs(shell)
            if who in ("sender", "receiver"):
                keys |= self._host(who, shell.machine)
            for (owner, variable), place in self.places.items():
                if owner == who and place.hop:
                    keys |= self._interface(data, who, shell.variables[variable], place)
            for variable in ("DEV",) if who == "router" and (who, "DEV") in self.places else ():
                _arriving(data, shell.machine, shell.variables[variable])
        keys |= self._scaling()
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
        remote = {who: shell for who, shell in self.shells.items() if shell.jobs}
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

    def _own(self, key: str, value: Any, flow: str = "") -> dict[str, Any]:
        if flow and flow not in self.situation.own:
            raise ValueError(f"no flow of the situation: {flow}")
        return {f"flow.{name}.{key}": value for name in ([flow] if flow else self.situation.own)}

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

    def _scaling(self) -> dict[str, Any]:
        """What both ends have to agree on: window scaling, and ECN, which the client asks for."""
        hosts = {who: self._sysctls(who) for who in ("sender", "receiver")}
        client = "receiver" if self.situation.direction == "down" else "sender"
        server = "sender" if client == "receiver" else "receiver"
        found: dict[str, Any] = {}
        for key, name, agreed in (
            ("net.ipv4.tcp_window_scaling", "window_scaling", lambda c, s: c == s == "1"),
            ("net.ipv4.tcp_ecn", "ecn", lambda c, s: c == "1" and s in ("1", "2")),
        ):
            now = [hosts[who][1].get(key, "") for who in (client, server)]
            was = [hosts[who][0].get(key, "") for who in (client, server)]
            if now != was and agreed(*now):
                found |= self._own(name, True)
        return found

    def _sysctls(self, who: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """The sysctls of an end before and now; of one that types nothing, as they are."""
        if who in self.shells:
            return self.before[who], self.shells[who].machine.sysctls
        machine = _host(self.situation)
        return machine.sysctls, machine.sysctls

    def _programs(self, shell: Shell) -> dict[str, Any]:
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

    def _option(self, machine: Machine, text: str, flow: str) -> dict[str, Any]:
        ends = {"SO_SNDBUF": ("send", "wmem_max"), "SO_RCVBUF": ("receive", "rmem_max")}
        name, _, value = text.partition(" = ")
        if name.startswith("no ") and name[3:] in ends:
            return self._own(f"{ends[name[3:]][0]}_buffer", "auto", flow)
        if name == "TCP_CONGESTION" and value in KERNEL_NAMES:
            return self._own("variant", KERNEL_NAMES[value], flow)
        if name in ends and value.isdecimal():
            end, core = ends[name]
            host = HostBuffers.of(self.situation.host)
            size = int(value)
            if host.tuned(end):
                # socket(7): the kernel bounds the value by net.core.*_max and doubles it.
                size = int(2 * min(size, int(machine.sysctls[f"net.core.{core}"])) / host.memory(end))
            return self._own(f"{end}_buffer", f"{size} B", flow)
        raise ValueError(f"no socket option that is read: {text}")

    def _interface(self, data: Data, who: str, device: str, place: Place) -> dict[str, Any]:
        """What the root qdisc of an interface changes: the queue that it sends from. One with a
        rate of its own is the queue of the line where it rules, else a device before it.
        """
        machine = self.shells[who].machine
        root = machine.roots.get(device)
        name = f"root of {device}"
        if root is None or machine.state()[name] == self.before[who].get(name):
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
        cells = f"{line.framing.overhead} B" if isinstance(line.framing, Atm) else None
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
    if cells == "atm" and overhead >= TRAILER:
        hop["framing"] = {"kind": "atm", "overhead": f"{overhead - TRAILER:.0f} B"}
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


def _host(situation: Situation) -> Machine:
    """A host of the situation: its sysctls as its flows have them; another system has none."""
    if not situation.host.startswith(LINUX):
        return Machine(interfaces={})
    host, tcp = HostBuffers.of(situation.host).keys, situation.tcp
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
            "net.ipv4.tcp_ecn": "1" if tcp["ecn"] else "2",
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
    shells: dict[str, Shell] = {}
    for who in people:
        is_host = who in ("sender", "receiver")
        machine = _host(situation) if is_host else Machine(interfaces={})
        variables = {name: f"eth{place}" for place, name in enumerate(name for owner, name in places if owner == who)}
        machine.interfaces |= dict.fromkeys(variables.values(), "up")
        foreign = is_host and not situation.host.startswith(LINUX)
        shells[who] = ProgramsOnly(machine, variables) if foreign else Shell(machine, variables)
        if root and not foreign:
            shells[who].type(" ".join(["tc qdisc add dev", device, "root", *root]) for device in variables.values())
    found = Typed(situation, shells, places, undo)
    found.before = {who: shell.machine.state() for who, shell in shells.items()}
    for who, text in lines:
        try:
            shells[who].type([text])
        except (KeyError, IndexError) as unknown:
            raise ValueError(f"no value for {unknown} in: {text}") from None
    return found


def scenario_situation(found: Typed) -> tuple[Situation, dict[str, Any]]:
    """The situation that typed lines make, and values by dotted path over it."""
    data, keys = found.scenario()
    return replace(found.situation, data=data), keys
