"""Linux built from Debian's source as user-mode Linux, in virtual time, against the simulator."""
