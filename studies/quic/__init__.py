"""QUIC beside TCP in the simulator: the same congestion controls over ten links, and the ACKs of a
slow return path.
"""
