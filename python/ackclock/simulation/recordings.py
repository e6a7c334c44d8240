"""The parts of recorded rates that runs replay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.format import share_text, three

if TYPE_CHECKING:
    from ackclock.documents.compare import RecordingPart
    from ackclock.documents.engine import Summary


@dataclass(frozen=True)
class RecordingUse:
    """The parts of one direction's recording that the runs of an experiment replay.

    Attributes:
        hop, direction: where the recording is the rate.
        period_s: the time after which the recording repeats.
        starts_s: where the runs start in it, by seed.
        duration_s: the duration of each run.
    """

    hop: str
    direction: str
    period_s: float
    starts_s: Mapping[int, float]
    duration_s: float

    @property
    def seen_share(self) -> float:
        """The share of the recording that at least one of the runs replays."""
        if self.duration_s >= self.period_s:
            return 1.0
        seen, edge = 0.0, 0.0
        parts = [
            (start + shift, start + shift + self.duration_s)
            for start in self.starts_s.values()
            for shift in (-self.period_s, 0.0)
        ]
        for low, high in sorted(parts):
            low, high = max(low, edge), min(high, self.period_s)
            if high > low:
                seen, edge = seen + high - low, high
        return seen / self.period_s

    def as_json(self) -> RecordingPart:
        """An entry of `recordings` in the JSON documents."""
        return {
            "hop": self.hop,
            "direction": self.direction,
            "period_s": self.period_s,
            "duration_s": self.duration_s,
            "starts": [{"seed": seed, "start_s": start} for seed, start in self.starts_s.items()],
            "seen_share": self.seen_share,
        }


def recording_uses(summaries: Iterable[Summary], duration_s: float) -> list[RecordingUse]:
    """The recordings of runs with different seeds over the same hops, from their summaries."""
    periods: dict[tuple[str, str], float] = {}
    starts: dict[tuple[str, str], dict[int, float]] = {}
    for summary in summaries:
        for hop in summary["hops"]:
            if recording := hop.get("recording"):
                key = (hop["hop"], hop["direction"])
                periods[key] = recording["period_s"]
                starts.setdefault(key, {})[summary["seed"]] = recording["start_s"]
    return [RecordingUse(*key, period, starts[key], duration_s) for key, period in periods.items()]


def sentences(uses: Iterable[RecordingPart]) -> list[str]:
    """How much of the recordings the runs replay, from `recordings` of a JSON document. Recordings
    of which the runs replay as much share a sentence.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for use in uses:
        names.setdefault((share_text(use["seen_share"]), _parts(use)), []).append(f"`{use['hop']} {use['direction']}`")
    return [
        f"The runs replay {share} of the recording{'s' * (len(of) > 1)} of {' and '.join(of)} ({parts}."
        for (share, parts), of in names.items()
    ]


def _parts(use: Mapping[str, Any]) -> str:
    """The period, and the parts that the runs replay."""
    starts = {one["start_s"] for one in use["starts"]}
    each = f"{three(use['duration_s'])} s" if use["duration_s"] < use["period_s"] else "all"
    begin = (
        f"from {three(min(starts))} s on"
        if len(starts) == 1
        else f"from another start for each of {len(use['starts'])} seeds"
    )
    return f"{three(use['period_s'])} s): {each} {begin}"
