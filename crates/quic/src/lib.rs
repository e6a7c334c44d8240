//! Most of what content networks send is QUIC, so a link is not known before a QUIC stack was seen on it. This crate
//! runs a real one, noq-proto 1.4 (a fork of quinn-proto), as an end of a flow of the engine: the datagrams are
//! those of the stack, time is the engine's, and the cryptography is replaced by one that has AES-GCM's sizes and
//! no cost.
//!
//! What it does is what noq 1.4 does: other stacks differ in their controls, pacing and timers.

mod clock;
mod config;
mod congestion;
mod connection_ids;
mod crypto;
mod delivery_rate;
mod endpoint;
mod handshake;

pub use config::{AckFrequency, Control, Handshake, QuicConfig, StackControl};
pub use endpoint::QuicEndpoint;

/// Of IPv4 and UDP, bytes.
pub const IP_UDP_BYTES: u16 = 28;
