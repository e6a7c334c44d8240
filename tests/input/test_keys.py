"""The keys of tables, and the pages that have them."""

import pytest
from docsite import keys as of_keys

from ackclock import _native
from ackclock.errors import InputError
from ackclock.input.checked_table import kinds
from tests.support import ROOT


def test_key_has_the_limits_of_its_error_message() -> None:
    by_name = {key.name: key for key in of_keys.keys("CoDel")}
    assert by_name["interval"].limits == "a time above zero; a time of at most 100 day"
    assert by_name["interval"].default == '"100 ms"'
    assert by_name["ecn"].unit == "true or false"
    assert "rate" in {key.name for key in of_keys.keys("Hop")}, "keys of a direction are keys of a hop"
    assert {key.default for key in of_keys.keys("TcpKeys")} >= {"the host's", "linux-6"}


def test_reference_pages_have_every_table() -> None:
    pages = "".join(
        (ROOT / "docs" / "reference" / f"{name}.md").read_text() for name in ("link", "scenario", "measure", "hunt")
    )
    within = {"Direction", "Station", "Rates", "SomeRates", "Spans", "Sizes", "Errors"}
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
