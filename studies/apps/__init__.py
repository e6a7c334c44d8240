"""Calls, games and pages by real programs over the kernel's TCP and UDP beside the simulator's."""
