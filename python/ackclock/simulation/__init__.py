"""Simulated runs: a checked scenario to a plan, the engine's run of it, its metrics and its run
folder.
"""
