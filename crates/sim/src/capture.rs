//! Captures: a probe at some endpoints that writes each packet as it passes.

use crate::build::World;
use crate::numbers::Numbers;
use crate::plan::{CaptureFormat, End, Plan};
use crate::run::RunError;
use ackclock_core::Time;
use ackclock_core::network::EndpointId;
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;
use ackclock_trace::write::{CaptureWriter, FlowFrames, HEADERS_ONLY, PcapWriter, PcapngWriter, Side};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// All captures of a run.
pub struct Captures {
    open: Vec<OneEnd>,
    /// By endpoint: which captures it feeds.
    at: Vec<Vec<u32>>,
    numbers: Numbers,
}

/// One end of one flow, and the file its packets go to.
struct OneEnd {
    side: Side,
    path: PathBuf,
    frames: FlowFrames,
    writer: CaptureWriter<File>,
    truth: Option<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl Captures {
    /// Opens all files.
    pub fn create(plan: &Plan, world: &World) -> Result<Captures, RunError> {
        let mut captures = Captures { open: Vec::new(), at: vec![Vec::new(); 2 * plan.flows.len()], numbers: Numbers::default() };
        for wanted in &plan.captures {
            let Some(number) = plan.flows.iter().position(|f| f.name == wanted.flow) else { continue };
            let (side, endpoint) = match wanted.end {
                End::Server => (Side::Server, world.flows[number].server),
                End::Client => (Side::Client, world.flows[number].client),
            };
            let name = format!("{} at its {}", wanted.flow, if side == Side::Server { "server" } else { "client" });
            let writer = create(&wanted.path, wanted.format, &name).map_err(|error| failure(&wanted.path, error))?;
            let frames = FlowFrames::new(number as u32, plan.flows[number].client, HEADERS_ONLY);
            captures.at[endpoint.0 as usize].push(captures.open.len() as u32);
            let truth = wanted.truth.as_ref().map(|path| truth(path).map_err(|error| failure(path, error))).transpose()?;
            captures.open.push(OneEnd { side, path: wanted.path.clone(), frames, writer, truth, failed: None });
        }
        Ok(captures)
    }

    /// Closes all files, or says which one could not be written.
    pub fn finish(self) -> Result<(), RunError> {
        for OneEnd { path, writer, truth, failed, .. } in self.open {
            failed.map_or_else(|| writer.finish(), Err).map_err(|error| failure(&path, error))?;
            truth.map_or(Ok(()), |mut truth| truth.flush()).map_err(|error| failure(&path, error))?;
        }
        Ok(())
    }

    fn pass(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body, sent: bool) {
        let number = if sent { self.numbers.sent(by, packet, body) } else { self.numbers.received(packet, body) };
        let Some(feeds) = self.at.get(by.0 as usize) else { return };
        for &feed in feeds {
            let capture = &mut self.open[feed as usize];
            if capture.failed.is_none() {
                let from = if sent { capture.side } else { capture.side.other() };
                let frame = capture.frames.frame(from, number, packet, body);
                capture.failed = capture.writer.write(now, &frame).err();
                if let Some(truth) = &mut capture.truth {
                    let why = if let Body::Segment(s) = body { s.why.name() } else { "" };
                    capture.failed = capture.failed.take().or(writeln!(truth, "{},{},{why}", packet.id, u8::from(sent)).err());
                }
            }
        }
    }
}

impl Probe for Captures {
    const WATCHING: bool = false;

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.pass(now, by, packet, body, true);
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.pass(now, by, packet, body, false);
    }
}

fn create(path: &Path, format: CaptureFormat, name: &str) -> io::Result<CaptureWriter<File>> {
    let file = File::create(path)?;
    Ok(match format {
        CaptureFormat::Pcap => CaptureWriter::Pcap(PcapWriter::new(file, HEADERS_ONLY)?),
        CaptureFormat::Pcapng => CaptureWriter::Pcapng(PcapngWriter::new(file, HEADERS_ONLY, name)?),
    })
}

fn truth(path: &Path) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "packet,sent,why")?;
    Ok(file)
}

fn failure(path: &Path, error: io::Error) -> RunError {
    RunError::Capture { path: path.display().to_string(), error }
}
