//! Prints the comparison of two captures as JSON: `cargo run -p ackclock-trace --example join --
//! CAPTURE CAPTURE`.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::PacketFilter;
use ackclock_trace::join::{CaptureSide, join};
use ackclock_trace::report::Report;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [first, second] = &paths[..] else { return Err("usage: join CAPTURE CAPTURE".into()) };
    let read = |path: &String| -> Result<CaptureSide, Box<dyn std::error::Error>> {
        let mut side = CaptureSide::new(Capture::open(Path::new(path))?, PacketFilter::default());
        side.read(u64::MAX)?;
        side.capture.finish();
        Ok(side)
    };
    let (first, second) = (read(first)?, read(second)?);
    println!("{}", serde_json::to_string(&Report::joined(&first, &second, &join(&first, &second, None)))?);
    Ok(())
}
