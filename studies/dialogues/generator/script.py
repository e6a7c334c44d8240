"""A recorded dialogue as a packetdrill script, and a script of this form as a dialogue."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from studies.dialogues.generator.packets import Expected, Packet, parse, show

Opens = Literal["listen", "connect"]
MARGINS = {"rtt": 1500, "rttvar": 1500, "rto": 6000}
"""How far these values of an assertion may be from the recorded ones, in microseconds."""
BUFFERS = {"tcp_rmem": "4096 131072 6291456", "tcp_wmem": "4096 1048576 4194304"}
"""Buffers of every dialogue, so that they do not hang on the machine's memory."""


@dataclass(frozen=True)
class Setup:
    """What a script sets before its first packet.

    Attributes:
        congestion_control: by socket option.
        sysctls: of net.ipv4, beside `BUFFERS` and tcp_no_metrics_save.
        opens: the host listens, or it connects.
        options: integer options of the first socket, such as TCP_NODELAY; a connection has them of
            the socket that listens.
        ipv6: over IPv6.
        tso: the device takes super-segments.
    """

    congestion_control: str
    sysctls: Mapping[str, str] = field(default_factory=dict)
    opens: Opens = "listen"
    options: Sequence[tuple[str, int]] = ()
    ipv6: bool = False
    tso: bool = False

    def all_sysctls(self) -> dict[str, str]:
        """Every sysctl, by name."""
        return dict(sorted({"tcp_no_metrics_save": "1", **BUFFERS, **self.sysctls}.items()))

    @property
    def descriptor(self) -> int:
        """The connection's descriptor in the script."""
        return 4 if self.opens == "listen" else 3


@dataclass(frozen=True)
class Inbound:
    """A packet from the peer."""

    at_ms: float
    packet: Packet
    ecn: bool = False


@dataclass(frozen=True)
class Outbound:
    """A packet that the host sent. `to_ms`: the end of a range of times that begins at `at_ms`."""

    at_ms: float
    expected: Expected
    to_ms: float | None = None


@dataclass(frozen=True)
class Call:
    """A socket call: its name, the bytes or the direction that it names, and what it returned."""

    at_ms: float
    name: str
    argument: int | str | None = None
    result: int = 0
    error: str = ""


@dataclass(frozen=True)
class Info:
    """Fields of `struct tcp_info`, with the range of each."""

    at_ms: float
    fields: Mapping[str, tuple[int, int]]


Step = Inbound | Outbound | Call | Info


@dataclass(frozen=True)
class Dialogue:
    """A script: its first line's text, the setup and the steps in order."""

    title: str
    setup: Setup
    steps: Sequence[Step]

    def text(self) -> str:
        """The script."""
        return "\n".join([*_head(self.title, self.setup), *(_line(step, self.setup) for step in self.steps)]) + "\n"


def seconds(ms: float) -> str:
    """A time as scripts write it."""
    return f"{ms / 1000:.4f}".rstrip("0").rstrip(".")


def _head(title: str, setup: Setup) -> list[str]:
    sysctls = " ".join(
        f'net.ipv4.{name}="{value}"' if " " in value else f"net.ipv4.{name}={value}"
        for name, value in setup.all_sysctls().items()
    )
    lines = [f"// {title}", *(["--ip_version=ipv6"] if setup.ipv6 else [])]
    if setup.tso:
        lines.append(f"`sysctl -q {sysctls}`")
    else:
        lines += [f"`sysctl -q {sysctls}", "ethtool -K tun0 tso off gso off`"]
    name = setup.congestion_control
    lines += [
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0",
        f'+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "{name}", {len(name)}) = 0',
    ]
    for option, value in setup.options:
        lines.append(f"+0 setsockopt(3, {_level(option)}, {option}, [{value}], 4) = 0")
    if setup.opens == "listen":
        return [*lines, "+0 bind(3, ..., ...) = 0", "+0 listen(3, 1) = 0"]
    return [*lines, "+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0"]


def _line(step: Step, setup: Setup) -> str:
    at = seconds(step.at_ms)
    match step:
        case Inbound(packet=packet, ecn=ecn):
            return f"{at} < {show(packet, ecn=ecn)}"
        case Outbound(expected=of, to_ms=to):
            when = at if to is None else f"{at}~{seconds(to)}"
            return f"{when} > {show(of.packet, window=of.window, ecn=of.ecn, any_options=not of.options)}"
        case Info(fields=fields):
            return f"{at} %{{ assert {_assertion(fields)} }}%"
    return f"{at} {_call(step, setup)}"


def _call(call: Call, setup: Setup) -> str:
    fd = setup.descriptor
    result = str(call.result)
    if call.error:
        result += f" {call.error} ({os.strerror(getattr(errno, call.error))})"
    match call.name:
        case "accept":
            return f"accept(3, ..., ...) = {fd}"
        case "connect":
            return f"connect(3, ..., ...) = {result}"
        case "write":
            return f"write({fd}, ..., {call.argument}) = {result}"
        case "recv":
            return f"recv({fd}, ..., {call.argument}, MSG_DONTWAIT) = {result}"
        case "shutdown":
            return f"shutdown({fd}, {call.argument}) = {result}"
        case "close":
            return f"close({fd}) = {result}"
    return f"setsockopt({fd}, {_level(call.name)}, {call.name}, [{call.argument}], 4) = {result}"


def _level(option: str) -> str:
    return "SOL_SOCKET" if option.startswith("SO_") else "SOL_TCP"


_SUM = ("sacked", "lost", "retrans")


def _assertion(fields: Mapping[str, tuple[int, int]]) -> str:
    """The fields as one expression; those of `_SUM` as a sum where all are zero."""
    parts, zero = [], all(fields.get(name) == (0, 0) for name in _SUM)
    for name, (low, high) in fields.items():
        if zero and name in _SUM[1:]:
            continue
        shown = " + ".join(f"tcpi_{part}" for part in (_SUM if zero and name == _SUM[0] else [name]))
        parts.append(f"{shown} == {low}" if low == high else f"{low} <= {shown} <= {high}")
    return " and ".join(parts)


_HEADER_CALLS = ("socket(", "bind(", "listen(", "fcntl(", "setsockopt(3")


def read(text: str) -> Dialogue:
    """A script of the form that `Dialogue.text` writes.

    Raises:
        ValueError: a line of another form.
    """
    title = re.search(r"^// (.*)$", text, re.MULTILINE)
    commands = " ".join(re.findall(r"`([^`]*)`", text))
    sysctls = {
        name: quoted or plain for name, quoted, plain in re.findall(r'ipv4\.(\w+)=(?:"([^"]*)"|(\S+))', commands)
    }
    control = re.search(r'TCP_CONGESTION, "(\w+)"', text)
    options = re.findall(r"^\+0 setsockopt\(3, SOL_\w+, (\w+), \[(\d+)\]", text, re.MULTILINE)
    opens: Opens = "connect" if re.search(r"^\S+ connect\(", text, re.MULTILINE) else "listen"
    setup = Setup(
        control[1] if control else "cubic",
        {name: value for name, value in sysctls.items() if name not in (*BUFFERS, "tcp_no_metrics_save")},
        opens,
        tuple((name, int(value)) for name, value in options if name != "SO_REUSEADDR"),
        "--ip_version=ipv6" in text,
        "tso off" not in commands,
    )
    steps: list[Step] = []
    body = re.sub(r"`[^`]*`|^//.*$|^--.*$", "", text, flags=re.MULTILINE)
    for line in filter(None, map(str.strip, body.splitlines())):
        when, _, what = line.partition(" ")
        if what.startswith(_HEADER_CALLS):
            continue
        # `+0`: with the statement before.
        before = seconds(steps[-1].at_ms) if steps else "0"
        steps.append(_step(before if when == "+0" else when, what))
    return Dialogue(title[1] if title else "", setup, steps)


def _step(when: str, what: str) -> Step:
    first, _, last = when.partition("~")
    at = float(first) * 1000
    if what.startswith("<"):
        inbound = parse(what[1:])
        return Inbound(at, inbound.packet, inbound.ecn)
    if what.startswith(">"):
        return Outbound(at, parse(what[1:]), float(last) * 1000 if last else None)
    if what.startswith("%{"):
        return Info(at, _fields(what))
    found = re.fullmatch(r"(\w+)\((.*)\) = (-?\d+)(?: (E\w+) \(.*\))?", what)
    if not found:
        raise ValueError(f"a statement of another form: {what!r}")
    name, args, result, error = found[1], [part.strip() for part in found[2].split(",")], int(found[3]), found[4] or ""
    if name == "setsockopt":
        return Call(at, args[2], int(args[3].strip("[]")), result, error)
    argument: int | str | None = None
    if name in ("write", "recv"):
        argument = int(args[2])
    elif name == "shutdown":
        argument = args[1]
    return Call(at, name, argument, result, error)


def _fields(text: str) -> dict[str, tuple[int, int]]:
    fields = {}
    for part in re.sub(r"^%\{ assert | \}%$", "", text).split(" and "):
        found = re.fullmatch(r"(?:(\d+) <= )?([\w +]+?) (?:==|<=) (\d+)", part)
        if not found:
            raise ValueError(f"an assertion of another form: {part!r}")
        low, high = int(found[1] or found[3]), int(found[3])
        for name in found[2].split(" + "):
            fields[name.removeprefix("tcpi_")] = (low, high)
    return fields
