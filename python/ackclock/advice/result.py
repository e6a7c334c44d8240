"""The result of `advise`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.result import Result

if TYPE_CHECKING:
    import polars as pl
    from rich.table import Table

    from ackclock.documents.advise import Advice as AdviceDocument
    from ackclock.report.page import Page


@dataclass(frozen=True, repr=False)
class Advice(Result):
    """What to change, by how much it helps, and what to type.

    `document` is the JSON of ``ackclock advise --json`` (docs/reference/advise.md); `folder` the
    run folder with the runs that ranked it, None without one.

    >>> import ackclock
    >>> found = ackclock.advise("geo-100m", may=["sender", "receiver"])  # doctest: +SKIP
    >>> print(*found.commands, sep="\\n")  # doctest: +SKIP
    """

    document: AdviceDocument
    folder: Path | None = None

    @property
    def commands(self) -> list[str]:
        """What to type for the first advice; empty if nothing is advised."""
        return list(self.document["advice"][0]["commands"]) if self.document["advice"] else []

    @property
    def advice(self) -> pl.DataFrame:
        """One row for each advised change: rank, label, who, gain with its interval (ratios of the
        goal's score, of a link under each load, too), goodput in bits/s and p95 RTT of a sparse
        flow in ms.
        """
        import polars as pl

        rows = [
            {
                "rank": row["rank"],
                "label": row["label"],
                "who": row["who"],
                **{f"gain_{key}": row["gain"][key] for key in ("ratio", "lo", "hi")},
                **{f"gain_{load}": of["gain"]["ratio"] for load, of in (row["loads"] or {}).items()},
                **{metric: effect["advised"] for metric, effect in row["effect"].items()},
            }
            for row in self.document["advice"]
        ]
        schema = {"rank": pl.Int64, "label": pl.String, "who": pl.String}
        return pl.DataFrame(rows, infer_schema_length=None) if rows else pl.DataFrame(schema=schema)

    @property
    def tried(self) -> pl.DataFrame:
        """One row for each change that is not advised: label, who, gain, lo, hi, n, why."""
        import polars as pl

        rows = [
            {key: value for key, value in row.items() if key not in ("change", "harm")}
            for row in self.document["nothing_to_gain"]
        ]
        return pl.DataFrame(rows, schema_overrides={"lo": pl.Float64, "hi": pl.Float64}, infer_schema_length=None)

    @property
    def frames(self) -> dict[str, pl.DataFrame]:
        """`advice` and `tried`."""
        return {"advice": self.advice, "tried": self.tried}

    def _page(self) -> Page:
        from ackclock.advice.tables import page

        return page(self.document)

    def _title(self) -> str:
        return f"{self.document['title'] or self.document['what']}: {self.document['verdict']}"

    def _tables(self) -> Iterable[Table]:
        from ackclock.advice.tables import tables

        return tables(self.document)

    def screen(self) -> tuple[list[Table], list[str]]:
        from ackclock.advice.tables import screen

        return screen(self.document)


def read_folder(folder: Path) -> Advice:
    """The advice in a finished run folder."""
    from ackclock.storage.run_kind import ADVISE
    from ackclock.storage.stored_files import read_json

    return Advice(read_json(folder / ADVISE.document), folder)
