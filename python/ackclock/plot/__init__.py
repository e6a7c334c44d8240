"""Plots of a run, by altair: in notebooks, in reports and as files. Altair is imported late."""

from __future__ import annotations

from ackclock.plot.figure import Plot
from ackclock.plot.time_series import Frames, Line, Panel, panels_of_run, panels_of_runs

__all__ = ["Frames", "Line", "Panel", "Plot", "panels_of_run", "panels_of_runs"]
