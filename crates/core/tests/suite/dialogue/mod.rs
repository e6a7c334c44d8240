//! TCP in dialogue: each test scripts the arrivals at an endpoint and the segments it must send
//! (after packetdrill). Rules that a packetdrill script states as precisely are in
//! `tests/packetdrill`; the tests here assert statistics and internal state, or play settings that
//! no script can name.
#![allow(clippy::single_range_in_vec_init, reason = "a list of SACK blocks may hold one")]

mod accecn;
mod ack_congestion_control;
mod autotuning;
mod closing;
mod ecn;
mod fack;
mod fine_timer;
mod growth;
mod handshake;
mod limits;
mod loss_by_timeout;
mod metrics_cache;
mod newreno;
mod pacing;
mod prr;
mod psh;
mod rack;
mod rate_halving;
mod receiver;
mod script;
mod sent_segment;
mod spurious;
mod tcp_linux;
mod timers;
mod undo_all;
