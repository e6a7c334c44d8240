//! TCP in dialogue: each test says what reaches an endpoint and when, and what it must answer (after packetdrill).
#![allow(clippy::single_range_in_vec_init, reason = "a list of SACK blocks may hold one")]

mod accecn;
mod ack_control;
mod autotuning;
mod closing;
mod ecn;
mod fack;
mod fine_timer;
mod growth;
mod handshake;
mod heard;
mod limits;
mod loss_by_duplicates;
mod loss_by_sack;
mod loss_by_timeout;
mod memory;
mod pacing;
mod prr;
mod pushing;
mod rack;
mod rate_halving;
mod receiving;
mod script;
mod spurious;
mod timers;
mod undo_all;
