"""Pulses of a second (PPS), recorded from a file during a measurement."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.errors import InputError, not_readable

if TYPE_CHECKING:
    from ackclock.documents.measure import PulseState

NEAR, FAR = "pulses.txt", "pulses-far.txt"
"""Files of a run folder: the client's pulses, the server's."""
INTERVAL_S = 0.2
"""Interval at which a file that has the last pulse only is read."""
KERNEL = re.compile(r"(\d+)\.(\d{9})#\d+\s*$")
"""A pulse as Linux has it in /sys/class/pps/pps0/assert (Documentation/driver-api/pps.rst)."""


class PulseRecorder:
    """Records pulses from ``source`` into ``target``, as a context manager.

    ``source`` is a list with one pulse per line (docs/reference/analyze.md), which is read at the
    end, or has the last pulse only, such as /sys/class/pps/pps0/assert, and is read every 0.2 s.
    The kernel's pulses are labelled with the nearest second of the host's clock.

    Raises:
        InputError: ``source`` cannot be read at the start.
    """

    def __init__(self, source: Path, target: Path) -> None:
        self._source, self.target = source, target
        self._lines: dict[str, None] = {}
        self._is_list = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.count = 0
        self.broken: str | None = None
        try:
            self._read()
        except OSError as error:
            raise not_readable(error, source, "a file with pulses", option="--pps") from None

    def __enter__(self) -> PulseRecorder:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.count = sum(1 for line in self._lines if line.split("#")[0].strip())
        try:
            self.target.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
        except OSError as error:  # such as a full disk, which does not end the measurement
            self.broken = error.strerror

    def summary(self) -> PulseState:
        """The file's name, the number of pulses, and ``broken`` if recording ended early."""
        state: PulseState = {"file": self.target.name, "pulses": self.count}
        return {**state, "broken": self.broken} if self.broken else state

    def _run(self) -> None:
        try:
            while not self._done.wait(INTERVAL_S):
                if not self._is_list:
                    self._read()
            self._read()
        except OSError as error:
            self.broken = error.strerror

    def _read(self) -> None:
        lines = self._source.read_text(encoding="utf-8", errors="replace").splitlines()
        self._is_list = len(lines) > 1
        self._lines.update(dict.fromkeys(labelled(line) for line in lines))


def labelled(line: str) -> str:
    """A line of a pulse file; the kernel's pulse gets its label.

    >>> labelled("1700000000.999998500#42")
    '1700000000.999998500 1700000001'
    >>> labelled("1700000000999998500 1700000001")
    '1700000000999998500 1700000001'
    """
    found = KERNEL.match(line)
    if not found:
        return line
    second = int(found[1]) + (int(found[2]) >= 500_000_000)
    return f"{found[1]}.{found[2]} {second}"


def recorders(sources: Sequence[str | Path], folder: Path) -> list[PulseRecorder]:
    """Recorders of the client's pulses, and of the server's if there are two sources.

    Raises:
        InputError: there are more sources, or one cannot be read.
    """
    if len(sources) > 2:
        raise InputError.problem(
            f"--pps is given {len(sources)} times",
            "give the pulses of this end, then those of the far end",
            option="--pps",
        )
    return [PulseRecorder(Path(source), folder / name) for source, name in zip(sources, (NEAR, FAR), strict=False)]
