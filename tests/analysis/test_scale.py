"""The cost of an analysis by its number of flows, counted in work and not in time."""

from __future__ import annotations

import json
import struct

import polars as pl
import pytest

from ackclock import InputError, analyze
from ackclock.analysis.filter import PacketFilter
from ackclock.analysis.folder import read_folder
from ackclock.analysis.run import analysis_of, open_capture
from ackclock.storage.atomic_files import write_parquet
from tests.support.capture_copies import altered_copy
from tests.support.short_flows import Connection, exchange, refused, unanswered, write_connections


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """100 short exchanges; among them one of 30 kB, a refused one and an unanswered one."""
    kinds = {20: exchange(0.02, 21), 40: refused(0.04), 60: unanswered(0.06)}
    connections = [
        Connection(kinds.get(number, exchange(number * 1e-3)), ("10.0.0.1", 2000 + number)) for number in range(100)
    ]
    return write_connections(tmp_path_factory.mktemp("mixed") / "mixed.pcap", connections)


@pytest.mark.finding("C1")
def test_findings_are_those_of_the_flows_that_show_evidence(mixed):
    flows = analyze(mixed).document["flows"]
    assert [flow["flow"] for flow in flows if flow["diagnosis"]] == [21, 41, 61]


@pytest.mark.parametrize("captures", [1, 2])
def test_document_is_the_same_as_text_as_objects_and_read_back(mixed, captures, tmp_path):
    paths = [mixed, altered_copy(mixed, tmp_path / "other.pcap", skew=0.0)][:captures]
    analysis = analyze(*paths, out=tmp_path / "run")
    stored = read_folder(tmp_path / "run")
    text = b"".join(analysis.source.json_text()).decode()
    assert json.loads(text) == analysis.document
    lines = [json.dumps(flow, separators=(",", ":")) for flow in analysis.document["flows"]]
    assert [line.strip(" ,") for line in text.splitlines() if line.startswith('    {"flow":')] == lines
    assert b"".join(stored.source.json_text()).decode() == text
    assert stored.document == analysis.document
    numbers = analysis.source.largest(5)
    assert 21 in numbers
    assert numbers == stored.source.largest(5)
    assert analysis.source.part(numbers) == stored.source.part(numbers)
    assert analysis.flows.equals(stored.flows)


@pytest.mark.parametrize("captures", [1, 2])
def test_folder_opens_when_an_earlier_version_wrote_it_indented(mixed, captures, tmp_path):
    paths = [mixed, altered_copy(mixed, tmp_path / "other.pcap", skew=0.0)][:captures]
    analysis = analyze(*paths, out=tmp_path / "run")
    (tmp_path / "run" / "analysis.json").write_text(json.dumps(analysis.document, indent=2) + "\n")
    stored = read_folder(tmp_path / "run")
    assert stored.document == analysis.document
    assert stored.source.part([3, 21]) == analysis.source.part([3, 21])
    assert stored.source.head == analysis.source.head


def test_table_of_flows_has_the_fields_of_the_document(mixed):
    analysis = analyze(mixed)
    row, flow = analysis.flows.row(20, named=True), analysis.document["flows"][20]
    assert list(row)[:4] == ["flow", "client", "server", "packets"]
    assert row["client"] == flow["client"]
    assert row["b2a_rtt_ms_p95"] == flow["b2a"]["rtt_ms"]["p95"]
    assert row["handshake_ended"] == "closed"
    assert analysis.flows["a2b_cause_handshake"].to_list()[60] == 2
    assert analysis.flows["a2b_cause_handshake"].null_count() == 99


@pytest.mark.finding("C1")
def test_capture_has_events_when_its_file_is_above_256_mb(mixed, tmp_path):
    large = tmp_path / "large.pcap"
    large.write_bytes(mixed.read_bytes())
    record, end = 16 << 20, mixed.stat().st_size
    with large.open("r+b") as file:
        for number in range(17):  # packets of zeros, which take no space on the disk
            file.seek(end)
            file.write(struct.pack("<IIII", 10 + number, 0, record, record))
            end += 16 + record
            file.truncate(end)
    assert large.stat().st_size > 256 << 20
    flow = analyze(large).document["flows"][60]
    assert [event["kind"] for event in flow["a2b"]["events"]] == ["handshake", "handshake"]
    assert flow == analyze(mixed).document["flows"][60]


@pytest.mark.finding("C1")
def test_document_has_events_when_the_engine_keeps_no_row_of_the_series(mixed):
    reader = open_capture(str(mixed), PacketFilter(), series=True)
    while reader.advance(1000):
        pass
    analysis = analysis_of(str(mixed), reader)
    table, left_out = reader.series()
    assert (len(pl.DataFrame(table)), left_out) == (0, 0)
    assert analysis.series is not None
    assert analysis.series.height == analysis.document["packets"]
    assert analysis.document["flows"] == analyze(mixed).document["flows"]


def test_rates_and_packets_are_the_same_when_the_series_is_read_from_its_file(mixed, tmp_path, monkeypatch):
    monkeypatch.setattr("ackclock.analysis.frames.RATES_ROWS", 100)
    analysis = analyze(mixed, series=True)
    rates, packets, whole = analysis.rates(0.01), analysis.packets([21, 61]), analysis.series
    file = tmp_path / "series.parquet"
    write_parquet(file, whole)
    analysis.release_series(file)
    assert analysis.rates(0.01).equals(rates) and analysis.packets([21, 61]).equals(packets)
    monkeypatch.setattr("ackclock.analysis.frames.RATES_ROWS", 1 << 20)
    assert analysis.rates(0.01).equals(rates)
    assert analysis.has_series and analysis.series.equals(whole)


@pytest.mark.parametrize("flow", [21, "10.0.0.1:2020"])
def test_flow_is_selected_by_its_number_or_its_end(mixed, flow):
    analysis = analyze(mixed, flow=flow)
    assert [one["flow"] for one in analysis.document["flows"]] == [21]
    assert analysis.flows["flow"].to_list() == [21]
    with pytest.raises(InputError, match="a number from 1 to 100"):
        analyze(mixed, flow=0)


def test_flows_parquet_equals_the_frame_when_it_is_merged_from_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("ackclock.analysis.capture_document.ROWS", 256)
    # A part has pieces of the document, of 256 flows each; one has a flow without an answer.
    kinds = {60: unanswered(0.06)}
    many = [Connection(kinds.get(n, exchange(n * 1e-3)), ("10.0.0.1", 2000 + n)) for n in range(600)]
    analysis = analyze(write_connections(tmp_path / "many.pcap", many), out=tmp_path / "run")
    written = pl.read_parquet(tmp_path / "run" / "flows.parquet")
    assert written.equals(analysis.source.flows_frame())
    assert written.schema == analysis.source.flows_frame().schema


def test_tables_of_two_captures_concatenate_when_only_one_has_resets(mixed, tmp_path):
    whole = [Connection(exchange(number * 1e-3), ("10.0.0.1", 2000 + number)) for number in range(3)]
    quiet = analyze(write_connections(tmp_path / "quiet.pcap", whole)).flows
    assert quiet["reset_kind"].null_count() == quiet.height
    assert (
        pl.concat([analyze(mixed).flows.select("client", "reset_kind"), quiet.select("client", "reset_kind")]).height
        == 103
    )
