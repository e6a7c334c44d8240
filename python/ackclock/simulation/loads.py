"""The loads of a link: which bulk flows run over it at the same time.

A link has no traffic of its own. `advise` and `compare` judge a change of it under loads, by the
score of a goal (`simulation.goals`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Load:
    """Flows that run over a link at the same time.

    Attributes:
        name: as in documents.
        text: in words.
        flows: the [[flow]] tables, without names; each direction has one.
    """

    name: str
    text: str
    flows: tuple[Mapping[str, Any], ...]

    @property
    def directions(self) -> tuple[str, ...]:
        """The directions of the data, in the order of the flows."""
        return tuple(flow["direction"] for flow in self.flows)

    def tables(self, names: Mapping[str, str], **keys: Any) -> list[dict[str, Any]]:
        """The [[flow]] tables, each with the name of its direction in `names` and with `keys`."""
        return [{"name": names[flow["direction"]], **flow, **keys} for flow in self.flows]


def _bulk(direction: str) -> dict[str, Any]:
    return {"direction": direction, "workload": {"kind": "bulk"}}


LOADS: Mapping[str, Load] = {
    load.name: load
    for load in (
        Load("down", "a download alone", (_bulk("down"),)),
        Load("up", "an upload alone", (_bulk("up"),)),
        Load("both", "a download and an upload at once", (_bulk("down"), _bulk("up"))),
    )
}
"""The loads by name: each direction alone, and both at once, as Flent's RRUL test has them
(Real-time Response Under Load; four flows in each direction there)."""


HOUSEHOLD = "household"
"""The load of a link by what people do on it (`simulation.household`)."""
LOAD_TEXTS = {name: load.text for name, load in LOADS.items()} | {HOUSEHOLD: "a household"}
"""The loads in words."""


def load_of(directions: Collection[str]) -> Load | None:
    """The load whose flows have these directions; None if there is none."""
    return next((load for load in LOADS.values() if set(load.directions) == set(directions)), None)
