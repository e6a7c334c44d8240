//! All that the analyzer does with a file: read, rebuilt, kept packet by packet, joined with itself, reported.

use ackclock_pcap::read::{Capture, ReadError};
use ackclock_trace::analyze::PacketFilter;
use ackclock_trace::join::{CaptureSide, join};
use ackclock_trace::report::Report;
use ackclock_trace::series::Packets;
use std::fmt;
use std::io::Cursor;

/// What came of it.
pub enum Outcome {
    Refused(ReadError),
    Read(Box<Report>),
}

impl Outcome {
    /// Packets read.
    #[allow(dead_code, reason = "one of the two tests asks")]
    pub fn packets(&self) -> u64 {
        if let Outcome::Read(report) = self { report.packets } else { 0 }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Refused(why) => write!(f, "{why}"),
            Outcome::Read(r) => {
                write!(f, "{} packets, {} TCP, {} flows", r.packets, r.tcp_packets, r.flows.len())?;
                r.malformed_kinds.iter().chain(&r.skipped).try_for_each(|(name, n)| write!(f, ", {n} {name}"))
            }
        }
    }
}

fn taken(bytes: &[u8]) -> Result<CaptureSide, ReadError> {
    let capture = Capture::from_reader(Box::new(Cursor::new(bytes.to_vec())))?;
    let mut taken = CaptureSide { packets: Some(Packets::default()), ..CaptureSide::new(capture, PacketFilter::default()) };
    taken.read(u64::MAX)?;
    taken.capture.finish();
    Ok(taken)
}

pub fn analyze(bytes: Vec<u8>) -> Outcome {
    let (first, second) = match (taken(&bytes), taken(&bytes)) {
        (Ok(first), Ok(second)) => (first, second),
        (Err(why), _) | (_, Err(why)) => return Outcome::Refused(why),
    };
    assert!(first.analysis.memory() < 64 << 20);
    let rows = first.packets.as_ref().map_or(0, |p| p.rows.len() as u64);
    assert_eq!(rows, first.analysis.counts().tcp);
    let joined = Report::joined(&first, &second, &join(&first, &second, None));
    serde_json::to_string(&joined).expect("figures are numbers");
    Outcome::Read(Box::new(Report::of(&first.analysis, &first.capture)))
}
