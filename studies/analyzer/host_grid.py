"""Downloads drawn at random whose captures are those of hosts: offloads at either end, one flow or
20 in a capture, order of capture swapped, late timestamps."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from studies.analyzer.captures import Case
from studies.analyzer.perturbations import PERTURBATIONS, PERTURBED
from studies.analyzer.random_downloads import SENDERS, drawn_case

OFFLOADS: tuple[tuple[str, ...], ...] = ((), ("server",), ("client",), ("server", "client"))
"""The ends with offloads."""
GRO_US = (50, 1000)
"""Coalescing times of receivers: an interface's interrupt moderation, and `gro_flush_timeout` or a
link that delivers in bursts."""
MANY = 20
_MIN_RATE_OF_MANY = 4.0
_MERGING = tuple((host, variants) for host, variants in SENDERS if host == "linux-6")


@dataclass(frozen=True)
class HostGrid:
    """So many draws of one seed: the same for all `offloads` (the ends that have them) and
    perturbations.
    """

    title: str
    size: int
    seed: int
    offloads: tuple[str, ...] = ()
    perturbation: str = ""

    def cases(self) -> Iterator[tuple[str, Case]]:
        """A name, and what to run."""
        draw = random.Random(f"hosts {self.seed}")
        for number in range(self.size):
            name, case = drawn_case(draw, self.seed * 10_000 + number + 1, _MERGING)
            many = draw.random() < 0.4 and float(case.hop["rate"].split()[0]) >= _MIN_RATE_OF_MANY
            flow = {**case.flow, "count": MANY, "start": "uniform(0 s, 1 s)"} if many else case.flow
            gro_us = draw.choice(GRO_US)
            host = replace(case, flow=flow, offloads=self.offloads, gro_us=gro_us, perturbation=self.perturbation)
            yield f"{name}, GRO {gro_us} us{f', {MANY} flows' * many}", host

    @property
    def described(self) -> str:
        """What it is made of."""
        merged = f"GSO, TSO and GRO (within {' or '.join(map(str, GRO_US))} us) at {' and '.join(self.offloads)}"
        captures = [merged if self.offloads else "single segments"]
        captures += [PERTURBED[self.perturbation]] if self.perturbation else []
        return (
            f"{self.size} downloads drawn at random with seed {self.seed} as the other random ones, senders of "
            f"linux-6, one flow or {MANY} in one capture. Captures: {'; '.join(captures)}. A super-segment counts once."
        )


def host_grids(title: str, size: int, seed: int) -> Iterator[HostGrid]:
    """The same draws with offloads at neither end, at each and at both; and perturbed, at both."""
    for ends in OFFLOADS:
        yield HostGrid(f"{title}, offloads at {' and '.join(ends) or 'neither end'}", size, seed, ends)
    for perturbation in PERTURBATIONS:
        yield HostGrid(f"{title}, offloads at both ends, {perturbation}", size, seed, OFFLOADS[-1], perturbation)
