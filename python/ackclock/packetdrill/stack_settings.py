"""A script's sysctls and socket options as keys of the host stack."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from ackclock.input.catalogue import variants
from ackclock.input.objects import Tcp


class Sysctl(TypedDict):
    """A sysctl of net.ipv4 that a script sets."""

    line: int
    name: str
    value: str


class SocketOption(TypedDict):
    """The arguments of a setsockopt."""

    line: int
    args: list[str]


class Command(TypedDict):
    """A command in backquotes."""

    line: int
    text: str


class ScriptSettings(TypedDict):
    """What a script sets, as the engine reads it; `connects`: its host is the client."""

    options: list[list[str]]
    sysctls: list[Sysctl]
    socket_options: list[SocketOption]
    commands: list[Command]
    connects: bool


@dataclass(frozen=True)
class Unsupported:
    """A setting that the engine does not have: its line, its text, and why."""

    line: int
    statement: str
    why: str


@dataclass(frozen=True)
class StackSettings:
    """The [tcp] keys that a script sets, and what of it is unsupported."""

    tcp: Tcp
    unsupported: Sequence[Unsupported]


class _Refused(Exception):
    """The engine does not have the setting; the text is the reason."""


def _number(value: str) -> int:
    try:
        return int(value.split()[-1], 0)
    except (ValueError, IndexError):
        raise _Refused(f"{value!r} is not a number") from None


def _is_on(value: str) -> bool:
    return _number(value) != 0


def _timestamps(tcp: Tcp, value: str) -> Tcp:
    on = _is_on(value)
    return replace(tcp, timestamps=on, segment=_segment(timestamps=on, ipv6=False))


def _segment(*, timestamps: bool, ipv6: bool) -> str:
    """The MSS of Ethernet's 1500 bytes, less the options of every segment (RFC 6691)."""
    return f"{1460 - (20 if ipv6 else 0) - (12 if timestamps else 0)} B"


def _variant(tcp: Tcp, value: str) -> Tcp:
    name = value.strip().strip('"')
    if name not in variants():
        raise _Refused(f"the engine has no congestion control {name}")
    return replace(tcp, variant=name)


def _recovery(tcp: Tcp, value: str) -> Tcp:
    flags = _number(value)
    if flags & ~1:
        raise _Refused("RACK's static reordering window (tcp_recovery 2 and 4) is not in the engine")
    return replace(tcp, recovery="linux" if flags & 1 else "prr")


def _slow_start_after_idle(tcp: Tcp, value: str) -> Tcp:
    if _number(value):
        return replace(tcp, idle_restart="decay", window_validation="rfc2861")
    return replace(tcp, idle_restart="off", window_validation="off")


def _receive_memory(tcp: Tcp, value: str) -> Tcp:
    _, default, high = _three(value)
    return replace(tcp, receive_buffer="tuned", receive_start=default, receive_limit=high)


def _send_memory(tcp: Tcp, value: str) -> Tcp:
    _, default, high = _three(value)
    return replace(tcp, send_buffer="tuned", send_start=default, send_limit=high)


def _accecn_option(tcp: Tcp, value: str) -> Tcp:
    number = _number(value)
    return replace(tcp, accecn_option="every" if number >= 2 else "changes" if number else "off")


_PRODUCT = re.compile(r"\$\(\( *(\d{1,10}(?: *\* *\d{1,10})*) *\)\)")


def _three(value: str) -> tuple[int, int, int]:
    """Minimum, default and maximum; a product such as `$((15*1024*1024))` is one number."""
    numbers = _PRODUCT.sub(lambda found: str(math.prod(map(int, found[1].split("*")))), value).split()
    if len(numbers) != 3 or not all(number.isdecimal() for number in numbers):
        raise _Refused(f"{value!r} is not minimum, default and maximum")
    low, default, high = map(int, numbers)
    return low, default, max(default, high)


def _only(*values: int) -> Callable[[Tcp, str], Tcp]:
    """A setting that the engine has with these values only."""

    def check(tcp: Tcp, value: str) -> Tcp:
        if _number(value) not in values:
            raise _Refused(f"the engine has this setting with {' or '.join(map(str, values))} only, not {value}")
        return tcp

    return check


_SYSCTLS: dict[str, Callable[[Tcp, str], Tcp]] = {
    "tcp_sack": lambda tcp, value: replace(tcp, sack=_is_on(value)),
    "tcp_dsack": lambda tcp, value: replace(tcp, dsack=_is_on(value)),
    "tcp_timestamps": _timestamps,
    "tcp_window_scaling": lambda tcp, value: replace(tcp, window_scaling=_is_on(value)),
    "tcp_congestion_control": _variant,
    "tcp_frto": lambda tcp, value: replace(tcp, frto="sack" if _is_on(value) else "off"),
    "tcp_recovery": _recovery,
    "tcp_early_retrans": lambda tcp, value: replace(tcp, tail_loss_probe=_number(value) >= 3),
    "tcp_reordering": lambda tcp, value: replace(tcp, dupack_threshold=_number(value)),
    "tcp_slow_start_after_idle": _slow_start_after_idle,
    "tcp_rmem": _receive_memory,
    "tcp_wmem": _send_memory,
    "tcp_syn_linear_timeouts": lambda tcp, value: replace(tcp, syn_linear_timeouts=_number(value)),
    "tcp_rto_min_us": lambda tcp, value: replace(tcp, rto_min=f"{_number(value)} us"),
    "tcp_rto_max_ms": lambda tcp, value: replace(tcp, rto_max=f"{_number(value)} ms"),
    "tcp_ecn_option": _accecn_option,
    "tcp_mtu_probing": _only(0),
    "tcp_fack": _only(0),
    "tcp_thin_linear_timeouts": _only(0),
    "tcp_abort_on_overflow": _only(0),
    "tcp_shrink_window": _only(0),
    "tcp_min_tso_segs": lambda tcp, value: replace(
        tcp, tso={"segments": _number(value), "time": "1 ms", "max": "64 KiB"}
    ),
    "tcp_tso_win_divisor": lambda tcp, value: replace(tcp, tso_win_divisor=max(1, _number(value))),
    "tcp_pacing_ss_ratio": _only(200),
    "tcp_pacing_ca_ratio": _only(120),
}
"""Sysctls of net.ipv4 (the kernel's ip-sysctl.rst) as [tcp] keys."""

_WITHOUT_EFFECT = frozenset(
    [
        "tcp_no_metrics_save",
        "tcp_early_demux",
        "tcp_fin_timeout",
        "tcp_syn_retries",
        "tcp_synack_retries",
        "tcp_retries1",
        "tcp_retries2",
        "tcp_fastopen",
        "tcp_fastopen_key",
        "tcp_fastopen_blackhole_timeout_sec",
        "tcp_syncookies",
        "tcp_notsent_lowat",
        "tcp_max_syn_backlog",
        "tcp_low_latency",
        "tcp_limit_output_bytes",
        "tcp_ecn_fallback",
        "tcp_ecn_option_beacon",
        "tcp_moderate_rcvbuf",
        "tcp_tw_reuse",
        "ip_local_port_range",
        "rmem_max",
        "wmem_max",
        "rmem_default",
        "wmem_default",
        "default_qdisc",
        "tcp_invalid_ratelimit",
        "tcp_autocorking",
        "somaxconn",
        "tcp_challenge_ack_limit",
        "optmem_max",
    ]
)
"""Sysctls about what no single connection of the engine meets."""

_ECN_OFFERS: dict[int, tuple[bool | str, bool | str]] = {
    0: (False, False),
    1: (True, True),
    2: (False, True),
    3: ("accecn", "accecn"),
    4: (True, "accecn"),
    5: (False, "accecn"),
}
"""tcp_ecn: what a client offers, and what a server agrees to."""

_NO_OPTIONS = frozenset(
    [
        "SO_REUSEADDR",
        "SO_REUSEPORT",
        "SO_PRIORITY",
        "SO_KEEPALIVE",
        "SO_RCVTIMEO",
        "SO_SNDTIMEO",
        "TCP_NODELAY",
        "TCP_CORK",
        "SO_LINGER",
        "TCP_NOTSENT_LOWAT",
        "IP_MTU_DISCOVER",
        "IP_FREEBIND",
        "IP_TOS",
        "SO_MARK",
        "TCP_SYNCNT",
    ]
)
"""Socket options without effect on packets here."""

_NO_COMMANDS = re.compile(
    r"(\S*/)?(ip +tcp_metrics|sleep|sync|true|:)\b|nstat +-n$|ethtool +-K +tun0( +[tg]so +(on|off))+$"
    r"|tc +qdisc +(add|replace) +dev +tun0 +root +pfifo$"
    r"|echo +3 +> */sys/module/tcp_cubic/parameters/hystart_detect$"
)
"""Commands without effect on packets here: the player joins segments as TSO does, the hosts have no
queue of their own, `nstat -n` only reads, and 3 is HyStart's default."""

_FQ = re.compile(r"tc +qdisc +(add|replace) +dev +tun0 +root +fq$")
"""The qdisc that paces."""


def stack_settings(script: ScriptSettings) -> StackSettings:
    """The settings of a script, from `packetdrill_settings` of the engine.

    Sysctls and socket options apply to the whole script. A line that restores the machine after the
    last packet is left out by the engine.
    """
    tcp = Tcp()
    unsupported: list[Unsupported] = []
    for sysctl in script["sysctls"]:
        name, value = sysctl["name"], sysctl["value"]
        try:
            tcp = _with_sysctl(tcp, name, value, connects=script["connects"])
        except _Refused as refused:
            unsupported.append(Unsupported(sysctl["line"], f"{name}={value}", str(refused)))
    timestamps = tcp.timestamps is not False
    if ["ip_version", "ipv6"] in script["options"]:
        tcp = replace(tcp, segment=_segment(timestamps=timestamps, ipv6=True))
    for option in script["socket_options"]:
        try:
            tcp = _with_option(tcp, option["args"], timestamps=timestamps)
        except _Refused as refused:
            text = f"setsockopt({', '.join(option['args'])})"
            unsupported.append(Unsupported(option["line"], text, str(refused)))
    for command in script["commands"]:
        if _FQ.match(command["text"]):
            tcp = replace(tcp, pacing=True)
        elif not _NO_COMMANDS.match(command["text"]):
            why = "commands are read for their sysctls and never executed"
            unsupported.append(Unsupported(command["line"], command["text"], why))
    return StackSettings(tcp, sorted(unsupported, key=lambda setting: setting.line))


def _with_sysctl(tcp: Tcp, name: str, value: str, *, connects: bool) -> Tcp:
    if name in _WITHOUT_EFFECT:
        return tcp
    if name == "tcp_ecn":
        offer = _ECN_OFFERS.get(_number(value))
        if offer is None:
            raise _Refused(f"tcp_ecn has no value {value}")
        return replace(tcp, ecn=offer[0] if connects else offer[1])
    if name not in _SYSCTLS:
        raise _Refused("the engine does not have this sysctl")
    return _SYSCTLS[name](tcp, value)


def _with_option(tcp: Tcp, args: Sequence[str], *, timestamps: bool) -> Tcp:
    name = args[2] if len(args) > 2 else ""
    value = args[3].strip("[] \t") if len(args) > 3 else ""
    if name in _NO_OPTIONS:
        return tcp
    match name:
        case "TCP_CONGESTION":
            return _variant(tcp, value)
        case "SO_RCVBUF":
            return replace(tcp, receive_buffer=_number(value))
        case "SO_SNDBUF":
            return replace(tcp, send_buffer=_number(value))
        case "TCP_MAXSEG":
            # The MSS of the SYN, which counts the timestamps of each segment (RFC 6691).
            return replace(tcp, segment=_number(value) - (12 if timestamps else 0))
    raise _Refused(f"the engine does not have the socket option {name}")
