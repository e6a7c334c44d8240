"""Run folders on disk: one experiment each, one writer at a time, each file complete or absent."""
