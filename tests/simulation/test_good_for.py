"""What `show LINK` says a link is good for: what people do, and a video of its lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ackclock.input.scenario.draft import draft_of
from ackclock.simulation.good_for import GoodFor, good_for, sentence

LINE = {"name": "line", "delay": "10 ms"}
BLOATED = {"bytes": "1 MiB"}


def _good_for(folder: Path, down: str, up: str, queue: Any) -> GoodFor:
    hop = {**LINE, "rate": {"down": down, "up": up}, "queue": queue}
    return good_for(draft_of({"hop": [hop], "duration": "10 s", "flow": [{"workload": {"kind": "bulk"}}]}))


def _video(found: GoodFor, load: str) -> tuple[str, str, bool]:
    *_, video = found["loads"][load]
    return video["app"], video["shown"], video["met"]


def test_wide_line_with_a_fair_queue_holds_a_4k_video_beside_an_upload(tmp_path: Path) -> None:
    found = _good_for(tmp_path, "60 Mb/s", "20 Mb/s", {"kind": "fq-codel"})
    assert _video(found, "alone") == _video(found, "an upload") == ("a 4K video", "4K", True)
    assert " and a 4K video" in found["text"]
    *_, beside_upload = found["text"].partition("beside an upload")
    assert "video" not in beside_upload, "an upload takes nothing from it"


@pytest.mark.finding("U50")
def test_bloated_line_holds_a_4k_video_alone_and_not_beside_an_upload(tmp_path: Path) -> None:
    found = _good_for(tmp_path, "30 Mb/s", "1 Mb/s", BLOATED)
    assert _video(found, "alone") == ("a 4K video", "4K", True)
    app, shown, met = _video(found, "an upload")
    assert (app, met) == ("a 4K video", False) and shown != "4K"
    assert f"a 4K video ({shown})" in found["text"].partition("beside an upload ")[2]


@pytest.mark.finding("U50")
def test_narrow_line_holds_a_video_of_fewer_lines_and_no_4k_one(tmp_path: Path) -> None:
    found = _good_for(tmp_path, "8 Mb/s", "2 Mb/s", {"kind": "fq-codel"})
    app, shown, met = _video(found, "alone")
    assert met and app == f"a {shown} video" and shown.endswith("p") and int(shown[:-1]) <= 1080
    assert "4K" not in found["text"]


def _target(app: str, shown: str, met: bool) -> Any:
    return {"app": app, "shown": shown, "felt_text": "0.4 s", "met": met}


@pytest.mark.parametrize("shown", ["2 stalls of 4.1 s in all", "does not start"])
def test_video_that_stalls_alone_is_named_as_what_the_link_is_not_good_for(shown: str) -> None:
    call = _target("a call", "MOS 4.3", True)
    loads = {name: [call, _target("a video", shown, False)] for name in ("alone", "a download", "an upload")}
    assert sentence(loads) == f"Good for a call, also beside a download and an upload, not for a video ({shown})."
