"""Dialogues with a running kernel's TCP, played against the engine, and a recorder of new ones."""
