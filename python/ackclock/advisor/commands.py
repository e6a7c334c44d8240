"""The commands of an advice, each a typed object with its text (sysctl(8), ip-route(8), tc(8) and
the pages of the qdiscs, modprobe(8), socket(7), tcp(7), OpenWrt's uci; those of Windows are in
`windows_commands`).

What no shell takes, a socket option of a program or a key of a device, is a comment of the shell:
the lines of an advice can be pasted as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from ackclock.advisor.windows_commands import WindowsCommand

DEVICE = "$DEV"
"""The interface of a host's or router's command, a variable of the shell."""
UNDO_AFTER_S = 300
"""The time after which a router undoes what its user has not confirmed, in s."""
SHAPED = "ifb4dev"
"""The interface on which SQM shapes what arrives (name of at most 15 characters)."""
BUILTIN = ("reno", "cubic")
"""Congestion controls that need no module in the usual kernels."""

IN_PROGRAM = "# in the program: "
IN_PROGRAM_OF = "# in the program of "
ON_DEVICE = "# on the device: "


@dataclass(frozen=True, slots=True)
class Sysctl:
    """`sysctl -w KEY=VALUE`; the value may be the variable of `SaveSysctl`, for the undo."""

    key: str
    value: str

    def text(self) -> str:
        value = f'"{self.value}"' if set(self.value) & {" ", "$"} else self.value
        return f"sysctl -w {self.key}={value}"


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


@dataclass(frozen=True, slots=True)
class SocketOption:
    """A socket option that a program sets, `NAME = VALUE`; `no NAME` where it sets none. `flow`
    names the flow of the program where several flows have programs of their own.
    """

    name: str
    value: str | None
    flow: str = ""

    def text(self) -> str:
        start = f"{IN_PROGRAM_OF}{self.flow}: " if self.flow else IN_PROGRAM
        return start + (f"no {self.name}" if self.value is None else f"{self.name} = {self.value}")


@dataclass(frozen=True, slots=True)
class RouteMetric:
    """`ip route change DEFAULT METRIC VALUE`: a metric of the default route."""

    metric: str
    value: int

    def text(self) -> str:
        return f"ip route change $(ip route show default) {self.metric} {self.value}"


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
        lines = NEXT.join(command.text() for command in self.undo)
        return f"{AUTO_UNDO}{lines}{IN_BACKGROUND}"


NEXT = "; "
AUTO_UNDO = f"(trap '' HUP; sleep {UNDO_AFTER_S}; "
IN_BACKGROUND = ") & UNDO=$!"


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
        return f"{ON_DEVICE}{self.path} = {self.value}"


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


@dataclass(frozen=True, slots=True)
class Service:
    """`/etc/init.d/NAME restart`: a service of OpenWrt."""

    name: str

    def text(self) -> str:
        return f"/etc/init.d/{self.name} restart"


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
