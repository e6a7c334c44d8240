"""Links, commands, console blocks and code of the documents."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ackclock.input import catalogue
from tests.docs.test_paths import tree
from tests.support import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def prose(document: Path) -> str:
    """The text without its code blocks, whose brackets are no links."""
    return re.sub(r"^```.*?^```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def links(document: Path) -> list[str]:
    text = prose(document)
    found = [
        *re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text),
        *re.findall(r"^\[[^\]]+\]: (\S+)$", text, flags=re.MULTILINE),
    ]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(document: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", prose(document), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.finding("U28")
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_document_links_lead_to_files_in_git_and_titles_in_them(document: Path) -> None:
    missing = []
    for link in links(document):
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        in_git = target.is_relative_to(ROOT) and str(target.relative_to(ROOT)) in {*tree(), "."}
        if not in_git or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            missing.append(link)
    assert not missing


def test_readme_begins_with_make_demo_and_make_test() -> None:
    """In its first block that shows no output."""
    block = re.search(r"\n\n```\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    assert block is not None
    commands = [line.split("#")[0].strip() for line in block[1].splitlines()]
    assert commands == ["make demo", "make test"]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_make_targets_in_documents_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", document.read_text(), flags=re.MULTILINE))
    assert {a or b for a, b in named} <= targets


PRINTED = re.compile(r"^```console\n|^<!-- printed by", flags=re.MULTILINE)
WITH_BLOCKS = [document for document in DOCUMENTS if PRINTED.search(document.read_text())]
LOOP = ROOT / "docs/start/overview.md"
"""Its commands fit a link to captures and advise changes of it: minutes."""


def test_documents_with_console_blocks_are_found() -> None:
    assert {document.name for document in WITH_BLOCKS} >= {"README.md", "accuracy.md", "performance.md", LOOP.name}


@pytest.mark.finding("U7")
@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([one for one in WITH_BLOCKS if one != LOOP], id="all but the loop"),
        pytest.param([LOOP], id="the loop", marks=pytest.mark.slow),
    ],
)
def test_console_blocks_are_what_their_commands_print(documents: list[Path]) -> None:
    command = [sys.executable, str(ROOT / "tools" / "tour.py"), "--check", *map(str, documents)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.finding("U7")
def test_tour_check_fails_when_a_block_is_edited(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```console\n$ echo 4.50\n```\n")
    tour = [sys.executable, str(ROOT / "tools" / "tour.py")]
    assert subprocess.run([*tour, "--check", page], capture_output=True, check=False).returncode == 1, "no date"
    subprocess.run([*tour, page], capture_output=True, check=True)
    assert subprocess.run([*tour, "--check", page], capture_output=True, check=False).returncode == 0
    assert re.search(r"\*Made by `echo 4.50` on \d{4}-\d\d-\d\d; .*load \d", page.read_text())
    page.write_text(page.read_text().replace("\n4.50", "\n4.52"))
    assert subprocess.run([*tour, "--check", page], capture_output=True, check=False).returncode == 1, "edited"


@pytest.mark.finding("U7")
def test_tour_renews_a_printed_part_with_date_and_digest(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Before.\n<!-- printed by: echo '| a |' -->\n| b |\n<!-- end -->\nAfter.\n")
    tour = [sys.executable, str(ROOT / "tools" / "tour.py")]
    assert subprocess.run([*tour, "--check", page], capture_output=True, check=False).returncode == 1, "no date"
    for _ in range(2):
        subprocess.run([*tour, page], capture_output=True, check=True)
        assert re.search(
            r"-->\n\*Made by .*digest [0-9a-f]{12}\.\*\n\n\| a \|\n<!-- end -->\nAfter\.\n$", page.read_text()
        )
    assert subprocess.run([*tour, "--check", page], capture_output=True, check=False).returncode == 0
    page.write_text(page.read_text().replace("| a |\n<", "| c |\n<"))
    assert subprocess.run([*tour, "--check", page], capture_output=True, check=False).returncode == 1, "edited"


def test_tour_keeps_a_part_whose_command_cannot_run_here(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "<!-- printed by: exit 77 -->\n| b |\n<!-- end -->\n<!-- printed by: echo new -->\n| b |\n<!-- end -->\n"
    page.write_text(text)
    tour = [sys.executable, str(ROOT / "tools" / "tour.py")]
    done = subprocess.run([*tour, page], capture_output=True, text=True, check=True)
    assert "left as it is: exit 77" in done.stderr
    assert page.read_text().startswith("<!-- printed by: exit 77 -->\n| b |\n<!-- end -->\n")
    assert "\n\nnew\n<!-- end -->" in page.read_text()


def test_lock_pins_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [
        *project["project"]["dependencies"],
        *extras["plot"],
        *extras["report"],
        *project["dependency-groups"]["dev"],
    ]
    pinned = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))
    assert {re.split(r"[<>=\[]", name)[0] for name in wanted} <= pinned


@pytest.mark.finding("U25")
def test_container_makes_the_wheel_and_documents_name_its_stages() -> None:
    container = (ROOT / "packaging" / "Containerfile").read_text()
    install = (ROOT / "docs" / "start" / "install.md").read_text()
    stages = re.findall(r"^FROM \S+ AS (\w+)", container, flags=re.MULTILINE)
    assert set(re.findall(r"--target (\w+)", container + install)) <= set(stages)
    assert set(re.findall(r"--from=(\w+)|from=(\w+)", container)) <= {("build", ""), ("", "build")}
    assert re.search(r"^RUN make wheel$", container, flags=re.MULTILINE)
    assert "make wheel" in install and "packaging/Containerfile" in install


@pytest.mark.finding("U27")
def test_readme_fits_two_screens_and_links_the_limitations() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) < 700 and "(docs/reference/limitations.md)" in text
    for file in re.findall(r'(?:src|srcset)="([^"]+)"', text):
        assert (ROOT / file).is_file()


def test_overview_python_runs(tmp_path: Path) -> None:
    overview = ROOT / "docs" / "start" / "overview.md"
    block = re.search(r"```python\n(.*?)```", overview.read_text(), flags=re.DOTALL)
    assert block is not None
    done = subprocess.run([sys.executable, "-c", block[1]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "runs" / "first" / "report.html").exists()


def page_of(name: str) -> str:
    """The page under docs/models that covers a variant or a recovery."""
    shared = {"newreno": "newreno", "westwood+": "westwood", "westwood-ns2": "westwood", "vegas-original": "vegas"}
    shared |= {"bic-paper": "bic", "bic-2.6.8": "bic", "ledbat++": "ledbat-pp", "tcp-linux": "rate-halving"}
    return shared.get(name, name)


@pytest.mark.parametrize("kind", ["variants", "recoveries", "slow_starts", "linux_rules"])
def test_catalogue_entries_have_pages_with_their_checks(kind: catalogue.Kind) -> None:
    folder = ROOT / "docs" / "models"
    index = (folder / "README.md").read_text()
    for entry in catalogue.entries(kind):
        page = kind.replace("_", "-") if kind in ("slow_starts", "linux_rules") else page_of(entry["name"])
        text = (folder / f"{page}.md").read_text()
        assert f"({page}.md)" in index, f"{page} is not in the index"
        assert f"`{entry['name']}`" in text or f'"{entry["name"]}"' in text, f"{page}.md does not name {entry['name']}"
        assert re.search(r"checked", text, flags=re.IGNORECASE), f"{page}.md does not say how it was checked"
        assert entry["summary"] and entry["source"], entry


SECTIONS = {"What it does", "Parameters", "Left out", "How it was checked"}


STACKS = {**catalogue.hosts(), **catalogue.quic_stacks()}


@pytest.mark.parametrize("host", STACKS)
def test_hosts_have_pages_with_their_source(host: str) -> None:
    folder = ROOT / "docs" / "models"
    text = (folder / f"host-{host}.md").read_text()
    assert f'`host = "{host}"`' in text and f"hosts/{host}.toml" in text
    assert {"What makes its results", "Left out", "How it was checked"} <= titles(text)
    for index in ("README.md", "hosts.md"):
        assert f"(host-{host}.md)" in (folder / index).read_text()
    title, _, source = STACKS[host].partition(". Source: ")
    assert title and source


def titles(text: str) -> set[str]:
    return set(re.findall(r"^## (.*)$", text, flags=re.MULTILINE))


@pytest.mark.parametrize("variant", catalogue.variants())
def test_variant_pages_have_equations_parameters_omissions_and_checks(variant: str) -> None:
    text = (ROOT / "docs" / "models" / f"{page_of(variant)}.md").read_text()
    assert {title.split(",")[0] for title in titles(text)} >= SECTIONS, SECTIONS - titles(text)
    assert re.search(r"^    \S|^\|", text, flags=re.MULTILINE), "no equation and no table"


@pytest.mark.parametrize("kind", ["variants", "hosts"])
def test_list_lines_have_summary_and_source(kind: str) -> None:
    from ackclock import api

    for name, line in getattr(api, f"list_{kind}")().items():
        output, _, source = line.partition("Source: ")
        assert len(output) > 10 and len(source) > 3, f"{name}: {line}"


def commands_named(document: Path) -> set[str]:
    """Every `ackclock VERB ARGUMENT..` of a document, inline or in a block, without comments, pipes
    and what follows `--`.
    """
    text = document.read_text()
    inline = re.findall(r"`(?:sudo )?(?:\.venv/bin/)?(ackclock [a-z][a-z-]* [^`]+)`", text)
    fenced = "".join(re.findall(r"^```[^\n]*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))
    indented = "\n".join(re.findall(r"^    (.*)$", text, flags=re.MULTILINE))
    lines = re.findall(
        r"^(?:\$ )?(?:sudo )?(?:\.venv/bin/)?(ackclock [a-z][a-z-]* .+)$", f"{fenced}\n{indented}", flags=re.MULTILINE
    )
    # Not what the shell writes a part of, and not a usage.
    plain = [command for command in [*inline, *lines] if "$(" not in command and "[OPTIONS]" not in command]
    return {re.split(r"\s+#\s|\s*\|\|?\s|\s--(?=\s)|\s+>\s", command)[0] for command in plain}


FOLDERS = ("docs", *(f"docs/{room}" for room in ("start", "guides", "concepts", "reference", "evidence", "inside")))
GUIDES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for one in FOLDERS for page in sorted(ROOT.glob(f"{one}/*.md"))),
]


@pytest.mark.parametrize("document", GUIDES, ids=lambda path: path.name)
def test_commands_in_documents_parse(document: Path) -> None:
    import typer

    from ackclock.cli.app import app

    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    refused = []
    for command in sorted(commands_named(document)):
        _, verb, *words = shlex.split(re.sub(r"\b[A-Z]{1,2}\b", "1", command))  # N, MB: a number goes there
        try:
            group.commands[verb].make_context(verb, words)
        except Exception as error:
            refused.append(f"{command}: {error}")
    assert not refused


@pytest.mark.finding("N2")
def test_journey_names_the_event_loop_and_both_drivers_that_call_it() -> None:
    inside = ROOT / "docs" / "inside"
    journey = (inside / "journey.md").read_text()
    loop = journey[journey.index("### The event loop") : journey.index("### Out: a data packet")]
    assert "run_until" in loop
    assert "pub fn run_until" in (ROOT / "crates" / "core" / "src" / "network" / "event_loop.rs").read_text()
    drivers = [(inside / link).resolve() for link in re.findall(r"\(([^()]+(?:run|bridge)\.rs)\)", loop)]
    assert len(drivers) == 2
    for driver in drivers:
        assert "run_until(" in driver.read_text()
    sources = (ROOT / "crates").glob("*/src/**/*.rs")
    assert not [path for path in sources if re.search(r"trait Clock\b|enum Waited\b", path.read_text())]
