"""How a hunt chooses its cases: searchers that give points of the unit cube and receive what became
of them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ackclock.errors import RunFailed

Unit = tuple[float, ...]
"""A point of the unit cube."""
BARRIER = 1e15
"""From this cost on a point is not allowed: the rest of the cost says by how much."""
GENERATION = 8
"""Points of a random search that are asked for at a time."""


class Searcher(Protocol):
    """Gives points and receives their costs, in turns. Equal seeds and costs give equal points."""

    def ask(self) -> list[Unit]:
        """The points of the next generation."""

    def tell(self, points: Sequence[Unit], costs: Sequence[float], kinds: Sequence[str]) -> None:
        """The costs of some points of the generation, the first ones; less is sought. Points of one
        kind have one mechanism.
        """


class RandomSearch:
    """Independent points, uniform in the unit cube: what any other searcher must surpass."""

    def __init__(self, steps: Sequence[float], seed: int) -> None:
        self._size = len(steps)
        self._random = np.random.Generator(np.random.PCG64(seed))

    def ask(self) -> list[Unit]:
        return [tuple(map(float, self._random.random(self._size))) for _ in range(GENERATION)]

    def tell(self, points: Sequence[Unit], costs: Sequence[float], kinds: Sequence[str]) -> None:
        pass


class Elites:
    """Points that differ from good ones in few coordinates, as MAP-Elites makes them (Mouret and
    Clune 2015): the best point of each mechanism is kept, whether another mechanism is worse for
    the scenario or not. So a figure that says nothing until the case breaks is no obstacle where
    the mechanism is there before, and a mechanism that breaks soon does not hide another one.
    """

    SIZE = 8
    """Points of a generation."""
    FRONT = 3
    """Best points that do not break yet; half of the points come from them."""
    FROM_FRONT, CROSSED, TAKEN, MOVED = 0.5, 0.5, 0.3, 0.5
    """Shares: of points from the front, of points with coordinates of another elite, of coordinates
    taken from it, and of changed coordinates that move instead of being drawn."""
    CHANGED = 3.0
    """Coordinates that are changed, on average."""
    SIGMA = 0.1

    def __init__(self, steps: Sequence[float], random: np.random.Generator, goal: float) -> None:
        self._steps = steps
        self._random = random
        self._goal = goal
        self._front: list[tuple[float, Unit]] = []
        self._best: dict[str, tuple[float, Unit]] = {}

    def add(self, point: Unit, cost: float, kind: str) -> None:
        """Keep a point if it is good."""
        if cost >= BARRIER:
            return
        self._best[kind] = min(self._best.get(kind, (math.inf, point)), (cost, point))
        if cost > self._goal:
            self._front = sorted([*self._front, (cost, point)])[: self.FRONT]

    def draw(self) -> list[Unit]:
        """The points of a generation; none before a point is kept."""
        return [self._child() for _ in range(self.SIZE)] if self._best else []

    def _child(self) -> Unit:
        elites = sorted(self._best.values())
        from_front = self._front and self._random.random() < self.FROM_FRONT
        point = list(self._one(self._front if from_front else elites))
        if self._random.random() < self.CROSSED:
            other = self._one(elites)
            point = [b if self._random.random() < self.TAKEN else a for a, b in zip(point, other, strict=True)]
        count = min(len(point), int(self._random.geometric(1.0 / self.CHANGED)))
        for at in self._random.choice(len(point), count, replace=False):
            if self._steps[at] or self._random.random() >= self.MOVED:
                point[at] = float(self._random.random())
            else:
                point[at] = float(np.clip(point[at] + self._random.normal(0.0, self.SIGMA), 0.0, 1.0))
        return tuple(point)

    def _one(self, points: Sequence[tuple[float, Unit]]) -> Unit:
        return points[int(self._random.integers(len(points)))][1]


class CmaEs:
    """CMA-ES with margin (Hamano et al. 2022), which keeps the steps of choices alive.

    It begins with a random design. Then searches alternate: one from the best point that does not
    break yet, until it breaks, for another way to break; one from the best point of all, for the
    worst case. A search also ends when it no longer improves. None begins near to where an earlier
    one ended, and points there cost as much as the worst. Between two generations of CMA-ES is one
    of `Elites`.

    Args:
        goal: a point breaks at this cost or less.
    """

    SIGMA = 0.25
    POPULATION = 10
    DESIGN = 16
    PATIENCE = 5
    """Generations without improvement until a search ends."""
    IMPROVES = 0.01
    """The smallest improvement that counts, relative to the range of costs."""
    APART = 0.15
    """Root mean square of the coordinates' differences, below which points are near."""

    def __init__(self, steps: Sequence[float], seed: int, goal: float = -math.inf) -> None:
        try:
            import cmaes
        except ImportError:
            raise RunFailed(
                "the search by CMA-ES needs cmaes", 'pip install "ackclock[hunt]", or search = "random"'
            ) from None
        self._cmaes = cmaes
        self._steps = np.array(steps, dtype=float)
        self._random = np.random.Generator(np.random.PCG64(seed))
        self._seed = seed
        self._goal = goal
        self._known: list[tuple[float, Unit]] = []
        self._ends: list[Unit] = []
        self._elites = Elites(steps, self._random, goal)
        self._varies = False
        self._optimizer: Any = None
        self._asked: list[Any] = []
        self._best: tuple[float, Unit] = (math.inf, ())
        self._idle = 0
        self._explores = False

    def ask(self) -> list[Unit]:
        if self._optimizer is None:
            return [tuple(map(float, self._random.random(len(self._steps)))) for _ in range(self.DESIGN)]
        points = [] if self._varies else self._elites.draw()
        self._varies = bool(points)
        if points:
            return points
        self._asked = [self._optimizer.ask() for _ in range(self._optimizer.population_size)]
        return [tuple(float(x) for x in encoded) for encoded, _ in self._asked]

    def tell(self, points: Sequence[Unit], costs: Sequence[float], kinds: Sequence[str]) -> None:
        self._known += zip(costs, points, strict=True)
        for one in zip(points, costs, kinds, strict=True):
            self._elites.add(*one)
        if self._optimizer is None:
            if len(points) == self.DESIGN:
                self._begin()
            return
        if self._varies:
            return
        if len(points) < len(self._asked):  # the budget is used up
            return
        worst = max((cost for cost, _ in self._known if cost < BARRIER), default=BARRIER)
        ranked = [
            max(cost, worst) if self._is_taken(point) else cost for point, cost in zip(points, costs, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer.tell([(raw, cost) for (_, raw), cost in zip(self._asked, ranked, strict=True)])
        best = min(zip(ranked, points, strict=True))
        improves = best[0] < self._best[0] - self.IMPROVES * max(abs(worst - self._best[0]), 1e-12)
        self._idle = 0 if improves else self._idle + 1
        self._best = min(self._best, best)
        broke = self._explores and self._best[0] <= self._goal
        if broke or self._idle >= self.PATIENCE or self._optimizer.should_stop():
            self._ends.append(self._best[1])
            self._begin()

    def _begin(self) -> None:
        """Begin the next search."""
        self._explores = not self._explores
        free = [one for one in self._known if not self._is_taken(one[1])]
        unbroken = [one for one in free if self._goal < one[0] < BARRIER] if self._explores else []
        self._best = min(unbroken or free or self._known)
        self._idle = 0
        size = len(self._steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer = self._cmaes.CMAwM(
                mean=np.array([_on_step(x, step) for x, step in zip(self._best[1], self._steps, strict=True)]),
                sigma=self.SIGMA,
                bounds=np.array([[0.0, 1.0]] * size),
                steps=self._steps,
                seed=self._seed + 1 + len(self._ends),
                n_max_resampling=20,
                population_size=self.POPULATION,
            )

    def _is_taken(self, point: Unit) -> bool:
        """Whether a point is near to the end of an earlier search."""
        return any(
            math.sqrt(sum((a - b) ** 2 for a, b in zip(point, end, strict=True)) / len(end)) < self.APART
            for end in self._ends
        )


def _on_step(value: float, step: float) -> float:
    return round(value / step) * step if step else value


def searcher(name: str, steps: Sequence[float], seed: int, goal: float = -math.inf) -> Searcher:
    """The searcher of a name; a case breaks at the cost `goal`. Raises RunFailed without its
    package.
    """
    return CmaEs(steps, seed, goal) if name == "cmaes" else RandomSearch(steps, seed)
