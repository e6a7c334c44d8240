"""Shell completion of names: `ackclock --install-completion SHELL` (bash, zsh, fish) sets it up.

Where nothing matches, the shell completes file names. Each function imports what it needs when it
is called: a command without completion pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

Items = list[tuple[str, str]]
"""Names with their texts; bash shows the names only."""


def links(incomplete: str) -> Items:
    """Packaged links, also by their other names.

    >>> links("dsl-16"), links("starl")
    ([('dsl-16m', 'DSL, 16 Mb/s down, 1 Mb/s up')], [('starlink', 'leo')])
    """
    from ackclock.input.link.names import other_names, packaged_links

    others = {name: other.link for name, other in other_names().items()}
    return _matching({**packaged_links(), **others}, incomplete)


def hosts(incomplete: str) -> Items:
    """Host stacks."""
    from ackclock.input.catalogue import hosts as listed

    return _matching(listed(), incomplete)


def papers(incomplete: str) -> Items:
    """Papers with claims."""
    from ackclock.api import list_papers

    return _matching(list_papers(), incomplete)


def variants(incomplete: str) -> Items:
    """Variants and their groups, as the last part of a list with commas.

    >>> [name for name, text in variants("reno,cub")]
    ['reno,cubic', 'reno,cubic-2.0']
    """
    from ackclock.api import list_groups, list_variants

    return _listed({**list_variants(), **list_groups()}, incomplete)


def queues(incomplete: str) -> Items:
    """Queues, as the last part of a list with commas."""
    from ackclock.api import list_queues

    return _listed(list_queues(), incomplete)


def kernel_variants(incomplete: str) -> Items:
    """The variants of `kernel-cc`."""
    from ackclock.emulation.kernel_cc import KERNEL_NAMES

    return _matching({name: f"{of_kernel} in the kernel" for name, of_kernel in KERNEL_NAMES.items()}, incomplete)


def explained(incomplete: str) -> Items:
    """Codes of errors, findings, and rules."""
    from ackclock.explanations import explanations

    return _matching({name: f"{one.kind}: {one.group}" for name, one in explanations().items()}, incomplete)


def formats(incomplete: str) -> Items:
    """Formats of figures and tables."""
    from ackclock.report.files import FOLDER

    return _matching({name: f"into RUN/{folder}" for name, folder in FOLDER.items()}, incomplete)


def _listed(names: Mapping[str, str], incomplete: str) -> Items:
    before, comma, last = incomplete.rpartition(",")
    return [(f"{before}{comma}{name}", text) for name, text in _matching(names, last)]


def _matching(names: Mapping[str, str], incomplete: str) -> Items:
    return [(name, text) for name, text in names.items() if name.startswith(incomplete)]
