"""Figures with targets, and commands as a user types them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benches import programs

COMMAND = Path(sys.executable).with_name("ackclock")


@dataclass(frozen=True)
class Figure:
    """One figure with its target: a maximum, or a minimum; none where it is stated alone."""

    name: str
    value: float
    target: float | None
    unit: str
    at_least: bool = False

    @property
    def missed(self) -> bool:
        if self.target is None:
            return False
        return self.value < self.target if self.at_least else self.value > self.target

    def line(self) -> str:
        line = f"{self.name:<62} {self.value:>9.2f} {self.unit:<8}"
        if self.target is None:
            return f"{line} no target"
        verdict = ("UNDER" if self.at_least else "OVER") if self.missed else "ok"
        return f"{line} target {'at least ' if self.at_least else ''}{self.target:g}  {verdict}"


@dataclass(frozen=True)
class Cost:
    """CPU and wall time of a command, in seconds."""

    cpu_s: float
    wall_s: float


def minimum(runs: Sequence[programs.Child]) -> Cost:
    """The minimum of each: other work on the machine only adds."""
    return Cost(min(one.cpu_s for one in runs), min(one.wall_s for one in runs))


def finish(figures: Sequence[Figure]) -> int:
    """Print the figures that miss their targets and what is left out; the exit status, 1 if one
    misses.
    """
    missed = [figure.line() for figure in figures if figure.missed]
    print("\ntargets missed", *(missed or ["none"]), sep="\n")
    print("\nleft out", *(programs.left_out() or ["nothing"]), sep="\n")
    return 1 if missed else 0
