"""`reproduce wimax-measured --apps`: the paper's wish on its links."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock.errors import InputError
from ackclock.papers.apps import LINKS, LOADS, apps_tables, paper_apps
from tests.support.documents import follows


@pytest.mark.slow
def test_calls_over_the_papers_links_suffer_from_an_upload() -> None:
    document = paper_apps("wimax-measured", seeds=(1,))
    follows("reproduce", document)
    assert [(row["link"], row["load"]) for row in document["apps"]] == [
        (link, load) for link in LINKS for load in LOADS
    ]

    def mos(link: str, load: str) -> float:
        (scores,) = [row["scores"] for row in document["apps"] if (row["link"], row["load"]) == (link, load)]
        score: Any = scores[0]
        return float(score["mos"]["mean"])

    for link in LINKS:
        assert mos(link, "alone") > 4.0 > mos(link, "beside an upload")
    (table,) = apps_tables(document)
    assert table.row_count == len(LINKS) * len(LOADS)


def test_other_papers_are_refused() -> None:
    with pytest.raises(InputError, match="leaves calls and streaming for later"):
        paper_apps("wibro")
