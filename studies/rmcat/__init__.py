"""Congestion control of interactive media in the cases of RFC 8867."""
