"""A hop: the elements between two machines, in each direction."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import model_validator

from ackclock.errors import InvalidValue, choices, format_value
from ackclock.input.checked_table import CheckedTable, ReadBy
from ackclock.input.link.framing import Framing, framing_plan
from ackclock.input.link.outage import Outages
from ackclock.input.link.pep import Pep
from ackclock.input.link.queue import Queue
from ackclock.input.link.rate import LineRate, rate_plan
from ackclock.input.quantity_fields import Time
from ackclock.input.schema import Flag, Loc, Name, Table

Plan = dict[str, Any]
DIRECTIONS = ("down", "up")


class Direction(Table):
    """One direction of a hop: queue, rate (and framing), outage, loss and duplicates, delay,
    jitter, reordering, handover, reconstruction of ACKs, in this order. Defaults: no queue limit,
    no rate limit, no loss, no delay.
    """

    queue: Queue | None = None
    rate: LineRate | None = None
    framing: Framing = "none"
    outage: Outages = ()
    loss: Annotated[CheckedTable, ReadBy("Loss")] | None = None
    duplicate: Annotated[CheckedTable, ReadBy("Duplicate")] | None = None
    delay: Time = 0
    jitter: Annotated[CheckedTable, ReadBy("Jitter")] | None = None
    reorder: Annotated[CheckedTable, ReadBy("Reorder")] | None = None
    handover: Annotated[CheckedTable, ReadBy("Handover")] | None = None
    reconstruct: Annotated[CheckedTable, ReadBy("Reconstruction")] | None = None

    def plan(self) -> Plan:
        plan: Plan = {
            "queue": self.queue.plan() if self.queue else None,
            "rate": rate_plan(self.rate),
            "framing": framing_plan(self.framing),
            "outage": [outage.plan() for outage in self.outage],
            "loss": self.loss.plan() if self.loss else None,
            "duplicate": self.duplicate.plan() if self.duplicate else None,
            "delay_ps": self.delay,
            "jitter": self.jitter.plan() if self.jitter else None,
            "reorder": self.reorder.plan() if self.reorder else None,
        }
        if self.queue and self.queue.ack:
            plan["acks"] = self.queue.ack.plan()
        if self.handover:
            plan["handover"] = self.handover.plan()
        if self.reconstruct:
            plan["reconstruct"] = self.reconstruct.plan()
        return plan

    def written(self) -> dict[str, Any]:
        """The parts that are present, each with all its keys."""
        defaults = {name: field.default for name, field in Direction.model_fields.items()}
        absent = {name for name, default in defaults.items() if getattr(self, name) == default}
        return self.model_dump(exclude=absent, exclude_none=True)


PER_DIRECTION = tuple(Direction.model_fields)


def is_per_direction(value: Any) -> bool:
    """Whether a key has the form `key.down = .., key.up = ..`."""
    return isinstance(value, dict) and bool(value) and set(value) <= set(DIRECTIONS)


class Hop(Table):
    """One hop. Clients share it unless `per_client`; `only` restricts it to one direction (the
    other one is None).

    With a `medium` each client is a station with a queue for each direction; `per_client` then
    applies to the elements after the medium. A `pep` is at the hop's server side.
    """

    name: Name
    per_client: Flag = False
    medium: Annotated[CheckedTable, ReadBy("Medium")] | None = None
    pep: Pep | None = None
    down: Direction | None
    up: Direction | None

    @classmethod
    def written_keys(cls) -> list[str]:
        return ["name", "only", "per_client", "medium", "pep", *PER_DIRECTION]

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, data: Any) -> Any:
        """Check the keys as written, instead of Table's check, then split them into `down` and
        `up`.
        """
        if not isinstance(data, dict):
            raise InvalidValue(format_value(data), "a [[hop]] table")
        for key in data:
            if key not in cls.written_keys():
                raise InvalidValue(f'unknown key "{key}"', choices(cls.written_keys(), key), (key,), code="unknown-key")
        if "name" not in data:
            raise InvalidValue("a hop without a name", 'name = "..." in every [[hop]]', code="missing-key")
        for key in ("rate", "framing"):
            if "medium" in data and key in data:
                raise InvalidValue(f"a medium and a {key}", f"either a medium or a {key} on one hop", (key,))
        only = data.get("only")
        if only is not None and only not in DIRECTIONS:
            raise InvalidValue(format_value(only), '"down" or "up"', ("only",))
        checked: dict[str, Any] = {key: data[key] for key in ("name", "per_client", "medium", "pep") if key in data}
        for direction in DIRECTIONS:
            checked[direction] = None if only not in (None, direction) else _one_direction(data, direction, only)
        return checked

    def slowest_bps(self, direction: str) -> int | None:
        """The rate limit of a direction: a fixed rate, or the maximum of its medium.

        None without either.
        """
        side: Direction | None = getattr(self, direction)
        if side is None:
            return None
        if self.medium:
            nominal_bps: dict[str, int] = self.medium.nominal_bps
            return nominal_bps[direction]
        return side.rate if isinstance(side.rate, int) else None

    def has_stations(self) -> bool:
        """Whether each client has its own queues here."""
        return self.per_client or self.medium is not None

    def plan(self) -> Plan:
        roaming = getattr(self.medium, "handover", None)
        return {
            "name": self.name,
            "per_client": self.per_client,
            "medium": self.medium.plan() if self.medium else None,
            **({"roaming": roaming.plan()} if roaming else {}),
            "down": self.down.plan() if self.down else None,
            "up": self.up.plan() if self.up else None,
        }

    def written(self) -> dict[str, Any]:
        """The hop as a link file has it; keys that are equal in both directions appear once."""
        both = {direction: side.written() for direction in DIRECTIONS if (side := getattr(self, direction))}
        out: dict[str, Any] = {"name": self.name}
        if len(both) == 1:
            out["only"] = next(iter(both))
        if self.per_client:
            out["per_client"] = True
        if self.medium:
            out["medium"] = self.medium.written()
        if self.pep:
            out["pep"] = self.pep.written()
        for key in PER_DIRECTION:
            values = {direction: side[key] for direction, side in both.items() if key in side}
            if len(values) == len(both) and all(value == next(iter(values.values())) for value in values.values()):
                out[key] = next(iter(values.values()))
            elif values:
                out[key] = values
        return out


def _one_direction(data: dict[str, Any], direction: str, only: str | None) -> dict[str, Any]:
    out = {}
    for key in PER_DIRECTION:
        if key not in data:
            continue
        value = data[key]
        if isinstance(value, dict) and not is_per_direction(value) and set(value) & set(DIRECTIONS):
            raise InvalidValue(format_value(value), f"either {key}.down and {key}.up, or one {key} for both", (key,))
        if not is_per_direction(value):
            out[key] = value
        elif only is not None and set(value) != {only}:
            extra = "up" if only == "down" else "down"
            raise InvalidValue(
                f"{key}.{extra} on a hop with only = {format_value(only)}", f"{key} or {key}.{only}", (key, extra)
            )
        elif direction in value:
            out[key] = value[direction]
    return out


def written_loc(data: Any, loc: Loc) -> Loc:
    """The location in the hop as written, from the location in the checked hop (.., direction, key,
    ..).
    """
    if len(loc) < 2 or loc[0] not in DIRECTIONS or not isinstance(data, dict):
        return loc
    direction, key, *rest = loc
    if is_per_direction(data.get(str(key))):
        return (key, direction, *rest)
    return (key, *rest)
