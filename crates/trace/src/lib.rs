//! Packet captures. Today: what the simulator writes, as real Ethernet, IPv4, TCP and UDP.
#![forbid(unsafe_code)]

pub mod write;
