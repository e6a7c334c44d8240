//! Prints the engine's JSON document of a capture: `cargo run -p ackclock-trace --example analyze
//! -- CAPTURE`.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::Report;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let mut capture = Capture::open(Path::new(&path))?;
        let mut analysis = Analysis::new(PacketFilter::default());
        analysis.read(&mut capture, &mut (), u64::MAX)?;
        capture.finish();
        println!("{}", serde_json::to_string_pretty(&Report::of(&analysis, &capture))?);
    }
    Ok(())
}
