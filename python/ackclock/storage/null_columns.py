"""Types of columns without a value: tables of several runs have the same column types."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import polars as pl

    Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

TEXTS = frozenset(
    {
        *("feeds", "why"),
        *("limit_kind", "limit_hop", "limit_direction", "limit_cause", "limit_because"),
        *("reset_kind", "reset_from", "a2b_unanswered_what", "b2a_unanswered_what"),
    }
)
"""Columns of text in the tables of flows that may be empty. All others are numbers."""


def typed_nulls(frame: Frame) -> Frame:
    """The table with text or reals for the type of each column without a value."""
    import polars as pl

    empty = [name for name, dtype in frame.collect_schema().items() if dtype == pl.Null]
    return frame.with_columns(pl.col(name).cast(pl.String if name in TEXTS else pl.Float64) for name in empty)
