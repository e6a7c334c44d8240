"""Hosts in time: what a kernel takes from a packet's arrival to its answer."""
