"""The document of an analysis, made a part at a time: of 100,000 flows it is a gigabyte of text."""

from __future__ import annotations

import json
import mmap
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.analysis.diagnosis import Diagnosis, thresholds
from ackclock.analysis.diagnosis.capture_context import CaptureContext, Flow
from ackclock.analysis.summary import SummaryBuilder, worst_flows
from ackclock.errors import InputError
from ackclock.storage.stored_files import parsed, read_json, read_table

if TYPE_CHECKING:
    import polars as pl

BATCH = 256
"""Flows whose text is in memory at once."""
ROWS = 2048
"""Rows of the table of flows that are read at once."""


class CaptureDocument(ABC):
    """The document of `ackclock analyze --json`, as a whole or in parts
    (docs/reference/analyze.md).
    """

    head: dict[str, Any]
    """The document without flows: `flows` is empty."""

    @property
    @abstractmethod
    def numbers(self) -> Sequence[int]:
        """The numbers of the flows in it."""

    @abstractmethod
    def largest(self, count: int) -> list[int]:
        """The numbers of the flows with most bytes, ascending."""

    @abstractmethod
    def summary(self) -> Mapping[str, Any]:
        """`summary` of the document; empty in a run folder of an earlier version."""

    def worst(self, count: int) -> list[int]:
        """The numbers of the flows with most time lost first, then of those with most
        retransmissions, then of the largest.
        """
        listed = frozenset(self.numbers)
        worst = [number for number in worst_flows(self.summary()) if number in listed]
        return list(dict.fromkeys([*worst, *self.largest(count)]))[:count]

    @abstractmethod
    def largest_udp(self, count: int) -> list[dict[str, Any]]:
        """The UDP flows with most bytes, the largest first."""

    @abstractmethod
    def whole(self) -> dict[str, Any]:
        """The document with all flows. It takes about 90 KB of memory a flow."""

    @abstractmethod
    def part(self, numbers: Iterable[int]) -> dict[str, Any]:
        """The document of some flows. Of the second capture it has these flows only, and
        `partners` counts in its own lists.
        """

    @abstractmethod
    def json_text(self) -> Iterator[bytes]:
        """The whole document as JSON text in pieces: indented by 2, with a line for each flow."""

    @abstractmethod
    def flows_frame(self) -> pl.DataFrame:
        """One row for each flow, without lists (histograms, findings)."""


class LiveDocument(CaptureDocument):
    """The document of the packets that a reader has read so far.

    Args:
        reader: the engine's reader of one capture or of two; reading on makes the document invalid.
        captures: the path of each.
        flow: only this flow, by its number or one of its ends (`ADDRESS:PORT`).

    Raises:
        InputError: there is no such flow.
    """

    def __init__(self, reader: Any, captures: Sequence[str], flow: int | str | None = None) -> None:
        self._report = reader.report(thresholds())
        self._counts: tuple[int, int] = self._report.counts()
        self._to_diagnose = frozenset(self._report.to_diagnose())
        self.head = {"capture": captures[0], **json.loads(self._report.head())}
        if len(captures) > 1:
            self.head["second"] = {"capture": captures[1], **self.head["second"]}
        self._capture = _LiveContext(self._report, self.head)
        self._diagnosis = Diagnosis(self._capture)
        self._numbers: Sequence[int] = range(1, self._counts[0] + 1)
        if flow is not None:
            self._numbers = self._selected(str(flow))

    def _selected(self, wanted: str) -> Sequence[int]:
        number = int(wanted) if wanted.isascii() and wanted.isdigit() else 0
        selected = [number] if str(number) == wanted and number in self._numbers else self._report.with_end(wanted)
        if not selected:
            count = self._counts[0]
            allowed = f"a number from 1 to {count}, or an end as ADDRESS:PORT" if count else "nothing: no flows here"
            raise InputError(f'"{wanted}"', allowed, file=self.head["capture"], option="--flow")
        return selected

    @property
    def numbers(self) -> Sequence[int]:
        return self._numbers

    def largest(self, count: int) -> list[int]:
        if len(self._numbers) <= count:
            return list(self._numbers)
        if isinstance(self._numbers, range):
            largest: list[int] = self._report.largest(count)
            return largest
        bytes_of = {number: int(self._capture.flow(number)["bytes"]) for number in self._numbers}
        return sorted(sorted(bytes_of, key=lambda number: -bytes_of[number])[:count])

    def summary(self) -> Mapping[str, Any]:
        """Made by a diagnosis of all flows, unless the text has been made before."""
        if "verdict" not in self.head["summary"]:
            builder = SummaryBuilder(self.head)
            for number in self._numbers:
                if number in self._to_diagnose:
                    flow = self._capture.flow(number)
                    builder.add(flow, self._diagnosis.of(flow), self._diagnosis.contexts_of(flow))
            self.head["summary"] = builder.result()
        summary: Mapping[str, Any] = self.head["summary"]
        return summary

    def largest_udp(self, count: int) -> list[dict[str, Any]]:
        return self._udp_flows(self._report.largest_udp(count))

    def _udp_flows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        flows: list[dict[str, Any]] = json.loads(b"[" + self._report.udp_text(numbers) + b"]")
        return flows

    def whole(self) -> dict[str, Any]:
        self.summary()
        udp_flows = self._udp_flows(range(self.head["udp"]["flows"]))
        document = {**self.head, "flows": list(self._flows(self._numbers)), "udp_flows": udp_flows}
        if "second" in self.head:
            others = [self._capture.second_flow(number) for number in range(1, self._counts[1] + 1)]
            document["second"] = {**self.head["second"], "flows": others}
        return document

    def part(self, numbers: Iterable[int]) -> dict[str, Any]:
        self.summary()
        flows = list(self._flows(numbers))
        partners = ((flow["flow"], self._capture.partner(flow)) for flow in flows)
        return _part(self.head, flows, [(number, other) for number, other in partners if other is not None])

    def _flows(self, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
        for number in numbers:
            flow = self._capture.flow(number)
            if number in self._to_diagnose:
                yield {**flow, "diagnosis": self._diagnosis.of(flow), "limit": self._diagnosis.limits_of(flow)}
            else:
                yield {**flow, "diagnosis": [], "limit": {"a2b": None, "b2a": None}}

    def json_text(self) -> Iterator[bytes]:
        """Flows without findings go from the engine into the text without becoming objects."""
        before, _ = _around_flows(json.dumps(self.head, indent=2, allow_nan=False), 1)
        yield before
        builder = SummaryBuilder(self.head)
        yield from _listed((self._flows_text(batch, builder) for batch in _batches(self._numbers, BATCH)), 1)
        self.head["summary"] = builder.result()
        _, after = _around_flows(json.dumps(self.head, indent=2, allow_nan=False), 1)
        if udp := self.head["udp"]["flows"]:
            between, after = _around_flows(after.decode(), 1, "udp_flows")
            yield between
            yield from _listed((self._report.udp_text(batch) for batch in _batches(range(udp), ROWS)), 1)
        if "second" in self.head:
            between, after = _around_flows(after.decode(), 2)
            yield between
            numbers = range(1, self._counts[1] + 1)
            yield from _listed((self._report.second_flows_text(batch) for batch in _batches(numbers, BATCH)), 2)
        yield after

    def _flows_text(self, numbers: Sequence[int], builder: SummaryBuilder) -> bytes:
        found = {}
        for number in numbers:
            if number in self._to_diagnose:
                flow = self._capture.flow(number)
                findings = self._diagnosis.of(flow)
                builder.add(flow, findings, self._diagnosis.contexts_of(flow))
                limits = self._diagnosis.limits_of(flow)
                found[number] = [tuple(finding.values()) for finding in findings], (limits["a2b"], limits["b2a"])
        text: bytes = self._report.flows_text(numbers, found)
        return text

    def flows_frame(self) -> pl.DataFrame:
        from ackclock.analysis.frames import rows_frame

        return rows_frame(self._flows_tables())

    def flows_parquet(self) -> bytes:
        """The table of `flows_frame` in Parquet."""
        from ackclock.analysis.frames import rows_parquet

        return rows_parquet(self._flows_tables())

    def _flows_tables(self) -> Iterator[Any]:
        """The engine's tables of some flows each."""
        return (self._report.rows(batch) for batch in _batches(self._numbers, ROWS))


class _LiveContext(CaptureContext):
    """The context of a capture that the engine holds: flows become objects on demand."""

    def __init__(self, report: Any, head: Mapping[str, Any]) -> None:
        self._report = report
        self._head = head

    @property
    def head(self) -> Mapping[str, Any]:
        return self._head

    def flow(self, number: int) -> dict[str, Any]:
        """A flow of the first capture, without its diagnosis."""
        flow: dict[str, Any] = json.loads(self._report.flow(number))
        return flow

    def second_flow(self, number: int) -> dict[str, Any]:
        """A flow of the second capture."""
        flow: dict[str, Any] = json.loads(self._report.second_flow(number))
        return flow

    def partner(self, flow: Flow) -> Flow | None:
        if "second" not in self._head:
            return None
        number = self._report.partner(flow["flow"])
        return None if number is None else self.second_flow(number)

    def with_ends_of(self, flow: Flow) -> tuple[int, list[Flow]]:
        if "second" not in self._head:
            return 0, []
        here, there = self._report.with_ends_of(flow["flow"])
        return len(here), [self.second_flow(number) for number in there]

    def rate_of_others(self, flow: Flow, direction: str) -> float:
        of_client, of_server = self._report.rates_of_others(flow["flow"])
        return float(of_client if direction == "a2b" else of_server)


class StoredDocument(CaptureDocument):
    """The document in a run folder, as `json_text` wrote it: each flow is read when it is needed.

    Args:
        document: the JSON.
        flows: the table of flows, in Parquet.
    """

    def __init__(self, document: Path, flows: Path) -> None:
        self._path = document
        self._flows_path = flows
        self.head = parsed(b"".join(text for level, text in self._pieces() if level == 0), document)

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        """The text in pieces: 0 and what is outside of the lists of flows; 1 and a flow, 2 and one
        of the second capture.
        """
        with self._path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            outside = 0
            for level, opening in _FLOWS_BEGIN:
                found = text.find(opening, outside)
                if found < 0:
                    continue  # an empty list, or no second capture
                start = found + len(opening)
                yield 0, text[outside:start]
                is_line = text[text.find(b"{", start) + 1 : start + 20].strip(b" ")[:1] != b"\n"
                while True:
                    outside = _line_end(text, start) if is_line else _indented_end(text, start, level)
                    yield level, text[start:outside]
                    if text[outside : outside + 1] != b",":
                        break
                    start = outside + 2
            yield 0, text[outside:]

    @property
    def numbers(self) -> Sequence[int]:
        return self._column("flow")

    def _column(self, name: str) -> list[int]:

        if not self._flows_path.is_file():
            return []
        frame = read_table(self._flows_path)
        return frame[name].to_list() if name in frame.columns else []

    def largest(self, count: int) -> list[int]:
        sizes = sorted(zip(self._column("bytes"), self._column("flow"), strict=True), key=lambda one: -one[0])
        return sorted(number for _, number in sizes[:count])

    def whole(self) -> dict[str, Any]:
        document: dict[str, Any] = read_json(self._path)
        return document

    def summary(self) -> Mapping[str, Any]:
        return self.head.get("summary") or {"top": []}

    def part(self, numbers: Iterable[int]) -> dict[str, Any]:
        order = list(numbers)
        wanted = frozenset(order)
        partners = {second: first for first, second in self.head.get("partners", ()) if first in wanted}
        flows, others = [], []
        in_second = 0
        for level, text in self._pieces():
            if level == 1 and (number := _FLOW_NUMBER.match(text)) and int(number[1]) in wanted:
                flows.append(parsed(text, self._path))
            elif level == 2:
                in_second += 1
                if in_second in partners:
                    others.append((partners[in_second], parsed(text, self._path)))
        flows.sort(key=lambda flow: order.index(flow["flow"]))
        others.sort(key=lambda other: order.index(other[0]))
        return _part(self.head, flows, others)

    def largest_udp(self, count: int) -> list[dict[str, Any]]:
        flows = self.head.get("udp_flows") or ()
        return sorted(flows, key=lambda flow: -(flow["a2b"]["bytes"] + flow["b2a"]["bytes"]))[:count]

    def json_text(self) -> Iterator[bytes]:
        return stored_text(self._path)

    def flows_frame(self) -> pl.DataFrame:

        return read_table(self._flows_path)


def stored_text(document: Path) -> Iterator[bytes]:
    """The text of a stored document in pieces, without the line break at its end."""
    with document.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece if file.peek(1) else piece.removesuffix(b"\n")


_FLOWS_BEGIN = ((1, b'\n  "flows": [\n'), (2, b'\n    "flows": [\n'))
"""Depth of a list of flows, the second capture's after the first's, and the text before it."""
_FLOW_NUMBER = re.compile(rb'\s*{\s*"flow": ?(\d+)')


def _line_end(text: mmap.mmap, start: int) -> int:
    """The end of the flow whose line begins at `start`."""
    end = text.find(b"\n", start)
    return end - 1 if text[end - 1 : end] == b"," else end


def _indented_end(text: mmap.mmap, start: int, level: int) -> int:
    """The end of the flow that begins at `start`, as earlier versions wrote it."""
    closing = b"\n" + b"  " * (level + 1) + b"}"
    return text.find(closing, start) + len(closing)


def _part(head: Mapping[str, Any], flows: list[dict[str, Any]], others: Sequence[tuple[int, Flow]]) -> dict[str, Any]:
    """The document of some flows; `others` are theirs in the second capture, with their numbers."""
    document = {**head, "flows": flows}
    if "second" in head:
        document["partners"] = [[number, index] for index, (number, _) in enumerate(others, 1)]
        document["second"] = {**head["second"], "flows": [other for _, other in others]}
    return document


def _batches(numbers: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for first in range(0, len(numbers), size):
        yield numbers[first : first + size]


def _around_flows(text: str, level: int, name: str = "flows") -> tuple[bytes, bytes]:
    """The text before and after the empty list of flows with this name at this depth."""
    key = f'\n{"  " * level}"{name}": '
    before, _, after = text.partition(key + "[]")
    return (before + key).encode(), after.encode()


def _listed(texts: Iterator[bytes], level: int) -> Iterator[bytes]:
    """A list of what the texts contain, each of them one value or several with commas."""
    yield b"["
    for first in islice(texts, 1):
        yield first
        for text in texts:
            yield b","
            yield text
        yield b"\n" + b"  " * level
    yield b"]"
