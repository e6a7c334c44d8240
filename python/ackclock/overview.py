"""A link, a scenario or a run in one screen: `ackclock show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from ackclock.errors import InputError
from ackclock.format import ABSENT, many, milliseconds, rate, setting_text, three
from ackclock.input.document import Document, read_document
from ackclock.input.link.bottleneck import bdp_bytes, slowest_bps
from ackclock.input.link.hop import DIRECTIONS, PER_DIRECTION, Hop, base_rtt_ps
from ackclock.input.scenario.draft import Draft, find_link, no_link, read_draft
from ackclock.input.scenario.resolution import resolved
from ackclock.terminal import first_that_fits, text_table

if TYPE_CHECKING:
    from rich.table import Table

    from ackclock.documents.fit import FittedLink
    from ackclock.documents.parts import Direction
    from ackclock.simulation.good_for import GoodFor

_COLUMNS = ("rate", "delay", "queue")
"""Properties of a hop with a column of their own."""
_BULK = {"duration": "10 s", "flow": [{"workload": {"kind": "bulk"}}]}
"""Turns a link into a scenario, whose check is the link's."""
_SOURCE = "Source:"
"""What the sentence of a link's source begins with."""
_REST = "`--all` prints every key."
MAX_HOPS, MAX_FLOWS, MIN_ROWS = 8, 6, 4
"""Rows of hops and of flows on a screen."""
_USUAL = {"direction": "down", "count": 1, "start": "0 s"}
"""Values of a flow that need no mention."""


class Bottleneck(TypedDict):
    """The smallest rate of a direction, None without a rate, and the bandwidth-delay product."""

    bottleneck_bps: float | None
    bdp_bytes: float | None


class OverviewDocument(TypedDict):
    """What `show --json` prints. `hops` are as a link file has them, `base_rtt_ms` is without
    queues; a scenario has all its defaults, a link what it is good for, and a fitted one its
    parameters.
    """

    kind: str
    name: str
    title: str
    source: str
    base_rtt_ms: float
    directions: dict[Direction, Bottleneck]
    hops: Sequence[Mapping[str, Any]]
    tunnels: NotRequired[Sequence[Mapping[str, Any]]]
    fit: NotRequired[FittedLink]
    good_for: NotRequired[GoodFor]
    scenario: NotRequired[Mapping[str, Any]]
    sweep: NotRequired[Mapping[str, Sequence[object]] | None]
    runs: NotRequired[int]


@dataclass(frozen=True)
class Overview:
    """What a link file or a scenario says, with its defaults.

    Attributes:
        kind: "link" or "scenario".
        name: as it was asked for.
        document: what `show --json` prints.
        draft: the scenario, of a link one over it.
    """

    kind: str
    name: str
    document: OverviewDocument
    draft: Draft = field(repr=False)

    def with_good_for(self) -> Overview:
        """With what a link is good for, by runs of a second or two; a scenario, and a link with a
        proxy, over which a household does not run, as it is.
        """
        from ackclock.simulation.good_for import good_for

        if self.kind != "link" or any(hop.pep for hop in self.draft.check().hop):
            return self
        return replace(self, document={**self.document, "good_for": good_for(self.draft)})

    def tables(self) -> list[Table]:
        """Every key, for the terminal."""
        rows = list(_rows(self.document))
        further = [f"{_where(row)}: {'; '.join(keys.values())}" for *row, keys in rows if keys]
        hops = self._hops(rows)
        hops.caption = "\n".join([*further, *_sentences(self.document)])
        return [hops, *_flows(self.document)]

    def screen(self) -> tuple[list[Table], list[str]]:
        """As much as fits 80 columns and 24 lines: tables, and the sentences below them, with what
        the link is good for last.
        """
        document = self.document
        rows = list(_rows(document))
        further = [(_where(row), keys) for *row, keys in rows if keys]
        facts = list(_sentences(document))
        without_source = [fact for fact in facts if not fact.startswith(_SOURCE)]
        whole = [f"{where}: {'; '.join(keys.values())}" for where, keys in further]
        named = [f"{where}: also {', '.join(keys)}." for where, keys in further]
        # What is left out first where the screen is too small for all.
        choices = [(MAX_HOPS, MAX_FLOWS, [*whole, *facts])]
        for hops, flows in ((MAX_HOPS, MAX_FLOWS), (MIN_ROWS, MIN_ROWS)):
            kept = ([*whole, *without_source], [*named, *facts], [*named, *without_source], without_source)
            choices += [(hops, flows, [_REST, *lines]) for lines in kept]
        return first_that_fits(
            ([self._hops(rows[:hops]), *_flows(document, flows)], lines) for hops, flows, lines in choices
        )

    def _hops(self, rows: Sequence[_Row]) -> Table:
        title = f"{self.name}: {self.document['title']}" if self.document["title"] else self.name
        table = text_table(title, ["hop", "direction", "rate", "delay", "queue"], [])
        for *row, _ in rows:
            table.add_row(*row)
        return table


def overview(name: str) -> Overview:
    """The overview of a packaged link, a link file or a scenario file.

    Raises:
        InputError: there is none of that name, or it is not valid.

    >>> overview("dsl-16m").document["directions"]["down"]["bottleneck_bps"]
    16000000.0
    """
    path = find_link(name, Path())
    if path is None:
        wrong = no_link(name, Path())
        raise InputError(wrong.found, f"a run folder, a scenario file, {wrong.allowed}", key="NAME")
    document = read_document(path)
    is_link = "flow" not in document.data and "link" not in document.data
    # A link is relative to the folder of the document that names it.
    draft = Draft(Document({**_BULK, "link": path.name}, str(path))) if is_link else read_draft(path)
    scenario = draft.check(draft.points()[0])
    shown = resolved(scenario)
    described: OverviewDocument = {
        "kind": "link" if is_link else "scenario",
        "name": name,
        "title": scenario.title,
        "source": scenario.source,
        "base_rtt_ms": base_rtt_ps(scenario.hop) / 1e9,
        "directions": {"down": _bottleneck(scenario.hop, "down"), "up": _bottleneck(scenario.hop, "up")},
        "hops": shown["hop"],
    }
    if tunnels := shown.get("tunnel"):
        described["tunnels"] = tunnels
    if is_link:
        if fitted := document.data.get("fit"):
            described["fit"] = fitted
    else:
        described["scenario"] = {key: value for key, value in shown.items() if key != "hop"}
        described["sweep"] = document.data.get("sweep") or None
        described["runs"] = len(draft.points()) * len(scenario.seeds)
    return Overview(described["kind"], name, described, draft)


def _bottleneck(hops: Sequence[Hop], direction: str) -> Bottleneck:
    slowest = slowest_bps(hops, direction)
    return {
        "bottleneck_bps": None if slowest is None else float(slowest),
        "bdp_bytes": bdp_bytes(hops, direction),
    }


_Row = tuple[str, str, str, str, str, Mapping[str, str]]
"""Hop, direction, rate, delay, queue, and the texts of the other keys."""


def _where(row: Sequence[str]) -> str:
    hop, direction, *_ = row
    return hop if direction == "both" else f"{hop} {direction}"


def _rows(document: OverviewDocument) -> Iterator[_Row]:
    """A row for each direction of each hop; one for both if they are equal."""
    for hop in document["hops"]:
        sides: dict[str, tuple[str, str, str, Mapping[str, str]]] = {}
        for direction in [hop["only"]] if "only" in hop else DIRECTIONS:
            own = {key: value for key, value in hop.items() if key not in ("name", "only")}
            for key in PER_DIRECTION:
                value = own.get(key)
                if isinstance(value, Mapping) and value and set(value) <= set(DIRECTIONS):
                    own[key] = value.get(direction)
            if isinstance(slots := own.get("slots"), Mapping):
                rates = slots["rate"].get(direction) if isinstance(slots["rate"], Mapping) else slots["rate"]
                own["rate"] = f"{rates[0]} to {rates[-1]}" if isinstance(rates, list) else rates
                own["slots"] = {key: value for key, value in slots.items() if key != "rate"}
            if isinstance(queue := own.get("queue"), Mapping):
                # A droptail queue says by its kind how it drops.
                own["queue"] = {key: value for key, value in queue.items() if (key, value) != ("drop", "tail")}
            texts = {key: setting_text(value) for key, value in own.items() if value not in ABSENT}
            rest = {key: f"{key}: {text}" for key, text in texts.items() if key not in _COLUMNS}
            rate, delay, queue = (texts.get(key, "-") for key in _COLUMNS)
            sides[direction] = (rate, delay, queue, rest)
        first, *others = sides.values()
        if others == [first]:
            sides = {"both": first}
        for direction, side in sides.items():
            yield (hop["name"], direction, *side)


def _sentences(document: OverviewDocument) -> Iterator[str]:
    for tunnel in document.get("tunnels", ()):
        keys = {key: value for key, value in tunnel.items() if key != "over"}
        yield f"Tunnel over {', '.join(tunnel['over'])}: {setting_text(keys)}."
    if document["source"]:
        yield f"{_SOURCE} {document['source']}."
    yield f"RTT without queues and transmission times: {milliseconds(document['base_rtt_ms'])}."
    for direction, found in document["directions"].items():
        if found["bottleneck_bps"]:
            yield (
                f"Bottleneck {direction}: {rate(found['bottleneck_bps'])}, bandwidth-delay product "
                f"{three((found['bdp_bytes'] or 0.0) / 1000)} kB."
            )
        else:
            yield f"No rate limits the direction {direction}."
    if fit := document.get("fit"):
        known = [one for one in fit.get("parameters", ()) if one.get("status") == "identified"]
        yield f"Fitted to captures: {len(known)} parameters are identified; `[fit]` in the file has their intervals."
    if "scenario" in document:
        of = document["scenario"]
        seeds = len(of["seeds"])
        runs = document["runs"]
        yield f"{runs} run{'s' * (runs != 1)} of {of['duration']}: {seeds} seed{'s' * (seeds != 1)} of each setting."
        if sweep := document["sweep"]:
            swept = ", ".join(f"`{path}` ({len(values)} values)" for path, values in sweep.items())
            yield f"Sweep over {swept}; shown is the first setting."
    if good := document.get("good_for"):
        yield f"Today: {good['text'][:1].lower()}{good['text'][1:]}"


def _flows(document: OverviewDocument, rows: int | None = None) -> list[Table]:
    """The first flows of a scenario, all without `rows`."""
    if "scenario" not in document:
        return []
    shared = document["scenario"]["tcp"]
    table = text_table("Flows", ["flow", "workload", "variant", "receive buffer", "further keys"], [])
    flows = document["scenario"]["flow"]
    for flow in flows[:rows]:
        tcp = {**shared, **flow}
        further = {
            key: value
            for key, value in flow.items()
            if key not in ("name", "workload", "variant", "receive_buffer")
            and value not in ABSENT
            and _USUAL.get(key) != value
        }
        is_udp = "segment" not in tcp or flow["workload"].get("kind") in (
            "cbr",
            "onoff",
            "call",
            "conference",
            "game",
            "probe",
        )
        table.add_row(
            flow["name"],
            setting_text(flow["workload"]),
            "-" if is_udp else str(tcp.get("variant", "-")),
            "-" if is_udp else setting_text(tcp.get("receive_buffer", "-")),
            setting_text(further) or "-",
        )
    if rows is not None and (left := len(flows) - rows) > 0:
        table.caption, table.caption_justify = f"{many(left, 'further flow')}.", "left"
    return [table]
