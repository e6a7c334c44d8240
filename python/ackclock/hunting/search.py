"""How a hunt chooses its cases: searchers that are asked for points of the unit cube and told what
became of them.
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
    """Asked for points and told their costs, in turns. Equal seeds and costs give equal points."""

    def ask(self) -> list[Unit]:
        """The points of the next generation."""

    def tell(self, points: Sequence[Unit], costs: Sequence[float]) -> None:
        """The costs of some points of the generation, the first ones; less is sought."""


class RandomSearch:
    """Independent points, uniform in the unit cube: what any other searcher must surpass."""

    def __init__(self, steps: Sequence[float], seed: int) -> None:
        self._size = len(steps)
        self._random = np.random.Generator(np.random.PCG64(seed))

    def ask(self) -> list[Unit]:
        return [tuple(map(float, self._random.random(self._size))) for _ in range(GENERATION)]

    def tell(self, points: Sequence[Unit], costs: Sequence[float]) -> None:
        pass


class CmaEs:
    """CMA-ES with margin (Hamano et al. 2022), which keeps the steps of choices alive.

    It begins with a random design, and searches from its best point. When a search no longer
    improves, the next one begins at the best point that is not near to an earlier search's end,
    after another design; points near to such an end cost as much as the worst.
    """

    SIGMA = 0.25
    PATIENCE = 6
    """Generations without improvement until a search ends."""
    IMPROVES = 0.01
    """The smallest improvement that counts, relative to the range of costs."""
    APART = 0.15
    """Root mean square of the coordinates' differences, below which points are near."""

    def __init__(self, steps: Sequence[float], seed: int) -> None:
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
        self._known: list[tuple[float, Unit]] = []
        self._ends: list[Unit] = []
        self._optimizer: Any = None
        self._asked: list[Any] = []
        self._best: tuple[float, Unit] = (math.inf, ())
        self._idle = 0
        self._begin_design()

    def ask(self) -> list[Unit]:
        if self._optimizer is None:
            return [self._drawn() for _ in range(self._design)]
        self._asked = [self._optimizer.ask() for _ in range(self._optimizer.population_size)]
        return [tuple(float(x) for x in for_evaluation) for for_evaluation, _ in self._asked]

    def tell(self, points: Sequence[Unit], costs: Sequence[float]) -> None:
        self._known += zip(costs, points, strict=True)
        if self._optimizer is None:
            if len(points) == self._design:
                self._begin_search()
            return
        if len(points) < len(self._asked):  # the budget is used up
            return
        worst = max((cost for cost, _ in self._known if cost < BARRIER), default=BARRIER)
        judged = [
            max(cost, worst) if self._is_taken(point) else cost for point, cost in zip(points, costs, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer.tell([(for_tell, cost) for (_, for_tell), cost in zip(self._asked, judged, strict=True)])
        best = min(range(len(judged)), key=lambda index: judged[index])
        if judged[best] < self._best[0] - self.IMPROVES * max(abs(worst - self._best[0]), 1e-12):
            self._idle = 0
        else:
            self._idle += 1
        self._best = min(self._best, (judged[best], points[best]))
        if self._idle >= self.PATIENCE or self._optimizer.should_stop():
            self._ends.append(self._best[1])
            self._begin_design()

    def _drawn(self) -> Unit:
        return tuple(map(float, self._random.random(len(self._steps))))

    def _begin_design(self) -> None:
        self._optimizer = None
        self._design = max(16, 2 * len(self._steps)) if not self._ends else max(8, len(self._steps))

    def _begin_search(self) -> None:
        free = [one for one in self._known if not self._is_taken(one[1])]
        self._best = min(free or self._known)
        self._idle = 0
        size = len(self._steps)
        mean = np.array([_on_step(x, step) for x, step in zip(self._best[1], self._steps, strict=True)])
        kwargs = {
            "mean": mean,
            "sigma": self.SIGMA,
            "bounds": np.array([[0.0, 1.0]] * size),
            "seed": self._seed + 1 + len(self._ends),
            "n_max_resampling": 20,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._optimizer = self._cmaes.CMAwM(steps=self._steps, **kwargs)

    def _is_taken(self, point: Unit) -> bool:
        """Whether a point is near to the end of an earlier search."""
        return any(
            math.sqrt(sum((a - b) ** 2 for a, b in zip(point, end, strict=True)) / len(end)) < self.APART
            for end in self._ends
        )


def _on_step(value: float, step: float) -> float:
    return round(value / step) * step if step else value


def searcher(name: str, steps: Sequence[float], seed: int) -> Searcher:
    """The searcher of a name. Raises RunFailed without its package."""
    return CmaEs(steps, seed) if name == "cmaes" else RandomSearch(steps, seed)
