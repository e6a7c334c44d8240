"""The keys of [tcp], each also allowed in a [[flow]]; the host stack has their defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from ackclock import congestion_control
from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input import form
from ackclock.input.catalogue import hosts, linux_rules, recoveries, slow_starts, variants
from ackclock.input.form import Form, FormValidator
from ackclock.input.quantity_fields import Size, SomeBytes, Span, Time
from ackclock.input.schema import Count, Flag, Table, choice_field, int_field, number_field
from ackclock.input.units import show_size, show_time, size_bytes, time_ps

SHORTEST_TIMER_PS = 10**6
LONGEST_GRO_PS = 10**9
LARGEST_WINDOW = 65535 << 14  # 16 bits with a scale of 14


_OVERHEAD = form.either(Form({"const": False}), form.SIZE)
_GRO = form.either(Form({"const": False}), form.TIME)
_SSTHRESH = form.either(form.words("unlimited"), form.whole(minimum=2))
_CACHE = Form({"enum": [False, True, "rtt", "full"]})
_ECN = Form({"enum": [False, True, "accecn"]})
_LINUX_RULES = form.either(Form({"type": "boolean"}), Form({"type": "array", "items": {"type": "string"}}))


@dataclass(frozen=True, eq=False)
class NamesValidator(BeforeValidator):
    """The check of a name from a list of the engine or the package, read when it is needed.

    `pattern` is that of further names.
    """

    names: Callable[[], Iterable[str]] = tuple
    pattern: str = ""

    def form(self) -> Form:
        """The form with the names of now."""
        known = form.words(*self.names())
        return form.either(known, Form({"type": "string", "pattern": self.pattern})) if self.pattern else known


def _known(names: Any, what: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        allowed = list(names())
        if value not in allowed:
            raise InvalidValue(format_value(value), f"{what} {choices(allowed, value)}")
        return value

    return NamesValidator(check, names=names)


def _buffer(*words: str) -> BeforeValidator:
    def take(value: Any) -> Any:
        if value in words:
            return value
        try:
            size = size_bytes(value)
        except InvalidValue as invalid:
            quoted = ", ".join(f'"{one}"' for one in words)
            raise InvalidValue(invalid.found, f"{quoted}, or {invalid.allowed}") from None
        if not 0 < size <= LARGEST_WINDOW:
            raise InvalidValue(
                format_value(value), f"a buffer above zero, at most {LARGEST_WINDOW} B (RFC 7323, section 2.3)"
            )
        return size

    return FormValidator(take, form=form.either(form.words(*words), form.SIZE))


def _written_buffer(value: Any) -> Any:
    return show_size(value) if isinstance(value, int) else value


def _receive_overhead(value: Any) -> Any:
    if value is False:
        return value
    try:
        size = size_bytes(value)
    except InvalidValue as invalid:
        raise InvalidValue(invalid.found, f"false (the share stays as it is), or {invalid.allowed}") from None
    if not 0 <= size <= LARGEST_WINDOW:
        raise InvalidValue(format_value(value), f"at most {LARGEST_WINDOW} B")
    return size


def _written_overhead(value: Any) -> Any:
    return value if value is False else show_size(value)


def _timer(ps: int) -> int:
    if ps < SHORTEST_TIMER_PS:
        raise InvalidValue(format_value(show_time(ps)), "a timer of at least 1 us")
    return ps


def _variant(value: Any) -> Any:
    if congestion_control.is_user(value):
        congestion_control.find(value)
        return value
    allowed = list(variants())
    if value not in allowed:
        raise InvalidValue(
            format_value(value), f'a variant: {choices(allowed, value)}; or a class: "python:module.Class"'
        )
    return value


Timer = Annotated[Span, AfterValidator(_timer)]


class DelayedAck(Table):
    """One ACK for every `segments` full segments, or `timer` after the first unacknowledged one, at
    most `per_rtt` ACKs per RTT (TACK).

    With `push`, also at once when the application has read all data and a segment had PSH (Linux).
    """

    segments: Annotated[int, int_field(1, "a whole number of segments, 1 or more")]
    timer: Timer
    per_rtt: (
        Annotated[
            float, number_field(lambda n: 0.1 <= n <= 1000, "0.1 to 1000 ACKs a round trip", minimum=0.1, maximum=1000)
        ]
        | None
    ) = None
    push: Flag = False

    def plan(self) -> dict[str, Any]:
        rate = {} if self.per_rtt is None else {"per_rtt": self.per_rtt}
        push = {"push": True} if self.push else {}
        return {"segments": self.segments, "timer_ps": self.timer, **rate, **push}


def _option(size: int) -> int:
    if size > 40:
        raise InvalidValue(format_value(show_size(size)), "an option of at most 40 B")
    return size


class AckControl(Table):
    """ACK congestion control (`asymmetry`, section 4.3.1): maximum segments and time of an ACK's
    delay, and the size of the sender's option."""

    max: Count = 25
    timer: Timer = 100 * 10**9
    option_bytes: Annotated[Size, AfterValidator(_option)] = 8

    def plan(self) -> dict[str, Any]:
        return {"max": self.max, "timer_ps": self.timer, "option_bytes": self.option_bytes}


def _ack_control(value: Any) -> Any:
    if isinstance(value, bool):
        return AckControl() if value else value
    if isinstance(value, dict):
        return AckControl.model_validate(value)
    raise InvalidValue(format_value(value), 'true, false, or { max = 25, timer = "100 ms" }')


def _delayed_ack(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return DelayedAck.model_validate(value)
    raise InvalidValue(format_value(value), 'true (the host\'s rule), false, or { segments = 2, timer = "40 ms" }')


class SackCompression(Table):
    """While segments arrive out of order, one SACK for up to `segments` more, after `share` of the
    RTT and at most `longest`.
    """

    segments: Annotated[int, int_field(1, "a whole number of segments, 1 or more")]
    share: Annotated[
        float,
        number_field(
            lambda share: 0 < share <= 1, "a share of the round trip above 0, at most 1", exclusiveMinimum=0, maximum=1
        ),
    ]
    longest: Timer


def _sack_compression(value: Any) -> Any:
    if value is False:
        return value
    if isinstance(value, dict):
        return SackCompression.model_validate(value)
    raise InvalidValue(format_value(value), 'false, or { segments = 44, share = 0.05, longest = "1 ms" }')


class ProcessingJitter(Table):
    """Median and 99th percentile of the time from a packet's arrival at the host until TCP
    processes it: log-normal, in order.
    """

    p50: Span
    p99: Span

    def model_post_init(self, _context: Any) -> None:
        if self.p50 > self.p99:
            raise InvalidValue(
                f"p50 = {format_value(show_time(self.p50))}", f"at most p99, {show_time(self.p99)}", ("p50",)
            )

    def plan(self) -> dict[str, Any]:
        return {"p50_ps": self.p50, "p99_ps": self.p99}


def _false_or(table: type[Table], value: Any, allowed: str) -> Any:
    """`allowed`: what the error names."""
    if value is False:
        return value
    if isinstance(value, dict):
        return table.model_validate(value)
    raise InvalidValue(format_value(value), allowed)


def _processing_jitter(value: Any) -> Any:
    return _false_or(ProcessingJitter, value, 'false, or { p50 = "20 us", p99 = "80 us" }')


def _gro(value: Any) -> Any:
    if value is False:
        return value
    try:
        span = time_ps(value)
    except InvalidValue as invalid:
        raise InvalidValue(invalid.found, f"false (segments are not merged), or {invalid.allowed}") from None
    if not 0 < span <= LONGEST_GRO_PS:
        raise InvalidValue(format_value(value), 'a time above 0, at most "1 ms"')
    return span


def _written_gro(value: Any) -> Any:
    return value if value is False else show_time(value)


class Tso(Table):
    """The data of `time` at the pacing rate, from `segments` to `most`: the size of a TSO burst
    (`tso`), or the limit of the host's queue (`tsq`)."""

    segments: Annotated[int, int_field(1, "a whole number of segments, 1 or more")]
    time: Timer
    most: SomeBytes


def _tso(value: Any) -> Any:
    return _false_or(Tso, value, 'false, or { segments = 2, time = "1 ms", most = "64 KiB" }')


def _tsq(value: Any) -> Any:
    if value is True:
        return Tso.model_validate({"segments": 2, "time": "1 ms", "most": "4 MiB"})
    return _false_or(Tso, value, 'false, true, or { segments = 2, time = "1 ms", most = "4 MiB" }')


def _ssthresh(value: Any) -> Any:
    if value == "unlimited" or (isinstance(value, int) and not isinstance(value, bool) and value >= 2):
        return value
    raise InvalidValue(format_value(value), 'a number of segments, 2 or more, or "unlimited"')


def _ecn(value: Any) -> Any:
    if isinstance(value, bool) or value == "accecn":
        return value
    raise InvalidValue(format_value(value), 'true (RFC 3168), "accecn" (RFC 9768) or false')


def _linux_rules(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        unknown = next((name for name in value if name not in linux_rules()), None)
        if unknown is None:
            return value
        raise InvalidValue(format_value(unknown), f"a rule of Linux: {choices(list(linux_rules()), unknown)}")
    raise InvalidValue(format_value(value), "true (every rule of Linux), false, or a list of rules")


def _metrics_cache(value: Any) -> Any:
    if isinstance(value, bool) or value in ("rtt", "full"):
        return value
    raise InvalidValue(format_value(value), 'false, true (as the host), "rtt", or "full"')


def _fits_a_packet(size: int) -> int:
    if size > 65535 - 120:  # an IP packet without the longest IP and TCP headers
        raise InvalidValue(format_value(show_size(size)), "a segment of at most 65415 B")
    return size


def _advertisable(size: int) -> int:
    if size > LARGEST_WINDOW:
        raise InvalidValue(format_value(show_size(size)), f"at most {LARGEST_WINDOW} B (RFC 7323, section 2.3)")
    return size


class TcpKeys(Table):
    """The TCP keys of a file; None for an absent key.

    Sizes in bytes, times in ps, windows in segments.
    """

    host: Annotated[str, _known(hosts, "a host stack:")] | None = None
    variant: Annotated[str, NamesValidator(_variant, names=variants, pattern="^python:.+\\..+$")] | None = None
    recovery: Annotated[str, _known(recoveries, "a recovery:")] | None = None
    slow_start: Annotated[str, _known(slow_starts, "a slow start:")] | None = None
    first_climb: (
        Annotated[float, number_field(lambda share: 0 <= share <= 1, "a share from 0 to 1", minimum=0, maximum=1)]
        | None
    ) = None
    segment: Annotated[SomeBytes, AfterValidator(_fits_a_packet)] | None = None
    header: SomeBytes | None = None
    send_buffer: Annotated[
        int | str, _buffer("auto", "unlimited", "tuned"), PlainSerializer(_written_buffer)
    ] | None = None  # fmt: skip
    receive_buffer: Annotated[
        int | str, _buffer("auto", "tuned"), PlainSerializer(_written_buffer)
    ] | None = None  # fmt: skip
    receive_start: Annotated[SomeBytes, AfterValidator(_advertisable)] | None = None
    receive_limit: Annotated[SomeBytes, AfterValidator(_advertisable)] | None = None
    window_share: (
        Annotated[
            float,
            number_field(lambda share: 0 < share <= 1, "a share above 0, at most 1", exclusiveMinimum=0, maximum=1),
        ]
        | None
    ) = None
    receive_opening: Annotated[SomeBytes, AfterValidator(_advertisable)] | None = None
    receive_growth: Annotated[str, choice_field("double", "lead", "near")] | None = None
    receive_overhead: Annotated[
        Literal[False] | int, BeforeValidator(_receive_overhead), PlainSerializer(_written_overhead), _OVERHEAD
    ] | None = None  # fmt: skip
    send_start: SomeBytes | None = None
    send_limit: SomeBytes | None = None
    send_overhead: Size | None = None
    window_rule: Annotated[str, choice_field("sequence", "in-flight")] | None = None
    delayed_ack: Annotated[bool | DelayedAck, BeforeValidator(_delayed_ack)] | None = None
    ack_congestion_control: Annotated[bool | AckControl, BeforeValidator(_ack_control)] | None = None
    dupack_marking: Flag | None = None
    max_burst: Count | None = None
    pacing_tick: Span | None = None
    quick_acks: Annotated[int, int_field(0, "a number of segments, 0 or more")] | None = None
    ping_pong: Flag | None = None
    sack_compression: Annotated[Literal[False] | SackCompression, BeforeValidator(_sack_compression)] | None = None
    gro: Annotated[
        Literal[False] | int, BeforeValidator(_gro), PlainSerializer(_written_gro), _GRO
    ] | None = None  # fmt: skip
    processing_jitter: Annotated[Literal[False] | ProcessingJitter, BeforeValidator(_processing_jitter)] | None = None
    initial_window: Count | None = None
    initial_ssthresh: Annotated[int | Literal["unlimited"], BeforeValidator(_ssthresh), _SSTHRESH] | None = None
    rto_initial: Timer | None = None
    syn_linear_timeouts: Annotated[int, int_field(0, "a number of SYNs, 0 or more")] | None = None
    rto_min: Timer | None = None
    rto_max: Timer | None = None
    rto_tick: Span | None = None
    rto_floor: Annotated[str, choice_field("timeout", "variance")] | None = None
    rto_restart: Annotated[str, choice_field("advance", "recovery", "head", "head-and-sack", "every-ack")] | None = None
    metrics_cache: Annotated[bool | str, BeforeValidator(_metrics_cache), _CACHE] | None = None
    sack: Flag | None = None
    dsack: Flag | None = None
    undo: Flag | None = None
    sack_rtt: Flag | None = None
    eifel: Flag | None = None
    frto: Annotated[str, choice_field("off", "basic", "sack")] | None = None
    idle_restart: Annotated[str, choice_field("off", "restart", "decay")] | None = None
    window_validation: Annotated[str, choice_field("off", "rfc2861", "rfc7661")] | None = None
    app_limited_growth: Flag | None = None
    fine_timer: Flag | None = None
    timestamps: Flag | None = None
    timestamp_bytes: Size | None = None
    sack_base_bytes: Size | None = None
    sack_block_bytes: Size | None = None
    syn_option_bytes: Size | None = None
    window_scaling: Flag | None = None
    ecn: Annotated[bool | str, BeforeValidator(_ecn), _ECN] | None = None
    ecn_packets: Annotated[str, choice_field("data", "established", "all")] | None = None
    accecn_option: Annotated[str, choice_field("off", "changes", "every")] | None = None
    ecn_beta: (
        Annotated[
            float,
            number_field(
                lambda share: 0 < share < 1, "a share above 0 and below 1", exclusiveMinimum=0, exclusiveMaximum=1
            ),
        ]
        | None
    ) = None
    pacing: Flag | None = None
    tso: Annotated[Literal[False] | Tso, BeforeValidator(_tso)] | None = None
    tso_win_divisor: Count | None = None
    push: Annotated[str, choice_field("every", "chunks")] | None = None
    tsq: Annotated[bool | Tso, BeforeValidator(_tsq)] | None = None
    byte_counting: Annotated[int, int_field(0, "a number of segments, 0 or more (0 counts ACKs)")] | None = None
    dupack_threshold: Count | None = None
    newreno_exit: Annotated[str, choice_field("flight", "threshold")] | None = None
    limited_transmit: Flag | None = None
    tail_loss_probe: Flag | None = None
    immediate_ack_on_fill: Flag | None = None
    linux_rules: Annotated[bool | list[str], BeforeValidator(_linux_rules), _LINUX_RULES] | None = None
    overhead: Time | None = None

    def explicit_keys(self) -> dict[str, Any]:
        """The keys in the file, checked, in the order of the fields."""
        order = _places()
        keys = sorted((key for key in self.model_fields_set if key in order), key=order.__getitem__)
        values = self.__dict__
        return {key: value for key in keys if (value := values[key]) is not None}


class TcpEnds(TcpKeys):
    """The TCP keys of both ends, and those of the server or of the client alone, which override
    them.
    """

    server: TcpKeys | None = None
    client: TcpKeys | None = None

    def at(self, end: str | None) -> list[TcpKeys]:
        """The tables for an end, "server" or "client", weakest first; for None those of both."""
        own = getattr(self, end) if end else None
        return [self, own] if own else [self]


@cache
def _places() -> dict[str, int]:
    """The place of each field of a [tcp] table."""
    return {key: place for place, key in enumerate(TcpKeys.model_fields)}
