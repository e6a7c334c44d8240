"""The commands of an advice, each a typed object with its text and the inverse of its text.

`parse` reads a command back by the grammar of its tool (sysctl(8), ip-route(8), tc(8) and the pages
of the qdiscs, modprobe(8), socket(7), tcp(7), OpenWrt's uci; those of Windows are in
`windows_commands`) and refuses what the tool would refuse. What no shell takes, a socket option of
a program or a key of a device, is a comment of the shell: the lines of an advice can be pasted as
they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock.advisor import windows_commands
from ackclock.advisor.windows_commands import WindowsCommand
from ackclock.input.variant_groups import KERNEL_NAMES

DEVICE = "$DEV"
"""The interface of a host's or router's command, a variable of the shell."""
UNDO_AFTER_S = 300
"""The time after which a router undoes what its user has not confirmed, in s."""
SHAPED = "ifb4dev"
"""The interface on which SQM shapes what arrives (name of at most 15 characters)."""
BUILTIN = ("reno", "cubic")
"""Congestion controls that need no module in the usual kernels."""

_IN_PROGRAM = "# in the program: "
_IN_PROGRAM_OF = "# in the program of "
_ON_DEVICE = "# on the device: "

_OF_WINDOWS = ("rem ", "reg ", "netsh ", "for /f ")

_INTEGER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z][a-z0-9_]*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TRIPLE = re.compile(r"\d+ \d+ \d+")
SYSCTLS: Mapping[str, re.Pattern[str]] = {
    "net.ipv4.tcp_congestion_control": _WORD,
    "net.ipv4.tcp_rmem": _TRIPLE,
    "net.ipv4.tcp_wmem": _TRIPLE,
    "net.core.rmem_max": _INTEGER,
    "net.core.wmem_max": _INTEGER,
    "net.ipv4.tcp_window_scaling": re.compile("[01]"),
    "net.ipv4.tcp_ecn": re.compile("[012]"),
}
"""The sysctls of an advice, and the form of their values (ip-sysctl.rst)."""
SOCKET_OPTIONS: Mapping[str, re.Pattern[str]] = {
    "TCP_CONGESTION": _WORD,
    "SO_SNDBUF": _INTEGER,
    "SO_RCVBUF": _INTEGER,
}
"""The socket options of an advice, and the form of their values."""
ROUTE_METRICS: Mapping[str, range] = {"initcwnd": range(1, 1000), "quickack": range(2)}
"""Metrics of a route (ip-route(8)) and their values."""

_RATE = re.compile(r"\d+(?:bit|kbit|mbit|gbit)")
_TIME = re.compile(r"\d+(?:\.\d+)?(?:us|ms|s)")
_SHARE = re.compile(r"\d(?:\.\d+)?(?:e-\d+)?")
_FLAG = None
QDISCS: Mapping[str, Mapping[str, re.Pattern[str] | None]] = {
    "pfifo": {"limit": _INTEGER},
    "pfifo_head_drop": {"limit": _INTEGER},
    "bfifo": {"limit": _INTEGER},
    "prio": {"bands": _INTEGER},
    "fq": {},
    "fq_codel": {
        **dict.fromkeys(("limit", "flows", "quantum", "memory_limit"), _INTEGER),
        **dict.fromkeys(("target", "interval"), _TIME),
        **dict.fromkeys(("ecn", "noecn"), _FLAG),
    },
    "codel": {"limit": _INTEGER, "target": _TIME, "interval": _TIME, "ecn": _FLAG, "noecn": _FLAG},
    "pie": {
        **dict.fromkeys(("limit", "alpha", "beta"), _INTEGER),
        **dict.fromkeys(("target", "tupdate"), _TIME),
        **dict.fromkeys(("ecn", "noecn"), _FLAG),
    },
    "red": {
        **dict.fromkeys(("limit", "min", "max", "avpkt", "burst"), _INTEGER),
        "bandwidth": _RATE,
        "probability": _SHARE,
        "ecn": _FLAG,
    },
    "cake": {
        "bandwidth": _RATE,
        "rtt": _TIME,
        "overhead": _INTEGER,
        "memlimit": _INTEGER,
        **dict.fromkeys(
            (
                "atm",
                *("unlimited", "besteffort", "flows", "triple-isolate"),
                *("ack-filter", "ack-filter-aggressive", "no-ack-filter", "ingress"),
            ),
            _FLAG,
        ),
    },
}
"""The qdiscs of an advice with the keys of each; a key with a pattern has a value."""
_SWITCH = re.compile("[01]")
_KEYWORDS = re.compile(r"[a-z][a-z0-9 -]*")
SQM_OPTIONS: Mapping[str, re.Pattern[str]] = {
    **dict.fromkeys(("enabled", "qdisc_advanced", "qdisc_really_really_advanced"), _SWITCH),
    **dict.fromkeys(("download", "upload"), _INTEGER),
    "interface": re.compile(r"\$DEV|[a-z][a-z0-9.@-]*"),
    "qdisc": re.compile("cake"),
    "script": re.compile(r"piece_of_cake\.qos"),
    "linklayer": re.compile("none|ethernet|atm"),
    "overhead": _INTEGER,
    "linklayer_advanced": _SWITCH,
    "linklayer_adaptation_mechanism": re.compile("cake"),
    **dict.fromkeys(("iqdisc_opts", "eqdisc_opts"), _KEYWORDS),
}
"""Options of a queue in OpenWrt's /etc/config/sqm, and their values; rates are in kbit/s, 0: not
shaped."""


@dataclass(frozen=True, slots=True)
class Sysctl:
    """`sysctl -w KEY=VALUE`; the value may be the variable of `SaveSysctl`, for the undo."""

    key: str
    value: str

    def text(self) -> str:
        value = f'"{self.value}"' if set(self.value) & {" ", "$"} else self.value
        return f"sysctl -w {self.key}={value}"

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Sysctl:
        _expect(len(words) == 3 and words[1] == "-w", words)
        key, equals, value = words[2].partition("=")
        _expect(bool(equals) and key in SYSCTLS, words)
        _expect(value == f"${SaveSysctl(key).variable}" or SYSCTLS[key].fullmatch(value) is not None, words)
        return cls(key, value)


@dataclass(frozen=True, slots=True)
class SaveSysctl:
    """`OLD_NAME=$(sysctl -n KEY)`: the value that the host has, for the undo."""

    key: str

    @property
    def variable(self) -> str:
        """The variable of the shell that holds the value."""
        return f"OLD_{self.key.rpartition('.')[2].upper()}"

    def text(self) -> str:
        return f"{self.variable}=$(sysctl -n {self.key})"


@dataclass(frozen=True, slots=True)
class Modprobe:
    """`modprobe MODULE`: loads a congestion control."""

    module: str

    def text(self) -> str:
        return f"modprobe {self.module}"

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Modprobe:
        _expect(len(words) == 2 and words[1].removeprefix("tcp_") in KERNEL_NAMES, words)
        return cls(words[1])


@dataclass(frozen=True, slots=True)
class SocketOption:
    """A socket option that a program sets, `NAME = VALUE`; `no NAME` where it sets none. `flow`
    names the flow of the program where several flows have programs of their own.
    """

    name: str
    value: str | None
    flow: str = ""

    def text(self) -> str:
        start = f"{_IN_PROGRAM_OF}{self.flow}: " if self.flow else _IN_PROGRAM
        return start + (f"no {self.name}" if self.value is None else f"{self.name} = {self.value}")

    @classmethod
    def of_flow(cls, text: str) -> SocketOption:
        """The option of a text that begins with the name of a flow."""
        flow, _, option = text.rpartition(": ")
        return replace(cls.parsed(option.split()), flow=flow)

    @classmethod
    def parsed(cls, words: Sequence[str]) -> SocketOption:
        if words[:1] == ["no"]:
            _expect(len(words) == 2 and words[1] in SOCKET_OPTIONS, words)
            return cls(words[1], None)
        _expect(len(words) == 3 and words[1] == "=" and words[0] in SOCKET_OPTIONS, words)
        _expect(SOCKET_OPTIONS[words[0]].fullmatch(words[2]) is not None, words)
        return cls(words[0], words[2])


@dataclass(frozen=True, slots=True)
class RouteMetric:
    """`ip route change DEFAULT METRIC VALUE`: a metric of the default route."""

    metric: str
    value: int

    def text(self) -> str:
        return f"ip route change $(ip route show default) {self.metric} {self.value}"

    @classmethod
    def parsed(cls, words: Sequence[str]) -> RouteMetric:
        text = " ".join(words)
        found = re.fullmatch(r"ip route change \$\(ip route show default\) ([a-z]+) (\d+)", text)
        _expect(found is not None, words)
        assert found is not None
        _expect(found[1] in ROUTE_METRICS and int(found[2]) in ROUTE_METRICS[found[1]], words)
        return cls(found[1], int(found[2]))


@dataclass(frozen=True, slots=True)
class SaveRoute:
    """`OLD_ROUTE=$(ip route show default)`: the default route with its metrics, for the undo."""

    def text(self) -> str:
        return "OLD_ROUTE=$(ip route show default)"


@dataclass(frozen=True, slots=True)
class RestoreRoute:
    """`ip route change $OLD_ROUTE`: the saved route. A metric that it does not have is removed."""

    def text(self) -> str:
        return "ip route change $OLD_ROUTE"


@dataclass(frozen=True, slots=True)
class Qdisc:
    """`tc qdisc replace dev DEVICE PLACE KIND ARGUMENTS`, or `tc qdisc del dev DEVICE PLACE`."""

    device: str
    kind: str = ""
    arguments: tuple[str, ...] = ()
    at: tuple[str, ...] = ("root",)

    def text(self) -> str:
        where = ["tc", "qdisc", "replace" if self.kind else "del", "dev", self.device, *self.at]
        return " ".join([*where, *([self.kind] if self.kind else []), *self.arguments])

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Qdisc:
        _expect(len(words) >= 6 and words[3] == "dev", words)
        device, rest = words[4], list(words[5:])
        at = tuple(rest[: {"root": 3 if rest[1:2] == ["handle"] else 1, "ingress": 1, "handle": 3}.get(rest[0], 0)])
        _expect(bool(at), words)
        kind, *arguments = rest[len(at) :] or [""]
        if at[0] == "handle":
            _expect((at[1], kind, arguments) == ("ffff:", "", []) and at[2] == "ingress", words)
        _expect(words[2] == ("replace" if kind or at[0] == "handle" else "del"), words)
        if kind:
            _expect(kind in QDISCS, words)
            _check_arguments(QDISCS[kind], arguments, words)
        return cls(device, kind, tuple(arguments), at)


_AS_ARGUMENTS = (
    r"sed -n '/ root /!d; / 0: root /d; s/^qdisc \([^ ]*\) \([^ ]*\) root refcnt [0-9]*/handle \2 \1/; "
    r"/ fq_codel .*ecn/!s/ fq_codel .*/& noecn/; s/bandwidth unlimited/unlimited/; s/$/ /; s/\([0-9]\)[pb] /\1 /g; p'"
)
"""Makes arguments of tc from the line that it shows of a root qdisc. The kernel's default qdisc has
handle 0 and leaves no line. tc shows limits in packets and bytes with a unit that it does not take,
and of an fq_codel without ECN nothing, though ECN is its default.
"""


@dataclass(frozen=True, slots=True)
class SaveQdisc:
    """`OLD_QDISC=$(tc qdisc show dev DEVICE | sed ..)`: the root qdisc, for the undo; empty if it
    is the kernel's default one.
    """

    device: str

    @property
    def variable(self) -> str:
        """The variable of the shell that holds the qdisc's arguments."""
        return f"OLD_QDISC{self.device.removeprefix(DEVICE)}"

    def text(self) -> str:
        return f"{self.variable}=$(tc qdisc show dev {self.device} | {_AS_ARGUMENTS})"


@dataclass(frozen=True, slots=True)
class ClearQdisc:
    """`tc qdisc del dev DEVICE root` unless the kernel's default qdisc is there. `tc qdisc replace`
    changes a qdisc of the same kind: what is not typed stays as it was, and fq_codel refuses its
    number of flows.
    """

    device: str

    def text(self) -> str:
        return f'[ -z "${SaveQdisc(self.device).variable}" ] || tc qdisc del dev {self.device} root'


@dataclass(frozen=True, slots=True)
class RestoreQdisc:
    """`tc qdisc add dev DEVICE root $OLD_QDISC` unless the kernel's default qdisc was there, which
    is back after `tc qdisc del`.
    """

    device: str

    def text(self) -> str:
        old = SaveQdisc(self.device).variable
        return f'[ -z "${old}" ] || tc qdisc add dev {self.device} root ${old}'


@dataclass(frozen=True, slots=True)
class AutoUndo:
    """`(trap '' HUP; sleep 300; UNDO) & UNDO=$!`: undoes a change after five minutes, also where
    the change has cut the user's connection.
    """

    undo: tuple[Command, ...]

    def text(self) -> str:
        lines = _NEXT.join(command.text() for command in self.undo)
        return f"{_AUTO_UNDO}{lines}) & UNDO=$!"

    @classmethod
    def parsed(cls, text: str) -> AutoUndo:
        """The undo of a text; no text of a command in it has a semicolon of its own."""
        start, end = text.startswith(_AUTO_UNDO), text.endswith(_IN_BACKGROUND)
        _expect(start and end, text.split())
        lines = text.removeprefix(_AUTO_UNDO).removesuffix(_IN_BACKGROUND)
        return cls(tuple(parse(line) for line in lines.split(_NEXT)))


_NEXT = "; "
_AUTO_UNDO = f"(trap '' HUP; sleep {UNDO_AFTER_S}; "
_IN_BACKGROUND = ") & UNDO=$!"


@dataclass(frozen=True, slots=True)
class CancelUndo:
    """`kill $UNDO`: ends the undo in the background."""

    def text(self) -> str:
        return "kill $UNDO"


@dataclass(frozen=True, slots=True)
class Comment:
    """`# TEXT`: what the user of the lines has to know while typing them."""

    words: str

    def text(self) -> str:
        return f"# {self.words}"


@dataclass(frozen=True, slots=True)
class Ingress:
    """The qdisc of arriving packets, whose filter redirects them to `SHAPED`."""

    device: str
    remove: bool = False

    def text(self) -> str:
        if self.remove:
            return f"tc qdisc del dev {self.device} ingress"
        return f"tc qdisc replace dev {self.device} handle ffff: ingress"


@dataclass(frozen=True, slots=True)
class Redirect:
    """`tc filter`: arriving packets pass another interface, where they can be queued."""

    device: str
    to: str

    def text(self) -> str:
        return (
            f"tc filter replace dev {self.device} parent ffff: protocol all prio 10 matchall "
            f"action mirred egress redirect dev {self.to}"
        )


@dataclass(frozen=True, slots=True)
class AcksFirst:
    """`tc filter`: TCP packets of less than 64 bytes with the ACK flag alone go to the first band
    of a `prio` qdisc (u32 matches as in LARTC, 9.5.3).
    """

    device: str

    def text(self) -> str:
        return (
            f"tc filter replace dev {self.device} parent 1: protocol ip prio 10 u32 match ip protocol 6 0xff "
            "match u8 0x05 0x0f at 0 match u16 0x0000 0xffc0 at 2 match u8 0x10 0xff at 33 flowid 1:1"
        )


@dataclass(frozen=True, slots=True)
class Interface:
    """`ip link add NAME type ifb`, `ip link set NAME up`, `ip link del NAME`."""

    verb: str
    name: str

    def text(self) -> str:
        return {
            "add": f"ip link add {self.name} type ifb",
            "up": f"ip link set {self.name} up",
            "del": f"ip link del {self.name}",
        }[self.verb]


@dataclass(frozen=True, slots=True)
class LinkKey:
    """A key of the link file whose device has a configuration of its own: `KEY = VALUE`."""

    path: str
    value: str

    def text(self) -> str:
        return f"{_ON_DEVICE}{self.path} = {self.value}"

    @classmethod
    def parsed(cls, words: Sequence[str]) -> LinkKey:
        found = re.fullmatch(r"(hop\.[^=]+?) = (.+)", " ".join(words))
        _expect(found is not None, words)
        assert found is not None
        return cls(found[1], found[2])


@dataclass(frozen=True, slots=True)
class Uci:
    """OpenWrt's `uci`: `uci set sqm.SECTION.OPTION="VALUE"` (without an option, the type of the
    section), `uci delete sqm.SECTION`, `uci commit sqm`.
    """

    verb: str
    path: str
    value: str = ""

    def text(self) -> str:
        return f"uci {self.verb} {self.path}" + (f'="{self.value}"' if self.verb == "set" else "")

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Uci:
        _expect(len(words) == 3, words)
        path, equals, value = words[2].partition("=")
        parts = path.split(".")
        _expect(parts[0] == "sqm" and all(_NAME.fullmatch(part) for part in parts), words)
        if words[1] == "set":
            pattern = SQM_OPTIONS.get(parts[2]) if len(parts) == 3 else re.compile("queue") if len(parts) == 2 else None
            _expect(bool(equals) and pattern is not None and pattern.fullmatch(value) is not None, words)
        else:
            _expect({"delete": 2, "commit": 1}.get(words[1]) == len(parts) and not equals, words)
        return cls(words[1], path, value)


@dataclass(frozen=True, slots=True)
class Service:
    """`/etc/init.d/NAME restart`: a service of OpenWrt."""

    name: str

    def text(self) -> str:
        return f"/etc/init.d/{self.name} restart"

    @classmethod
    def parsed(cls, words: Sequence[str]) -> Service:
        _expect(list(words) == ["/etc/init.d/sqm", "restart"], words)
        return cls("sqm")


Command = (
    Sysctl
    | SaveSysctl
    | SaveRoute
    | RestoreRoute
    | SaveQdisc
    | ClearQdisc
    | RestoreQdisc
    | AutoUndo
    | CancelUndo
    | Comment
    | Modprobe
    | SocketOption
    | RouteMetric
    | Qdisc
    | Ingress
    | Redirect
    | AcksFirst
    | Interface
    | LinkKey
    | Uci
    | Service
    | WindowsCommand
)


def parse(text: str) -> Command:
    """The command of a text; `parse(command.text()) == command`.

    Raises ValueError for text that is none of these commands, or that its tool would refuse.

    >>> parse('sysctl -w net.ipv4.tcp_rmem="4096 131072 25165824"')
    Sysctl(key='net.ipv4.tcp_rmem', value='4096 131072 25165824')
    """
    for start, of_comment in ((_IN_PROGRAM, SocketOption.parsed), (_ON_DEVICE, LinkKey.parsed)):
        if text.startswith(start):
            return of_comment(text.removeprefix(start).split())
    if text.startswith(_IN_PROGRAM_OF):
        return SocketOption.of_flow(text.removeprefix(_IN_PROGRAM_OF))
    if text.startswith("# "):
        return Comment(text.removeprefix("# "))
    if text.startswith("("):
        return AutoUndo.parsed(text)
    if (saved := _saved(text)) is not None:
        return saved
    if text.startswith(_OF_WINDOWS):
        return windows_commands.parse(text)
    words = text.split() if text.startswith("ip route") else shlex.split(text)
    for start, read in _READERS.items():
        if text == start or text.startswith(f"{start} "):
            return read(words)
    raise ValueError(f"no command of an advice: {text}")


def _saved(text: str) -> Command | None:
    """A command that saves or restores what was there before; None for another."""
    device = re.search(r" dev (\$?[A-Za-z][\w.@-]*) ", text)
    known: list[Command] = [SaveRoute(), RestoreRoute(), CancelUndo(), *map(SaveSysctl, SYSCTLS)]
    known += [kind(device[1]) for kind in (SaveQdisc, ClearQdisc, RestoreQdisc)] if device else []
    return next((command for command in known if command.text() == text), None)


def _exact(words: Sequence[str]) -> Command:
    """A command whose text has names of interfaces alone as variables."""
    text = " ".join(words)
    names = re.findall(r"\bdev (\S+)", text) or re.findall(r"^ip link (?:add|set|del) (\S+)", text)
    _expect(bool(names), words)
    known: list[Command] = [
        Redirect(names[0], names[-1]),
        AcksFirst(names[0]),
        *(Interface(verb, names[0]) for verb in ("add", "up", "del")),
    ]
    for command in known:
        if command.text() == text:
            return command
    raise ValueError(f"no command of an advice: {text}")


def _qdisc(words: Sequence[str]) -> Command:
    text = " ".join(words)
    for remove in (False, True):
        ingress = Ingress(words[4] if len(words) > 4 else "", remove)
        if ingress.text() == text:
            return ingress
    return Qdisc.parsed(words)


_READERS: Mapping[str, Callable[[Sequence[str]], Command]] = {
    "sysctl": Sysctl.parsed,
    "modprobe": Modprobe.parsed,
    "ip route": RouteMetric.parsed,
    "ip link": _exact,
    "tc qdisc": _qdisc,
    "tc filter": _exact,
    "uci": Uci.parsed,
    "/etc/init.d/sqm": Service.parsed,
}


def _check_arguments(
    keys: Mapping[str, re.Pattern[str] | None], arguments: Sequence[str], words: Sequence[str]
) -> None:
    """Each argument is a key once, with its value if it has one."""
    rest = list(arguments)
    seen: set[str] = set()
    while rest:
        key = rest.pop(0)
        _expect(key in keys and key not in seen, words)
        seen.add(key)
        if (pattern := keys[key]) is not None:
            _expect(bool(rest) and pattern.fullmatch(rest.pop(0)) is not None, words)


def _expect(right: bool, words: Sequence[str]) -> None:
    if not right:
        raise ValueError(f"no command of an advice: {' '.join(words)}")
