"""Usage errors: each is one line with the argument as typed and the remedy, and a JSON document
with the same fields.

A table, one mistake a row; mistakes inside files are in test_messages.py. Nothing here runs the
engine.
"""

from __future__ import annotations

import json
import re
import shlex
import socket
from pathlib import Path

import pytest

from ackclock import cli
from ackclock.errors import FIELDS

SCENARIO = """\
duration = "1 s"
[[hop]]
name = "air"
rate = "2 Mb/s"
delay = "20 ms"
[[flow]]
workload = { kind = "bulk" }
"""
LINK = '[[hop]]\nname = "air"\nrate = "2 Mb/s"\ndelay = "20 ms"\n'
FILES: dict[str, str | bytes] = {
    "scenario.toml": SCENARIO,
    "swept.toml": SCENARIO + '[sweep]\n"tcp.variant" = ["reno", "cubic"]\n',
    "slow.toml": LINK,
    "no-workload.toml": SCENARIO.replace('workload = { kind = "bulk" }', 'name = "x"'),
    "latin.toml": b"title = '\xff'\n",
    "text.txt": "hello\n",
    "empty.pcap": b"",
    "header.pcap": b"\xd4\xc3\xb2\xa1\x02\x00",
    "version.pcap": b"\xd4\xc3\xb2\xa1\x09\x00\x09\x00" + bytes(16),
    "whole.pcap": b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + bytes(8) + b"\xff\xff\x00\x00\x01\x00\x00\x00",
    "bad.pps": "1 2\nx 3\n",
    "plan.toml": 'duration = "5 s"\nbuffers = ["1 B"]\n',
    "ok.token": "q7Zr2PxW9sKd0LmVtB4nHcFy8GjE1uRo\n",
    "empty.token": "",
    "short.token": "short\n",
}
UNITS_OF_TIME = "a time with a unit"
CAPTURE = "a pcap, pcapng, snoop or ERF capture"

# what is typed; option; then of the first form found and allowed, of the second (after "!") problem
# and what to do (parts of them)
MISTAKES = [
    # the command line itself
    ("frobnicate", "COMMAND", 'no command "frobnicate"', "compare, advise"),
    ("simulat scenario.toml", "COMMAND", 'no command "simulat"', "did you mean simulate?"),
    ("--frob", "--frob", "!has no option --frob", "ackclock --help"),
    ("simulate", "SCENARIO", "!simulate requires SCENARIO", "usage: ackclock simulate"),
    ("simulate scenario.toml extra", "", '!takes no further argument "extra"', "usage: ackclock simulate"),
    ("simulate scenario.toml --sede 1", "--sede", "!has no option --sede", "did you mean --seed?"),
    ("simulate scenario.toml -z", "-z", "!has no option -z", "simulate --help"),
    ("simulate scenario.toml --seed", "--seed", "!--seed requires a value", "write it after --seed"),
    ("simulate scenario.toml --pcap=1", "--pcap", "!--pcap takes no value", "write --pcap alone"),
    ("simulate scenario.toml --seed one", "--seed", '"one"', "a whole number from 0"),
    ("simulate scenario.toml --seed -1", "--seed", '"-1"', "a whole number from 0"),
    ("simulate scenario.toml --workers 0", "--workers", '"0"', "a whole number from 1 to 1024"),
    ("simulate scenario.toml --pcap-format erf", "--pcap-format", '"erf"', "pcap, pcapng"),
    ("compare", "LINK", "!compare requires LINK", "usage: ackclock compare"),
    ("compare slow.toml --delayed-ack maybe", "--delayed-ack", '"maybe"', "on, off, both"),
    ("compare slow.toml --rank-by speed", "--rank-by", '"speed"', "goodput, rtt"),
    ("compare slow.toml --flows 1.5", "--flows", '"1.5"', "a whole number"),
    ("compare slow.toml --flows 0", "--flows", '"0"', "1 or more"),
    ("compare slow.toml --seeds none", "--seeds", '"none"', "a whole number"),
    ("compare slow.toml --opposite -1", "--opposite", '"-1"', "0 or more"),
    ("analyze", "CAPTURE", "!analyze requires CAPTURE", "usage: ackclock analyze"),
    ("measure", "HOST", "!measure requires HOST", "usage: ackclock measure"),
    ("measure 127.0.0.1 --port 99999", "--port", '"99999"', "from 0 to 65535"),
    ("measure 127.0.0.1 --flows none", "--flows", '"none"', "a whole number"),
    ("emulate", "LINK", "!emulate requires LINK", "usage: ackclock emulate"),
    ("emulate slow.toml --seconds 0 -- true", "--seconds", '"0"', "a number, 0.001 or more"),
    ("emulate slow.toml --clients 0 -- true", "--clients", '"0"', "from 1 to 1000"),
    ("export slow.toml", "--to", "!export requires --to", "add --to tc or --to mahimahi"),
    ("export slow.toml --to netem", "--to", '"netem"', "tc, mahimahi"),
    ("list", "KIND", "!list requires KIND", "usage: ackclock list"),
    ("list linkz", "KIND", '"linkz"', "did you mean links?"),
    ("list group", "KIND", '"group"', "did you mean groups?"),
    ("report", "RUN", "!report requires RUN", "usage: ackclock report"),
    ("kernel-cc lod", "VERB", '"lod"', "did you mean load?"),
    # files
    ("simulate none.toml", "", "no such file", "a TOML file"),
    ("simulate scenaro.toml", "", "no such file", "did you mean scenario.toml?"),
    ("simulate folder", "", "a folder", "a TOML file"),
    ("simulate latin.toml", "", "not UTF-8", "a TOML file"),
    ("simulate text.txt", "", "broken TOML", "TOML 1.0"),
    ("simulate slow.toml", "", "!a link, and no scenario", "ackclock compare slow.toml"),
    ("simulate dumbbell-10m", "", "!a link, and no scenario", 'link = "dumbbell-10m"'),
    ("simulate no-workload.toml", "", 'no "workload"', "kinds: bulk, transfer, web"),
    ("simulate scenario.toml --out text.txt", "--out", "!--out text.txt is a file", "name another"),
    ("simulate scenario.toml --out full", "--out", "!--out full is a folder with other files", "new or empty folder"),
    ("sweep scenario.toml", "", "no [sweep]", "tcp.variant"),
    ("compare slwo.toml", "LINK", 'no such file, "slwo.toml"', "did you mean slow.toml?"),
    ("compare ./links/x", "LINK", 'no such file, "./links/x"', "a link file"),
    ("compare folder", "LINK", 'a folder, "folder"', "a link file"),
    ("compare dumbell-10m", "LINK", 'no link "dumbell-10m"', "did you mean dumbbell-10m?"),
    ("compare xyzzy", "LINK", 'no link "xyzzy"', "`ackclock list links`"),
    ("compare scenario.toml", "", "!a scenario, and no link", "ackclock simulate scenario.toml"),
    ("emulate nope.toml -- true", "LINK", 'no such file, "nope.toml"', "a link file"),
    ("emulate xyzzy -- true", "LINK", 'no link "xyzzy"', "a packaged link"),
    ("export nope --to tc", "LINK", 'no link "nope"', "a packaged link"),
    ("analyze none.pcap", "", "no such file", CAPTURE),
    ("analyze folder", "", "a folder", CAPTURE),
    ("analyze text.txt", "", "begins with 68 65 6c 6c", CAPTURE),
    ("analyze empty.pcap", "", "an empty file", CAPTURE),
    ("analyze header.pcap", "", "ends within its header", "a whole pcap"),
    ("analyze version.pcap", "", "pcap version 9.9", "2.0 to 2.4"),
    ("report nowhere", "", "no such folder", "a run folder"),
    ("report text.txt", "", "a file", "a run folder"),
    ("report folder", "", "holds no such run", "a run folder"),
    # options of compare
    ("compare slow.toml --buffers 64", "--buffers", '"64" without a unit', '"64 KiB"'),
    ("compare slow.toml --buffers 64/auto", "--buffers", '"64" without a unit', '"64 KiB"'),
    ("compare slow.toml --buffers auto/1", "--buffers", '"1" without a unit', '"64 KiB"'),
    ("compare slow.toml --buffers auto:24", "--buffers", '"auto:24" without a unit', "did you mean auto:24 KiB?"),
    ("compare slow.toml --host windows-xp --buffers 'auto:1 MiB'", "--buffers", '"auto:1 MiB"', "does not tune its buffers"),
    ("compare slow.toml --buffers ,", "--buffers", "no choice", "one or more"),
    ("compare slow.toml --buffers auto,auto", "--buffers", "auto twice", "different choices"),
    ("compare slow.toml --variants cubik", "--variants", '"cubik"', "did you mean cubic?"),
    ("compare slow.toml --variants lnux", "--variants", '"lnux"', "did you mean linux?"),
    ("compare slow.toml --variants reno,reno", "--variants", "reno twice", "different choices"),
    ("compare slow.toml --queue codell", "--queue", '"codell"', "did you mean codel?"),
    ("compare slow.toml --ack-policy sfe", "--ack-policy", '"sfe"', "did you mean safe?"),
    ("compare slow.toml --ack-policy safe+p1", "--ack-policy", '"safe+p1"', "compatible parts"),
    ("compare slow.toml --ack accc", "--ack", '"accc"', "did you mean acc?"),
    ("compare slow.toml --direction sideways", "--direction", '"sideways"', '"down", "up"'),
    ("compare slow.toml --duration 10", "--duration", '"10" without a unit', UNITS_OF_TIME),
    ("compare slow.toml --duration 0s", "--duration", '"0s"', "above zero"),
    ("compare slow.toml --host linux", "--host", '"linux"', "did you mean linux-6?"),
    ("compare slow.toml --rank-by jain", "--rank-by", "!jain compares flows", "two flows or more"),
    ("compare slow.toml --measured nowhere", "--measured", "no such folder", "ackclock measure"),
    ("compare slow.toml --measured folder", "--measured", "holds no such run", "ackclock measure"),
    # options of analyze
    ("analyze whole.pcap --filter host", "--filter", '"host"', "host ADDRESS"),
    ("analyze whole.pcap --filter 'port 99999'", "--filter", '"99999"', "a port from 0 to 65535"),
    ("analyze whole.pcap --filter 'host nowhere'", "--filter", '"nowhere"', "an IPv4 or IPv6 address"),
    ("analyze whole.pcap --since 5x", "--since", '"5x"', UNITS_OF_TIME),
    ("analyze whole.pcap --flow 3", "--flow", '"3"', "no flows here"),
    ("analyze whole.pcap --follow whole.pcap", "--follow", "!--follow reads one capture", "leave out CAPTURE2"),
    ("analyze - -", "CAPTURE2", "!standard input cannot be both", "name a file"),
    ("analyze whole.pcap --pps none.pps", "--pps", "no such file", "a PPS file"),
    ("analyze whole.pcap --pps bad.pps", "--pps", '"x 3"', "the counter at a pulse"),
    ("analyze whole.pcap --pps bad.pps --pps bad.pps", "--pps", "!--pps is given 2 times", "one file for each capture"),
    ("analyze whole.pcap --synchronized '1 ms'", "--synchronized", "!--synchronized compares", "name a second capture"),
    ("analyze whole.pcap whole.pcap --synchronized soon", "--synchronized", '"soon"', UNITS_OF_TIME),
    # reproduce
    ("reproduce wibroo", "PAPER", '"wibroo"', "did you mean wibro?"),
    ("reproduce wibro --quick --full", "--full", "!--quick and --full exclude each other", "leave one of them out"),
    ("reproduce wibro --all", "--all", "!--all and the paper wibro exclude", "leave one of them out"),
    ("reproduce --live", "--live", "!--live requires a paper", "name one of wibro"),
    ("reproduce wibro --live --seed 1", "--seed", "!--live and --seed exclude each other", "leave --seed out"),
    ("reproduce asymmetry --live", "--live", '"asymmetry"', "a paper that measured a path"),
    ("reproduce --on nr-uplink", "--on", "!--on requires a paper", "name one of wimax-measured"),
    ("reproduce wibro --on nr-uplin", "--on", 'no link "nr-uplin"', "did you mean nr-uplink?"),
    ("reproduce wibroo --on nr-uplink", "PAPER", '"wibroo"', "did you mean wibro?"),
    ("reproduce wibro --on nr-uplink --live", "--on", "!--on and --live exclude each other", "leave one of them out"),
    # live traffic
    ("serve --listen nowhere", "--listen", '"nowhere"', "an IP address of this machine"),
    ("serve --token-file empty.token", "", "a token of about 0 bits", "128 random bits"),
    ("serve --token-file short.token", "", "a token of about 5 bits", "128 random bits"),
    ("serve --stamp-open", "--stamp-open", "!--stamp-open requires --stamp-port", "add --stamp-port PORT"),
    ("serve --stamp-port 0", "--stamp-port", "!--stamp-port requires a key", "--stamp-open"),
    ("measure 127.0.0.1", "--token-file", "!requires the server's token", "--token-file FILE"),
    ("measure 127.0.0.1 --token-file none.token", "--token-file", "no such file", "the server's token"),
    ("measure 127.0.0.1 --token-file short.token", "", "a token of about 5 bits", "128 random bits"),
    ("measure 127.0.0.1 --token-file ok.token --port 1", "--port", "!nothing listens at 127.0.0.1:1", "start `ackclock serve` there"),
    ("measure a..b --token-file ok.token", "HOST", "!the name a..b has no address", "check its spelling"),
    ("measure 127.0.0.1 --plan none.toml", "", "no such file", "a TOML file"),
    ("measure 127.0.0.1 --plan plan.toml", "", '"1 B"', "2 KiB to 1 GiB"),
    ("measure 127.0.0.1 --plan plan.toml --buffers 64", "--buffers", '"64" without a unit', '"64 KiB"'),
    ("measure 127.0.0.1 --tests dealy", "--tests", '"dealy"', "did you mean delay?"),
    ("measure 127.0.0.1 --direction sideways", "--direction", '"sideways"', "down, up"),
    ("measure 127.0.0.1 --duration 5", "--duration", '"5" without a unit', UNITS_OF_TIME),
    ("measure 127.0.0.1 --sizes big", "--sizes", '"big"', "a size with a unit"),
    ("measure 127.0.0.1 --every '1 h'", "--every", "!--every requires --out", "add --out DIR"),
    ("measure 127.0.0.1 --times 3", "--times", "!--times requires --every", "add --every TIME"),
    ("measure 127.0.0.1 --every soon --out run", "--every", '"soon"', UNITS_OF_TIME),
    ("emulate slow.toml --deadline soon -- true", "--deadline", '"soon"', UNITS_OF_TIME),
    ("emulate slow.toml --name a/b --pair", "--name", '"a/b"', "letters, digits"),
    ("emulate slow.toml --server '\"x' -- true", "--server", "no closing quotation", "a command line"),
]  # fmt: skip

FORBIDDEN = re.compile(r"found found|Value error|os error|Errno|Traceback|Input should|'[a-z]+' is not one of|\s\s")


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the table, without ACKCLOCK variables in the environment."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if name.endswith(".token"):
            path.chmod(0o600)
    (tmp_path / "folder").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("not a run")
    for name in ("ACKCLOCK_TOKEN", "ACKCLOCK_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def _quiet(typed: str) -> list[str]:
    """The command line without remarks, where its command takes --quiet."""
    own, dashes, rest = typed.partition(" -- ")
    words = shlex.split(own)
    if words[0] in ("measure", "analyze") and len(words) > 1:
        words.append("--quiet")
    return words + (["--", *shlex.split(rest)] if dashes else [])


@pytest.mark.finding("U19")
@pytest.mark.finding("U18")
@pytest.mark.parametrize(("typed", "option", "wrong", "remedy"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_usage_error_is_one_line_with_the_argument_and_the_remedy(ackclock, there, typed, option, wrong, remedy):
    words = _quiet(typed)
    done = ackclock(*words)
    assert (done.returncode, done.stdout) == (2, "")
    line = done.stderr
    assert line.startswith("ackclock: ") and line.count("\n") == 1 and not FORBIDDEN.search(line.strip()), line
    second_form = wrong.startswith("!")
    problem, semicolon, todo = line.partition("; " if second_form else "; allowed: ")
    assert wrong.removeprefix("!") in problem and semicolon and remedy in todo, line
    assert ("found " in problem) != second_form, line

    again = ackclock(words[0], "--json", *words[1:])
    document = json.loads(again.stdout)
    assert list(document) == ["error"] and list(document["error"]) == list(FIELDS)
    error = document["error"]
    assert (again.returncode, again.stderr) == (2, f"ackclock: {error['message']}\n")
    if words[0] != "serve":  # it has no --json, which is its error then
        assert again.stderr == line
        assert (error["option"] or "") == option, error
        assert (error["found"] is None) == second_form and (error["allowed"] or error["hint"]), error


@pytest.mark.finding("U19")
def test_table_of_usage_errors_is_large():
    assert len({row[0] for row in MISTAKES}) >= 100


@pytest.mark.finding("U19")
def test_unreadable_file_is_reported_with_its_permission(ackclock, there, monkeypatch):
    def refuse(path: Path, **_: object) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", refuse)
    done = ackclock("simulate", "scenario.toml")
    assert done.stderr == "ackclock: scenario.toml: found no permission to read it; allowed: a TOML file\n"


@pytest.mark.finding("U19")
@pytest.mark.parametrize("protocol", [socket.SOCK_STREAM, socket.SOCK_DGRAM], ids=["TCP", "UDP"])
def test_serve_names_the_port_and_how_to_free_it_when_it_is_taken(ackclock, there, protocol):
    with socket.socket(socket.AF_INET, protocol) as taken:
        taken.bind(("127.0.0.1", 0))
        if protocol == socket.SOCK_STREAM:
            taken.listen()
        port = taken.getsockname()[1]
        done = ackclock("serve", "--port", port, "--token-file", "ok.token", "--quiet")
    name = "TCP" if protocol == socket.SOCK_STREAM else "UDP"
    assert done.returncode == 1
    assert f"another program uses {name} port {port} of 127.0.0.1; " in done.stderr and "--port" in done.stderr, (
        done.stderr
    )


@pytest.mark.finding("U19")
def test_serve_names_the_address_when_it_is_not_of_this_machine(ackclock, there):
    done = ackclock("serve", "--listen", "192.0.2.9", "--token-file", "ok.token", "--quiet")
    assert done.returncode == 1
    assert "192.0.2.9 is not an address of this machine; " in done.stderr and "--listen" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "dsl-16m", "--workers", "9" * 20], "allowed: a whole number from 1 to 1024"),
        (["compare", "dsl-16m", "--out", "\udcff"], "--out '\\udcff' is no UTF-8; name another folder"),
        (["packetdrill", "x.pkt", "--tolerance", "-5 s"], "--tolerance: found -5 s; allowed: 0 s or more"),
        (["reproduce", "wibro", "--on", "x" * 400], "found a name that is too long"),
        (["simulate", "page.toml"], 'found no such file, "a\0.har"; allowed: a HAR file'),
    ],
)
def test_value_that_nothing_can_have_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    flow = '[[flow]]\nworkload = { kind = "page", page = "a\\u0000.har" }\n'
    Path("page.toml").write_text(f'duration = "2 s"\nlink = "dsl-16m"\n{flow}', "utf-8")
    assert cli.run(arguments) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["page.toml"]
