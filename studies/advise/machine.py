"""A model of a Linux host or OpenWrt router that reads recipes: qdiscs, filters and interfaces by
tc(8) and ip-link(8), the default route by ip-route(8), sysctls, and SQM by sqm-scripts.

It shows what the lines of a recipe leave behind, and what their undo restores, also for qdiscs that
this machine's kernel does not have. A line that it does not know is an error, as is one that the
tool would refuse.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.export.qdisc_syntax import Value, parameters, shown

INGRESS = "ffff:"
NEXT = "; "
"""Between two commands of a line."""
DEFAULT_QDISC = "qdisc noqueue 0: root refcnt 2 "


@dataclass(frozen=True)
class RootQdisc:
    """A qdisc at the root of an interface: `arguments` as typed."""

    kind: str
    handle: str
    arguments: tuple[str, ...]

    @property
    def parameters(self) -> dict[str, Value]:
        """What it does, defaults included."""
        return parameters(self.kind, self.arguments)


@dataclass
class Machine:
    """The state of a machine; an interface without an entry in `roots` has the kernel's default."""

    interfaces: dict[str, str] = field(default_factory=lambda: {"eth0": "up"})
    roots: dict[str, RootQdisc] = field(default_factory=dict)
    ingress: set[str] = field(default_factory=set)
    filters: dict[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)
    route: dict[str, str] = field(default_factory=lambda: {"default": "", "via": "192.0.2.2", "dev": "eth0"})
    sysctls: dict[str, str] = field(default_factory=dict)
    staged: dict[str, str] = field(default_factory=dict)
    uci: dict[str, str] = field(default_factory=dict)
    shaped: set[str] = field(default_factory=set)
    """The interfaces on which SQM runs."""
    handles: int = 0x8000

    def state(self) -> dict[str, Any]:
        """All that recipes change, by name."""
        roots = {f"root of {dev}": (one.kind, one.handle, one.parameters) for dev, one in self.roots.items()}
        filters = {f"filter {' '.join(key)}": words for key, words in self.filters.items()}
        links = {f"interface {name}": value for name, value in self.interfaces.items()}
        ingress = {f"ingress of {name}": True for name in self.ingress}
        return {**links, **roots, **ingress, **filters, "route": dict(self.route), **self.sysctls, **self.uci}

    def queue(self, direction: str, device: str = "eth0") -> RootQdisc | None:
        """The root qdisc that packets of a direction pass: up those that the interface sends, down
        those that it receives and redirects.
        """
        if direction == "up":
            return self.roots.get(device)
        redirected = [words for (dev, parent, _), words in self.filters.items() if (dev, parent) == (device, INGRESS)]
        target = next((words[-1] for words in redirected if words[-3:-1] == ("redirect", "dev")), None)
        return self.roots.get(target) if target and device in self.ingress else None

    def run(self, words: Sequence[str]) -> str:
        """What a command prints; the machine is as the command leaves it."""
        match list(words):
            case ["tc", "qdisc", "show", "dev", device]:
                return self._shown(device)
            case ["tc", "qdisc", "add" | "replace" | "change" | "del" as verb, "dev", device, *rest]:
                self._qdisc(verb, device, rest)
            case ["tc", "filter", "add" | "replace", "dev", device, "parent", parent, "protocol", _, "prio", *rest]:
                prio, *rest = rest
                self._filter(device, parent, prio, rest)
            case ["ip", "link", "add", name, "type", "ifb"] if name not in self.interfaces:
                self.interfaces[name] = "down"
            case ["ip", "link", "set", name, "up"] if name in self.interfaces:
                self.interfaces[name] = "up"
            case ["ip", "link", "del", name] if name in self.interfaces:
                self._remove(name)
            case ["ip", "route", "show", "default"]:
                return " ".join(word for pair in self.route.items() for word in pair if word)
            case ["ip", "route", "change", "default", *rest]:
                self.route = _route(rest)
            case ["sysctl", "-n", key] if key in self.sysctls:
                return self.sysctls[key].replace(" ", "\t")
            case ["sysctl", "-w", assignment]:
                key, _, value = assignment.partition("=")
                if key not in self.sysctls or not value:
                    raise ValueError(f"no sysctl of the machine: {assignment}")
                self.sysctls[key] = " ".join(value.split())
            case ["modprobe", _]:
                pass
            case ["uci", "set", assignment]:
                path, _, value = assignment.partition("=")
                self.staged[path] = value
            case ["uci", "delete", section] if section in self.staged:
                self.staged = {
                    path: value for path, value in self.staged.items() if not f"{path}.".startswith(f"{section}.")
                }
            case ["uci", "commit", "sqm"]:
                self.uci = dict(self.staged)
            case ["/etc/init.d/sqm", "restart"]:
                self._restart_sqm()
            case _:
                raise ValueError(f"no command that the reader knows, or one that fails: {' '.join(words)}")
        return ""

    def _shown(self, device: str) -> str:
        root = self.roots.get(device)
        lines = [f"qdisc ingress {INGRESS} parent ffff:fff1 ---------------- "] if device in self.ingress else []
        if root is None:
            return "\n".join([DEFAULT_QDISC, *lines])
        return "\n".join([f"qdisc {root.kind} {root.handle} root refcnt 2 {shown(root.kind, root.arguments)}", *lines])

    def _qdisc(self, verb: str, device: str, rest: list[str]) -> None:
        _expect(device in self.interfaces, f"no interface {device}")
        if "ingress" in rest[:3] and rest[:1] != ["root"]:
            _expect((device in self.ingress) or verb != "del", f"no ingress qdisc of {device}")
            if verb == "del":
                self.ingress.remove(device)
                self._drop_filters(device, INGRESS)
            else:
                self.ingress.add(device)
            return
        _expect(rest[:1] == ["root"], f"no place of a qdisc: {' '.join(rest)}")
        rest = rest[1:]
        old = self.roots.get(device)
        if verb == "del":
            _expect(old is not None and not rest, f"the default qdisc of {device} cannot be deleted")
            assert old
            del self.roots[device]
            self._drop_filters(device, old.handle)
            return
        _expect(verb != "add" or old is None, f"{device} has a root qdisc")
        handle = ""
        if rest[:1] == ["handle"]:
            handle, rest = rest[1], rest[2:]
        if old and rest[0] == old.kind and handle in ("", old.handle):
            # The kernel changes a qdisc of the same kind: what is not typed stays as it was.
            _expect(old.kind != "fq_codel" or "flows" not in rest, "fq_codel keeps its number of flows")
            handle, rest = old.handle, [old.kind, *old.arguments, *rest[1:]]
        if not handle:
            self.handles += 1
            handle = f"{self.handles:x}:"
        self.roots[device] = RootQdisc(rest[0], handle, tuple(rest[1:]))
        _ = self.roots[device].parameters

    def _filter(self, device: str, parent: str, prio: str, rest: list[str]) -> None:
        root = self.roots.get(device)
        has_parent = device in self.ingress if parent == INGRESS else root is not None and root.handle == parent
        _expect(has_parent, f"no qdisc {parent} of {device}")
        _expect(rest[:1] in (["matchall"], ["u32"]), f"no filter that the reader knows: {' '.join(rest)}")
        if "redirect" in rest:
            _expect(rest[-1] in self.interfaces, f"no interface {rest[-1]}")
        self.filters[device, parent, prio] = tuple(rest)

    def _drop_filters(self, device: str, parent: str) -> None:
        self.filters = {key: words for key, words in self.filters.items() if key[:2] != (device, parent)}

    def _remove(self, name: str) -> None:
        del self.interfaces[name]
        self.roots.pop(name, None)

    def _restart_sqm(self) -> None:
        """Stops SQM where it runs, then starts the committed queues that are enabled."""
        for device in self.shaped:
            for verb in (["root"], ["ingress"]):
                if device in (self.roots if verb == ["root"] else self.ingress):
                    self._qdisc("del", device, verb)
            self._remove(_ifb(device))
        self.shaped = set()
        for section in [path for path, value in self.uci.items() if value == "queue"]:
            prefix = f"{section}."
            options = {path.removeprefix(prefix): v for path, v in self.uci.items() if path.startswith(prefix)}
            if options.get("enabled") == "1":
                self._start_sqm(options)

    def _start_sqm(self, options: dict[str, str]) -> None:
        """piece_of_cake.qos or layer_cake.qos; a rate of 0 leaves a direction without a shaper."""
        device, tins = options["interface"], {"piece_of_cake.qos": "besteffort", "layer_cake.qos": "diffserv3"}
        _expect(options["qdisc"] == "cake" and options["script"] in tins, "no script for cake")
        own = options.get("qdisc_advanced") == options.get("qdisc_really_really_advanced") == "1"
        words = [tins[options["script"]]]
        if options["linklayer"] != "none":
            # With tc's stab in its place the overhead would count from the Ethernet frame.
            _expect(options.get("linklayer_adaptation_mechanism") == "cake", "the overhead is tc-stab's")
            words = [*(["atm"] if options["linklayer"] == "atm" else []), "overhead", options["overhead"], *words]
        self.shaped.add(device)
        self.interfaces[_ifb(device)] = "up"
        if device in self.roots:
            self._qdisc("del", device, ["root"])
        if options["upload"] != "0":
            more = options.get("eqdisc_opts", "").split() if own else []
            self._qdisc("add", device, ["root", "cake", "bandwidth", f"{options['upload']}kbit", *words, *more])
        if options["download"] != "0":
            more = options.get("iqdisc_opts", "").split() if own else []
            self._qdisc("add", device, ["handle", INGRESS, "ingress"])
            rate = ["bandwidth", f"{options['download']}kbit"]
            self._qdisc("add", _ifb(device), ["root", "cake", *rate, *words, *more])
            self._filter(device, INGRESS, "10", ["u32", "match", "u32", "0", "0", "redirect", "dev", _ifb(device)])


def _ifb(device: str) -> str:
    """SQM's interface for arriving packets."""
    return f"ifb4{device}"[:15]


def _route(words: Sequence[str]) -> dict[str, str]:
    """A route by ip-route(8): keys with a value each. Of a key given twice the last one counts."""
    known = {"via", "dev", "proto", "metric", "src", "scope", "initcwnd", "initrwnd", "quickack", "congctl", "mtu"}
    keys = words[::2]
    _expect(len(words) % 2 == 0 and set(keys) <= known, f"no route: {' '.join(words)}")
    return {"default": "", **dict(zip(keys, words[1::2], strict=True))}


def _expect(right: bool, problem: str) -> None:
    if not right:
        raise ValueError(problem)


@dataclass
class Shell:
    """The shell in which a recipe and its undo are typed: as much of sh(1) as recipes use."""

    machine: Machine
    variables: dict[str, str] = field(default_factory=lambda: {"DEV": "eth0"})
    comments: list[str] = field(default_factory=list)
    jobs: list[tuple[str, ...]] = field(default_factory=list)
    """The commands of the jobs in the background, which sleep."""

    def type(self, lines: Iterable[str]) -> None:
        """Run lines one by one. Raises ValueError for one that this shell or a tool refuses."""
        for line in lines:
            self._line(line)

    def wait(self) -> None:
        """The jobs in the background wake up."""
        jobs, self.jobs = self.jobs, []
        for job in jobs:
            self.type(job)

    def _line(self, line: str) -> None:
        if line.startswith("# "):
            self.comments.append(line.removeprefix("# "))
        elif match := re.fullmatch(r"\(trap '' HUP; sleep \d+; (.+)\) & UNDO=\$!", line):
            self.jobs.append(tuple(match[1].split(NEXT)))
        elif line == "kill $UNDO":
            self.jobs.pop()
        elif match := re.fullmatch(r'\[ -z "\$(\w+)" \] \|\| (.+)', line):
            if self.variables[match[1]]:
                self._line(match[2])
        elif match := re.fullmatch(r"([A-Z_][A-Z0-9_]*)=\$\((.+)\)", line):
            self.variables[match[1]] = self._output(match[2])
        else:
            self._output(line)

    def _output(self, pipeline: str) -> str:
        command, pipe, sed = pipeline.partition(" | ")
        command = re.sub(r"\$\(([^()]+)\)", lambda inner: self._output(inner[1]), command)
        command = re.sub(r"\$(\w+)", lambda name: self.variables[name[1]], command)
        text = self.machine.run(shlex.split(command))
        if not pipe:
            return text
        words = shlex.split(sed)
        _expect(words[:1] == ["sed"], f"no pipe that the reader knows: {sed}")
        return subprocess.run(words, input=f"{text}\n", capture_output=True, text=True, check=True).stdout.strip()
