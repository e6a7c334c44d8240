"""Flows: workload, direction, path, start and end."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from ackclock.errors import InvalidValue, format_value
from ackclock.input.checked_table import CheckedTable, ReadBy, kinds
from ackclock.input.form import Form
from ackclock.input.quantity_fields import Span
from ackclock.input.scenario.random_time import SomeStart, Start
from ackclock.input.scenario.tcp import TcpEnds
from ackclock.input.schema import Count, Name, Table, choice_field
from ackclock.input.units import show_time

BACK = {"down": "up", "up": "down"}
UDP = ("cbr", "onoff", "probe", "live")
"""Workloads without simulated TCP."""
LIVE_BYTES = 1500


class Repeat(Table):
    """Repetition of a flow: `times` in all, one `every` so long."""

    every: Span
    times: Count


def _hop_names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(name, str) for name in value):
        raise InvalidValue(format_value(value), 'a list of hop names, such as ["core"]')
    return tuple(value)


_HOPS = Form({"type": "array", "items": {"type": "string"}, "minItems": 1})


class Flow(TcpEnds):
    """A [[flow]]: `count` flows, assigned to the clients in rotation, with any key of [tcp]."""

    name: Name | None = None
    direction: Annotated[Literal["down", "up"], choice_field("down", "up")] = "down"
    over: Annotated[tuple[str, ...], BeforeValidator(_hop_names), _HOPS] | None = None
    workload: Annotated[CheckedTable, ReadBy("Workload")]
    count: Count = 1
    start: SomeStart = Start(0, 0)
    stop: Span | None = None
    repeat: Repeat | None = None

    @classmethod
    def written_keys(cls) -> list[str]:
        own = [key for key in cls.model_fields if key not in TcpEnds.model_fields]
        return own + list(TcpEnds.model_fields)

    @classmethod
    def needed(cls, name: str) -> str:
        if name == "workload":
            return f'workload = {{ kind = "bulk" }} is required here; kinds: {", ".join(kinds("Workload"))}'
        return super().needed(name)

    def model_post_init(self, _context: Any) -> None:
        if self.stop is not None and self.stop <= self.start.high_ps:
            raise InvalidValue(f"stop = {format_value(show_time(self.stop))}", "a stop after the start", ("stop",))
        if self.stop is not None and self.workload.kind == "web":
            raise InvalidValue(
                f"stop = {format_value(show_time(self.stop))}",
                "no stop with web: its jobs end by themselves",
                ("stop",),
            )

    @property
    def instances(self) -> int:
        """Number of single flows."""
        return self.count * (self.repeat.times if self.repeat else 1)

    @property
    def connections(self) -> int:
        """Number of connections (or datagram streams) of all single flows."""
        return self.instances * (self.workload.jobs * (1 + self.workload.answers) if self.is_spread else 1)

    def instance_names(self, base: str) -> list[str]:
        """Names of the single flows: `base` for one, else `base-1`, `base-2`, .."""
        return [base] if self.instances == 1 else [f"{base}-{number}" for number in range(1, self.instances + 1)]

    @property
    def sending_end(self) -> str:
        """The end that sends the data."""
        return "server" if self.direction == "down" else "client"

    @property
    def is_udp(self) -> bool:
        return self.workload.kind in UDP

    @property
    def is_spread(self) -> bool:
        """Whether each request and answer of its pages has a connection of its own."""
        return self.workload.kind == "web" and not self.workload.persistent

    @property
    def is_live(self) -> bool:
        """Whether real hosts send and receive it."""
        return bool(self.workload.kind == "live")

    @property
    def data_bytes(self) -> int | None:
        """IP size of a data packet, if the workload defines it (UDP)."""
        sizes = {"cbr": "packet", "onoff": "packet", "probe": "last"}
        if self.is_live:
            return LIVE_BYTES
        return getattr(self.workload, sizes[self.workload.kind]) if self.is_udp else None

    def written(self) -> dict[str, Any]:
        """The flow as a scenario file has it, without its TCP keys."""
        out: dict[str, Any] = self.model_dump(exclude_none=True, exclude=set(TcpEnds.model_fields))
        out["start"] = self.start.written()
        return out
