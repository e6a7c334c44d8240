"""Web pages: a request and parallel answers, each on a connection of its own (asymmetry paper,
section 6), or all on one persistent connection (its footnote 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from ackclock.errors import InvalidValue, format_value
from ackclock.input.quantity_fields import SomeBytes
from ackclock.input.scenario.random_time import SomeStart, Start
from ackclock.input.schema import Count, Flag, Table, choice_field
from ackclock.input.units import show_size

Plan = dict[str, Any]

MAX_JOBS = 100_000
MAX_BYTES = 1 << 40
BACK = {"down": "up", "up": "down"}


class Web(Table):
    """`jobs` pages in sequence: a `request`, then `answers` parallel transfers of `size` bytes.
    `think` is the time between the last byte of a page and the next request. `persistent`: one
    connection for all of them, with the answers in sequence."""

    kind: Annotated[str, choice_field("web")]
    request: SomeBytes = 500
    answers: Count = 4
    size: SomeBytes = 10_000
    jobs: Count = 1
    think: SomeStart = Start(0, 0)
    persistent: Flag = False

    def model_post_init(self, _context: Any) -> None:
        if self.jobs > MAX_JOBS:
            raise InvalidValue(f"{self.jobs} jobs", f"at most {MAX_JOBS}", ("jobs",))
        largest = max(self.request, self.answers * self.size)
        if largest > MAX_BYTES:
            raise InvalidValue(f"{format_value(show_size(largest))} in one page", f"at most {show_size(MAX_BYTES)}")

    @property
    def connections(self) -> int:
        """Number of connections of all jobs."""
        return 1 if self.persistent else self.jobs * (1 + self.answers)

    def plan(self) -> Plan:
        """The workload of the persistent connection."""
        return {"kind": "exchange", "request": self.request, "answer": self.answers * self.size, "jobs": self.jobs,
                "think": self.think.plan()}  # fmt: skip

    def spread(self, flow: Mapping[str, Any], first: int) -> Iterator[Plan]:
        """The plan's flows of one `flow`; the first one has the index `first` in the plan."""
        if self.persistent:
            yield dict(flow)
            return
        previous: list[int] = []
        for number in range(self.jobs):
            page = {**flow, "job": {"name": flow["name"], "number": number}}
            name = f"{flow['name']}.{number + 1}" if self.jobs > 1 else flow["name"]
            start = {"after": previous, "start": self.think.plan()} if previous else {}
            yield {
                **page,
                "name": f"{name}.request",
                "direction": BACK[flow["direction"]],
                **_transfer(self.request),
                **start,
            }
            request = first + number * (1 + self.answers)
            for answer in range(1, self.answers + 1):
                at_once = {"after": [request], "start": Start(0, 0).plan()}
                yield {**page, "name": f"{name}.answer-{answer}", **_transfer(self.size), **at_once}
            previous = list(range(request + 1, request + 1 + self.answers))


def _transfer(size: int) -> Plan:
    return {"workload": {"kind": "transfer", "bytes": size}}
