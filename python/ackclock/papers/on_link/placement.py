"""A point of a paper's design on a link: its scenario, with the link in the place of the paper's.

What the paper sets at hops of its own network is set at the hop with the same part on the link: the
ACK policy at the bottleneck of the ACKs, errors at the channel, sizes in BDPs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from ackclock.errors import InputError
from ackclock.input.link.bottleneck import AS_IS, bdp_bytes, bottlenecks, slowest_bps, slowest_hop
from ackclock.input.link.hop import Hop, base_rtt_ps
from ackclock.input.scenario.draft import Point, draft_of, link_path, read_draft
from ackclock.input.scenario.model import Scenario
from ackclock.papers.experiments import experiments_file
from ackclock.papers.on_link.design import Design, PointTable
from ackclock.papers.scenarios import scenario_path

T = TypeVar("T")
BAD_STATE = "5 ms"
"""The mean duration of the channel's bad state, as in wimax-simulated (``readings.toml``)."""
MIN_WINDOW = 4096
"""Bytes: the smallest socket buffer that a share of a BDP becomes."""


@dataclass(frozen=True)
class Placement:
    """A paper's design on a link, by the link's name or file.

    Raises:
        InputError: there is no such link, or its file is not valid.
    """

    design: Design
    link: str

    def __post_init__(self) -> None:
        _ = self.hops

    @cached_property
    def _bare(self) -> Scenario:
        """A download over the link."""
        link_path(self.link)
        download = {"name": "download", "workload": {"kind": "bulk"}}
        return draft_of({"link": self.link, "duration": "1 s", "flow": [download]}).check()

    @property
    def title(self) -> str:
        """The link's title."""
        return self._bare.title

    @property
    def hops(self) -> Sequence[Hop]:
        """The link's hops, server first."""
        return self._bare.hop

    def rate_bps(self, direction: str) -> float | None:
        """The lowest rate of a direction; None without a rate."""
        return slowest_bps(self.hops, direction)

    @property
    def base_rtt_ms(self) -> float:
        """The RTT without queues."""
        return base_rtt_ps(self.hops) / 1e9

    @property
    def bdp_bytes(self) -> float | None:
        """The BDP of a download; None without a rate."""
        return bdp_bytes(self.hops, "down")

    def scenario(self, point: PointTable) -> Scenario:
        """The checked scenario of a point.

        Raises:
            InputError: the link lacks what the point needs, such as a rate.
        """
        experiments = experiments_file(self.design.paper)
        experiment = experiments["experiments"][point["experiment"]]
        written = read_draft(scenario_path(experiment["scenario"])).document.data
        kept = {
            key: value
            for key, value in written.items()
            if key not in ("title", "source", "hop", "tunnel", "link", "sweep")
        }
        title = f"{self.design.paper} on {self.link}: {experiment['scenario']}"
        scheme = experiments.get("schemes", {}).get(point.get("scheme", ""), {})
        keys: dict[str, Any] = {
            **{path: value for path, value in scheme.items() if not path.startswith("hop.")},
            **self.design.shorter.get(point["experiment"], {}),
            **point.get("keys", {}),
            **self._keys_of_the_link(point),
        }
        return draft_of({**kept, "title": title, "link": self.link}).check(keys)

    def _keys_of_the_link(self, point: PointTable) -> Point:
        keys: dict[str, Any] = {}
        if (bdps := point.get("window")) is not None:
            size = f"{max(MIN_WINDOW, round(bdps * self._required(self.bdp_bytes)))} B"
            keys |= {"tcp.send_buffer": size, "tcp.receive_buffer": size}
            of_quic = [path for path, value in point.get("keys", {}).items() if value == "quic"]
            keys |= {f"{path.removesuffix('transport')}quic.receive_window": size for path in of_quic}
        if policy := point.get("acks"):
            at = bottlenecks(self.hops, "down")
            keys[at.acks] = at.keys(AS_IS, policy)[at.acks]
        if (mean := point.get("loss")) is not None:
            loss = {"kind": "gilbert-elliott", "mean": mean, "bad_sojourn": BAD_STATE}
            keys[f"hop.{self.channel.name}.loss.down"] = loss
        if load := point.get("load"):
            bps = load["share"] * self._required(self.rate_bps(load.get("direction", "down")))
            keys[f"flow.{load['flow']}.workload.rate"] = f"{round(bps)} b/s"
        return keys

    @property
    def channel(self) -> Hop:
        """The hop that stands for the paper's channel: the last with a medium, else the slowest
        one down.
        """
        media = [hop for hop in self.hops if hop.down and hop.medium is not None]
        return media[-1] if media else self._required(slowest_hop(self.hops, "down"))

    def _required(self, found: T | None) -> T:
        if found is None:
            raise InputError.problem("no hop limits the rate of a direction", "a link with a rate", key="link")
        return found
