"""The command line. Exit status 0: done; 1: the work failed; 2: bad input; 130: interrupted."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

INTERRUPTED = 130


def main() -> None:
    """What the `ackclock` command calls."""
    status = run(sys.argv[1:])
    if status == INTERRUPTED:
        sys.stdout.flush()
        os._exit(status)  # runs under way cannot be stopped, and a plain exit would wait for them
    sys.exit(status)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    from ackclock.cli.app import app
    from ackclock.errors import InputError, RunFailed

    try:
        status = app(list(arguments) or ["--help"], prog_name="ackclock", standalone_mode=False)
    except InputError as error:
        return _complain(str(error), 2)
    except RunFailed as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        # Typer's complaints about a command line share this method and nothing public in all its versions.
        say = getattr(error, "format_message", None)
        if say is None:
            raise
        return _complain(" ".join(say().split()), 2)
    if status == INTERRUPTED:
        return _complain("interrupted; finished runs are kept", INTERRUPTED)
    return status if isinstance(status, int) else 0


def _complain(message: str, status: int) -> int:
    print(f"ackclock: {message}", file=sys.stderr)
    return status
