//! The tables of a flow.

pub mod start;
pub mod workload;
