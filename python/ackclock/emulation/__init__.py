"""Emulation: a command behind a link in real time, its run folder, and the kernel's own congestion controls."""
