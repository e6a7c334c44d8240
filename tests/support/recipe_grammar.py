"""The grammar of what an advice says to type: `parse` reads a command back as its tool does
(sysctl(8), ip-route(8), tc(8) and the pages of the qdiscs, modprobe(8), socket(7), tcp(7), uci of
OpenWrt; of Windows as Microsoft's pages have it) and refuses what the tool would refuse.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from ackclock.advisor.commands import (
    AUTO_UNDO,
    IN_BACKGROUND,
    IN_PROGRAM,
    IN_PROGRAM_OF,
    NEXT,
    ON_DEVICE,
    AcksFirst,
    AutoUndo,
    CancelUndo,
    ClearQdisc,
    Command,
    Comment,
    Ingress,
    Interface,
    LinkKey,
    Modprobe,
    Qdisc,
    Redirect,
    RestoreQdisc,
    RestoreRoute,
    RouteMetric,
    SaveQdisc,
    SaveRoute,
    SaveSysctl,
    Service,
    SocketOption,
    Sysctl,
    Uci,
)
from ackclock.advisor.openwrt import SECTION, SqmQueue
from ackclock.advisor.windows_commands import (
    NETSH,
    REGISTRY,
    DeleteRegistry,
    Remark,
    RestoreNetsh,
    RestoreRegistry,
    SaveNetsh,
    SaveRegistry,
    SetNetsh,
    SetRegistry,
    WindowsCommand,
    WindowsSocketOption,
)
from ackclock.input.variant_groups import KERNEL_NAMES

_OF_WINDOWS = ("rem ", "reg ", "netsh ", "for /f ")
_INTEGER = re.compile(r"\d+")
_WORD = re.compile(r"[a-z][a-z0-9_]*")
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
        "mpu": _INTEGER,
        **dict.fromkeys(
            (
                *("atm", "ptm", "noatm"),
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


def _sysctl(words: Sequence[str]) -> Sysctl:
    _expect(len(words) == 3 and words[1] == "-w", words)
    key, equals, value = words[2].partition("=")
    _expect(bool(equals) and key in SYSCTLS, words)
    _expect(value == f"${SaveSysctl(key).variable}" or SYSCTLS[key].fullmatch(value) is not None, words)
    return Sysctl(key, value)


def _modprobe(words: Sequence[str]) -> Modprobe:
    _expect(len(words) == 2 and words[1].removeprefix("tcp_") in KERNEL_NAMES, words)
    return Modprobe(words[1])


def _socket_option(words: Sequence[str]) -> SocketOption:
    if words[:1] == ["no"]:
        _expect(len(words) == 2 and words[1] in SOCKET_OPTIONS, words)
        return SocketOption(words[1], None)
    _expect(len(words) == 3 and words[1] == "=" and words[0] in SOCKET_OPTIONS, words)
    _expect(SOCKET_OPTIONS[words[0]].fullmatch(words[2]) is not None, words)
    return SocketOption(words[0], words[2])


def _route_metric(words: Sequence[str]) -> RouteMetric:
    found = re.fullmatch(r"ip route change \$\(ip route show default\) ([a-z]+) (\d+)", " ".join(words))
    _expect(found is not None, words)
    assert found is not None
    _expect(found[1] in ROUTE_METRICS and int(found[2]) in ROUTE_METRICS[found[1]], words)
    return RouteMetric(found[1], int(found[2]))


def _root_qdisc(words: Sequence[str]) -> Qdisc:
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
    return Qdisc(device, kind, tuple(arguments), at)


def _auto_undo(text: str) -> AutoUndo:
    """The undo of a text; no text of a command in it has a semicolon of its own."""
    _expect(text.startswith(AUTO_UNDO) and text.endswith(IN_BACKGROUND), text.split())
    lines = text.removeprefix(AUTO_UNDO).removesuffix(IN_BACKGROUND)
    return AutoUndo(tuple(parse(line) for line in lines.split(NEXT)))


def _link_key(words: Sequence[str]) -> LinkKey:
    found = re.fullmatch(r"(hop\.[^=]+?) = (.+)", " ".join(words))
    _expect(found is not None, words)
    assert found is not None
    return LinkKey(found[1], found[2])


def _uci(words: Sequence[str]) -> Uci:
    _expect(len(words) == 3, words)
    path, equals, value = words[2].partition("=")
    parts = path.split(".")
    _expect(parts[0] == "sqm" and all(_WORD.fullmatch(part) for part in parts), words)
    if words[1] == "set":
        pattern = SQM_OPTIONS.get(parts[2]) if len(parts) == 3 else re.compile("queue") if len(parts) == 2 else None
        _expect(bool(equals) and pattern is not None and pattern.fullmatch(value) is not None, words)
    else:
        _expect({"delete": 2, "commit": 1}.get(words[1]) == len(parts) and not equals, words)
    return Uci(words[1], path, value)


def _service(words: Sequence[str]) -> Service:
    _expect(list(words) == ["/etc/init.d/sqm", "restart"], words)
    return Service("sqm")


def parse(text: str) -> Command:
    """The command of a text; `parse(command.text()) == command`.

    Raises ValueError for text that is none of these commands, or that its tool would refuse.

    >>> parse('sysctl -w net.ipv4.tcp_rmem="4096 131072 25165824"')
    Sysctl(key='net.ipv4.tcp_rmem', value='4096 131072 25165824')
    """
    for start, of_comment in ((IN_PROGRAM, _socket_option), (ON_DEVICE, _link_key)):
        if text.startswith(start):
            return of_comment(text.removeprefix(start).split())
    if text.startswith(IN_PROGRAM_OF):
        flow, _, option = text.removeprefix(IN_PROGRAM_OF).rpartition(": ")
        return replace(_socket_option(option.split()), flow=flow)
    if text.startswith("# "):
        return Comment(text.removeprefix("# "))
    if text.startswith("("):
        return _auto_undo(text)
    if (saved := _saved(text)) is not None:
        return saved
    if text.startswith(_OF_WINDOWS):
        return _of_windows(text)
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
    return _root_qdisc(words)


_READERS: Mapping[str, Callable[[Sequence[str]], Command]] = {
    "sysctl": _sysctl,
    "modprobe": _modprobe,
    "ip route": _route_metric,
    "ip link": _exact,
    "tc qdisc": _qdisc,
    "tc filter": _exact,
    "uci": _uci,
    "/etc/init.d/sqm": _service,
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


_OPTION = re.compile(r"rem in the program(?: of (.+))?: (?:no (SO_(?:SND|RCV)BUF)|(SO_(?:SND|RCV)BUF) = (\d+))")
_ADD = re.compile(r"reg add (\S+) /v (\w+) /t REG_DWORD /d (\d+) /f")
_GLOBAL = re.compile(r"netsh interface tcp set global (\w+)=(\w+)")


def _of_windows(text: str) -> WindowsCommand:
    """A command of Windows."""
    if found := _OPTION.fullmatch(text):
        return WindowsSocketOption(found[2] or found[3], found[4], found[1] or "")
    if text.startswith("rem ") and not text.startswith("rem in the program"):
        return Remark(text.removeprefix("rem "))
    if (found := _ADD.fullmatch(text)) and (value := REGISTRY.get(found[2])):
        if value.key == found[1] and int(found[3]) in value.values:
            return SetRegistry(found[2], int(found[3]))
    elif (found := _GLOBAL.fullmatch(text)) and (option := NETSH.get(found[1])):
        if found[2] in option.values:
            return SetNetsh(found[1], found[2])
    else:
        known: list[WindowsCommand] = [SaveNetsh(), *map(RestoreNetsh, NETSH)]
        known += [kind(value) for kind in (DeleteRegistry, SaveRegistry, RestoreRegistry) for value in REGISTRY]
        for command in known:
            if command.text() == text:
                return command
    raise ValueError(f"no command of an advice: {text}")


def sqm_queue(commands: Iterable[Command]) -> SqmQueue:
    """The queue that the lines of `uci` make; `sqm_queue(queue.commands()) == queue`.

    Raises ValueError for commands that make no queue, or do not start it.
    """
    *lines, commit, restart = [one for one in commands if isinstance(one, Uci | Service)]
    if (commit, restart) != (Uci("commit", "sqm"), Service("sqm")) or lines[:1] != [Uci("set", SECTION, "queue")]:
        raise ValueError("the lines make no queue of sqm")
    found: dict[str, str] = {}
    for line in lines[1:]:
        if not isinstance(line, Uci) or line.verb != "set" or not line.path.startswith(f"{SECTION}."):
            raise ValueError(f"no option of the queue: {line.text()}")
        found[line.path.removeprefix(f"{SECTION}.")] = line.value
    if missing := {"enabled", "interface", "download", "upload", "qdisc", "script"} - found.keys():
        raise ValueError(f"the queue has no {', '.join(sorted(missing))}")
    keywords = (found.get("iqdisc_opts", ""), found.get("eqdisc_opts", ""))
    overhead = int(found["overhead"]) if found.get("linklayer") == "atm" else None
    return SqmQueue(int(found["download"]), int(found["upload"]), *keywords, overhead, found["interface"])
