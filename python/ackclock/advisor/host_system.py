"""What the operating system of a host stack lets its user set, and with which commands: a property
that it cannot set is None, and no advice is about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ackclock.advisor.commands import (
    BUILTIN,
    DEVICE,
    Command,
    Modprobe,
    Qdisc,
    RestoreRoute,
    RouteMetric,
    SocketOption,
    Sysctl,
)
from ackclock.advisor.recipe import Step, restored, restored_root
from ackclock.advisor.windows_commands import (
    NETSH,
    REGISTRY,
    DeleteRegistry,
    Remark,
    RestoreNetsh,
    RestoreRegistry,
    SetNetsh,
    SetRegistry,
    WindowsSocketOption,
)
from ackclock.comparison.socket_buffers import MEM_MIN
from ackclock.format import joined
from ackclock.input.variant_groups import LINUX_NAMES

UNCLASSED = "its root qdisc has no classes, stab or filters, which the undo cannot restore"
CONGESTION = "net.ipv4.tcp_congestion_control"
OPTIONS = {"send": "SO_SNDBUF", "receive": "SO_RCVBUF"}
ENDS = {"send": "sender", "receive": "receiver"}
"""The ends of a connection that have a buffer, and who sets it."""
Sizes = Mapping[str, int | None]
"""The values of a socket option by flow; None: the program sets none."""


@dataclass(frozen=True)
class Setting:
    """What sets a property: the steps, what must be true for them to have this effect, and the
    settings among them that change more than the flows of the advice.
    """

    steps: tuple[Step, ...]
    conditions: tuple[str, ...] = ()
    host_wide: tuple[str, ...] = ()

    @classmethod
    def together(cls, settings: Sequence[Setting | None]) -> Setting | None:
        """All settings; None where one of them cannot be set."""
        known = [one for one in settings if one is not None]
        if len(known) < len(settings):
            return None
        steps = dict.fromkeys(step for one in known for step in one.steps)  # a page's line once
        conditions = dict.fromkeys(text for one in known for text in one.conditions)
        return cls(tuple(steps), tuple(conditions), tuple(dict.fromkeys(key for one in known for key in one.host_wide)))

    @property
    def preconditions(self) -> tuple[str, ...]:
        """All that must be true."""
        if not self.host_wide:
            return self.conditions
        are = "are" if len(self.host_wide) > 1 else "is"
        wide = f"all connections of the host may change: {joined(self.host_wide)} {are} host-wide"
        return (*self.conditions, wide)


@dataclass(frozen=True)
class HostSystem:
    """The system of a host stack, which lets nothing be set.

    `who` is one of "sender" and "receiver", `end` one of "send" and "receive".
    """

    name: str

    def congestion_control(self, variant: str, before: Mapping[str, str]) -> Setting | None:
        """A variant for the flows, which have those of `before`."""
        return None

    def automatic_buffer(self, end: str, before: Sizes) -> Setting | None:
        """A buffer that the host tunes, for flows whose programs set it."""
        return None

    def tuned_up_to(self, end: str, first: int, maximum: int) -> Setting | None:
        """The maximum of a buffer that the host tunes, in bytes of memory, `first` at the start."""
        return None

    def fixed_buffer(self, end: str, size: int, before: Sizes) -> Setting | None:
        """A buffer of a size in bytes."""
        return None

    def window_scaling(self, who: str, *, timestamps: bool = False) -> Setting | None:
        """The window scale option at one end; `timestamps` stay as they are."""
        return None

    def ecn(self, who: str, *, opens: bool) -> Setting | None:
        """ECN at one end, which opens the connections or accepts them."""
        return None

    def initial_window(self, segments: int) -> Setting | None:
        """The sender's initial window."""
        return None

    def mtu_probing(self) -> Setting | None:
        """A sender that finds the path MTU by itself when long segments vanish (RFC 4821)."""
        return None

    def undelayed_acks(self) -> Setting | None:
        """An ACK for each segment by the receiver."""
        return None

    def pacing(self) -> Setting | None:
        """Segments that the sender spaces out."""
        return None

    @property
    def reason(self) -> str:
        """Why it lacks a command, as the end of a sentence."""
        return ""

    def unsettable(self, who: str) -> list[str]:
        """The properties of one end that cannot be set here, in words."""
        had: Sizes = {"": None}
        end = next(end for end, one in ENDS.items() if one == who)
        tried: dict[str, Setting | None] = {}
        if who == "sender":
            tried["the congestion control"] = self.congestion_control("reno", {"": ""})
            tried["the initial window"] = self.initial_window(10)
            tried["pacing"] = self.pacing()
        else:
            tried["delayed ACKs"] = self.undelayed_acks()
        buffer = self.fixed_buffer(end, 2**16, had) or self.automatic_buffer(end, had)
        tried |= {
            f"the {end} buffer": buffer,
            "window scaling": self.window_scaling(who),
            "ECN": self.ecn(who, opens=True),
        }
        return [words for words, setting in tried.items() if setting is None]


def _sockets(
    kind: type[SocketOption] | type[WindowsSocketOption], end: str, value: str | None, before: Sizes
) -> tuple[Step, ...]:
    """A socket option of the programs, and as its undo what each program had."""
    had = {flow: None if size is None else str(size) for flow, size in before.items()}
    option = OPTIONS[end]
    if len({*had.values()}) == 1:
        return (Step(ENDS[end], kind(option, value), (kind(option, next(iter(had.values()))),)),)
    return tuple(Step(ENDS[end], kind(option, value, flow), (kind(option, was, flow),)) for flow, was in had.items())


NO_OPTION = "the program sets no SO_SNDBUF or SO_RCVBUF"


SINCE: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(("reno", "westwood+", "vegas", "hybla", "htcp"), (2, 6, 13)),
    "illinois": (2, 6, 22),
    "cubic": (3,),
    "bbr": (4, 9),
}
"""The first Linux with a congestion control that can be chosen. The cubic of 2.6 is another."""
QUICKACK = (3, 11)  # ip-route(8)
MTU_PROBING = (2, 6, 17)  # tcp_mtu_probing (ip-sysctl.rst)
FQ = (3, 12)  # the first with sch_fq
ECN_ON_REQUEST = (2, 6, 31)  # since then a server uses ECN if asked: tcp_ecn 2 (ip-sysctl.rst)


@dataclass(frozen=True)
class LinuxSystem(HostSystem):
    """Linux, by the version of its kernel: what came later cannot be set."""

    kernel: tuple[int, ...] = (6,)

    def congestion_control(self, variant: str, before: Mapping[str, str]) -> Setting | None:
        if variant not in SINCE or self.kernel < SINCE[variant]:
            return None
        name = LINUX_NAMES[variant]
        steps = [] if name in BUILTIN else [Step("sender", Modprobe(f"tcp_{name}"))]
        if len(set(before.values())) == 1:
            own = f"the kernel has tcp_{name}; a program sets TCP_CONGESTION = {name} for its own sockets"
            steps.append(Step("sender", Sysctl(CONGESTION, name), restored(CONGESTION)))
            return Setting(tuple(steps), (own,), (CONGESTION,))
        # A host has one default congestion control, which cannot restore several.
        for flow, was in before.items():
            if was != variant:
                undo = SocketOption("TCP_CONGESTION", LINUX_NAMES.get(was), flow)
                steps.append(Step("sender", SocketOption("TCP_CONGESTION", name, flow), (undo,)))
        return Setting(tuple(steps), (f"the kernel has tcp_{name}",))

    def automatic_buffer(self, end: str, before: Sizes) -> Setting | None:
        return Setting(_sockets(SocketOption, end, None, before), (NO_OPTION,))

    def tuned_up_to(self, end: str, first: int, maximum: int) -> Setting | None:
        key = f"net.ipv4.tcp_{'wmem' if end == 'send' else 'rmem'}"
        step = Step(ENDS[end], Sysctl(key, f"{MEM_MIN} {min(first, maximum)} {maximum}"), restored(key))
        return Setting((step,), (NO_OPTION,), (key,))

    def window_scaling(self, who: str, *, timestamps: bool = False) -> Setting | None:
        return self._sysctl(who, "net.ipv4.tcp_window_scaling", "1")

    def ecn(self, who: str, *, opens: bool) -> Setting | None:
        """A server of today uses ECN if its client asks for it."""
        if opens or self.kernel < ECN_ON_REQUEST:
            return self._sysctl(who, "net.ipv4.tcp_ecn", "1")
        return Setting((), ("the server's net.ipv4.tcp_ecn is 1 or 2 (the default)",))

    def _sysctl(self, who: str, key: str, value: str) -> Setting:
        return Setting((Step(who, Sysctl(key, value), restored(key)),), (), (key,))

    def initial_window(self, segments: int) -> Setting | None:
        step = Step("sender", RouteMetric("initcwnd", segments), (RestoreRoute(),))
        return Setting((step,), ("one default route",))

    def mtu_probing(self) -> Setting | None:
        if self.kernel < MTU_PROBING:
            return None
        return self._sysctl("sender", "net.ipv4.tcp_mtu_probing", "1")

    def undelayed_acks(self) -> Setting | None:
        if self.kernel < QUICKACK:
            return None
        return Setting((Step("receiver", RouteMetric("quickack", 1), (RestoreRoute(),)),), ("one default route",))

    def pacing(self) -> Setting | None:
        if self.kernel < FQ:
            return None
        step = Step("sender", Qdisc(DEVICE, "fq"), restored_root(DEVICE))
        return Setting((step,), ("DEV is the sender's interface", UNCLASSED))


RESTART = "Windows has restarted: it reads the registry then"
PROMPT = "the lines are typed at an administrator's prompt"
ENGLISH = "Windows is in English, in which the undo reads the global parameters"


def _registry(who: str, value: str, number: int) -> Setting:
    command: Command = SetRegistry(value, number)
    steps = (
        Step(who, Remark(REGISTRY[value].page.text())),
        Step(who, command, (DeleteRegistry(value), RestoreRegistry(value))),
    )
    return Setting(steps, (PROMPT, RESTART), (value,))


def _netsh(who: str, option: str, value: str) -> Setting:
    steps = (Step(who, Remark(NETSH[option].page.text())), Step(who, SetNetsh(option, value), (RestoreNetsh(option),)))
    return Setting(steps, (PROMPT, ENGLISH), (option,))


XP_BUFFERS = {"send": "DefaultSendWindow", "receive": "TcpWindowSize"}


@dataclass(frozen=True)
class Windows(HostSystem):
    """What Microsoft's pages have a command for."""

    @property
    def reason(self) -> str:
        return ": Microsoft's pages have no command"


@dataclass(frozen=True)
class WindowsXp(Windows):
    """Windows XP: values of the registry, and socket options of programs."""

    def fixed_buffer(self, end: str, size: int, before: Sizes) -> Setting | None:
        """The host's default, unless the program sets its own."""
        if any(had is not None for had in before.values()):
            return Setting(_sockets(WindowsSocketOption, end, str(size), before))
        found = _registry(ENDS[end], XP_BUFFERS[end], size)
        option = OPTIONS[end]
        other = f"the program sets no {option} (with {option} = {size} it needs no {XP_BUFFERS[end]})"
        return replace(found, conditions=(*found.conditions, other))

    def window_scaling(self, who: str, *, timestamps: bool = False) -> Setting | None:
        """Bit 0 of Tcp1323Opts is window scaling, bit 1 timestamps."""
        return _registry(who, "Tcp1323Opts", 3 if timestamps else 1)

    def undelayed_acks(self) -> Setting | None:
        found = _registry("receiver", "TcpAckFrequency", 1)
        more = ("GUID is the interface's, in braces", "the hotfix of article 815230 is installed")
        return replace(found, conditions=(*found.conditions, *more), host_wide=())


@dataclass(frozen=True)
class WindowsVista(Windows):
    """Windows Vista: global parameters of TCP, and socket options of programs."""

    def automatic_buffer(self, end: str, before: Sizes) -> Setting | None:
        if end == "send":
            return None
        program = Setting(_sockets(WindowsSocketOption, end, None, before), ("the program sets no SO_RCVBUF",))
        return Setting.together([program, _netsh("receiver", "autotuninglevel", "normal")])

    def fixed_buffer(self, end: str, size: int, before: Sizes) -> Setting | None:
        return Setting(_sockets(WindowsSocketOption, end, str(size), before))

    def window_scaling(self, who: str, *, timestamps: bool = False) -> Setting | None:
        """The level "normal" has a window scale of 8 (article 934430)."""
        return _netsh(who, "autotuninglevel", "normal")

    def ecn(self, who: str, *, opens: bool) -> Setting | None:
        return _netsh(who, "ecncapability", "enabled")


@dataclass(frozen=True)
class Bsd(HostSystem):
    """4.4BSD and its descendants: socket options of programs (setsockopt(2))."""

    def fixed_buffer(self, end: str, size: int, before: Sizes) -> Setting | None:
        return Setting(_sockets(SocketOption, end, str(size), before))


SYSTEMS: Mapping[str, HostSystem] = {
    "linux-6": LinuxSystem("Linux 6", (6,)),
    "linux-2.6.20": LinuxSystem("Linux 2.6.20", (2, 6, 20)),
    "linux-2.6.15": LinuxSystem("Linux 2.6.15", (2, 6, 15)),
    "linux-2.6.8": LinuxSystem("Linux 2.6.8", (2, 6, 8)),
    "windows-xp": WindowsXp("Windows XP"),
    "windows-vista": WindowsVista("Windows Vista"),
    "bsd-1997": Bsd("BSD of 1997"),
    "ns2": HostSystem("ns-2, a simulator"),
}
"""The system of each host stack."""
