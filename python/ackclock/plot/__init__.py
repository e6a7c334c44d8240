"""Plots of a run: figures for papers (matplotlib) and interactive charts for reports (altair). Both are imported
late.
"""

from __future__ import annotations

from ackclock.plot.mpl import figure, save
from ackclock.plot.time_series import Frames, Line, Panel, panels_of_run, panels_of_runs

__all__ = ["Frames", "Line", "Panel", "figure", "panels_of_run", "panels_of_runs", "save"]
