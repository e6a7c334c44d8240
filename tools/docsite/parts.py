"""The generated parts of pages, by the name in their marker: keys, commands, catalogues, hosts."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Container, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ackclock.input.catalogue import Kind

ROOT = Path(__file__).resolve().parents[2]
PARTS: dict[str, Callable[..., str]] = {}


def make(name: str, arguments: list[str]) -> str:
    """The Markdown of a part. Raises KeyError for an unknown name."""
    return PARTS[name.replace("-", "_")](*arguments)


def part(function: Callable[..., str]) -> Callable[..., str]:
    """Register a function under its name."""
    PARTS[function.__name__] = function
    return function


def cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|")


def table(heads: list[str], rows: Iterator[list[str]] | list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(cell(one) for one in row) + " |" for row in rows)])


@part
def keys(where: str) -> str:
    """The keys of a table, such as `CoDel`."""
    return _keys(where)


@part
def kinds(where: str) -> str:
    """The keys of each kind of a table that Rust reads, such as `Queue`, each below its title."""
    from ackclock.input.checked_table import kinds as tables

    return "\n\n".join(f"### {kind}\n\n{_keys(table)}" for kind, table in tables(where).items())


@part
def own_keys(where: str) -> str:
    """The keys of a table that Rust reads beside those of [tcp]."""
    from docsite.keys import keys as keys_of

    return _keys(where, {key.name for key in keys_of("TcpKeys")})


def _keys(model: str, left_out: Container[str] = ()) -> str:
    from docsite.keys import keys as keys_of

    rows = []
    for key in keys_of(model):
        if key.name in left_out:
            continue
        meaning = [key.text]
        if key.limits and not (key.name == "kind" and ", " not in key.limits):
            meaning.append(f"Allowed: {plain(key.limits)}.")
        meaning.append(f"Example: `{key.name} = {key.example}`")
        default = key.default if key.default in ("required", "none") else code_or_words(key.default)
        rows.append([f"`{key.name}`", key.unit, default, "<br>".join(meaning)])
    return table(["key", "unit", "default", "meaning"], rows)


def plain(text: str) -> str:
    """Words of an error message, with values as code."""
    return re.sub(r'("[^"]*"|\{[^{}]*\}|\[\[?[^\[\]]*\]\]?)', r"`\1`", text.rstrip(".")).replace("``", "`")


def code_or_words(default: str) -> str:
    return f"`{default}`" if re.match(r'^("|\{|\[|-?\d+(\.\d+)?$|true$|false$)', default) else default


@part
def names(kind: str) -> str:
    """A catalogue of the engine or of files: name and what it is."""
    from ackclock import api
    from ackclock.input.variant_groups import GROUPS

    listed = getattr(api, f"list_{kind}")()
    if kind == "groups":  # The page is the same on each machine.
        listed["kernel"] = GROUPS["kernel"].title
    return table(["name", "what it is"], [[f"`{name}`", title] for name, title in listed.items()])


@part
def other_names() -> str:
    """Names by which people ask for packaged links."""
    from ackclock.input.link.names import other_names as listed

    rows = []
    for name, other in listed().items():
        further = ", ".join(f"`{one}`" for one in other.others)
        rows.append([f"`{name}`", f"`{other.link}`", further])
    return table(["name", "link", "others"], rows)


@part
def catalogue(kind: Kind) -> str:
    """The entries of the engine's catalogue with their sources."""
    from ackclock.input import catalogue as engine

    rows = [[f"`{one['name']}`", one["summary"], one["source"]] for one in engine.entries(kind)]
    return table(["name", "what it does", "source"], rows)


@part
def hosts() -> str:
    """Every key of [tcp] with its value in each host stack."""
    from ackclock.input import catalogue as engine
    from docsite.keys import keys as keys_of

    files = {name: _host(name) for name in engine.hosts()}
    rows = []
    for key in (row.name for row in keys_of("TcpKeys")):
        values = [files[name].get(key, "") for name in files]
        if any(values):
            rows.append([f"`{key}`", *(f"`{value}`" if value else "" for value in values)])
    return table(["key", *(f"`{name}`" for name in files)], rows)


def _host(name: str) -> dict[str, str]:
    from ackclock.input.catalogue import HOSTS
    from docsite.keys import toml

    file = tomllib.loads((HOSTS / f"{name}.toml").read_text("utf-8"))
    return {key: toml(value) for key, value in {**file.get("tuning", {}), **file["tcp"]}.items()}


@part
def columns(name: str) -> str:
    """The columns of a table of a run folder, of a run with two flows.

    Raises LookupError for a column without a text.
    """
    texts = tomllib.loads((Path(__file__).parent / "columns.toml").read_text("utf-8"))[name]
    present = _columns()[name]
    if missing := [column for column in present if column not in texts]:
        raise LookupError(f"columns.toml has no [{name}] {', '.join(missing)}")
    rows = [[f"`{column}`", texts[column][0], texts[column][1]] for column in present]
    return table(["column", "unit", "meaning"], rows)


@cache
def _columns() -> dict[str, list[str]]:
    import ackclock

    flows = [ackclock.Flow(workload=ackclock.Bulk(), direction=one) for one in ("down", "up")]
    run = ackclock.simulate("dsl-16m", flows, "30 s")
    return {"flows": run.flows.columns, "series": run.series.columns, "hops": run.hops.columns}


@part
def findings() -> str:
    """The findings of analyze, each below a title of its own."""
    return _explained("finding")


@part
def errors() -> str:
    """The codes of errors, each below a title of its own."""
    return _explained("error")


@part
def rules() -> str:
    """The rules of retransmissions by the kind that they give, each below a title of its own."""
    return _explained("rule")


@part
def words() -> str:
    """The words of tables and labels by group."""
    from ackclock.explanations import explanations

    groups: dict[str, list[list[str]]] = {}
    for one in explanations().values():
        if one.kind == "word":
            groups.setdefault(one.group, []).append([one.name, escaped(one.text)])
    return "\n\n".join(f"## {title}\n\n{table(['word', 'meaning'], rows)}" for title, rows in groups.items())


@part
def lints() -> str:
    """The lints of import by code."""
    from ackclock.link_import.lints import texts

    return table(["code", "what it is"], [[f"`{code}`", text] for code, text in sorted(texts().items())])


def _explained(kind: str) -> str:
    from ackclock.explanations import explanations

    done: list[str] = []
    group = ""
    entries = [one for one in explanations().values() if one.kind == kind]
    first = {one.group: number for number, one in reversed(list(enumerate(entries)))}
    for one in sorted(entries, key=lambda one: first[one.group]):
        if one.group != group:
            group = one.group
            done.append(f"## {group}")
        example = f"\n\n```\n{one.example}\n```" if one.example else ""
        source = f" {one.source}." if one.source else ""
        done.append(f"### {one.name}\n\n{one.text}{source}{example}")
    return "\n\n".join(done)


@part
def schemas() -> str:
    """The documents, with the command that prints the schema of each."""
    from ackclock.documents import DOCUMENTS, document_schema

    rows = []
    for name in sorted(DOCUMENTS):
        schema = document_schema(name)
        variants = [schema["$defs"][one["$ref"].rpartition("/")[2]] for one in schema.get("anyOf", [])] or [schema]
        fields = dict.fromkeys(field for variant in variants for field in variant["properties"])
        rows.append([f"`{name}`", ", ".join(f"`{field}`" for field in fields), f"`ackclock schema {name}`"])
    return table(["document", "fields", "types and meanings"], rows)


@part
def documents() -> str:
    """The fields of each document, from its schema."""
    from ackclock.documents import DOCUMENTS, document_schema

    done = []
    for name in sorted(DOCUMENTS):
        schema = document_schema(name)
        link = f'<a href="../schemas/{name}.schema.json">Schema</a>, or `ackclock schema {name}`'
        done.append(f"## {name}\n\n{schema.get('description', '')}\n\n{link}")
        tables = [("", schema), *schema.get("$defs", {}).items()]
        for title, one in tables:
            if rows := [
                [f"`{field}`", _type(what), what.get("description", "")]
                for field, what in one.get("properties", {}).items()
            ]:
                head = f"### {name}: {title}\n\n{one.get('description', '')}\n\n" if title else ""
                width = 3 if any(row[2] for row in rows) else 2
                done.append(head + table(["field", "type", "meaning"][:width], [row[:width] for row in rows]))
    return "\n\n".join(done)


def _type(what: dict[str, Any]) -> str:
    """A field's type in a few words."""
    if "$ref" in what:
        return str(what["$ref"]).rpartition("/")[2]
    if options := what.get("anyOf"):
        return " or ".join(dict.fromkeys(_type(one) for one in options))
    if values := what.get("enum"):
        return ", ".join(json.dumps(value) for value in values)
    if "const" in what:
        return json.dumps(what["const"])
    if what.get("type") == "array":
        return f"list of {_type(what.get('items', {}))}"
    return str(what.get("type", "any"))


@part
def limitations() -> str:
    """What is not modelled, each below a title of its own, with the commands that it touches."""
    from ackclock.limitations import limitations as listed

    done = []
    for one in listed():
        touched = ", ".join(f"[`{name}`]({COMMAND_PAGES.get(name, 'commands.md')})" for name in one.commands)
        done.append(f"### {one.name}\n\n{one.text}" + (f"\n\nTouches {touched}." if touched else ""))
    return "\n\n".join(done)


@part
def touched(command: str) -> str:
    """Links to the limitations that touch the verdict of a command, from docs/reference."""
    from ackclock.limitations import of_command

    links = [f"[{one.name}](limitations.md#{one.name})" for one in of_command(command)]
    return f"What its verdict does not know: {', '.join(links)}."


COMMAND_PAGES = {
    name: f"{name}.md" for name in ("compare", "advise", "analyze", "fit", "measure", "emulate", "diff", "packetdrill")
} | {"sweep": "sweeps.md", "simulate": "scenario.md", "reproduce": "../guides/reproduce.md"}
"""The pages of commands, from docs/reference."""


@part
def left_out() -> str:
    """Links to what each page of a model leaves out."""
    links = []
    for page in sorted((ROOT / "docs" / "models").glob("*.md")):
        content = page.read_text("utf-8")
        found = re.search(r"^## (Left out[^\n]*)$", content, re.MULTILINE)
        title = re.search(r"^# (.*)$", content, re.MULTILINE)
        if found and title:
            anchor = re.sub(r"[^\w\- ]", "", found[1].lower()).replace(" ", "-")
            links.append(f"[{title[1]}](../models/{page.name}#{anchor})".replace(" ", "\0"))
    text = textwrap.fill(", ".join(links) + ".", 100, break_long_words=False, break_on_hyphens=False)
    return text.replace("\0", " ")


@part
def citation() -> str:
    """CITATION.cff, and the same for BibTeX."""
    from importlib.metadata import version

    cff = (ROOT / "CITATION.cff").read_text("utf-8")
    title = re.search(r'^title: "(.*)"$', cff, re.MULTILINE)
    bibtex = (
        f"@software{{ackclock,\n  author  = {{{{The ackclock contributors}}}},\n  title   = {{{title[1] if title else ''}}},\n"
        f"  version = {{{version('ackclock')}}}\n}}"
    )
    return f"```bibtex\n{bibtex}\n```\n\nThe file `CITATION.cff`:\n\n```yaml\n{cff}```"


@part
def commands() -> str:
    """Every command with its arguments and options."""
    import typer

    from ackclock.cli.app import app

    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return "\n\n".join(_command(name, command) for name, command in group.commands.items())


def _command(name: str, command: Any) -> str:
    import typer

    from ackclock.cli.help import record_of

    context = typer.Context(command, info_name=f"ackclock {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    text = textwrap.dedent(inspect.cleandoc(command.help or "")).replace("\f", "").replace("\b\n", "")
    rows = []
    for parameter in command.params:
        names, meaning = record_of(parameter, context) or ("", "")
        if names and not getattr(parameter, "hidden", False):
            rows.append([" ".join(f"`{one}`" for one in names.split("  ") if one), escaped(meaning)])
    return f"## {name}\n\n```text\nackclock {name} {usage}\n```\n\n{escaped(text)}\n\n" + table(
        ["argument or option", "meaning"], rows
    )


def escaped(text: str) -> str:
    """Plain text as Markdown: brackets and asterisks are themselves."""
    return re.sub(r"([\[\]<>*])", r"\\\1", text)
