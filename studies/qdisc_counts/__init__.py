"""What a Linux kernel counts for a packet, and which packets its policer drops."""
