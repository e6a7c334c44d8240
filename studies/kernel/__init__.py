"""The running kernel's TCP over emulated links, against the simulator on the same links."""
