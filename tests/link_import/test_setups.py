"""Set-ups as people post them become the links that they are."""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path

import pytest

from ackclock.cli import run
from ackclock.errors import InputError
from ackclock.input.scenario import draft_of
from ackclock.link_import import import_link
from ackclock.link_import.run import FORMATS
from tests.support.documents import follows

SETUPS = {one["name"]: one for one in tomllib.loads(Path(__file__).with_name("setups.toml").read_text())["setup"]}
FLOW = {"name": "any", "workload": {"kind": "live"}}
MUTANTS = 40
"""Mutants of each set-up."""


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Imports a text from a file in a folder with two traces of 12 Mb/s."""
    monkeypatch.chdir(tmp_path)
    for name in ("up-12", "down-12"):
        (tmp_path / name).write_text("1\n")

    def read(text, **options):
        (tmp_path / "setup").write_text(text)
        return import_link("setup", **options).document

    return read


@pytest.mark.parametrize("name", SETUPS)
def test_setup_becomes_the_link_that_it_is(name, imported):
    setup = SETUPS[name]
    document = follows("import", imported(setup["input"]))
    assert document["link"]["hop"] == setup["hop"]
    assert [lint["code"] for lint in document["lints"]] == setup.get("lints", [])
    for key in ("not_expressed", "not_understood"):
        assert [one["line"] or 0 for one in document[key]] == setup.get(key, []), document[key]
    assert len(document["assumed"]) == setup.get("assumed", 0), document["assumed"]


@pytest.mark.parametrize("name", SETUPS)
def test_link_file_of_a_setup_is_read_back(name, imported, tmp_path):
    document = imported(SETUPS[name]["input"])
    link = tomllib.loads(document["toml"])
    assert link == document["link"]
    assert draft_of({**link, "duration": "1 s", "flow": [FLOW]}).check().hop
    for key in ("lints", "not_expressed", "not_understood", "assumed"):
        for one in document[key]:
            words = one["text"].split()[:3]
            assert all(word in document["toml"] for word in words)


def test_setups_are_at_least_thirty_and_have_every_format():
    kinds = {re.sub("-.*", "", name) for name in SETUPS}
    assert len(SETUPS) >= 30
    assert {"netem", "tbf", "htb", "cake", "policer", "sfq", "shown", "sqm", "mahimahi", "dummynet"} <= kinds


SPLICED = (
    "0",
    "-1",
    "1e99",
    "99999999999999999999",
    "100%",
    "ms",
    "mbit",
    "1:",
    "ffff:",
    "root",
    "dev",
    "$X",
    "$((1/0))",
    "\\",
)


def mutant(text: str, others: list[str], rng: random.Random) -> str:
    """A text with one to four changes: of characters, words, numbers and lines."""
    for _ in range(rng.randint(1, 4)):
        lines = text.split("\n")
        number = rng.randrange(len(lines))
        words = lines[number].split(" ")
        place = rng.randrange(len(words))
        match rng.randrange(7):
            case 0:
                del lines[number]
            case 1:
                lines.insert(number, rng.choice(rng.choice(others).split("\n")))
            case 2:
                del words[place]
                lines[number] = " ".join(words)
            case 3:
                words.insert(place, rng.choice([*SPLICED, *rng.choice(others).split()]))
                lines[number] = " ".join(words)
            case 4:
                lines[number] = re.sub(
                    r"\d+", lambda _: rng.choice(("0", "1", "65536", "10" * 12)), lines[number], count=1
                )
            case 5:
                at = rng.randint(0, len(lines[number]))
                lines[number] = lines[number][:at] + rng.choice("\"'`$(){}[]#\\;|&<>\t\x07%é٣") + lines[number][at:]
            case 6:
                lines[number] = lines[number][: rng.randint(0, len(lines[number]))]
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("name", SETUPS)
def test_mutant_of_a_setup_is_a_link_or_an_error(name, imported):
    others = [one["input"] for one in SETUPS.values()]
    outcomes = set()
    for number in range(MUTANTS):
        rng = random.Random(f"{name} {number}")
        text = mutant(SETUPS[name]["input"], others, rng)
        try:
            document = imported(text, format=rng.choice([None, None, *FORMATS]))
        except InputError as error:
            assert "\n" not in str(error)
            outcomes.add("error")
        else:
            follows("import", document)
            assert tomllib.loads(document["toml"])["hop"]
            outcomes.add("link")
    assert "link" in outcomes


@pytest.mark.parametrize("length", [10_000, 200_000])
@pytest.mark.parametrize(
    "text",
    ["a@", "$(", "(", "${a", "'", "tc qdisc add dev a root ", "for i in a b; do ", "\\\n", "q ", "match u32 0 0 "],
)
def test_long_input_is_an_error_within_seconds(text, length, imported):
    with pytest.raises(InputError):
        imported(text * (length // len(text)))


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b"hello\nworld\n", "no line of a set-up"),
        (b"tc qdisc add dev eth0 root netem delay 5ms # \xff\n", "not UTF-8"),
        (b"tc qdisc add dev eth0 root netem\0 delay 5ms\n", "no text"),
        (b"tc qdisc add dev eth0 root pfifo_quick\n", "pfifo_quick is no qdisc"),
        (b"tc qdisc del dev eth0 root\n", "leaves no rate"),
    ],
)
def test_input_without_a_setup_ends_with_status_2_and_one_line(content, found, tmp_path, capsys):
    (tmp_path / "setup").write_bytes(content)
    assert run(["import", str(tmp_path / "setup")]) == 2
    printed = capsys.readouterr()
    assert found in printed.err and printed.err.count("\n") == 1 and not printed.out


@pytest.mark.parametrize("name", ["absent", ".", "x\0y"])
def test_input_that_cannot_be_read_ends_with_status_2(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["import", name, "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "input"


def test_interface_sends_in_the_other_direction_when_egress_is_given(imported):
    text = "tc qdisc add dev eth0 root netem delay 30ms"
    assert imported(text)["link"]["hop"][0]["delay"] == {"down": "30 ms"}
    assert imported(text, egress="up")["link"]["hop"][0]["delay"] == {"up": "30 ms"}
    assert imported(text.replace("eth0", "wan"))["link"]["hop"][0]["delay"] == {"up": "30 ms"}


def test_variable_has_the_value_of_set_and_is_named_without_one(imported):
    text = "tc qdisc add dev eth0 root tbf rate ${RATE} burst 15kb latency 50ms\ntc qdisc add dev eth1 root netem delay 5ms"
    without = imported(text)
    first = without["not_understood"][0]
    assert first["line"] == 1 and "${RATE}" in first["why"]
    assert imported(text, variables={"RATE": "7mbit"})["link"]["hop"][0]["shaper"]["down"]["rate"] == "7 Mb/s"


def test_path_has_a_hop_of_the_rest_when_its_rtt_is_given(imported):
    text = "tc qdisc add dev ppp0 root cake bandwidth 9mbit overhead 0"
    hops = imported(text, rtt="30 ms")["link"]["hop"]
    assert hops[0] == {"name": "internet", "delay": "15 ms"}
    assert not imported(text, rtt="30 ms")["assumed"]


def test_commands_of_a_branch_that_removes_qdiscs_do_not_count(imported):
    text = 'if [ "$1" = stop ]; then\n  tc qdisc del dev eth0 root\n  exit\nfi\ntc qdisc add dev eth0 root netem delay 5ms\n'
    assert imported(text)["link"]["hop"][0]["delay"] == {"down": "5 ms"}
    assert imported(f"{text}if false; then tc qdisc del dev eth0 root; fi")["link"]["hop"][0]["delay"] == {
        "down": "5 ms"
    }


def test_import_writes_the_link_file_and_refuses_to_replace_another(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("setup.sh").write_text("tc qdisc add dev eth0 root netem delay 100ms\nfrobnicate\n")
    assert run(["import", "setup.sh", "--out", "link.toml"]) == 0
    printed = capsys.readouterr()
    assert printed.out == "link.toml\n"
    assert "netem-limit, line 1: " in printed.err and "not understood, line 2: frobnicate" in printed.err
    assert run(["show", "link.toml"]) == 0
    Path("link.toml").write_text("# mine\n")
    assert run(["import", "setup.sh", "--out", "link.toml"]) == 2
    assert run(["import", "setup.sh", "--out", "link.toml", "--force", "--quiet"]) == 0
    assert Path("link.toml").read_text().startswith("# Made by `ackclock import`")


def test_trace_is_relative_to_the_link_file_that_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("traces", "links"):
        Path(folder).mkdir()
    for name in ("up", "down"):
        Path(f"traces/{name}").write_text("1\n5\n5\n9\n")
    Path("traces/run.sh").write_text('here=$(cd "$(dirname "$0")" && pwd)\nmm-link "$here/up" "$here/down" -- bash\n')
    link = import_link("traces/run.sh", out=Path("links/cell.toml"))
    link.write(Path("links/cell.toml"))
    assert link.link["hop"][0]["rate"] == {
        "down": {"trace": "../traces/down", "start": "0 s"},
        "up": {"trace": "../traces/up", "start": "0 s"},
    }
    assert run(["show", "links/cell.toml", "--json"]) == 0


@pytest.mark.parametrize(
    ("text", "hop"),
    [
        (
            "ip netns exec server tc qdisc add dev v0 root netem delay 20ms\n"
            "ip netns exec client tc qdisc add dev v0 root netem delay 9ms\n",
            {"name": "line", "delay": {"down": "20 ms", "up": "9 ms"}},
        ),
        ("tc -n client qdisc add dev v0 root netem delay 9ms", {"name": "v0@client-netem", "delay": {"up": "9 ms"}}),
        (
            "docker exec -it a tc qdisc add dev eth0 root netem delay 9ms",
            {"name": "eth0@a-netem", "delay": {"down": "9 ms"}},
        ),
        (
            'sudo bash -c "tc qdisc add dev eth3 root netem delay 7ms; true"',
            {"name": "eth3-netem", "delay": {"down": "7 ms"}},
        ),
        ("TC=$(which tc)\n$TC qdisc add dev e0 root netem delay 3ms", {"name": "e0-netem", "delay": {"down": "3 ms"}}),
        ("tc -batch - <<X\nqdisc add dev e0 root netem delay 3ms\nX", {"name": "e0-netem", "delay": {"down": "3 ms"}}),
        (
            "for d in e0 e1; do for n in 1; do tc qdisc add dev $d root netem delay ${n}ms; done; done",
            {"name": "line", "delay": "1 ms"},
        ),
        (
            "slow() {\n  tc qdisc add dev $1 root netem delay ${2}ms\n}\nfast() { tc qdisc del dev $1 root; }\nslow e0 4\nslow e1 4\nfast e0",
            {"name": "line", "delay": "4 ms"},
        ),
        (
            "function up {\n tc qdisc add dev $1 root netem delay 2ms\n}\nif [ -n x ]; then up e0; fi",
            {"name": "e0-netem", "delay": {"down": "2 ms"}},
        ),
        ("- tc qdisc add dev e0 root netem delay 3ms", {"name": "e0-netem", "delay": {"down": "3 ms"}}),
        (
            "iface e0 inet dhcp\n  post-up tc qdisc add dev e0 root netem delay 3ms",
            {"name": "e0-netem", "delay": {"down": "3 ms"}},
        ),
        (
            "[Service]\nExecStart=/sbin/tc qdisc add dev e0 root netem delay 3ms",
            {"name": "e0-netem", "delay": {"down": "3 ms"}},
        ),
        (
            "tc qdisc add dev e0 root handle 1: prio\ntc qdisc add dev e0 parent 1:2 netem delay 2ms\n"
            "tc qdisc add dev e0 parent 1:3 netem delay 3ms\ntc filter add dev e0 parent 1: u32 match ip tos 8 0xff flowid 1:2",
            {"name": "e0-netem", "delay": {"down": "2 ms"}},
        ),
        (
            "tc qdisc add dev e0 root netem slot distribution pareto 1ms 0.2ms packets 5 delay 4ms",
            {"name": "e0-netem", "delay": {"down": "4 ms"}},
        ),
        (
            "ip link set dev ppp0 txqueuelen 30\ntc qdisc add dev ppp0 root handle 1: htb default 1\n"
            "tc class add dev ppp0 parent 1: classid 1:1 htb rate 2mbit",
            {"name": "ppp0-htb", "queue": {"up": {"kind": "droptail", "packets": 30}}, "rate": {"up": "2 Mb/s"}},
        ),
    ],
)
def test_command_counts_wherever_it_runs(text, hop, imported):
    assert imported(text)["link"]["hop"] == [hop]


def test_queue_without_a_shaper_has_the_rate_of_the_line_where_it_is_given(imported):
    text = "tc qdisc replace dev wan root fq_codel"
    assert "rate" not in imported(text)["link"]["hop"][0]
    assert "--line-up gives it" in imported(text)["assumed"][0]["text"]
    assert imported(text, line_up="9 Mb/s")["link"]["hop"][0]["rate"] == {"up": "9 Mb/s"}


def test_one_interface_of_a_direction_is_imported_and_further_ones_are_named(imported):
    text = "".join(f"tc qdisc add dev e{number} root netem delay {number + 1}ms\n" for number in range(3))
    document = imported(text)
    assert document["link"]["hop"] == [{"name": "line", "delay": {"down": "1 ms", "up": "2 ms"}}]
    assert [one["text"] for one in document["not_expressed"]] == [
        "e2: a further interface that sends down: e0 is imported"
    ]


@pytest.mark.parametrize(
    "match", ["u32 match ip dst 0/0", "u32 match ip protocol 0 0x00", "matchall", "u32 match u32 0x0 0x0 at 0"]
)
def test_filter_of_all_packets_selects_the_class(match, imported):
    text = (
        "tc qdisc add dev e0 root handle 1: htb\ntc class add dev e0 parent 1: classid 1:1 htb rate 1mbit\n"
        "tc class add dev e0 parent 1: classid 1:2 htb rate 2mbit\n"
        f"tc filter add dev e0 protocol ip parent 1: prio 1 {match} flowid 1:2"
    )
    document = imported(text)
    assert document["link"]["hop"][0]["rate"] == {"down": "2 Mb/s"} and not document["lints"]
    other = imported(text.replace(match, "u32 match ip dport 80 0xffff"))
    assert "no-default-class" in [lint["code"] for lint in other["lints"]]
