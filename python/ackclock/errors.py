"""Errors: the problem, its location and its remedy, as fields and as one line.

After its location (file:line: key: or --option:), a message has one of two forms:

* ``found X; allowed: Y``: an invalid value;
* ``PROBLEM; REMEDY``: other errors, such as two options that exclude each other.
"""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

Key = tuple[str | int, ...]
FIELDS = ("kind", "code", "message", "file", "line", "key", "option", "found", "allowed", "hint")


class InvalidValue(ValueError):
    """An invalid value, raised where the file that contains it is not known.

    `key` is the location below the one where it is raised. `InvalidValue.problem` makes the second
    form, with `statement` and `hint` instead of `found` and `allowed`. Of a scenario, `varied` is
    the path in a sweep whose value it is, and `link` the link file that has it.
    """

    def __init__(self, found: str, allowed: str, key: Key = (), *, code: str = "value") -> None:
        super().__init__(f"found {found}; allowed: {allowed}")
        self.found = found
        self.allowed = allowed
        self.key = key
        self.code = code
        self.statement = ""
        self.hint = ""
        self.varied = ""
        self.link = ""

    @classmethod
    def problem(cls, statement: str, hint: str, key: Key = ()) -> Self:
        """The second form: a sentence about the problem, and the remedy."""
        invalid = cls("", "", key, code="combination")
        invalid.statement, invalid.hint = statement, hint
        invalid.args = (f"{statement}; {hint}",)
        return invalid


class FormerName(DeprecationWarning):
    """A key of a file that has another name now: the command line prints it as a remark."""


class AckclockError(Exception):
    """The base of all errors of this package. `str()` is the message; `document()` has its fields.

    Attributes:
        kind: "input", "usage", "failed", "interrupted" or "internal".
        code: its entry in `ackclock explain CODE` and on the page of errors.
        status: the exit status of the command line.
        file, line, key: where in a file, or None and "".
        option: the option or argument as typed on the command line, or "".
        found, allowed: the first form; "" in the second.
        statement, hint: the second form; `hint` may follow the first form, too.
    """

    kind: ClassVar[str] = "failed"
    status: ClassVar[int] = 1

    def __init__(
        self,
        found: str = "",
        allowed: str = "",
        *,
        statement: str = "",
        hint: str = "",
        file: str | None = None,
        line: int | None = None,
        key: str = "",
        option: str = "",
        code: str = "",
    ) -> None:
        self.code = code or self._usual_code(found)
        self.file = file
        self.line = line
        self.key, self.option = ("", key) if key.startswith("--") and not option else (key, option)
        self.found = found
        self.allowed = allowed
        self.statement = statement
        self.hint = hint
        super().__init__(self._message())

    @classmethod
    def problem(
        cls,
        statement: str,
        hint: str,
        *,
        file: str | None = None,
        line: int | None = None,
        key: str = "",
        option: str = "",
        code: str = "",
    ) -> Self:
        """The second form: ``statement; hint``. The statement names the option, which `option`
        repeats as a field.
        """
        return cls._of(statement=statement, hint=hint, file=file, line=line, key=key, option=option, code=code)

    @classmethod
    def of(
        cls, invalid: InvalidValue, *, file: str | None = None, line: int | None = None, key: str = "", option: str = ""
    ) -> Self:
        """The error for an invalid value, with its location."""
        fields = {name: getattr(invalid, name) for name in ("found", "allowed", "statement", "hint", "code")}
        return cls._of(**fields, file=file, line=line, key=key, option=option)

    @classmethod
    def _of(cls, **fields: Any) -> Self:
        error = cls.__new__(cls)
        AckclockError.__init__(error, **fields)
        return error

    def with_option(self, option: str) -> Self:
        """The same error with the option in place of the key that the option sets."""
        fields = {name: getattr(self, name) for name in ("found", "allowed", "statement", "hint", "code")}
        return self._of(**fields, option=option)

    def within(self, what: str) -> Self:
        """The same error with a prefix: the parameters and the seed of a run."""
        fields = {name: getattr(self, name) for name in ("hint", "file", "line", "key", "option", "code")}
        statement = self.statement or f"found {self.found}; allowed: {self.allowed}"
        error = self._of(statement=f"{what}: {statement}", **fields)
        if "\n" in statement:
            error.args = (f"{what}: {statement}",)
        return error

    @property
    def message(self) -> str:
        return str(self)

    def document(self) -> dict[str, Any]:
        """What `--json` prints: ``{"error": {kind, code, message, file, line, key, option,
        found, allowed, hint}}``, None for an unknown field.
        """
        fields = {name: getattr(self, name) for name in FIELDS}
        return {"error": {name: None if value == "" else value for name, value in fields.items()}}

    def _usual_code(self, found: str) -> str:
        """The code of an error that was raised without one."""
        return self.kind

    def _message(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where = f"{where or 'input'}:{self.line}"
        name = self.option or self.key
        name = "" if name and name in self.statement else name
        text = self.statement or f"found {self.found}; allowed: {self.allowed}"
        if self.hint:
            text += f"; {self.hint}"
        return _one_line(": ".join(part for part in (where, name, text) if part))

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), dict(self.__dict__), self.args)


class InputError(AckclockError):
    """Bad input. `str()` is one line; the command line prints it and exits with 2."""

    kind: ClassVar[str] = "input"
    status: ClassVar[int] = 2

    def __init__(
        self,
        found: str,
        allowed: str,
        *,
        hint: str = "",
        file: str | None = None,
        line: int | None = None,
        key: str = "",
        option: str = "",
        code: str = "",
    ) -> None:
        super().__init__(found, allowed, hint=hint, file=file, line=line, key=key, option=option, code=code)

    def _usual_code(self, found: str) -> str:
        return "value" if found else "combination"


class NoPath(InputError):
    """Captures of two ends that have no packets in common, or clocks that cannot be related."""


class UsageError(InputError):
    """A command line with a syntax error: an unknown option, a missing argument. Exit status 2."""

    kind: ClassVar[str] = "usage"

    def _usual_code(self, found: str) -> str:
        return self.kind


class RunFailed(AckclockError):
    """The work failed; the message has its parameters and seed. The command line exits with 1.

    ``RunFailed(statement)``, or with `hint`, the remedy. The traceback of user code keeps its
    lines. ``run`` is the index in its chunk of the run that failed.
    """

    run: int | None = None

    def __init__(self, statement: str, hint: str = "", *, file: str | None = None, option: str = "") -> None:
        super().__init__(statement=statement, hint=hint, file=file, option=option)
        if "\n" in statement:
            self.args = (statement,)


class Interrupted(AckclockError):
    """Ctrl-C. Exit status 130."""

    kind: ClassVar[str] = "interrupted"
    status: ClassVar[int] = 130


class Internal(AckclockError):
    """A defect of this program: an unexpected exception.

    Its traceback is printed to standard error; exit status 1.
    """

    kind: ClassVar[str] = "internal"


@contextmanager
def native_errors(*, file: str | None = None, refusal: type[InputError] = InputError) -> Iterator[None]:
    """Convert the engine's exceptions to this package's, field by field; `file` applies where the
    engine gives none.

    Raises `refusal` for bad input, RunFailed for failed work and for a plan that the engine refuses
    (this program wrote it).
    """
    from ackclock import _native

    try:
        yield
    except _native.NativeError as error:
        bad_input = isinstance(error, _native.InputError) and not isinstance(error, _native.PlanError)
        kind: type[AckclockError] = refusal if bad_input else RunFailed
        fields = {name: getattr(error, name) for name in ("found", "allowed", "statement", "hint", "line", "key")}
        raise kind._of(**fields, file=error.file or file, option=error.option) from None


def from_document(document: Mapping[str, Any]) -> AckclockError:
    """The error that another process printed as ``{"error": {..}}``: an InputError for exit status
    2, else a RunFailed.
    """
    fields = document["error"]
    kinds: dict[str, type[AckclockError]] = {
        kind.kind: kind for kind in (InputError, UsageError, RunFailed, Interrupted)
    }
    error = kinds.get(fields["kind"], RunFailed)._of(
        **{name: fields.get(name) or "" for name in ("found", "allowed", "hint", "key", "option", "code")},
        file=fields.get("file"),
        line=fields.get("line"),
        statement="" if fields.get("found") else fields["message"],
    )
    error.args = (fields["message"],)
    return error


def _again(kind: type[AckclockError], fields: dict[str, Any], args: tuple[Any, ...]) -> AckclockError:
    error = kind.__new__(kind)
    error.__dict__.update(fields)
    error.args = args
    return error


def not_readable(
    error: OSError | UnicodeDecodeError, file: str | os.PathLike[str], allowed: str, *, option: str = ""
) -> InputError:
    """The error for an unreadable file: the path does not exist, is a folder, or lacks the
    permission.
    """
    return InputError(_found_there(error, "read"), allowed, file=str(file), option=option, code="file")


def not_writable(error: OSError, file: str | os.PathLike[str]) -> RunFailed:
    """The error for a file or folder that could not be written, with the remedy."""
    return RunFailed.problem(
        _found_there(error, "write"),
        _REMEDIES.get(error.errno or 0, "name another folder"),
        file=str(file),
        code="disk",
    )


_FOUND = {
    errno.ENOENT: "no such file",
    errno.EISDIR: "a folder",
    errno.ENOTDIR: "a path through a file",
    errno.ENAMETOOLONG: "a name that is too long",
    errno.ELOOP: "symbolic links in a circle",
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "no quota left",
    errno.EROFS: "a file system that is read-only",
}
_REMEDIES = {
    errno.ENOSPC: "free space there, or name another folder",
    errno.EDQUOT: "free space there, or name another folder",
    errno.EACCES: "grant yourself the permission, or name another folder",
    errno.EPERM: "grant yourself the permission, or name another folder",
}


def describe_path(folder: Path) -> str:
    """The kind of a path that should be a run folder, for a message."""
    return "a folder that holds no such run" if folder.is_dir() else "a file" if folder.exists() else "no such folder"


def _found_there(error: OSError | UnicodeDecodeError, verb: str) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "bytes that are not UTF-8 text"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"no permission to {verb} it"
    reason = (error.strerror or str(error)).lower()
    return _FOUND.get(error.errno or 0, f"nothing that can be {'read' if verb == 'read' else 'written'} ({reason})")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def format_value(value: object) -> str:
    """A value as in TOML, limited in length."""
    if isinstance(value, str):
        text = f'"{value}"'
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict):
        text = "a table (" + (", ".join(map(str, value)) or "empty") + ")"
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(map(format_value, value[:20]))}]" if value else "an empty list"
    else:
        text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


MAX_NAMES = 30
"""Maximum number of names in a message; of more, the most similar ones are listed."""


def choices(names: Iterable[str], found: object = None) -> str:
    """The allowed names and the nearest one if there is one; of many names the similar ones."""
    names = list(names)
    near = nearest(found, names) if isinstance(found, str) else None
    if len(names) > MAX_NAMES:
        like = difflib.get_close_matches(str(found), names, n=8, cutoff=0.0)
        listed = f"{', '.join(like)} and {len(names) - len(like)} others"
    else:
        listed = ", ".join(names) if names else "nothing here"
    return f"{listed} (did you mean {near}?)" if near else listed


def nearest_file(path: Path) -> str | None:
    """The TOML file in the folder of `path` whose stem is most similar."""
    stems = {other.stem: other.name for other in path.parent.glob("*.toml")} if path.parent.is_dir() else {}
    near = nearest(path.stem, list(stems))
    return stems[near] if near else None


def nearest(found: str, names: list[str]) -> str | None:
    """The name most similar to `found`, with letter case as a tie-break; None without a similar
    one.
    """
    if found in names:
        return found
    by_lower = {name.lower(): name for name in reversed(names)}
    if found.lower() in by_lower:
        return by_lower[found.lower()]
    near = difflib.get_close_matches(found, names, n=1, cutoff=0.75)
    if near:
        return near[0]
    lower = difflib.get_close_matches(found.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[lower[0]] if lower else None
