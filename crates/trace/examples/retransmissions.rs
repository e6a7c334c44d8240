//! Prints every retransmitted or reordered segment of a capture with its classification:
//! `cargo run -p ackclock-trace --example retransmissions -- CAPTURE`.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter, PacketObserver};
use ackclock_trace::decode::Segment;
use ackclock_trace::flow::{DataEvent, Flow, PacketEvent};
use std::path::Path;

struct Print;

impl PacketObserver for Print {
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        let spurious = event.ack.map_or(0, |ack| ack.spurious);
        if let DataEvent::Classified(classification) = event.data {
            let (since, id) = ((at - flow.first_at()) as f64 * 1e-9, s.ip_id.unwrap_or(0));
            println!(
                "{since:.6} flow {} port {} seq {} len {} id {id} {classification:?}",
                number + 1,
                s.source().port,
                s.seq,
                s.payload
            );
        }
        if spurious > 0 {
            println!("{:.6} flow {} ack {} shows {spurious} spurious", (at - flow.first_at()) as f64 * 1e-9, number + 1, s.ack);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let mut capture = Capture::open(Path::new(&path))?;
        Analysis::new(PacketFilter::default()).read(&mut capture, &mut Print, u64::MAX)?;
    }
    Ok(())
}
