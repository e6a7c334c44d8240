"""Socket buffers of a comparison: those of long paths, and the settings that give each choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

from ackclock.arguments.compare import DEFAULT_BUFFERS, Buffer
from ackclock.comparison.configuration import AUTO, PATH, UP_TO, buffers_in_words, maximum
from ackclock.comparison.ranking import Ranked
from ackclock.comparison.transports import TCP
from ackclock.errors import InputError, InvalidValue, format_value
from ackclock.format import rate, sentence, share_text
from ackclock.input.link.bottleneck import bdp_bytes
from ackclock.input.link.hop import Hop
from ackclock.input.scenario.hosts import READ_KEYS, Tcp, resolve
from ackclock.input.units import show_size, size_bytes

if TYPE_CHECKING:
    from ackclock.documents.compare import Setting

USEFUL_BDPS = 2
"""A window of this many BDPs fills a path and a queue of one BDP before it (RFC 7323, section 1.1;
a queue of a BDP is the classic rule, Villamizar and Song 1994)."""
MEM_MIN, WMEM_DEFAULT = 4096, 16_384
"""tcp_wmem[0] and tcp_rmem[0], and tcp_wmem[1] (ip-sysctl.rst); tcp_rmem[1] is the host's
`receive_start`."""
CORE_MAX = 212_992
"""net.core.wmem_max and rmem_max of most kernels: the maximum of SO_SNDBUF and SO_RCVBUF."""
GAIN = 1.05
"""A setting is worth a sentence from this factor of goodput on."""
_WORDS = (AUTO, "tuned", "unlimited")
"""Buffers without a size."""
_STEPS = 16
"""Sizes are rounded up to one of 8 to 16 steps for each doubling."""


@dataclass(frozen=True)
class HostBuffers:
    """The socket buffers of a host stack by its own rule.

    Attributes:
        name: the host stack's.
        tcp: the TCP keys of the host with "auto" buffers.
    """

    name: str
    tcp: Tcp

    @classmethod
    def of(cls, host: str) -> HostBuffers:
        """Those of a host stack by name."""
        return cls(host, resolve(READ_KEYS({"host": host})))

    def tuned(self, end: str) -> bool:
        """Whether the host tunes the buffer of this end."""
        return bool(self.tcp.keys[f"{end}_buffer"] == "tuned")

    def memory(self, end: str) -> float:
        """Bytes of buffer for a byte of payload: the kernel charges headers and metadata."""
        if not self.tuned(end):
            return 1.0
        if end == "receive":
            return 1.0 / float(self.tcp.keys["window_share"])
        segment = int(self.tcp.keys["segment"])
        return (segment + int(self.tcp.keys["send_overhead"])) / segment

    @property
    def is_linux(self) -> bool:
        """Whether the host is a Linux, with its sysctls."""
        return self.name.startswith("linux-")

    def option_value(self, end: str, payload: int) -> int:
        """The value of SO_SNDBUF or SO_RCVBUF for a buffer that holds so many bytes of payload:
        Linux doubles it for what it charges in addition (socket(7)).
        """
        return ceil(payload * self.memory(end) / 2) if self.is_linux and self.tuned(end) else payload

    def for_path(self, buffers: Sequence[Buffer], hops: Sequence[Hop], direction: str) -> list[Buffer]:
        """The buffers with that of the path in place of "path".

        Raises InputError for a maximum of autotuning on a host without autotuning.
        """
        found = [self._useful(hops, direction) if one == PATH else one for one in buffers]
        self._check(found)
        return [one for one, given in zip(found, buffers, strict=True) if given != PATH or one not in buffers]

    def _useful(self, hops: Sequence[Hop], direction: str) -> str:
        """A buffer of `USEFUL_BDPS` for this path; "auto" if the host's or the default ones reach
        it, or if the path has no rate.
        """
        bdp = bdp_bytes(hops, direction)
        if bdp is None:
            return AUTO
        wanted = USEFUL_BDPS * bdp
        if self.tuned("send") and self.tuned("receive"):
            memory = _rounded_up(wanted * max(self.memory("send"), self.memory("receive")))
            limits = int(self.tcp.keys["send_limit"]), int(self.tcp.keys["receive_limit"])
            return UP_TO + show_size(memory) if memory > min(limits) else AUTO
        sizes = [self.tcp.keys["send_buffer"], self.tcp.keys["receive_buffer"]]
        own = min((size for size in sizes if isinstance(size, int)), default=wanted)
        largest = max(size_bytes(size) for size in DEFAULT_BUFFERS if size not in (AUTO, PATH))
        if wanted <= max(own, largest) or not self.tcp.keys["window_scaling"]:
            return AUTO
        return show_size(_rounded_up(wanted))

    def _check(self, buffers: Sequence[Buffer]) -> None:
        """Raise InputError for a buffer that is none, or for a maximum of autotuning on a host
        without autotuning.
        """
        for given in buffers:
            both = (given, given) if isinstance(given, str) else given
            for end, buffer in zip(("send", "receive"), both, strict=True):
                _check_form(buffer)
                if buffer.startswith(UP_TO) and not self.tuned(end):
                    allowed = f"a size or auto: the host stack {self.name} does not tune its buffers"
                    raise InputError(format_value(buffer), allowed, key="buffers")

    def settings(self, send: str, receive: str) -> list[Setting]:
        """What gives these buffers: `who` ("sender", "receiver") and the `command` or socket
        option. None is needed for "auto".
        """
        ends = (("send", "sender", send), ("receive", "receiver", receive))
        return [{"who": who, "command": line} for end, who, buffer in ends for line in self._lines(end, buffer)]

    def _lines(self, end: str, buffer: str) -> list[str]:
        sysctl, option, core = ("wmem", "SO_SNDBUF", "wmem_max") if end == "send" else ("rmem", "SO_RCVBUF", "rmem_max")
        if buffer in _WORDS:
            return []
        if buffer.startswith(UP_TO):
            first = WMEM_DEFAULT if end == "send" else int(self.tcp.keys["receive_start"])
            limit = size_bytes(maximum(buffer))
            return [f'sysctl -w net.ipv4.tcp_{sysctl}="{MEM_MIN} {min(first, limit)} {limit}"']
        value = self.option_value(end, size_bytes(buffer))
        limited = self.is_linux and self.tuned(end) and value > CORE_MAX
        return [*([f"sysctl -w net.core.{core}={value}"] if limited else []), f"{option} = {value}"]


def _check_form(buffer: str) -> None:
    """Raise InputError for text that is no buffer."""
    size = maximum(buffer)
    if buffer in _WORDS:
        return
    try:
        size_bytes(size)
    except InvalidValue:
        found, meant = format_value(buffer), ""
        if size.isdecimal():
            found, meant = f"{found} without a unit", f" (did you mean {buffer} KiB?)"
        allowed = f'a size with a unit, such as "64 KiB"; auto; auto:SIZE; path{meant}'
        raise InputError(found, allowed, key="buffers") from None


def _rounded_up(size: float) -> int:
    """The size rounded up, so that `show_size` is short."""
    step = max(1024, (1 << max(ceil(size), 1).bit_length()) // _STEPS)
    return ceil(size / step) * step


def needed(settings: Sequence[Setting]) -> str:
    """Settings as a clause: "`X` on the sender and `Y` on the receiver"; empty without any."""
    by_end: dict[str, list[str]] = {}
    for one in settings:
        by_end.setdefault(one["who"], []).append(f"`{one['command']}`")
    return " and ".join(f"{' and '.join(lines)} on the {who}" for who, lines in by_end.items())


def with_settings(ranked: Sequence[Ranked], host: HostBuffers, rank_by: str) -> list[Ranked]:
    """The ranking with the settings that give each row's buffers. A row that its buffers limit
    names the buffers of the same choice that carry significantly more, and how to set them.
    """

    def settings(row: Ranked) -> list[Setting]:
        if row.configuration.transport != TCP:
            return []
        return host.settings(row.configuration.send_buffer, row.configuration.receive_buffer)

    def complete(row: Ranked) -> Ranked:
        better = None if row.same_as or not _buffers_limit(row) else _better(row, ranked, rank_by)
        why = f"{row.why} {_remedy(row, better, settings(better))}" if better else row.why
        return replace(row, why=why, settings=tuple(settings(row)))

    return [complete(row) for row in ranked]


def _buffers_limit(row: Ranked) -> bool:
    return row.limit is not None and row.limit.document["kind"] in ("send_buffer", "receive_window")


def _better(row: Ranked, ranked: Sequence[Ranked], rank_by: str) -> Ranked | None:
    """The first row of the ranking that differs in its buffers only and carries more."""

    def rest(one: Ranked) -> Any:
        return replace(one.configuration, send_buffer="", receive_buffer="")

    def more(other: Ranked) -> bool:
        ours, theirs = row.metrics["goodput_bps"], other.metrics["goodput_bps"]
        apart = other.rank < row.rank if rank_by == "goodput_bps" else theirs.lo > ours.hi
        return apart and theirs.mean > GAIN * ours.mean

    same = (other for other in ranked if rest(other) == rest(row) and "goodput_bps" in other.metrics)
    return next((other for other in same if more(other)), None) if "goodput_bps" in row.metrics else None


def _remedy(row: Ranked, better: Ranked, settings: Sequence[Setting]) -> str:
    """A sentence: the buffers that carry more, by how much, and how to set them."""
    choice = better.configuration
    buffers = sentence(buffers_in_words(choice.send_buffer, choice.receive_buffer))
    theirs = better.metrics["goodput_bps"].mean
    factor = theirs / row.metrics["goodput_bps"].mean
    gain = f"{share_text(factor - 1.0)} more" if factor < 2.0 else f"{factor:.2g} times as much"
    how = f"they need {lines}" if (lines := needed(settings)) else "set neither SO_SNDBUF nor SO_RCVBUF"
    return f"{buffers} carry {rate(theirs)}, {gain}: {how}."
