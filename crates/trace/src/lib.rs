//! Packet captures: reading them (`read`, `decode`), rebuilding flows and what happened to them (`flow`, `cause`,
//! `metrics`, put together by `analyze`), and writing what the simulator sees (`write`).
#![forbid(unsafe_code)]

pub mod analyze;
pub mod cause;
pub mod decode;
pub mod flow;
pub mod infer;
pub mod join;
pub mod metrics;
pub mod read;
pub mod report;
pub mod series;
mod stored;
pub mod write;
