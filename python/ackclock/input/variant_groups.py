"""Groups of TCP variants: the usual ones on Linux, what this kernel offers, those of the papers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackclock import congestion_control
from ackclock.errors import InputError, format_value, nearest
from ackclock.input import catalogue

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""net.ipv4.tcp_available_congestion_control: the congestion controls that the kernel has loaded."""
LINUX = ("reno", "cubic", "bbr", "bbr3")
"""Linux's default (cubic), its fallback (reno), and BBR in both versions."""
NOT_IN_MAINLINE = ("bbr3",)
"""Variants of `LINUX` that mainline Linux does not have: a patched kernel is needed."""
PAPERS = (
    "reno",
    "newreno",
    "cubic-2.0",
    "bic",
    "bic-2.6.8",
    "vegas",
    "vegas-original",
    "veno",
    "westwood",
    "westwood+",
    "westwood-ns2",
    "biad",
)
"""The variants of the papers' packaged experiments, those of their host stacks included."""
KERNEL_NAMES = {
    **{
        name: name
        for name in ("reno", "cubic", "bbr", "bbr3", "bic", "vegas", "veno", "htcp", "hybla", "illinois", "scalable")
    },
    **{name: name for name in ("highspeed", "lp", "yeah", "dctcp", "prague")},
    "westwood": "westwood+",
    **{f"ackclock_{name}": name for name in ("vegas", "veno", "bic", "biad")},
    "ackclock_westw": "westwood+",
}
"""The variant for a kernel's congestion control, whose names are those of TCP_CONGESTION."""
LINUX_NAMES = {name: linux for linux, name in reversed(KERNEL_NAMES.items()) if not linux.startswith("ackclock_")}
"""The name in Linux of each variant that it has."""


@dataclass(frozen=True)
class KernelVariants:
    """The congestion controls of a kernel: those that the engine models, by their names here, and
    the others, by the kernel's.
    """

    modelled: tuple[str, ...]
    others: tuple[str, ...]


def kernel_variants(available: Path | None = None) -> KernelVariants:
    """The congestion controls that this machine's kernel offers, in its order.

    Raises:
        InputError: the machine has no such list.
    """
    path = available or AVAILABLE
    try:
        names = path.read_text("ascii").split()
    except OSError:
        raise InputError.problem(
            f"this machine ({sys.platform}) has no net.ipv4.tcp_available_congestion_control",
            "the group kernel needs Linux: name variants, or a group: linux, papers, all",
            key="variants",
        ) from None
    modelled = dict.fromkeys(KERNEL_NAMES[name] for name in names if name in KERNEL_NAMES)
    return KernelVariants(tuple(modelled), tuple(name for name in names if name not in KERNEL_NAMES))


@dataclass(frozen=True)
class Group:
    """Variants with a name. `variants` may raise InputError."""

    title: str
    variants: Callable[[], tuple[str, ...]]


GROUPS = {
    "linux": Group("the usual ones on Linux", lambda: LINUX),
    "kernel": Group("what this machine's kernel offers", lambda: kernel_variants().modelled),
    "papers": Group("what the papers' experiments use", lambda: PAPERS),
    "all": Group("all variants of the engine", catalogue.variants),
}
"""Groups by name."""
DEFAULT_GROUP = "linux"


def described() -> dict[str, str]:
    """Groups: name -> what they are, and their variants."""
    return {name: _described(name) for name in GROUPS}


def _described(name: str) -> str:
    group = GROUPS[name]
    try:
        variants = [shown(variant) for variant in group.variants()]
        others = kernel_variants().others if name == "kernel" else ()
    except InputError as error:
        return f"{group.title}: {error.statement}"
    rest = f"; without a model: {', '.join(others)}" if others else ""
    return f"{group.title}: {', '.join(variants) or 'none'}{rest}"


def expanded(given: Sequence[str]) -> list[str]:
    """The variants of names and groups, in order, each once.

    Raises:
        InputError: a name that is neither a group nor a variant, the same name twice, or a kernel
            without a variant.
    """
    found: dict[str, None] = {}
    for number, name in enumerate(given):
        if name in given[:number]:
            raise InputError(f"{name} twice", "different choices", key="variants")
        found.update(dict.fromkeys(_members(name)))
    return list(found)


def _members(name: str) -> tuple[str, ...]:
    """The variants of a group; a variant itself."""
    if name not in GROUPS:
        _check(name)
        return (name,)
    members = GROUPS[name].variants()
    if not members:
        raise InputError.problem(
            f"no congestion control of this kernel has a model: {', '.join(kernel_variants().others)}",
            "name variants, or a group: linux, papers, all",
            key="variants",
        )
    return members


def _check(name: str) -> None:
    known = catalogue.variants()
    if name in known or congestion_control.is_user(name):
        return
    near = nearest(name, [*GROUPS, *known])
    meant = f" (did you mean {near}?)" if near else ""
    raise InputError(
        format_value(name),
        f"a group: {', '.join(GROUPS)}; or a variant: {', '.join(known)}{meant}; or a class of yours, python:MODULE.CLASS",
        key="variants",
    )


def shown(variant: str) -> str:
    """A variant in a sentence: with a remark if it needs a patched kernel."""
    return f"{variant} (not in mainline Linux)" if variant in NOT_IN_MAINLINE else variant


def remarks(given: Sequence[str], variants: Sequence[str]) -> list[str]:
    """Sentences about variants as given and expanded: those that need a patched kernel, and the
    congestion controls of this kernel that the group `kernel` leaves out.
    """
    notes = [f"{name} is not in mainline Linux." for name in NOT_IN_MAINLINE if name in variants]
    if "kernel" in given and (others := kernel_variants().others):
        notes.append(f"Without a model, and left out of this kernel's: {', '.join(others)}.")
    return notes
