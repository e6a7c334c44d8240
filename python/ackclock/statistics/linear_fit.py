"""A straight line through points, with what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """Least squares: y = intercept + slope * x."""

    slope: float
    intercept: float
    slope_sd: float
    """Standard error of the slope; 0 through two points."""
    intercept_sd: float
    """Standard error of the intercept; 0 through two points."""
    residual_sd: float
    """Of the points about the line, over n - 2 degrees of freedom."""
    span: float
    """From the least x to the largest."""
    n: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom that the residuals have, at least 0."""
        return max(0, self.n - 2)

    def at(self, x: float) -> float:
        """The line's y."""
        return self.intercept + self.slope * x


def least_squares(x: Sequence[float], y: Sequence[float]) -> Line:
    """The line through two or more points of which two differ in x.

    Raises ValueError for fewer.
    """
    n = len(x)
    if n != len(y) or n < 2 or min(x) == max(x):
        raise ValueError("a line needs two points that differ in x")
    mean_x, mean_y = sum(x) / n, sum(y) / n
    spread = sum((a - mean_x) ** 2 for a in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread
    intercept = mean_y - slope * mean_x
    off = sum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    residual = (off / max(1, n - 2)) ** 0.5
    at_zero = residual * (1.0 / n + mean_x * mean_x / spread) ** 0.5
    return Line(slope, intercept, residual / spread**0.5, at_zero, residual, max(x) - min(x), n)
