"""Programs that measure many runs."""
