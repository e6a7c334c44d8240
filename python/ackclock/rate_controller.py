"""User-defined controllers of a shaper's rate in Python: `class Mine(ackclock.RateController)`.

A link file names a class as ``shaper = { autorate = "python:module.Class", .. }``; the module must
be importable, also from the current folder. The engine creates one object for each shaper, in
`simulate` and in `emulate`, and calls `on_sample` for each response to its pings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock import user_class

if TYPE_CHECKING:
    from ackclock._native import RateSample


class RateController:
    """Changes the rate of a shaper by the delay of pings and by the rate that the shaper achieves.

    The pings are packets of the run: they cross the path with the other traffic, up and back. Rates
    are in bits per second, times in seconds. Two runs with one seed must have equal results: draw
    random numbers from a generator seeded in `__init__`.

    This controller lowers the rate to nine tenths of what arrives when pings wait for 20 ms, and
    otherwise raises it by 2 % while the shaper is in use::

        import ackclock

        class Gentle(ackclock.RateController):
            def __init__(self, min_rate, base_rate, max_rate):
                super().__init__(min_rate, base_rate, max_rate)
                self.lowest, self.reduced, self.readings = float("inf"), 0.0, 0

            def on_sample(self, sample):
                self.lowest = min(self.lowest, sample.rtt)
                if sample.rtt - self.lowest > 0.020:
                    if sample.now - self.reduced < 0.5:
                        return None
                    self.reduced = sample.now
                    return 0.9 * min(sample.achieved, sample.rate)
                if sample.achieved < 0.75 * sample.rate or sample.readings == self.readings:
                    return None
                self.readings = sample.readings
                return 1.02 * sample.rate

    Attributes:
        min_rate: the lowest rate, `min_shaper_rate`.
        base_rate: the rate at the start, `base_shaper_rate`.
        max_rate: the highest rate, `max_shaper_rate`.
    """

    min_rate: float
    base_rate: float
    max_rate: float

    def __init__(self, min_rate: float, base_rate: float, max_rate: float) -> None:
        self.min_rate, self.base_rate, self.max_rate = min_rate, base_rate, max_rate

    def on_sample(self, sample: RateSample) -> float | None:
        """The rate from now on, which the engine keeps between `min_rate` and `max_rate`; None for
        the present one.

        Called for each response to a ping.
        """


def find(name: str) -> type[RateController]:
    """The rate controller "python:module.Class". Raises InvalidValue."""
    return user_class.find(name, RateController)
