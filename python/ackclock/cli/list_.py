"""list: the names of links, variants, groups, hosts, Linux's rules, queues, workloads, metrics and
papers.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ackclock.cli.options import Json, Out, Quiet, Seed


class Kind(StrEnum):
    links = "links"
    variants = "variants"
    groups = "groups"
    hosts = "hosts"
    linux_rules = "linux-rules"
    queues = "queues"
    workloads = "workloads"
    metrics = "metrics"
    papers = "papers"


def list_(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    json: Json = False,
    out: Out = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """List links, variants, groups of variants, hosts, Linux's rules, queues, workloads, metrics or
    papers by name.
    """
    from ackclock import api
    from ackclock.cli.output import print_json, print_names
    from ackclock.input.link.names import names_of

    names = getattr(api, f"list_{kind.name}")()
    others = {name: names_of(name) for name in names} if kind is Kind.links else {}
    if json:
        rows = [{"name": name, "title": title} for name, title in names.items()]
        further = [{**row, "other_names": others[row["name"]]} for row in rows] if others else rows
        print_json({kind.name: further})
    elif others:
        print_names({name: f"{title}{_also(others[name])}" for name, title in names.items()})
    else:
        print_names(names)


def _also(others: list[str]) -> str:
    return f" (also: {', '.join(others)})" if others else ""
