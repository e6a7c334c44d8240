"""The packets that netem loses, by loss model and seed.

netem draws once or twice for each packet, whatever the packet is and whenever it comes, from a
generator that the qdisc's seed starts. So a model and a seed lose the same packet numbers in every
run, and the simulator gets them as a list of losses: both sides share the draws.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from studies.virtual_kernel import guest
from studies.virtual_kernel.build import Kernel
from studies.virtual_kernel.setups import LOSSES, SEEDS

FILE = Path(__file__).with_name("losses.csv")
PACKETS = 60_000
"""Packets in a minute at 10 Mb/s are 50,000."""
SCRIPT = """IP=4 SECONDS_=1 PORTS=
link() {{
    in_ B ./guest netem b1 {keys} seed={seed}
}}
flows() {{
    ip netns exec C ./guest missing 5001 {seconds} {packets} >lost.csv &
    receivers+=($!)
    in_ S ./guest draws ::ffff:10.0.3.2 {packets}
}}
"""


@dataclass(frozen=True)
class Draw:
    """The lost packets of one seed, counted from 0, the SYN-ACK; `netem_seed` is the qdisc's."""

    netem_seed: int
    lost: tuple[int, ...]

    def numbers(self) -> list[int]:
        """Numbers of the lost data packets, counted from 1."""
        return list(self.lost)


class Draws:
    """The draws in losses.csv."""

    def __init__(self, draws: dict[tuple[str, int], Draw]) -> None:
        self._draws = draws

    def of(self, model: str, seed: int) -> Draw:
        return self._draws[model, seed]


def read(path: Path = FILE) -> Draws:
    with path.open(encoding="utf-8", newline="") as file:
        return Draws(
            {
                (line["model"], int(line["seed"])): Draw(int(line["netem_seed"]), tuple(map(int, line["lost"].split())))
                for line in csv.DictReader(file)
            }
        )


def draw(kernel: Kernel, model: str, seed: int) -> Draw:
    """The draws of a model.

    The qdisc's seed is the first of 100 * seed, 100 * seed + 1, .. that does not lose the SYN-ACK.
    """
    for netem_seed in range(100 * seed, 100 * seed + 100):
        script = SCRIPT.format(keys=LOSSES[model].keys, seed=netem_seed, packets=PACKETS, seconds=PACKETS * 1e-4 + 1)
        with guest.run(kernel, script, 1) as folder:
            lost = tuple(map(int, (folder / "lost.csv").read_text("utf-8").split()))
        if 0 not in lost:
            return Draw(netem_seed, lost)
    raise guest.Failed(f"every seed of {model} loses the first packet")


def write(kernel: Kernel, path: Path = FILE) -> Draws:
    """Draw for all models and seeds."""
    draws = {(model, seed): draw(kernel, model, seed) for model in LOSSES for seed in SEEDS}
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("model", "seed", "netem_seed", "lost"))
        for (model, seed), one in draws.items():
            lines.writerow((model, seed, one.netem_seed, " ".join(map(str, one.lost))))
    return Draws(draws)
