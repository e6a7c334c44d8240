"""Linear regression by least squares."""

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
    """Standard deviation of the residuals, with n - 2 degrees of freedom."""
    span: float
    """The range of x."""
    n: int

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the residuals, 0 or more."""
        return max(0, self.n - 2)

    def at(self, x: float) -> float:
        """The line's y at x."""
        return self.intercept + self.slope * x


def fit_line(x: Sequence[float], y: Sequence[float]) -> Line:
    """Linear least squares: the line of two or more points, of which two differ in x.

    Raises ValueError for fewer.
    """
    n = len(x)
    if n != len(y) or n < 2 or min(x) == max(x):
        raise ValueError("a line requires two points that differ in x")
    mean_x, mean_y = sum(x) / n, sum(y) / n
    x_squares = sum((a - mean_x) ** 2 for a in x)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / x_squares
    intercept = mean_y - slope * mean_x
    squares = sum((b - intercept - slope * a) ** 2 for a, b in zip(x, y, strict=True))
    residual = (squares / max(1, n - 2)) ** 0.5
    intercept_sd = residual * (1.0 / n + mean_x * mean_x / x_squares) ** 0.5
    return Line(slope, intercept, residual / x_squares**0.5, intercept_sd, residual, max(x) - min(x), n)
