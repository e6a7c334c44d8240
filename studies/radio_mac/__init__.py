"""The packet-radio medium beside the MAC that the asymmetry paper's authors left in ns-2."""
