"""`reproduce wimax-measured --apps`: the paper's wish on its links."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock.errors import InputError
from ackclock.papers.apps import APPS, LINKS, LOADS, apps_tables, paper_apps
from tests.support.documents import follows


@pytest.mark.slow
def test_calls_and_videos_over_the_papers_links_suffer_from_an_upload() -> None:
    document = paper_apps("wimax-measured", seeds=(1,))
    follows("reproduce", document)
    assert [(row["link"], row["load"], row["app"]) for row in document["apps"]] == [
        (link, load, app) for link in LINKS for load in LOADS for app in APPS
    ]

    def score(app: str, link: str, load: str) -> Any:
        ((of_seed,),) = [
            row["scores"] for row in document["apps"] if (row["app"], row["link"], row["load"]) == (app, link, load)
        ]
        return of_seed

    for link in LINKS:
        assert (
            score("call", link, "alone")["mos"]["mean"] > 4.0 > score("call", link, "beside an upload")["mos"]["mean"]
        )
        alone, beside = (score("video", link, load)["bitrate_bps"] for load in ("alone", "beside an upload"))
        assert beside < alone, link
    (table,) = apps_tables(document)
    assert table.row_count == len(LINKS) * len(LOADS) * len(APPS)


def test_other_papers_are_refused() -> None:
    with pytest.raises(InputError, match="leaves calls and streaming for later"):
        paper_apps("wibro")
