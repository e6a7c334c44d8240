"""Emulation of a link in real time, its run folder, and the papers' congestion controls in the
kernel."""
