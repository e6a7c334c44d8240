"""The site's search answers questions of users with the page that answers them, by the function
that the site runs (docs/_static/search.js).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from typing import Any

import pytest
from docsite import pages, search

from tests.support import ROOT

NODE = shutil.which("node") or shutil.which("nodejs")
SCRIPT = ROOT / "docs/_static/search.js"
QUESTIONS = {
    "is it my wifi or my line": "guides/wifi-or-line.html",
    "my dsl has a big buffer, what should I change?": "guides/what-to-change.html",
    "my video call stutters during an upload": "guides/what-to-change.html",
    "which tcp for starlink": "guides/choose.html",
    "why is my download slow? I have a wireshark capture": "guides/slow-capture.html",
    "run curl or a browser behind a slow link": "guides/emulate.html",
    "test my own congestion control against cubic": "guides/own-control.html",
    "figure for a paper": "guides/plots.html",
    "thousands of runs on a cluster": "guides/many-runs.html",
    "does it work on windows or a mac?": "start/without-linux.html",
    "how do I install it": "start/install.html",
    "can I trust the results, how accurate is it?": "evidence/README.html",
    "what does it not model": "reference/limitations.html",
    "what does zero_window_stall mean": "reference/findings.html",
    "use my tc netem script": "guides/import.html",
    "which shaper for lte": "guides/autorate.html",
    "make a link file from two captures": "guides/fit.html",
    "results as pandas or polars dataframe": "reference/python.html",
    "notebooks for a course": "guides/notebooks/README.html",
}


@cache
def index() -> dict[str, Any]:
    return search.index(search.entries())


def ranked(of: dict[str, Any], questions: list[str]) -> list[list[str]]:
    """For each question the addresses of the pages, best first, by search.js."""
    if NODE is None:
        pytest.skip("search.js needs node here; the site's readers have a browser")
    run = (
        "const { index, questions } = JSON.parse(require('fs').readFileSync(0));"
        f"const {{ rank }} = require({json.dumps(str(SCRIPT))});"
        "console.log(JSON.stringify(questions.map((one) => rank(index, one).map((page) => page.address))));"
    )
    given = json.dumps({"index": of, "questions": questions})
    done = subprocess.run([NODE, "-e", run], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.finding("U42")
def test_question_of_a_user_has_its_page_at_the_first_hit() -> None:
    first = [hits[0] for hits in ranked(index(), list(QUESTIONS))]
    assert dict(zip(QUESTIONS, first, strict=True)) == QUESTIONS


def test_question_without_a_word_of_the_pages_finds_nothing() -> None:
    assert ranked(index(), ["zyxwvut", "", "xqzj wombat"]) == [[], [], []]


def test_question_finds_another_page_when_its_page_is_not_there() -> None:
    rest = search.index([one for one in search.entries() if one.address != "guides/wifi-or-line.html"])
    (hits,) = ranked(rest, ["is it my wifi or my line"])
    assert hits[0] != "guides/wifi-or-line.html" and hits


def test_plurals_and_hyphens_find_the_same_pages() -> None:
    singular, plural, joined = ranked(index(), ["capture wifi", "captures wi-fi", "Capture WLAN"])
    assert singular[0] == plural[0] == joined[0]


READ_FIRST = [page for page in pages.pages() if page.name.split("/")[0] in ("start", "guides", "concepts", "reference")]


@pytest.mark.parametrize("page", READ_FIRST, ids=lambda page: page.name)
def test_page_has_a_title_and_a_first_sentence(page: pages.PageSource) -> None:
    assert page.title and 15 <= len(page.summary) <= 500, page.summary
