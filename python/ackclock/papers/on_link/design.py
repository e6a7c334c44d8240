"""A paper's design for other links (``<paper>/on_link.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NotRequired, TypedDict, cast

from ackclock.input.scenario.draft import Point
from ackclock.papers.claims import expand_ids
from ackclock.papers.on_link.measures import MEASURES, Measure
from ackclock.papers.on_link.verdict import Alike, Bound, Difference, Expected, Level


class LoadTable(TypedDict):
    """A flow whose rate is a share of the link's lowest rate in its direction."""

    flow: str
    share: float
    direction: NotRequired[Literal["down", "up"]]


class PointTable(TypedDict):
    """A [points."NAME"]: an experiment of ``experiments.toml`` with one of its schemes, whose keys
    of hops are replaced by those that fit any link.

    ``window`` sets both socket buffers, and the receive window of flows over QUIC, in BDPs of the
    link in direction down; ``acks`` is an ACK policy as in `compare --ack-policy`, at the
    bottleneck of the ACKs; ``loss`` is a mean of errors on the channel, in bursts of 5 ms.
    """

    experiment: str
    scheme: NotRequired[str]
    keys: NotRequired[Point]
    window: NotRequired[float]
    acks: NotRequired[str]
    loss: NotRequired[float]
    load: NotRequired[LoadTable]


class QuestionTable(TypedDict):
    """A [[question]]: the paper's statement about a point, with one of ``paper``, ``alike``,
    ``above``, ``below`` and ``level``.
    """

    id: str
    claims: list[str]
    text: str
    measure: str
    point: str
    base: NotRequired[str]
    flow: NotRequired[str]
    base_flow: NotRequired[str]
    paper: NotRequired[float | Literal["more", "less"]]
    alike: NotRequired[float]
    above: NotRequired[float]
    below: NotRequired[float]
    level: NotRequired[float]


class StaysTable(TypedDict):
    """A [[stays]]: experiments that cannot be put on another link, and why."""

    experiments: list[str]
    why: str


class DesignFile(TypedDict):
    """on_link.toml. ``shorter`` has keys of scenarios, by experiment, that replace the paper's
    durations.
    """

    sentence: str
    where: str
    shorter: NotRequired[dict[str, Point]]
    points: dict[str, PointTable]
    question: list[QuestionTable]
    stays: list[StaysTable]


@dataclass(frozen=True)
class Question:
    """A statement of a paper, and the figure that decides it: of ``point``, in most of them over
    that of ``base``.
    """

    id: str
    claims: Sequence[str]
    text: str
    measure: Measure
    expected: Expected
    point: str
    base: str | None = None
    flow: str = ""
    base_flow: str = ""

    @classmethod
    def of(cls, table: QuestionTable) -> Question:
        """A question from its table in ``on_link.toml``."""
        flow = table.get("flow", "")
        return cls(
            table["id"],
            tuple(expand_ids(table["claims"])),
            table["text"],
            MEASURES[table["measure"]],
            _expected(table),
            table["point"],
            table.get("base"),
            flow,
            table.get("base_flow", flow),
        )


def _expected(table: QuestionTable) -> Expected:
    match table:
        case {"paper": ("more" | "less") as order}:
            return Difference(order == "more")
        case {"paper": float(ratio)}:
            return Difference.of(ratio)
        case {"alike": within}:
            return Alike(within)
        case {"above": value}:
            return Bound(above=True, value=value)
        case {"below": value}:
            return Bound(above=False, value=value)
        case {"level": value}:
            return Level(value)
    raise ValueError(f"{table['id']} states nothing")


@dataclass(frozen=True)
class Design:
    """What of a paper can be put on another link.

    ``sentence`` is the paper's conclusion in our words. ``shorter`` are scenario keys by
    experiment; ``stays`` is the reason by experiment.
    """

    paper: str
    sentence: str
    where: str
    points: Mapping[str, PointTable]
    questions: Sequence[Question]
    shorter: Mapping[str, Point]
    stays: Mapping[str, str]


@cache
def design_of(paper: str) -> Design:
    """The design of a paper, by its name (a key of ``PAPERS``)."""
    text = resources.files("ackclock.papers").joinpath(paper.replace("-", "_"), "on_link.toml").read_text("utf-8")
    file = cast("DesignFile", tomllib.loads(text))
    return Design(
        paper,
        file["sentence"],
        file["where"],
        file["points"],
        [Question.of(table) for table in file["question"]],
        file.get("shorter", {}),
        {name: entry["why"] for entry in file["stays"] for name in entry["experiments"]},
    )
