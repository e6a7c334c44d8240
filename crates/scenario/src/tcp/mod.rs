//! The keys of [tcp] and of host stacks.

pub mod acks;
pub mod bursts;
pub mod host_file;
pub mod keys;
pub mod names;
pub mod resolution;
pub mod switch;
pub mod values;
