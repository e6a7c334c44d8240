//! Captures with more flows than a report lists.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::Report;
use std::io::Cursor;

/// Maximum number of flows in a report (docs/reference/analyze.md).
const LISTED: u32 = 100_000;

/// A capture of SYNs from `count` clients to one server, 1 us apart, without link headers.
fn syns(count: u32) -> Vec<u8> {
    let mut out = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];
    let mut packet = [0u8; 40];
    packet[..10].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6]);
    packet[16..24].copy_from_slice(&[192, 0, 2, 1, 0x80, 0, 0, 80]);
    packet[32..34].copy_from_slice(&[0x50, 2]);
    for syn in 0..count {
        packet[12..16].copy_from_slice(&(10 << 24 | syn).to_be_bytes());
        for field in [0, syn, 40, 40] {
            out.extend(field.to_le_bytes());
        }
        out.extend(packet);
    }
    out
}

#[test]
fn report_counts_flows_beyond_the_maximum() {
    for (flows, left_out) in [(LISTED, None), (LISTED + 3, Some(3))] {
        let mut capture = Capture::from_reader(Box::new(Cursor::new(syns(flows)))).unwrap();
        let mut analysis = Analysis::new(PacketFilter::default());
        assert_eq!(analysis.read(&mut capture, &mut (), u64::MAX).unwrap(), u64::from(flows));
        assert_eq!(analysis.flows().len(), flows as usize);
        let report = Report::of(&analysis, &capture);
        assert_eq!((report.flows.len(), report.flows_left_out), (LISTED as usize, left_out));
    }
}
