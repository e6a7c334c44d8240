"""The site's own parts: addresses of findings, files of guides, markers of generated parts."""

import re

import docsite
import guides
import pytest
import reference
from docsite import built, parts

from ackclock import _native
from ackclock.limitations import limitations, of_command
from tests.support import ROOT

PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_findings_have_an_address_each() -> None:
    page = parts.make("findings", [])
    named = {one["name"] for one in _native.findings()}
    reset = (ROOT / "crates/trace/src/flow/classify/reset.rs").read_text()
    variants = re.search(r"pub enum ResetKind \{(.*?)^\}", reset, flags=re.MULTILINE | re.DOTALL)
    assert variants is not None
    kinds = re.findall(r"^    ([A-Z]\w+),", variants[1], flags=re.MULTILINE)
    resets = {"reset_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower() for kind in kinds} - {"reset_refused"}
    titles = set(re.findall(r"^### (\w+)$", page, flags=re.MULTILINE))
    assert len(named) > 40
    assert resets <= named == titles


@pytest.mark.finding("U28")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_generated_parts_of_a_page_are_those_of_the_program(page) -> None:
    text = page.read_text("utf-8")
    assert "<!-- generated" not in reference.PART.sub("", text), "a part without its end"
    assert reference.renewed(text) == text, "`make reference` renews it"
    for marker in docsite.MARKER.finditer(text):
        if marker["name"] not in ("root", "more-pages"):
            assert parts.make(marker["name"], marker["arguments"].split()), marker[0]


@pytest.mark.finding("U42")
@pytest.mark.parametrize("command", sorted({name for one in limitations() for name in one.commands}))
def test_page_of_a_command_links_the_limitations_that_touch_its_verdict(command) -> None:
    target = parts.COMMAND_PAGES[command]
    if target.startswith(".."):
        return
    text = (ROOT / "docs/reference" / target).read_text("utf-8")
    assert all(f"(limitations.md#{one.name})" in text for one in of_command(command))


def test_generated_part_is_replaced_when_it_is_edited() -> None:
    part = "<!-- generated: keys ConstantRate -->\n"
    page = f"# A page\n\n{part}| stale |\n<!-- end -->\n\nAfter.\n"
    new = reference.renewed(page)
    assert "| `rate` |" in new and "stale" not in new and new.endswith("<!-- end -->\n\nAfter.\n")
    assert reference.renewed(new) == new


def test_links_outside_of_the_pages_lead_to_pages_of_sources() -> None:
    text = "See [`DropTail`](../crates/core/src/queue/droptail.rs), [home](../README.md), [x](compare.md#y)."
    linked = docsite.linked(text, ROOT / "docs")
    assert re.search(r'href="source/crates/core/src/queue/droptail.rs.html#line-\d+">`DropTail`</a>', linked)
    assert "[home](index.md)" in linked and "[x](compare.md#y)" in linked


def test_built_site_reports_dead_links_and_files_of_other_hosts(tmp_path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#two">x</a><a href="c.html">y</a><script src="https://x/y.js">')
    (tmp_path / "b.html").write_text('<h1 id="one">One</h1>')
    faults = built.faults(tmp_path)
    assert faults == [
        "a.html: loads https://x/y.js",
        "a.html: b.html#two has no such title",
        "a.html: c.html does not exist",
    ]


def test_guide_runs_in_a_folder_of_its_own_and_reports_other_output(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n\n```{code-block} toml\n:caption: a.toml\n\nx = 1\n```\n\n```{code-block} console\n$ cat a.toml\nx = 2\n```\n"
    )
    outcome = guides.run_page(page, ROOT, tmp_path / "first", update=False)
    assert outcome.commands == 1 and len(outcome.faults) == 1
    guides.run_page(page, ROOT, tmp_path / "second", update=True)
    assert "$ cat a.toml\nx = 1\n```" in page.read_text()
    assert not guides.run_page(page, ROOT, tmp_path / "third", update=False).faults
    page.write_text(page.read_text().replace("cat a.toml", "false"))
    assert "ends with status 1" in guides.run_page(page, ROOT, tmp_path / "fourth", update=False).faults[0]
