"""Neighbouring conditions: the same situation with one property of the path moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ackclock.advisor.situation import Situation, beside
from ackclock.input.link.frame_grid import FrameGrid
from ackclock.input.objects import Flow
from ackclock.input.units import show_rate, show_time

MAX_LOSS = 0.2
"""Maximum loss rate of a condition: above it TCP is no question of settings."""


@dataclass(frozen=True)
class Condition:
    """A change of the path or of its traffic.

    Attributes:
        text: as a clause after "unless".
        point: values by dotted path.
        flows: those beside the situation's.
    """

    text: str
    point: Mapping[str, str | float | Mapping[str, str]] = field(default_factory=dict)
    flows: tuple[Flow, ...] = ()


def conditions(situation: Situation) -> list[Condition]:
    """Rate x 2 and / 2, delay x 2 and / 2, the bottleneck's buffer x 4 and / 4, loss 0 and x 10;
    other jitter beside a medium's frames; of a scenario also an upload beside it (a download beside
    an upload), which is a load of a link; those that the path allows.
    """
    opposite = () if situation.loads else _opposite(situation)
    path = [*_rates(situation), *_delays(situation), *_buffers(situation), *_losses(situation)]
    return [*path, *_jitters(situation), *opposite]


def _rates(situation: Situation) -> Iterator[Condition]:
    for factor, text in ((2.0, "the rate is twice as high"), (0.5, "the rate is half as high")):
        point = {
            f"hop.{hop.name}.rate.{direction}": show_rate(max(1, round(side.rate * factor)))
            for hop, direction, side in situation.sides()
            if isinstance(side.rate, int) and situation.is_bottleneck(hop, direction)
        }
        if point:
            yield Condition(text, point)


def _delays(situation: Situation) -> Iterator[Condition]:
    for factor, text in ((2.0, "the base delay is twice as long"), (0.5, "the base delay is half as long")):
        point = {
            f"hop.{hop.name}.delay.{direction}": show_time(round(side.delay * factor))
            for hop, direction, side in situation.sides()
            if side.delay and isinstance(side.delay, int)
        }
        if point:
            yield Condition(text, point)


def _buffers(situation: Situation) -> Iterator[Condition]:
    data = situation.directions if situation.loads else (situation.direction,)
    for factor, text in ((4.0, "the bottleneck's buffer is four times as large"), (0.25, "it is a quarter as large")):
        point: dict[str, str | float] = {}
        for hop, direction, side in situation.sides():
            if side.queue and direction in data and situation.is_bottleneck(hop, direction):
                path = f"hop.{hop.name}.queue.{direction}"
                if side.queue.packets:
                    point[f"{path}.packets"] = max(2, round(side.queue.packets * factor))
                if side.queue.bytes:
                    point[f"{path}.bytes"] = f"{max(3028, round(side.queue.bytes * factor))} B"
        if point:
            yield Condition(text.replace("it is", "the bottleneck's buffer is"), point)


def _losses(situation: Situation) -> Iterator[Condition]:
    for factor, text in ((0.0, "the channel loses nothing"), (10.0, "the channel loses ten times as much")):
        point = {
            f"hop.{hop.name}.loss.{direction}.mean": min(MAX_LOSS, mean * factor)
            for hop, direction, side in situation.sides()
            if isinstance(mean := getattr(side.loss, "mean", 0.0), float) and mean
        }
        if point:
            yield Condition(text, point)


def _jitters(situation: Situation) -> Iterator[Condition]:
    if grid := FrameGrid.of(situation.hops):
        yield from (Condition(f"{what} is {value}", point) for what, value, point in grid.points())


def _opposite(situation: Situation) -> Iterator[Condition]:
    what = "an upload" if situation.direction == "down" else "a download"
    yield Condition(f"{what} runs beside it", {}, (beside("opposite", situation.opposite),))
