"""The 802.16 medium with NIST's rules of requests, beside NIST's module for ns-2."""
