"""One capture analysed, or two of the same traffic."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.analysis.filters import Only, parse_filter
from ackclock.errors import InputError

if TYPE_CHECKING:
    import polars as pl

PIECE = 1_000_000  # packets between two looks at signals: a fraction of a second
_ALLOWED = "a readable pcap or pcapng capture, plain or in gzip or zstd"


@dataclass(frozen=True)
class Analysis:
    """What a capture showed. `document` is the JSON of `ackclock analyze --json`; docs/analyze.md says what each field means."""

    document: dict[str, Any]

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow: the JSON's fields, nested names joined by underscores."""
        from ackclock.analysis.frames import flows_frame

        return flows_frame(self.document)

    def as_json(self) -> dict[str, Any]:
        """The document."""
        return self.document


def analyze(
    capture: str | Path,
    second: str | Path | None = None,
    *,
    flow: int | str | None = None,
    filter: str | None = None,
    since: float | None = None,
    until: float | None = None,
    out: str | Path | None = None,
) -> Analysis:
    """Per-flow metrics and diagnosis of a capture; with a second one of the same traffic, what happened between them.

    Args:
        capture: a pcap or pcapng file, plain or in gzip or zstd; "-" is standard input.
        second: a capture of the same traffic nearer the other end: delays each way, losses between the two, clocks, the buffer.
        flow: only this flow: its number, from 1 in order of appearance, or one of its ends ("10.0.0.1:443").
        filter: only flows with these ends, such as ``"host 10.0.0.1 and port 443"``.
        since: seconds from the first packet; what comes before is left out.
        until: seconds from the first packet; what comes then or later is left out.
        out: a folder for flows.parquet and analysis.json; nothing is written without it.

    Raises:
        InputError: the capture cannot be read, or an argument is bad.
    """
    hosts, ports = parse_filter(filter) if filter else ((), ())
    reader = open_capture(str(capture), Only(hosts, ports, since, until), None if second is None else str(second))
    while _guarded(str(capture), lambda: reader.advance(PIECE)) == PIECE:
        pass
    reader.finish()
    done = Analysis(document_of(str(capture), reader, flow, None if second is None else str(second)))
    if out is not None:
        from ackclock.analysis.folder import write_folder

        write_folder(Path(out), done)
    return done


def open_capture(path: str, only: Only, second: str | None = None) -> Any:
    """The engine's reader of this capture, or of these two."""
    from ackclock import _native

    if second is not None:
        if path == second == "-":
            raise InputError("standard input twice", "two captures", key="CAP2")
        try:
            return _native.CapturePairReader(path, second, only.as_json())
        except ValueError as error:
            file, why = error.args
            raise _refused(file, why) from None
    return _guarded(path, lambda: _native.CaptureReader(path, only.as_json()))


def document_of(path: str, reader: Any, flow: int | str | None = None, second: str | None = None) -> dict[str, Any]:
    """The document of what has been read so far, of all flows or one."""
    document = {"capture": path, **json.loads(reader.report())}
    if second is not None:
        document["second"] = {"capture": second, **document["second"]}
    numbered = [{"flow": number, **row} for number, row in enumerate(document["flows"], 1)]
    if flow is not None:
        wanted = str(flow)
        kept = [row for row in numbered if wanted in (str(row["flow"]), row["client"], row["server"])]
        if not kept:
            allowed = f"a number from 1 to {len(numbered)}, or an end as ADDRESS:PORT" if numbered else "nothing: no flows here"
            raise InputError(f'"{wanted}"', allowed, file=path, key="--flow")
        numbered = kept
    document["flows"] = numbered
    return document


def _guarded(path: str, call: Callable[[], Any]) -> Any:
    try:
        return call()
    except ValueError as error:
        raise _refused(path, str(error)) from None


def _refused(path: str, why: str) -> InputError:
    found, _, allowed = why.removeprefix("found ").partition("; allowed: ")
    return InputError(found, allowed or _ALLOWED, file=path)
