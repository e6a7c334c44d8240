"""Public suites of packetdrill scripts, and our own, against the engine."""
