//! Runs the entire analyzer on a file: reading, analysis, a row per packet, a join with itself,
//! reports.

use ackclock_pcap::read::{Capture, ReadError};
use ackclock_trace::analyze::PacketFilter;
use ackclock_trace::join::{CaptureSide, join};
use ackclock_trace::report::Report;
use ackclock_trace::series::Packets;
use std::fmt;
use std::io::Cursor;

/// Result of the analysis.
pub enum Outcome {
    Rejected(ReadError),
    Read(Box<Report>),
}

impl Outcome {
    /// Number of packets read.
    #[allow(dead_code, reason = "used by one of two tests")]
    pub fn packets(&self) -> u64 {
        if let Outcome::Read(report) = self { report.packets } else { 0 }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Rejected(error) => write!(f, "{error}"),
            Outcome::Read(r) => {
                write!(f, "{} packets, {} TCP, {} flows", r.packets, r.tcp_packets, r.flows.len())?;
                r.malformed_kinds.iter().chain(&r.skipped).try_for_each(|(name, n)| write!(f, ", {n} {name}"))
            }
        }
    }
}

fn read(bytes: &[u8]) -> Result<CaptureSide, ReadError> {
    let capture = Capture::from_reader(Box::new(Cursor::new(bytes.to_vec())))?;
    let mut side = CaptureSide { packets: Some(Packets::default()), ..CaptureSide::new(capture, PacketFilter::default()) };
    side.read(u64::MAX)?;
    side.capture.finish();
    Ok(side)
}

pub fn analyze(bytes: Vec<u8>) -> Outcome {
    let (first, second) = match (read(&bytes), read(&bytes)) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(error), _) | (_, Err(error)) => return Outcome::Rejected(error),
    };
    assert!(first.analysis.memory() < 64 << 20);
    let rows = first.packets.as_ref().map_or(0, |p| p.rows.len() as u64);
    assert_eq!(rows, first.analysis.counts().tcp);
    let joined = Report::joined(&first, &second, &join(&first, &second, None));
    serde_json::to_string(&joined).expect("figures are numbers");
    Outcome::Read(Box::new(Report::of(&first.analysis, &first.capture)))
}
