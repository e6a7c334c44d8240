"""The plan of a measurement: tests, durations, numbers and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError

from ackclock.arguments import quick_defaults
from ackclock.arguments.measure import MeasureArguments
from ackclock.documents.parts import DIRECTIONS
from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input import form
from ackclock.input.document import Document, read_document
from ackclock.input.form import Form, FormValidator, array, either, number, whole, words
from ackclock.input.json_schema import table_schema
from ackclock.input.objects import time_text
from ackclock.input.quantity_fields import SomeBytes, Span
from ackclock.input.schema import Count, Flag, Table, first_invalid, number_field
from ackclock.input.units import PS_PER_S, rate_bps, show_rate, show_size, size_bytes, time_ps

TESTS = {
    "path": "TTL-limited probes: RTT and loss of each hop, capacity of the link before it",
    "delay": "one-way delay in both directions at 4 kb/s: 20 bytes of payload every 40 ms",
    "capacity": "evenly paced UDP above the path's capacity, one direction at a time: capacity and buffer",
    "steps": "evenly paced UDP at shares of the capacity: delay and loss below it",
    "tcp": "a TCP bulk transfer for each congestion control, socket buffer and direction",
    "bidirectional": "concurrent TCP bulk transfers in both directions",
    "flows": "several concurrent TCP bulk transfers, one direction at a time",
    "latency": "RTT and one-way delay while TCP fills the path, one direction at a time: responsiveness",
    "transfers": "TCP transfers of several sizes in sequence: completion times",
}
"""The tests by name, in their order; the path is idle before each."""
AUTO = "auto"


def _words(allowed: Mapping[str, str] | tuple[str, ...], what: str) -> FormValidator:
    def check(value: Any) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or not value:
            raise InvalidValue(format_value(value), f"a list of {what}: {', '.join(allowed)}")
        for word in value:
            if word not in allowed:
                raise InvalidValue(format_value(word), choices(allowed, word))
        return tuple(name for name in allowed if name in value)

    return FormValidator(check, form=array(words(*allowed), minItems=1))


def _names(value: Any) -> tuple[str, ...]:
    if (
        not isinstance(value, list | tuple)
        or not all(isinstance(name, str) and 0 < len(name) <= 15 for name in value)
        or not value
    ):
        raise InvalidValue(
            format_value(value), 'a list of congestion controls by their kernel\'s names, such as ["cubic", "bbr"]'
        )
    return tuple(dict.fromkeys(value))


def _buffer(value: Any) -> str:
    if value == AUTO:
        return AUTO
    size = size_bytes(value)
    if not 2048 <= size <= 2**30:
        raise InvalidValue(format_value(value), '"auto", or 2 KiB to 1 GiB')
    return show_size(size)


def _buffers(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(format_value(value), 'a list of socket buffers, such as ["auto", "64 KiB"]')
    return tuple(dict.fromkeys(_buffer(size) for size in value))


def _sizes(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(format_value(value), 'a list of sizes, such as ["10 kB", "1 MB"]')
    sizes = [size_bytes(text) for text in value]
    if min(sizes) < 1:
        raise InvalidValue(format_value(value), "sizes above zero")
    return tuple(show_size(size) for size in dict.fromkeys(sizes))


def _packets(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not 1 <= len(value) <= 64:
        raise InvalidValue(format_value(value), "one to 64 IP packet lengths in bytes, such as [64, 500, 1000, 1500]")
    for length in value:
        if isinstance(length, bool) or not isinstance(length, int) or not 48 <= length <= 65_535:
            raise InvalidValue(format_value(length), "an IP packet's length, 48 to 65535 bytes")
    return tuple(dict.fromkeys(value))


def _shares(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise InvalidValue(format_value(value), "a list of shares of the capacity, such as [0.25, 0.5, 0.75, 0.9]")
    for share in value:
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.001 <= share <= 10:
            raise InvalidValue(format_value(share), "a share of the capacity from 0.001 to 10")
    return tuple(float(share) for share in value)


def _rates(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidValue(format_value(value), 'a list of rates, such as ["500 kb/s", "2 Mb/s"]')
    rates = [rate_bps(text) for text in value]
    for rate in rates:
        if not 1000 <= rate <= 10_000_000_000:
            raise InvalidValue(show_rate(rate), "1 kb/s to 10 Gb/s")
    return tuple(show_rate(rate) for rate in dict.fromkeys(rates))


def _labels(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InvalidValue(format_value(value), 'a table of labels, such as { ssi = "3" }')
    for name, one in value.items():
        if not isinstance(one, str | int | float) or not 0 < len(str(one)) <= 64 or not 0 < len(str(name)) <= 32:
            raise InvalidValue(format_value(one), "a label of 1 to 64 characters")
    return {str(name): str(one) for name, one in value.items()}


def _offset(value: Any) -> Any:
    return value if value is None else _within(value, "1 s", "20 s")


Sample = Annotated[Span, BeforeValidator(lambda text: _within(text, "10 ms", "1 s"))]


def _within(text: Any, minimum: str, maximum: str) -> Any:
    if not time_ps(minimum) <= time_ps(text) <= time_ps(maximum):
        raise InvalidValue(format_value(text), f"{minimum} to {maximum}")
    return text


def _spans(seconds: int) -> int:
    return seconds * PS_PER_S


_PACKETS = array(whole(minimum=48, maximum=65_535), minItems=1, maxItems=64)
_START_RATE = number_field(lambda rate: 1e3 <= rate <= 1e9, "bits per second from 1e3 to 1e9", minimum=1e3, maximum=1e9)
_SHARES = array(number(minimum=0.001, maximum=10), minItems=1)
_NAMES = array(Form({"type": "string", "minLength": 1, "maxLength": 15}), minItems=1)
_BUFFERS = array(either(words(AUTO), form.SIZE), minItems=1)
_LABELS = Form({"type": "object", "additionalProperties": {"type": ["string", "number"]}})


class Plan(Table):
    """The plan of a measurement. Times are those of single runs; sizes as in link files."""

    tests: Annotated[tuple[str, ...], _words(TESTS, "tests")] = tuple(TESTS)
    path_sizes: Annotated[tuple[int, ...], FormValidator(_packets, form=_PACKETS)] = (64, 350, 650, 950, 1250, 1500)
    path_rounds: Count = 10
    directions: Annotated[tuple[str, ...], _words(DIRECTIONS, "directions")] = DIRECTIONS
    duration: Span = _spans(10)
    sample: Sample = PS_PER_S // 50
    payload: SomeBytes = 1172
    start_rate: Annotated[float, _START_RATE] = 1e6
    shares: Annotated[tuple[float, ...], FormValidator(_shares, form=_SHARES)] = (0.25, 0.5, 0.75, 0.9)
    steps: Annotated[tuple[str, ...], FormValidator(_rates, form=array(form.RATE))] = ()
    """Absolute rates of the test ``steps``, also above the capacity; they replace ``shares``."""
    alternate: Flag = False
    """Whether directions alternate from run to run in ``steps`` and ``tcp``, instead of one after
    the other."""
    offset: Annotated[Span | None, BeforeValidator(_offset)] = None
    """From the start of the first transfer of ``bidirectional`` to that of the second, and from
    the end of the second to that of the first (1 s to 20 s)."""
    labels: Annotated[dict[str, str], FormValidator(_labels, form=_LABELS)] = {}
    """The conditions of a measurement, such as place or signal strength."""
    congestion: Annotated[tuple[str, ...], FormValidator(_names, form=_NAMES)] = ("cubic",)
    buffers: Annotated[tuple[str, ...], FormValidator(_buffers, form=_BUFFERS)] = (AUTO,)
    flows: Count = 4
    sizes: Annotated[tuple[str, ...], FormValidator(_sizes, form=array(form.SIZE, minItems=1))] = (
        "10 kB",
        "100 kB",
        "1 MB",
    )
    repeats: Count = 5

    @property
    def seconds(self) -> float:
        return self.duration / PS_PER_S

    @property
    def offset_s(self) -> float | None:
        return None if self.offset is None else self.offset / PS_PER_S

    @property
    def sample_ns(self) -> int:
        return self.sample // 1000


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of plan files, for editors.

    >>> plan_schema()["properties"]["duration"]["default"]
    '10 s'
    """
    return table_schema(Plan, "ackclock measurement plan", "What `ackclock measure` measures, and for how long.")


def plan_of(document: Document) -> Plan:
    """A checked plan. Raises InputError with file, line and key."""
    try:
        return Plan.model_validate(document.data)
    except ValidationError as error:
        loc, invalid = first_invalid(error)
        raise document.error(loc, invalid) from None


def asked_plan(arguments: MeasureArguments, *, quick: bool = False) -> Plan:
    """The plan of a measurement, checked: its keys among the arguments replace those of their plan,
    and these replace the defaults, with ``quick`` the short ones. Raises InputError with file, line
    and key.
    """
    usual = quick_defaults(MeasureArguments) if quick else {}
    keys = {name: one for name, one in vars(arguments).items() if name in Plan.model_fields and one is not None}
    plan = arguments.plan
    document = read_document(Path(plan)) if isinstance(plan, str | Path) else Document(_with_time_units(plan or {}))
    data = {**usual, **document.data, **_with_time_units(keys)}
    return plan_of(Document(data, document.file, document.text))


def _with_time_units(plan: Mapping[str, Any]) -> dict[str, Any]:
    times = {key: time_text(plan[key]) for key in ("duration", "sample", "offset") if plan.get(key) is not None}
    return {**plan, **times}


CAPACITY_SEARCH_S = 12.0
"""Trials, a check of 2 s, and the ends of both, before the run above the capacity: 60 and 68 s were
measured over emulated links (FQ-CoDel; droptail with jitter), where 59 s are announced."""


def estimate(plan: Plan, rates_bps: Mapping[str, float], capacity_bytes: float | None = None) -> tuple[float, float]:
    """Estimated seconds, and IP bytes of both directions. Without a direction's rate its bytes
    count as zero. ``capacity_bytes`` are those that the test ``capacity`` has sent: its trials send
    up to 16 times the capacity.

    A path whose hops have an ICMP rate limit takes longer: `ackclock.measurement.path.seconds`.
    """
    from ackclock.measurement.path import BRISK_S
    from ackclock.measurement.path import seconds as walk_seconds

    directions, t, offset = len(plan.directions), plan.seconds, plan.offset_s
    seconds = {
        "path": walk_seconds(plan, BRISK_S),
        "delay": t + 1,
        "capacity": (t + CAPACITY_SEARCH_S) * directions,
        "steps": directions * len(plan.steps or plan.shares) * (t / 2 + 1),
        "tcp": directions * len(plan.congestion) * len(plan.buffers) * (t + 1),
        "bidirectional": t + 1 if offset is None else directions * (t + 2 * offset + 1),
        "flows": directions * (t + 1),
        "latency": directions * (t + 2),
        "transfers": directions * plan.repeats * len(plan.sizes) * 1.0,
    }
    # Seconds at full rate in each direction, by test.
    full = {
        "path": 0.0,
        "delay": 0.0,
        "capacity": 1.25 * (t + 2) if capacity_bytes is None else 0.0,
        "steps": 0.0 if plan.steps else t / 2 * sum(plan.shares),
        "tcp": t * len(plan.congestion) * len(plan.buffers),
        "bidirectional": t if offset is None else directions * (t + offset),
        "flows": t,
        "latency": t,
        "transfers": 0.0,
    }
    size = sum(
        rates_bps.get(direction, 0.0) / 8 * sum(full[name] for name in plan.tests) for direction in plan.directions
    )
    if "transfers" in plan.tests:
        size += directions * plan.repeats * sum(size_bytes(text) for text in plan.sizes)
    if "steps" in plan.tests:
        size += directions * t / 2 * sum(rate_bps(text) for text in plan.steps) / 8
    if "capacity" in plan.tests:
        size += capacity_bytes or 0.0
    low_rate = 2 * 48 * 25 * sum(seconds[name] for name in plan.tests if name in ("delay", "latency"))
    return sum(seconds[name] for name in plan.tests), size + low_rate
