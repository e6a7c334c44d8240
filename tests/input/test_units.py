"""Quantities are exact integers, or errors."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.errors import InvalidValue
from ackclock.input import units
from ackclock.input.units import (
    LARGEST,
    rate_bps,
    show_rate,
    show_size,
    show_time,
    size_bytes,
    time_ps,
)

FASTEST_BPS = 10**14


@pytest.mark.parametrize(
    ("text", "bps"),
    [
        ("1 b/s", 1),
        ("28.8 kb/s", 28_800),
        ("10Mb/s", 10_000_000),
        ("1.5 Mb/s", 1_500_000),
        ("1 Gb/s", 10**9),
        ("1 Kib/s", 1024),
        ("1 kB/s", 8_000),
        ("2 MiB/s", 2 * 2**20 * 8),
        ("1e3 b/s", 1000),
    ],
)
def test_rate_is_an_integer_of_bits_per_second(text, bps):
    assert rate_bps(text) == bps


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("40 B", 40),
        ("64 KiB", 65_536),
        ("64 kB", 64_000),
        ("64 KB", 64_000),
        ("1 MiB", 2**20),
        ("80 b", 10),
        ("8 kb", 1000),
        ("0 B", 0),
        ("85.33203125 KiB", 87_380),
    ],
)
def test_size_is_an_integer_of_bytes(text, size):
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "ps"),
    [
        ("1 ps", 1),
        ("1 ns", 10**3),
        ("1.5 us", 1_500_000),
        ("45 ms", 45 * 10**9),
        ("0.1 s", 10**11),
        ("-5 s", -5 * 10**12),
        ("2 min", 120 * 10**12),
        ("1 h", 3600 * 10**12),
        ("1 day", 86400 * 10**12),
    ],
)
def test_time_is_an_integer_of_picoseconds(text, ps):
    assert time_ps(text) == ps


@pytest.mark.parametrize(
    ("read", "text", "part"),
    [
        (rate_bps, "10", '"10" without a unit'),
        (rate_bps, "10 Mbps", "did you mean Mb/s?"),
        (rate_bps, "10 mbit/s", "did you mean Mb/s?"),
        (rate_bps, "10 MB", "units: b/s, kb/s"),
        (rate_bps, "0 b/s", "above zero"),
        (rate_bps, "-1 Mb/s", "above zero"),
        (rate_bps, "0.5 b/s", "whole number of bits per second"),
        (rate_bps, "fast", 'a rate with a unit, such as "10 Mb/s"'),
        (rate_bps, 10_000_000, "found 10000000"),
        (time_ps, "1e99 s", f"at most {LARGEST}"),
        (size_bytes, "64 kilobytes", "units: B, kB"),
        (size_bytes, "3 b", "whole number of bytes"),
        (size_bytes, "-1 B", "zero or more"),
        (size_bytes, "", "a size with a unit"),
        (time_ps, "5 sec", "did you mean s?"),
        (time_ps, "0.5 ps", "whole number of picoseconds"),
        (time_ps, "1e999999999 s", "a time with a unit"),
        (time_ps, True, "found true"),
    ],
)
def test_invalid_quantity_has_found_and_allowed(read, text, part):
    with pytest.raises(InvalidValue) as refusal:
        read(text)
    assert part in str(refusal.value)


@given(st.integers(-LARGEST, LARGEST))
def test_shown_time_reads_back_exactly(ps):
    assert time_ps(show_time(ps)) == ps


@given(st.integers(1, FASTEST_BPS))
def test_shown_rate_reads_back_exactly(bps):
    assert rate_bps(show_rate(bps)) == bps


@given(st.integers(0, LARGEST))
def test_shown_size_reads_back_exactly(size):
    assert size_bytes(show_size(size)) == size


@given(st.text(max_size=20))
def test_quantity_of_any_text_is_read_or_refused(text):
    for read in (rate_bps, size_bytes, time_ps):
        with suppress(InvalidValue):
            assert isinstance(read(text), int)


def test_number_beyond_the_engines_integers_is_shown_in_the_base_unit_and_refused_when_read() -> None:
    assert units.show_rate(10**21) == "1000000000000000000000 b/s"
    assert units.show_time(-(10**21)) == "-1000000000000000000000 ps"
    assert units.show_size(2**63 - 1) != units.show_size(2**63) == "9223372036854775808 B"
    with pytest.raises(InvalidValue):
        units.rate_bps(units.show_rate(10**21))
