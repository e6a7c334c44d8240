"""The framing of a fitted link, beside links of which service times show none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.fitting.result import Fit
from ackclock.input.scenario import draft_of
from ackclock.input.scenario.link_draws import LinkDraws

DOWNLOAD = {"name": "download", "workload": {"kind": "bulk"}}
UPLOAD = {"name": "upload", "direction": "up", "workload": {"kind": "bulk"}}
LINE = {
    "name": "access",
    "rate": {"down": "6 Mb/s", "up": "1 Mb/s"},
    "delay": "15 ms",
    "queue": {"kind": "droptail", "bytes": "60 kB"},
}


def fitted(folder: Path, keys: dict[str, Any], *flows: dict[str, Any], out: Path | None = None) -> Fit:
    """The fit to captures of both ends of a download and an upload at once, or of other flows."""
    hop = {key: value for key, value in {**LINE, **keys}.items() if value is not None}
    ackclock.simulate({"hop": [hop]}, list(flows or (DOWNLOAD, UPLOAD)), "10 s", 1, out=folder, captures="pcap")
    return ackclock.fit(folder, out=out, score=False)


def rows(fit: Fit) -> dict[str, dict[str, Any]]:
    return {row["path"].removeprefix("hop.access."): dict(row) for row in fit.document["parameters"]}


KINDS = {
    "pppoe-vcmux": ("atm", 32),
    "pppoa-vcmux": ("atm", 10),
    "pppoe-ptm": ("ptm", 30),
    "docsis": ("none", 18),
    "ethernet": ("none", 38),
}


@pytest.mark.parametrize("kind", KINDS)
def test_framing_is_that_of_the_line_when_data_and_acks_share_a_direction(kind, tmp_path):
    cells, overhead = KINDS[kind]
    fit = fitted(tmp_path / "run", {"framing": kind}, out=tmp_path / "link.toml")
    found = rows(fit)
    for direction, bps in (("down", 6e6), ("up", 1e6)):
        row = found[f"framing.{direction}.overhead"]
        assert found[f"framing.{direction}.cells"]["kind"] == cells
        assert row["lo"] <= overhead <= row["hi"], row
        assert found[f"rate.{direction}"]["value"] == pytest.approx(bps, rel=1e-3)
        queue = found[f"queue.{direction}.bytes"]
        assert queue["status"] == "identified" and queue["lo"] - 1500 <= 60_000 <= queue["hi"] + 1500, queue
    # With 10 B, 52 to 80 B fill two cells: no length shows where the second ends.
    assert found["framing.up.overhead"]["status"] == ("bounded" if overhead == 10 else "identified")
    # A rare length fills a cell more or less where the overhead is not known to a cell.
    assert found["delay"]["value"] == pytest.approx(15, abs=0.2 if overhead == 10 else 0.01)
    # The link file is read again, and each seed has a framing of its own.
    flow = {"workload": {"kind": "bulk"}}
    scenario = draft_of({"link": str(tmp_path / "link.toml"), "flow": [flow], "duration": "1 s"}).check()
    draws = LinkDraws.beside(tmp_path / "link.toml")
    assert draws is not None
    drawn = {draws.scenario(scenario, seed).hop[0].down.framing.overhead for seed in range(1, 40)}
    assert (len(drawn) > 5) == (found["framing.down.overhead"]["status"] == "bounded"), drawn
    # A replay of short packets carries what the line does: 160 B take four cells.
    calls = [{**DOWNLOAD, "workload": {"kind": "cbr", "rate": "8 Mb/s", "packet": "160 B"}}]
    links = fit.link, {"hop": [{**LINE, "framing": kind}]}
    of = [ackclock.simulate(link, calls, "5 s", 1).flows["goodput_bps"].sum() for link in links]
    assert of[0] == pytest.approx(of[1], rel=0.01)


GRANTS = {"kind": "grants", "standard": "lte", "rate": {"down": "6 Mb/s", "up": "1 Mb/s"}}
NO_FRAMING: dict[str, dict[str, Any]] = {
    "raw": {"framing": "raw"},
    "jitter of hosts": {"framing": "ethernet", "jitter": {"kind": "exponential", "mean": "400 us"}},
    "shaper": {
        "rate": "40 Mb/s",
        "framing": "ethernet",
        "shaper": {"rate": "4 Mb/s", "burst": "30 kB", "queue": {"kind": "droptail", "bytes": "60 kB"}},
    },
    "medium in frames": {"rate": None, "medium": GRANTS},
    "slip": {"framing": "slip"},
    "cslip": {"framing": "cslip"},
}


@pytest.mark.parametrize("kind", NO_FRAMING)
def test_no_framing_is_found_when_service_times_show_none(kind, tmp_path):
    fit = fitted(tmp_path, NO_FRAMING[kind])
    assert not [path for path in rows(fit) if path.startswith("framing")]
    assert "framing" not in fit.link.to_dict()["hop"][0]


def test_no_framing_is_found_when_a_direction_has_packets_of_one_length(tmp_path):
    fit = fitted(tmp_path, {"framing": "pppoe-vcmux"}, DOWNLOAD)
    assert not [path for path in rows(fit) if path.startswith("framing")]
    assert rows(fit)["rate.down"]["value"] == pytest.approx(6e6 * 1500 / 1696, rel=1e-3)
