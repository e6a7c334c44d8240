//! Tables of a link file.

pub mod acks;
pub mod queue;
pub mod threshold;
