//! Tables of a link file.

pub mod acks;
pub mod handover;
pub mod jitter;
pub mod loss;
pub mod queue;
pub mod signal;
pub mod threshold;
