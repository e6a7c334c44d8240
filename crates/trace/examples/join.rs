//! Prints what two captures show together: `cargo run -p ackclock-trace --example join -- CAPTURE CAPTURE`.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::PacketFilter;
use ackclock_trace::join::{CaptureSide, join};
use ackclock_trace::report::Report;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [first, second] = &paths[..] else { return Err("two captures".into()) };
    let take = |path: &String| -> Result<CaptureSide, Box<dyn std::error::Error>> {
        let mut taken = CaptureSide::new(Capture::open(Path::new(path))?, PacketFilter::default());
        taken.read(u64::MAX)?;
        taken.capture.finish();
        Ok(taken)
    };
    let (first, second) = (take(first)?, take(second)?);
    println!("{}", serde_json::to_string(&Report::joined(&first, &second, &join(&first, &second, None)))?);
    Ok(())
}
