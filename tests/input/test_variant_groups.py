"""Groups of TCP variants, alone and with names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.input import variant_groups
from ackclock.input.catalogue import variants
from ackclock.input.scenario.hosts import READ_KEYS, resolve
from ackclock.input.variant_groups import GROUPS, KERNEL_NAMES, expanded, kernel_variants, remarks

PAPERS = Path(ackclock.__file__).parent / "papers"


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel with these congestion controls."""

    def offer(text: str) -> None:
        (tmp_path / "available").write_text(text + "\n")
        monkeypatch.setattr(variant_groups, "AVAILABLE", tmp_path / "available")

    return offer


@pytest.mark.finding("U16")
@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["linux"], ["reno", "cubic", "bbr", "bbr3"]),
        (["linux", "vegas"], ["reno", "cubic", "bbr", "bbr3", "vegas"]),
        (["vegas", "linux", "cubic"], ["vegas", "reno", "cubic", "bbr", "bbr3"]),
        (["hybla"], ["hybla"]),
        (["all", "linux"], list(variants())),
        ([], []),
    ],
)
def test_groups_and_names_are_expanded_in_order_and_each_once(given: list[str], found: list[str]) -> None:
    assert expanded(given) == found


@pytest.mark.finding("U16")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["lnux"], ["linux, kernel, papers, all", "did you mean linux?"]),
        (["cubci"], ["a group: linux", "did you mean cubic?"]),
        (["reno", "reno"], ["reno twice"]),
        (["linux", "linux"], ["linux twice"]),
    ],
)
def test_error_for_an_unknown_variant_lists_the_groups(wrong: list[str], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        expanded(wrong)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.finding("U16")
def test_kernel_group_has_what_the_kernel_offers_by_the_names_of_the_engine(kernel: Any) -> None:
    kernel("reno cubic westwood cdg ackclock_bic nv")
    assert expanded(["kernel"]) == ["reno", "cubic", "westwood+", "bic"]
    assert kernel_variants().others == ("cdg", "nv")
    assert remarks(["kernel"], expanded(["kernel"])) == ["Without a model, and left out of this kernel's: cdg, nv."]
    assert "without a model: cdg, nv" in ackclock.list_groups()["kernel"]
    kernel("reno cubic")
    assert remarks(["kernel"], expanded(["kernel"])) == []
    assert "without a model" not in ackclock.list_groups()["kernel"]


@pytest.mark.finding("U16")
def test_kernel_group_is_an_error_when_the_machine_has_no_list_or_no_modelled_variant(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kernel("cdg")
    with pytest.raises(InputError, match="no congestion control of this kernel has a model: cdg"):
        expanded(["kernel"])
    monkeypatch.setattr(variant_groups, "AVAILABLE", tmp_path / "none")
    with pytest.raises(InputError, match="tcp_available_congestion_control"):
        expanded(["linux", "kernel"])
    assert "tcp_available_congestion_control" in ackclock.list_groups()["kernel"]
    assert expanded(["linux"])


@pytest.mark.finding("U16")
def test_bbr3_is_marked_as_not_in_mainline_and_bbr_is_not() -> None:
    assert remarks(["linux"], expanded(["linux"])) == ["bbr3 is not in mainline Linux."]
    assert remarks(["reno", "bbr"], ["reno", "bbr"]) == []
    assert "bbr, bbr3 (not in mainline Linux)" in ackclock.list_groups()["linux"]


def test_every_variant_of_a_group_is_one_of_the_engine() -> None:
    known = set(variants())
    assert set(variant_groups.LINUX) | set(variant_groups.PAPERS) | set(KERNEL_NAMES.values()) <= known
    assert set(ackclock.list_groups()) == set(GROUPS)


@pytest.mark.finding("U16")
def test_papers_group_has_the_variants_of_all_packaged_experiments() -> None:
    used: set[str] = set()
    for path in PAPERS.rglob("*.toml"):
        for key, value in _pairs(tomllib.loads(path.read_text("utf-8"))):
            if key.rpartition(".")[2] == "variant":
                used |= {value} if isinstance(value, str) else set(value)
            if key.rpartition(".")[2] == "host" and isinstance(value, str):
                used.add(str(resolve(READ_KEYS({"host": value})).keys["variant"]))
    assert set(variant_groups.PAPERS) == used & set(variants())


def _pairs(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _pairs(inner, name)
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for inner in value:
            yield from _pairs(inner, key)
    else:
        yield key, value
