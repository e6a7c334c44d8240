//! The capture analyzer. `decode` parses headers, `flow` rebuilds connections and classifies
//! retransmissions, `metrics` collects statistics, `analyze` runs them over a capture, `report` builds
//! the JSON document, `series` keeps a row per packet, `infer` estimates the path from one capture,
//! `join` matches two captures. Capture files are read and written by `ackclock-pcap`.
#![forbid(unsafe_code)]

pub mod analyze;
mod compact;
pub mod congestion_control;
pub mod decode;
pub mod flow;
pub mod infer;
pub mod join;
pub mod metrics;
pub mod qlog;
pub mod report;
pub mod series;
pub mod strip;
