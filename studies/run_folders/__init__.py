"""Run folders that are damaged, and what the commands that read them say."""
