"""The document of an analysis, made a part at a time: of 100,000 flows it is a gigabyte of text."""

from __future__ import annotations

import json
import mmap
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ackclock.analysis.summary import worst_flows
from ackclock.errors import InputError, native_errors
from ackclock.storage.stored_files import parsed, read_json, read_table

if TYPE_CHECKING:
    import polars as pl

    from ackclock._native import CaptureReport
    from ackclock.documents.analyze import CaptureAnalysis
    from ackclock.documents.engine import CaptureSummary, FlowReport, UdpFlowReport

ROWS = 2048
"""Rows of the table of flows that are read at once."""


class CaptureDocument(ABC):
    """The document of `ackclock analyze --json`, as a whole or in parts
    (docs/reference/analyze.md).
    """

    head: CaptureAnalysis
    """The document without flows: `flows` is empty."""

    @property
    @abstractmethod
    def numbers(self) -> Sequence[int]:
        """The numbers of the flows in it."""

    @abstractmethod
    def largest(self, count: int) -> list[int]:
        """The numbers of the flows with most bytes, ascending."""

    @abstractmethod
    def summary(self) -> CaptureSummary:
        """`summary` of the document; empty in a run folder of an earlier version."""

    def worst(self, count: int) -> list[int]:
        """The numbers of the flows with most time lost first, then of those with most
        retransmissions, then of the largest.
        """
        listed = frozenset(self.numbers)
        worst = [number for number in worst_flows(self.summary()) if number in listed]
        return list(dict.fromkeys([*worst, *self.largest(count)]))[:count]

    @abstractmethod
    def largest_udp(self, count: int) -> list[UdpFlowReport]:
        """The UDP flows with most bytes, the largest first."""

    @abstractmethod
    def whole(self) -> CaptureAnalysis:
        """The document with all flows. It takes about 90 KB of memory a flow."""

    @abstractmethod
    def part(self, numbers: Iterable[int]) -> CaptureAnalysis:
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
        self._report: CaptureReport = reader.report(captures)
        self._counts: tuple[int, int] = self._report.counts()
        self.head = self._report.head()
        self._numbers: Sequence[int] = range(1, self._counts[0] + 1)
        if flow is not None:
            self._numbers = self._selected(str(flow))
            self._report.select(self._numbers)

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
        bytes_of = {flow["flow"]: int(flow["bytes"]) for flow in self._report.flows(self._numbers)}
        return sorted(sorted(bytes_of, key=lambda number: -bytes_of[number])[:count])

    def summary(self) -> CaptureSummary:
        """Made by a diagnosis of all flows, unless the text has been made before."""
        if "verdict" not in self.head["summary"]:
            self.head["summary"] = self._report.summary()
        summary: CaptureSummary = self.head["summary"]
        return summary

    def largest_udp(self, count: int) -> list[UdpFlowReport]:
        return self._report.udp_flows(self._report.largest_udp(count))

    def whole(self) -> CaptureAnalysis:
        self.summary()
        udp_flows = self._report.udp_flows(range(self.head["udp"]["flows"]))
        document: CaptureAnalysis = {
            **self.head,
            "flows": self._report.flows(self._numbers),
            "udp_flows": udp_flows,
        }
        if "second" in self.head:
            others = self._report.second_flows(range(1, self._counts[1] + 1))
            document["second"] = {**self.head["second"], "flows": others}
        return document

    def part(self, numbers: Iterable[int]) -> CaptureAnalysis:
        self.summary()
        flows = self._report.flows(list(numbers))
        partners = [(flow["flow"], self._report.partner(flow["flow"])) for flow in flows]
        both = [(number, partner) for number, partner in partners if partner is not None]
        others = self._report.second_flows([partner for _, partner in both])
        return _part(self.head, flows, [(number, other) for (number, _), other in zip(both, others, strict=True)])

    def json_text(self) -> Iterator[bytes]:
        """Flows go from the engine into the text without becoming objects."""
        text: Iterator[bytes] = self._report.text(self.head.get("series_left_out"))
        return text

    def flows_frame(self) -> pl.DataFrame:
        from ackclock.analysis.frames import rows_frame

        return rows_frame(self._flows_tables())

    def write(self, file: IO[bytes]) -> bytes:
        """Write the text, and return the table of `flows_frame` in Parquet: one pass over the flows
        makes both.
        """
        from ackclock.analysis.frames import rows_parquet

        text = self._report.text(self.head.get("series_left_out"), with_rows=True)

        def tables() -> Iterator[Any]:
            for piece in text:
                file.write(piece)
                if (table := text.rows(ROWS)) is not None:
                    yield table
            if (rest := text.rows()) is not None:
                yield rest

        return rows_parquet(tables())

    def _flows_tables(self) -> Iterator[Any]:
        """The engine's tables of some flows each."""
        return (self._report.rows(self._numbers[first : first + ROWS]) for first in range(0, len(self._numbers), ROWS))


class QlogDocument(CaptureDocument):
    """The document of a qlog: the connections that QUIC endpoints logged, as flows.

    Args:
        path: the file, in JSON or as a JSON text sequence, plain or compressed.

    Raises:
        InputError: the file is no qlog, or has no events.
    """

    def __init__(self, path: str) -> None:
        from ackclock import _native

        with native_errors(file=path):
            document, self._rows = _native.read_qlog(path)
        self._document: CaptureAnalysis = document
        self.head = {**self._document, "flows": []}

    @property
    def numbers(self) -> Sequence[int]:
        return range(1, len(self._document["flows"]) + 1)

    def largest(self, count: int) -> list[int]:
        flows = sorted(self._document["flows"], key=lambda flow: -flow["bytes"])
        return sorted(flow["flow"] for flow in flows[:count])

    def summary(self) -> CaptureSummary:
        return self._document["summary"]

    def largest_udp(self, count: int) -> list[UdpFlowReport]:
        return []

    def whole(self) -> CaptureAnalysis:
        return self._document

    def part(self, numbers: Iterable[int]) -> CaptureAnalysis:
        return _part(self.head, [self._document["flows"][number - 1] for number in numbers], [])

    def json_text(self) -> Iterator[bytes]:
        yield json.dumps(self._document, indent=2, ensure_ascii=False).encode()

    def flows_frame(self) -> pl.DataFrame:
        from ackclock.analysis.frames import rows_frame

        return rows_frame([self._rows])


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

    def whole(self) -> CaptureAnalysis:
        document: CaptureAnalysis = read_json(self._path)
        return document

    def summary(self) -> CaptureSummary:
        return self.head.get("summary") or cast("CaptureSummary", {"top": []})

    def part(self, numbers: Iterable[int]) -> CaptureAnalysis:
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

    def largest_udp(self, count: int) -> list[UdpFlowReport]:
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


def _part(head: CaptureAnalysis, flows: list[FlowReport], others: Sequence[tuple[int, FlowReport]]) -> CaptureAnalysis:
    """The document of some flows; `others` are theirs in the second capture, with their numbers."""
    document: CaptureAnalysis = {**head, "flows": flows}
    if "second" in head:
        document["partners"] = [(number, index) for index, (number, _) in enumerate(others, 1)]
        document["second"] = {**head["second"], "flows": [other for _, other in others]}
    return document
