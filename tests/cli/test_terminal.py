"""Tables and progress in terminals of any width, and in pipes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress

import pytest
from rich.table import Table

from ackclock.cli.output import print_lines, print_tables
from ackclock.terminal import TextBelow, ToType, narrow, text_table, wrapped

WHY = "The receive window (64 KiB) limited goodput 98 % of the time: one window per RTT of 37 ms."


def ranking() -> Table:
    table = text_table("TCP over a link", ["rank", "variant"], ["goodput\nMb/s", "retrans-\nmitted %"])
    table.add_column("why")
    table.add_row("1=", "cubic", "15.377", "0.06", WHY)
    table.caption = "k = 0.555: the reverse path carries an ACK for every segment."
    return table


def numbers() -> Table:
    table = text_table("Flows", ["flow", "direction", "from"], [f"figure {n}" for n in range(12)])
    table.add_row("1", "a2b", "192.0.2.1:40000", *(f"{1000 + n}" for n in range(12)))
    return table


def claims() -> Table:
    table = text_table("Claims", ["claim", "metric", "paper", "why"], [])
    for column in table.columns:
        column.no_wrap = False
    table.add_row("P4-021", "the method of the paper for the buffer of a link", "4 ms " * 10, WHY)
    return table


def lines_of(table: Table, width: int) -> list[str]:
    lines = narrow(table, width)
    assert lines is not None
    return [line for _, line in lines]


@pytest.mark.parametrize("table", [ranking(), numbers(), claims()], ids=["ranking", "numbers", "claims"])
@pytest.mark.parametrize("width", [50, 62])
def test_narrow_table_keeps_every_word_within_the_width(table: Table, width: int) -> None:
    lines = lines_of(table, width)
    assert max(map(len, lines)) <= width
    text = " ".join(lines)
    for column in table.columns:
        for cell in column.cells:
            assert set(re.findall(r"\S+", str(cell))) <= set(re.findall(r"[^\s;]+", text))


def test_text_of_the_last_column_is_below_its_row() -> None:
    title, *head, row, below, _, note = lines_of(ranking(), 62)
    assert title == "TCP over a link" and note == "k = 0.555: the reverse path carries an ACK for every segment."
    assert [line.split() for line in head] == [["goodput", "retrans-"], ["rank", "variant", "Mb/s", "mitted", "%"]]
    assert row.split() == ["1=", "cubic", "15.377", "0.06"]
    assert below.startswith("    The receive window")


def test_split_columns_repeat_the_leading_columns() -> None:
    rows = [line.split() for line in lines_of(numbers(), 60) if line.startswith("1 ")]
    assert len(rows) == 4
    assert all(row[:2] == ["1", "a2b"] for row in rows)
    assert [cell for row in rows for cell in row[2:]] == ["192.0.2.1:40000", *(f"{1000 + n}" for n in range(12))]


def test_split_columns_repeat_a_long_column_when_the_first_does_not_name_the_row() -> None:
    """The intervals of `diff` once stood beside the place alone, in 80 columns."""

    def head_of_the_last_block(places: list[str]) -> str:
        table = text_table("A and B", ["where", "figure", ""], ["A", "B", "B - A", "95 % interval"])
        for place, figure in zip(places, ["goodput_bps", "retransmission_rate"], strict=True):
            table.add_row(place, figure, "differs", "3.78 Mb/s", "3.70 Mb/s", "-72.3 kb/s", "-108 .. -36.3 kb/s")
        return next(line for line in lines_of(table, 80) if "interval" in line)

    assert head_of_the_last_block(["all flows", "all flows"]).split()[:2] == ["where", "figure"]
    assert head_of_the_last_block(["all flows", "a hop"]).split()[:2] == ["where", "95"]


def test_table_that_fits_is_left_to_rich_unless_it_has_notes() -> None:
    table = numbers()
    assert narrow(table, 300) is None
    table.caption = "A note."
    assert lines_of(table, 300)[-1] == "A note."


@pytest.mark.finding("U16")
@pytest.mark.parametrize("width", [62, 100])
def test_command_in_backticks_is_in_one_line(width: int) -> None:
    command = '`sysctl -w net.ipv4.tcp_rmem="4096 131072 25165824"`'
    table = ranking()
    table.caption = f"These buffers need {command} on the receiver and {command} on the sender."
    assert sum(command in line for line in lines_of(table, width)) == 2


@pytest.mark.finding("U5")
def test_sentences_stand_below_their_rows_when_the_table_would_fit() -> None:
    table = TextBelow("rank", "why")
    table.add_row("1=", WHY)
    assert lines_of(table, 200) == ["rank", "1=", f"    {WHY}"]


@pytest.mark.finding("U5")
@pytest.mark.parametrize(("columns", "width"), [(None, 100), ("64", 64), ("140", 140), ("0", 100), ("wide", 100)])
def test_table_has_100_columns_and_no_trailing_blanks_when_stdout_is_no_terminal(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    table = text_table("Sentences", ["claim", "why"], ["figure"])
    for column in table.columns[:2]:
        column.no_wrap = False
    table.add_row("short", WHY + " " + WHY, "1.25")
    table.caption = "note " * 60
    print_tables([table, claims()])
    lines = capsys.readouterr().out.splitlines()
    assert width - 12 <= max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []
    assert set(WHY.split()) <= set(" ".join(lines).split())


BELOW = [
    "not identified: access.queue.down.bytes: the queue was never seen to overflow; 75 kB assumed",
    "  if its interface is the bottleneck: a queue in front of a slower device remains empty",
    ToType("  router: tc qdisc replace dev $DEV root cake bandwidth 6000000bit besteffort triple-isolate rtt 100000us"),
    "The part that was not fitted is predicted within 9.37 % of its goodput and of its p95 RTT of 212 ms.",
]
"""What stands below the tables of `fit` and `advise`."""


@pytest.mark.parametrize("width", [40, 63, 80])
def test_sentences_below_tables_are_wrapped_and_lines_to_type_are_not(width: int) -> None:
    lines = list(wrapped(BELOW, width))
    assert [line for line in lines if len(line) > width] == [BELOW[2]]
    assert " ".join(line.strip() for line in lines) == " ".join(line.strip() for line in BELOW)
    assert lines[1].startswith("  ") and not lines[1].startswith("   "), "a label has its lines below it"
    rest = lines[lines.index(next(line for line in lines if line.startswith("  if "))) + 1]
    assert rest.startswith("    ") and not rest.startswith("     ")
    assert not any(re.match(r"\s*(%|kB|ms)", line) for line in lines), "a number without its unit"


@pytest.mark.parametrize(("columns", "width"), [(None, None), ("64", 64), ("0", None)])
def test_sentences_are_one_line_each_when_stdout_is_no_terminal(
    columns: str | None, width: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    print_lines(BELOW)
    lines = capsys.readouterr().out.splitlines()
    assert lines == (BELOW if width is None else list(wrapped(BELOW, width)))


PROGRESS = """
import sys, time
from ackclock.cli.progress import progress
with progress("compare", quiet=False) as update:
    update(210, 832, "from an earlier run")
    for done in range(211, 225):
        time.sleep(0.05)
        update(done, 832, "variant=bbr send_buffer=auto receive_buffer=auto delayed_ack=False seed 3")
"""


def on_terminal(program: str, columns: int) -> str:
    """What a Python program writes to a terminal, without control sequences."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TERM": "xterm"}
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdin=secondary, stdout=secondary, stderr=secondary, env=environment
    )
    os.close(secondary)
    written = b""
    with suppress(OSError):  # the end of a terminal
        while part := os.read(primary, 65536):
            written += part
    os.close(primary)
    assert child.wait(10) == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.decode()).replace("\r", "\n")


@pytest.mark.finding("U8")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_progress_has_bar_count_rate_and_time_left_at_any_width(columns: int) -> None:
    text = on_terminal(PROGRESS, columns)
    assert "compare: resuming: 210 of 832 are done" in text
    last = [line for line in text.split("\n") if "variant=bbr" in line][-1]
    assert re.match(r"compare [━╸╺]{12} +2\d\d/832 +\d+\.\d/s \d:\d\d:\d\d variant=bbr", last)
    assert len(last) <= columns


@pytest.mark.finding("U8")
def test_progress_prints_what_is_done_when_it_resumes_in_a_pipe() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRESS], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[0] == "compare: resuming: 210 of 832 are done"
