"""The command line. Exit status 0: done; 1: the work failed; 2: bad input; 130: interrupted.

An error is one line on stderr. With `--json` it is also a document on stdout, the only one.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ackclock.cli.progress import status_line  # not later: `serve` drops the privilege to read the package

if TYPE_CHECKING:
    from ackclock.errors import AckclockError

INTERRUPTED = 130
UNUSABLE = (errno.ENAMETOOLONG, errno.ELOOP)
"""Of a path that nothing can have, wherever it was looked at."""
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)


def main() -> None:
    """Entry point of the `ackclock` command."""
    if sys.argv[1:] in (["--version"], ["-V"]):  # without typer, which takes most of the time
        print_version()
        return
    status = run(sys.argv[1:])
    if status in (1, INTERRUPTED):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)  # running threads cannot be stopped, and sys.exit would wait for them
    sys.exit(status)


def print_version() -> None:
    from importlib.metadata import version

    print(f"ackclock {version('ackclock')}")


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    from ackclock.cli.address_space import has_low_memory, out_of_memory, polars_guarded
    from ackclock.errors import AckclockError, Internal, Interrupted, not_readable, not_writable

    json = _wants_json(arguments)
    _print_former_names()
    try:
        with polars_guarded():
            status = _command()(list(arguments) or ["--help"], prog_name="ackclock", standalone_mode=False)
            sys.stdout.flush()
    except AckclockError as error:
        return _complain(error, json=json)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno in UNUSABLE and error.filename is not None:
            return _complain(not_readable(error, error.filename, "a path that can exist"), json=json)
        if error.errno not in UNWRITABLE:
            if has_low_memory(error):
                return _complain(out_of_memory(), json=json)
            raise
        if error.filename is None:  # standard output is closed for further writes
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _complain(not_writable(error, error.filename or "standard output"), json=json)
    except BaseException as error:  # a panic of native code is no Exception
        if has_low_memory(error):
            return _complain(out_of_memory(), json=json)
        if not isinstance(error, Exception):
            raise
        from ackclock.cli.usage import is_usage, usage_error

        if is_usage(error):
            return _complain(usage_error(error, arguments), json=json)
        if json:
            _print_document(
                Internal.problem(f"{type(error).__name__}: {error}", "report it with the traceback on standard error")
            )
        raise
    if status == INTERRUPTED:
        return _complain(Interrupted.problem("interrupted", _kept()), json=json)
    return status if isinstance(status, int) else 0


def _print_former_names() -> None:
    """Print each key that has another name now, once, in a line of its own."""
    import warnings

    from ackclock.errors import FormerName

    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, FormerName):
            status_line(f"warning: {message}")
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    warnings.filterwarnings("once", category=FormerName)


@cache
def _command() -> Callable[..., object]:
    """The commands with their options, built once: importing typer is slow."""
    from typer.main import get_command

    from ackclock.cli.app import app

    # The shell is an argument of --show-completion and --install-completion: typer would detect it
    # from the parent processes, where a script or `make` is an sh.
    detection = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
    os.environ[detection] = "1"
    try:
        return get_command(app)
    finally:
        del os.environ[detection]


def _kept() -> str:
    """The message after Ctrl-C: the folder with the finished results."""
    folders = sys.modules.get("ackclock.storage.run_folder")  # not imported if nothing was written
    run = folders.RunFolder.last_kept if folders else None
    if run is None:
        return "nothing was written"
    return f"finished results are in {run.path}" + (
        "" if run.identity.once else ", and the same command continues from there"
    )


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether --json was given, even on an invalid command line.

    Arguments after -- belong to another command.
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def _complain(error: AckclockError, *, json: bool) -> int:
    if json:
        _print_document(error)
    status_line(f"ackclock: {error}")
    if sys.stderr.isatty():
        status_line(f"more: ackclock explain {error.code}")
    return error.status


def _print_document(error: AckclockError) -> None:
    from json import dumps

    print(dumps(error.document(), indent=2), flush=True)
