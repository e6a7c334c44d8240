//! Reads a capture and says what it held, for measurements from outside: `cargo run --release -p ackclock-trace --example speed -- CAPTURE`.

use ackclock_trace::analyze::{Analysis, Only};
use ackclock_trace::read::Capture;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let mut capture = Capture::open(Path::new(&path))?;
        let mut analysis = Analysis::new(Only::default());
        analysis.read(&mut capture, &mut (), u64::MAX)?;
        capture.finish();
        let (packets, flows) = (analysis.totals.packets, analysis.flows().len());
        let memory: usize = analysis.flows().iter().map(|flow| flow.memory()).sum();
        println!(r#"{{"packets": {packets}, "flows": {flows}, "flow_bytes": {memory}}}"#);
    }
    Ok(())
}
