"""`compare --quick`: values for a first look, where no option is typed."""

from __future__ import annotations

from typing import Any

import pytest

from ackclock import cli
from ackclock.arguments.compare import CompareArguments
from ackclock.errors import InputError

pytestmark = pytest.mark.finding("U38")
ALL_BUFFERS = ["16 KiB", "64 KiB", "256 KiB", "auto", "path"]
QUICK_BUFFERS = ["64 KiB", "auto", "path"]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch):
    """Runs `compare` up to its runs and returns buffers, duration and seeds of these."""

    def run(*options: str) -> tuple[list[Any], Any, Any]:
        given: list[CompareArguments] = []

        def stop(**keys: Any) -> None:
            given.append(CompareArguments(**keys))
            raise InputError("a test", "no run")

        monkeypatch.setattr("ackclock.comparison.compare", stop)
        assert cli.run(["compare", "dsl-16m", *options]) == 2
        return list(given[0].buffers), given[0].duration, given[0].seeds

    return run


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--seeds", "10"), (QUICK_BUFFERS, "auto", 10)),
        (("--duration", "30 s"), (QUICK_BUFFERS, "30 s", 3)),
        (("--buffers", "16 KiB,64 KiB,256 KiB,auto,path"), (ALL_BUFFERS, "auto", 3)),
        (("--seeds=10", "--duration=30 s"), (QUICK_BUFFERS, "30 s", 10)),
    ],
)
def test_typed_option_holds_beside_quick_if_it_equals_the_default(options, expected, compared) -> None:
    assert compared(*options, "--quick") == expected
    assert compared("--quick", *options) == expected


def test_typed_option_holds_beside_quick_if_it_differs(compared) -> None:
    assert compared("--quick", "--seeds", "7", "--buffers", "auto") == (["auto"], "auto", 7)


def test_quick_alone_has_its_own_values(compared) -> None:
    assert compared("--quick") == (QUICK_BUFFERS, "auto", 3)


def test_defaults_stay_without_quick(compared) -> None:
    assert compared() == (ALL_BUFFERS, "30 s", 10)
