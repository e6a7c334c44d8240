"""The texts of keys: every key has one, and every example is valid."""

from collections.abc import Iterator

import pytest

from ackclock import _native
from ackclock.errors import InputError
from ackclock.input import keys as of_keys
from ackclock.input.checked_table import kinds
from ackclock.input.schema import Table
from ackclock.measurement.plan import Plan
from tests.support import ROOT


def tables(base: type[Table] = Table) -> Iterator[type[Table]]:
    for table in base.__subclasses__():
        if table.__module__.startswith("ackclock.input."):
            yield table
            yield from tables(table)


TABLES: list[type[Table]] = [Plan, *(table for table in tables() if table.model_fields)]
TABLES = sorted(set(TABLES), key=lambda table: table.__name__)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_keys_have_text_unit_default_and_a_valid_example(table: type[Table]) -> None:
    for key in of_keys.keys(table):
        assert key.text.endswith(".") and key.unit and key.default, key
        of_keys.check_example(table, key.name)


def test_texts_name_tables_and_keys_that_exist() -> None:
    known = {table.__name__: table for table in TABLES}
    for name, entries in of_keys._texts().items():
        table = known[name]
        assert set(entries) <= set(table.written_keys()) | set(table.model_fields), name


def test_key_without_text_is_an_error() -> None:
    class Unnamed(Table):
        width: int = 1

    with pytest.raises(of_keys.MissingText, match=r"\[Unnamed\] width"):
        of_keys.key(Unnamed, "width")


def test_key_has_the_limits_of_its_error_message() -> None:
    by_name = {key.name: key for key in of_keys.keys("CoDel")}
    assert by_name["interval"].limits == "a time above zero; a time of at most 100 day"
    assert by_name["interval"].default == '"100 ms"'
    assert by_name["ecn"].unit == "true or false"
    assert "rate" in {key.name for key in of_keys.keys("Hop")}, "keys of a direction are keys of a hop"
    assert {key.default for key in of_keys.keys("TcpKeys")} >= {"the host's", "linux-6"}


def test_reference_pages_have_every_table() -> None:
    pages = "".join((ROOT / "docs" / "reference" / f"{name}.md").read_text() for name in ("link", "scenario", "plan"))
    within = {"Direction", "Station", "Rates", "SomeRates", "Spans", "Sizes", "Errors"}
    for table in TABLES:
        if table.__name__ not in within:
            assert f":{table.__name__} -->" in pages, f"no page has the keys of {table.__name__}"
    printed = {name for kind in ("Queue", "Jitter") if f"kinds {kind} -->" in pages for name in kinds(kind).values()}
    for name in set(_native.table_names()) - within:
        assert name in printed or f"keys {name} -->" in pages, f"no page has the keys of {name}"


@pytest.mark.parametrize("medium", ['kind = "packet-radio", hops = "two"', 'kind = "wlan", aggregate = {frames = "x"}'])
def test_text_in_place_of_a_count_is_an_input_error(medium: str, tmp_path) -> None:
    import ackclock

    file = tmp_path / "link.toml"
    file.write_text(f'[[hop]]\nname = "air"\nmedium = {{ {medium} }}\n')
    with pytest.raises(InputError, match="1 or more"):
        ackclock.simulate(file, [ackclock.Flow(workload=ackclock.Bulk())], duration="1 s")
