"""The user's cache: each result is derived once, and an unusable folder changes no result."""

from pathlib import Path

import pytest

from ackclock.storage import user_cache


class Derivation:
    """Counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> bytes:
        self.calls += 1
        return b"derived"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ackclock"


def test_result_is_read_from_the_cache_at_the_second_call(cache: Path) -> None:
    derive = Derivation()
    assert [user_cache.kept("charts", "1.0", "js", derive) for _ in range(3)] == [b"derived"] * 3
    assert derive.calls == 1
    assert [path.suffix for path in cache.iterdir()] == [".js"]


def test_result_is_derived_again_for_other_inputs(cache: Path) -> None:
    derive = Derivation()
    for version in ("1.0", "1.1", "1.0"):
        user_cache.kept("charts", version, "js", derive)
    assert derive.calls == 2


@pytest.mark.parametrize("obstacle", ["file", "full", "no home"])
def test_result_is_derived_each_time_without_a_usable_folder(
    cache: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    if obstacle == "file":
        cache.parent.write_text("a file where the folder would be")
    elif obstacle == "full":

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(user_cache, "atomic_write", full)
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    derive = Derivation()
    assert [user_cache.kept("charts", "1.0", "js", derive) for _ in range(2)] == [b"derived"] * 2
    assert derive.calls == 2


def test_another_users_cache_is_neither_read_nor_written(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derive = Derivation()
    user_cache.kept("charts", "1.0", "js", derive)
    (file,) = cache.iterdir()
    file.write_bytes(b"another user's")
    monkeypatch.setattr("os.geteuid", lambda: file.stat().st_uid + 1)
    assert user_cache.kept("charts", "1.0", "js", derive) == b"derived"
    assert user_cache.kept("charts", "2.0", "js", derive) == b"derived"
    assert list(cache.iterdir()) == [file]
