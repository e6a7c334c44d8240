"""The plan of a measurement: tests, durations, numbers and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ackclock import _native
from ackclock.arguments import quick_defaults
from ackclock.arguments.measure import MeasureArguments
from ackclock.errors import InvalidValue
from ackclock.input.document import Document, read_document
from ackclock.input.objects import time_text
from ackclock.input.units import PS_PER_S, rate_bps, size_bytes

AUTO = "auto"


KEYS = tuple(name for name, *_ in _native.table_keys("MeasurementPlan"))


@dataclass(frozen=True)
class Plan:
    """The plan of a measurement (crates/scenario/src/measurement_plan.rs). Times are those of
    single runs, in ps; sizes, rates and buffers as in link files.
    """

    tests: tuple[str, ...]
    path_sizes: tuple[int, ...]
    path_rounds: int
    directions: tuple[str, ...]
    duration: int
    sample: int
    payload: int
    start_rate: float
    shares: tuple[float, ...]
    steps: tuple[str, ...]
    """Absolute rates of the test ``steps``, also above the capacity; they replace ``shares``."""
    alternate: bool
    """Whether directions alternate from run to run in ``steps`` and ``tcp``, instead of one after
    the other."""
    offset: int | None
    """From the start of the first transfer of ``bidirectional`` to that of the second, and from
    the end of the second to that of the first (1 s to 20 s)."""
    labels: dict[str, str]
    """The conditions of a measurement, such as place or signal strength."""
    congestion: tuple[str, ...]
    buffers: tuple[str, ...]
    flows: int
    sizes: tuple[str, ...]
    repeats: int
    max_bytes: int
    """Bytes of IP of the whole measurement, at most."""
    written: dict[str, Any]
    """All keys as a plan file has them, None for an absent one."""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """A checked plan. Raises InvalidValue."""
        table = _native.read_table("MeasurementPlan", dict(data))
        written = table.written()
        values: Any = {key: getattr(table, key) for key in KEYS}
        tuples: Any = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **tuples}, written={key: written.get(key) for key in KEYS})

    @property
    def seconds(self) -> float:
        return self.duration / PS_PER_S

    @property
    def offset_s(self) -> float | None:
        return None if self.offset is None else self.offset / PS_PER_S

    @property
    def sample_ns(self) -> int:
        return self.sample // 1000


def plan_of(document: Document) -> Plan:
    """A checked plan. Raises InputError with file, line and key."""
    try:
        return Plan.read(document.data)
    except InvalidValue as invalid:
        raise document.error(invalid.key, invalid) from None


def asked_plan(arguments: MeasureArguments, *, quick: bool = False) -> Plan:
    """The plan of a measurement, checked: its keys among the arguments replace those of their plan,
    and these replace the defaults, with ``quick`` the short ones. Raises InputError with file, line
    and key.
    """
    usual = quick_defaults(MeasureArguments) if quick else {}
    keys = {name: one for name, one in vars(arguments).items() if name in KEYS and one is not None}
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


PROBED_HOPS = 12
"""Hops of a long path, for the bytes of its probes."""
REPLY_BYTES = 576
"""Maximum length of an ICMP error (RFC 1812, 4.3.2.3)."""


def seconds_of(plan: Plan) -> dict[str, float]:
    """Estimated seconds of each test of a plan.

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
    return {name: seconds[name] for name in plan.tests}


def full_seconds_of(plan: Plan) -> dict[str, float]:
    """Seconds for which each test of a plan fills each direction."""
    t, offset = plan.seconds, plan.offset_s
    full = {
        "path": 0.0,
        "delay": 0.0,
        "capacity": 1.25 * (t + 2),
        "steps": 0.0 if plan.steps else t / 2 * sum(plan.shares),
        "tcp": t * len(plan.congestion) * len(plan.buffers),
        "bidirectional": t if offset is None else len(plan.directions) * (t + offset),
        "flows": t,
        "latency": t,
        "transfers": 0.0,
    }
    return {name: full[name] for name in plan.tests}


def fixed_bytes_of(plan: Plan) -> dict[str, float]:
    """IP bytes of each test of a plan that do not depend on the path's rate, in both directions."""
    directions, seconds = len(plan.directions), seconds_of(plan)
    sizes = {
        "path": 2 * REPLY_BYTES * PROBED_HOPS
        + PROBED_HOPS * plan.path_rounds * (sum(plan.path_sizes) + 6 * REPLY_BYTES),
        "steps": directions * plan.seconds / 2 * sum(rate_bps(text) for text in plan.steps) / 8,
        "transfers": directions * plan.repeats * sum(size_bytes(text) for text in plan.sizes),
    }
    low_rate = {name: 2 * 48 * 25 * seconds[name] for name in plan.tests if name in ("delay", "latency")}
    return {name: float(sizes.get(name, 0.0) + low_rate.get(name, 0.0)) for name in plan.tests}


def estimate(plan: Plan, rates_bps: Mapping[str, float]) -> tuple[float, float]:
    """Estimated seconds, and IP bytes of both directions, at most ``plan.max_bytes``. Without a
    direction's rate its bytes count as zero.
    """
    full = sum(full_seconds_of(plan).values())
    size = full * sum(rates_bps.get(direction, 0.0) / 8 for direction in plan.directions)
    return sum(seconds_of(plan).values()), min(size + sum(fixed_bytes_of(plan).values()), float(plan.max_bytes))
