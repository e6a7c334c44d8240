"""`ackclock advise`: situations with a known remedy, and a link where nothing helps."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ackclock as library
from ackclock.advice.tables import lines
from ackclock.errors import InputError
from ackclock.input.objects import Link
from tests.support.documents import follows
from tests.support.recipe_grammar import parse

SMALL: dict[str, Any] = {"cpu_s": 0.5}
"""The fewest seeds: an advice in a second or two."""


def situation(*, rate="4 Mb/s", up="4 Mb/s", delay="20 ms", queue=None, uplink=None, loss=0.0, **keys):
    """A download for 8 s over a line of one hop and the server's network."""
    line = {
        "name": "line",
        "rate": {"down": rate, "up": up},
        "delay": delay,
        "queue": {"down": queue or {"bytes": "32 kB"}, "up": uplink or {"bytes": "32 kB"}},
        "loss": {"down": loss},
    }
    flow = {"name": "download", "workload": {"kind": "bulk"}}
    return {"duration": "8 s", "hop": [{"name": "net", "delay": "1 ms"}, line], "flow": [flow], **keys}


def first(found):
    assert found.document["advice"], found.document["verdict"]
    return found.document["advice"][0]


def paths(row):
    return {change["path"] for change in row["change"]}


@pytest.fixture(scope="module")
def bloated(tmp_path_factory):
    """The advice for half a second of queue, and its run folder."""
    folder = tmp_path_factory.mktemp("advice") / "run"
    bloat = situation(queue={"bytes": "256 kB"})
    return library.advise(bloat, may=["operator"], out=folder, **SMALL)


def test_advice_is_an_aqm_when_the_buffer_is_bloated(bloated) -> None:
    follows("advise", bloated.document)
    row = first(bloated)
    change = next(change for change in row["change"] if change["path"] == "hop.line.queue.down")
    assert change["to"]["kind"] in ("fq-codel", "codel", "cake", "pie")
    sparse = row["effect"]["sparse_rtt_p95_ms"]
    assert sparse["advised"] < 0.25 * sparse["baseline"]
    assert 0.0 < sparse["lo"] <= sparse["advised"] <= sparse["hi"]
    assert row["gain"]["lo"] > 1.0
    assert row["who"] == "operator"


def test_advice_has_commands_and_their_undo_when_it_changes_something(bloated) -> None:
    for row in bloated.document["advice"]:
        assert row["commands"]
        assert row["undo"]
        for text in (*row["commands"], *row["undo"]):
            parse(text)


@pytest.mark.finding("A19")
def test_terminal_has_the_lines_of_the_first_rank_and_of_all_with_every(bloated) -> None:
    rows = bloated.document["advice"]
    assert len(rows) > 1
    short, whole = lines(bloated.document), lines(bloated.document, every=True)
    for row in rows:
        typed = [f"  {step['who']}: {step['command']}" for step in row["steps"]]
        assert set(typed) <= set(whole)
        assert (set(typed) <= set(short)) == (row["rank"] == 1)
        if row["rank"] > 1:
            assert sum(text.startswith(f"Rank {row['rank']} ({row['who']}): ") for text in short) == 1
    assert any("--all" in text for text in short)
    assert not any("--all" in text for text in whole)


def test_terminal_names_no_other_rank_when_there_is_none(bloated) -> None:
    alone: Any = {**bloated.document, "advice": bloated.document["advice"][:1]}
    assert lines(alone) == lines(alone, every=True)
    assert not any("--all" in text for text in lines(alone))


def test_advice_has_the_fields_of_the_contract(bloated) -> None:
    document = bloated.document
    assert {"what", "goal", "baseline", "advice", "nothing_to_gain", "runs"} <= document.keys()
    assert document["baseline"]["metrics"]["goodput_bps"]["mean"] > 1e6
    wanted = {"rank", "change", "who", "commands", "undo", "effect", "costs", "unless", "tied_with"}
    for row in document["advice"]:
        assert wanted <= row.keys()
        assert all(change.keys() == {"path", "from", "to"} for change in row["change"])
    assert [row["rank"] for row in document["advice"]] == list(range(1, len(document["advice"]) + 1))
    assert len(first(bloated)["conditions"]) >= 7


def test_advice_cites_the_runs_that_ranked_it(bloated) -> None:
    import polars as pl

    rounds = {one["name"]: one for one in bloated.document["runs"]["rounds"]}
    final = pl.read_parquet(f"{rounds['final']['folder']}/runs/*.parquet")
    searched = {
        seed for name, one in rounds.items() if not name.startswith(("final", "condition")) for seed in one["seeds"]
    }
    row = first(bloated)
    of = final.filter(pl.col("change") == row["label"])["goodput_bps"]
    assert of.mean() == pytest.approx(row["effect"]["goodput_bps"]["advised"])
    unseen = set(final["seed"].to_list())
    assert unseen == set(rounds["final"]["seeds"])
    assert not unseen & searched
    assert bloated.document["runs"]["count"] == sum(one["runs"] for one in rounds.values())


def test_advice_in_a_finished_folder_is_read_again(bloated) -> None:
    bloat = situation(queue={"bytes": "256 kB"})
    again = library.advise(bloat, may=["operator"], out=bloated.folder, **SMALL)
    assert again.document == bloated.document
    assert library.open(bloated.folder).document == bloated.document
    with pytest.raises(InputError, match="another"):
        library.advise(bloat, goal="latency", out=bloated.folder, **SMALL)


def test_advice_is_the_receive_buffer_when_the_window_limits() -> None:
    narrow = situation(delay="80 ms", queue={"bytes": "100 kB"}, tcp={"receive_buffer": "16 KiB"})
    row = first(library.advise(narrow, goal="throughput", may=["receiver"], **SMALL))
    assert "tcp.receive_buffer" in paths(row)
    assert "# in the program: no SO_RCVBUF" in row["commands"]
    assert row["effect"]["goodput_bps"]["advised"] > 2.0 * row["effect"]["goodput_bps"]["baseline"]


def test_advice_is_about_the_acks_when_their_path_starves() -> None:
    starved = situation(rate="8 Mb/s", up="64 kb/s", queue={"bytes": "64 kB"}, uplink={"bytes": "4 kB"})
    row = first(library.advise(starved, goal="throughput", may=["router"], **SMALL))
    (change,) = [change for change in row["change"] if "queue.up" in change["path"]]
    assert "filter" in json.dumps(change)
    assert row["effect"]["goodput_bps"]["advised"] > 1.1 * row["effect"]["goodput_bps"]["baseline"]


def test_advice_is_a_sender_that_ignores_loss_when_the_channel_loses_at_random() -> None:
    lossy = situation(delay="40 ms", queue={"bytes": "60 kB"}, loss=0.01)
    found = library.advise(lossy, goal="throughput", may=["sender"], may_harm=True, **SMALL)
    assert first(found)["change"][0]["to"] in ("bbr", "westwood+")
    assert any("sysctl -w net.ipv4.tcp_congestion_control=" in text for text in found.commands)


@pytest.fixture(scope="module")
def good():
    """The advice for a link with per-flow queues and a paced sender."""
    queues = {"queue": {"kind": "fq-codel"}, "uplink": {"kind": "fq-codel"}}
    served = situation(**queues, tcp={"variant": "bbr"}) | {"duration": "5 s"}
    return library.advise(served, may=["sender", "receiver", "operator"], **SMALL)


def test_nothing_is_advised_when_the_link_is_good(good) -> None:
    assert good.document["advice"] == []
    assert good.commands == []
    assert good.document["verdict"].startswith("Leave it as it is: none of the ")
    tried = good.document["nothing_to_gain"]
    assert len(tried) > 15
    assert all(row["why"] for row in tried)
    assert good.advice.is_empty()
    assert good.tried.height == len(tried)


def test_reports_are_made_with_and_without_an_advice(good, bloated, tmp_path) -> None:
    pytest.importorskip("altair")
    for name, found in (("good", good), ("bloated", bloated)):
        page = found.report(tmp_path / f"{name}.html").read_text()
        assert found.document["verdict"][:25] in page
        assert "Advice" in repr(found)


def test_advice_is_the_same_with_another_number_of_threads() -> None:
    bloat = situation(queue={"bytes": "256 kB"})
    one, two = (library.advise(bloat, may=["receiver"], workers=workers, **SMALL) for workers in (1, 2))
    assert one.document == two.document


def test_advise_refuses_what_it_cannot_advise(tmp_path, ackclock, write) -> None:
    cases = {
        ("nolink",): "no link",
        ("dsl-16m", "--goal", "speed"): "--goal",
        ("dsl-16m", "--may", "neighbour"): "--may",
        ("dsl-16m", "--direction", "sideways"): "--direction",
        (
            str(
                write(
                    "udp.toml",
                    'duration = "1 s"\n[[hop]]\nname = "h"\nrate = "1 Mb/s"\n[[flow]]\nworkload = { kind = "cbr", rate = "1 kb/s" }\n',
                )
            ),
        ): "no TCP flow",
        (str(tmp_path),): "without a finished run",
    }
    for arguments, message in cases.items():
        done = ackclock("advise", *arguments, "--json")
        assert done.returncode == 2, (arguments, done.stderr)
        assert message in json.loads(done.stdout)["error"]["message"], done.stdout
    assert not (tmp_path / "runs").exists()


def test_link_object_and_link_file_have_the_same_advice(write) -> None:
    hop = {"name": "line", "rate": "2 Mb/s", "delay": "10 ms", "queue": {"bytes": "100 kB"}}
    file = write(
        "line.toml", '[[hop]]\nname = "line"\nrate = "2 Mb/s"\ndelay = "10 ms"\nqueue = { bytes = "100 kB" }\n'
    )
    a, b = (library.advise(what, goal="balanced", may=["receiver"], **SMALL) for what in (Link([hop]), file))
    assert a.document["advice"] == b.document["advice"]


def test_advice_opens_the_window_and_serves_the_queue_behind_it_when_both_are_needed() -> None:
    """The queue does nothing while the window limits: only a pair shows what it is worth."""
    narrow = situation(delay="50 ms", queue={"bytes": "150 kB"}, tcp={"receive_buffer": "16 KiB"})
    row = first(library.advise(narrow, may=["receiver", "operator"], **SMALL))
    assert {"tcp.receive_buffer", "hop.line.queue.down"} <= paths(row)
    assert row["who"] == "receiver,operator"


def test_a_change_stays_as_typed_when_seeds_have_drawn_links(tmp_path) -> None:
    """The draws of a fit once replaced the values of changes and conditions on its own keys."""
    import polars as pl

    from ackclock.advisor.actions import candidates
    from ackclock.advisor.situation import situation_of

    file = tmp_path / "line.toml"
    hop = '[[hop]]\nname = "line"\nrate.down = "2 Mb/s"\nrate.up = "2 Mb/s"\ndelay = "10 ms"\nqueue.down.bytes = "100 kB"\n'
    file.write_text(f"{hop}[fit]\ninputs = []\n")
    draws = {"hop.line.rate.down": [1.9e6, 2.1e6], "hop.line.queue.down.bytes": [90e3, 110e3]}
    pl.DataFrame(draws).write_parquet(tmp_path / "line.draws.parquet")
    situation = situation_of([file])
    small = next(one for one in candidates(situation, ["operator"]) if "quarter of a BDP" in one.label)

    def drawn(scenario, seed: int) -> dict[str, Any]:
        plan: dict[str, Any] = situation.with_draw(scenario, seed).hop[0].plan()["down"]
        return plan

    changed = drawn(situation.scenario([small]), 2)
    assert changed["rate"]["bps"] == 2_100_000
    assert f"{changed['queue']['bytes']} B" == small.changes[0].to["bytes"]
    kept = drawn(situation.scenario(), 1)
    assert (kept["rate"]["bps"], kept["queue"]["bytes"]) == (1_900_000, 90_000)
    twice = situation.scenario(point={"hop.line.rate.down": "4 Mb/s"})
    assert drawn(twice, 1)["rate"]["bps"] == 3_800_000
