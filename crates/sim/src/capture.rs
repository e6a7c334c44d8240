//! Captures: a probe at some endpoints, or between hops, that writes each packet as it passes.

use crate::build::BuiltNetwork;
use crate::ip_id::IpIds;
use crate::plan::{self, CaptureFormat, Direction, End, Plan};
use crate::run::RunError;
use ackclock_core::Time;
use ackclock_core::element::Port;
use ackclock_core::network::{EndpointId, NodeId, Route};
use ackclock_core::packet::{Arena, Body, Packet};
use ackclock_core::probe::Probe;
use ackclock_pcap::write::{CaptureWriter, FlowEnd, FlowFrames, HEADERS_SNAP_LEN, PcapWriter, PcapngWriter};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// All captures of a run.
pub struct Captures {
    open: Vec<OnePlace>,
    /// By endpoint: which captures it feeds, and which end of its flow it is.
    at: Vec<Vec<(u32, FlowEnd)>>,
    /// Those between hops.
    gates: Vec<Gate>,
    numbers: IpIds,
}

/// A packet of this flow that comes to this element by this port passes a capture.
struct Gate {
    at: (NodeId, Port),
    flow: u32,
    from: FlowEnd,
    feed: u32,
}

/// One end of one flow or a place between its hops, and the file its packets go to.
struct OnePlace {
    path: PathBuf,
    frames: FlowFrames,
    writer: CaptureWriter<File>,
    truth: Option<BufWriter<File>>,
    failed: Option<io::Error>,
}

impl Captures {
    /// Opens all files.
    pub fn create(plan: &Plan, world: &BuiltNetwork) -> Result<Captures, RunError> {
        let at = vec![Vec::new(); 2 * plan.flows.len()];
        let mut captures = Captures { open: Vec::new(), at, gates: Vec::new(), numbers: IpIds::default() };
        for wanted in &plan.captures {
            let Some(number) = plan.flows.iter().position(|f| f.name == wanted.flow) else { continue };
            let feed = captures.open.len() as u32;
            let place = match wanted.end {
                End::Server => "its server".to_owned(),
                End::Client => "its client".to_owned(),
                End::Middle => format!("after {} hops", wanted.after),
            };
            match wanted.end {
                End::Server => captures.at[world.flows[number].server.0 as usize].push((feed, FlowEnd::Server)),
                End::Client => captures.at[world.flows[number].client.0 as usize].push((feed, FlowEnd::Client)),
                End::Middle => captures.gates.extend(gates(plan, world, wanted, (number, feed))),
            }
            let writer = create(&wanted.path, wanted.format, &format!("{} at {place}", wanted.flow))
                .map_err(|error| failure(&wanted.path, error))?;
            let frames = FlowFrames::new(number as u32, plan.flows[number].client, HEADERS_SNAP_LEN);
            let truth = wanted.truth.as_ref().map(|path| truth(path).map_err(|error| failure(path, error))).transpose()?;
            captures.open.push(OnePlace { path: wanted.path.clone(), frames, writer, truth, failed: None });
        }
        Ok(captures)
    }

    /// Closes all files, or says which one could not be written.
    pub fn finish(self) -> Result<(), RunError> {
        for OnePlace { path, writer, truth, failed, .. } in self.open {
            failed.map_or_else(|| writer.finish(), Err).map_err(|error| failure(&path, error))?;
            truth.map_or(Ok(()), |mut truth| truth.flush()).map_err(|error| failure(&path, error))?;
        }
        Ok(())
    }

    fn pass(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body, sent: bool) {
        let number = if sent { self.numbers.sent(by, packet, body) } else { self.numbers.received(packet, body) };
        let Some(feeds) = self.at.get(by.0 as usize) else { return };
        for &(feed, side) in feeds {
            let from = if sent { side } else { side.other() };
            self.open[feed as usize].write(now, (from, number, sent), packet, body);
        }
    }
}

impl OnePlace {
    fn write(&mut self, now: Time, (from, number, sent): (FlowEnd, u16, bool), packet: &Packet, body: &Body) {
        if self.failed.is_some() {
            return;
        }
        let frame = self.frames.frame(from, number, packet, body);
        self.failed = self.writer.write(now, &frame).err();
        if let Some(truth) = &mut self.truth {
            let why = if let Body::Segment(s) = body { s.reason.name() } else { "" };
            self.failed = self.failed.take().or(writeln!(truth, "{},{},{why}", packet.id, u8::from(sent)).err());
        }
    }
}

/// Where a flow's packets pass a place between hops: as they come to the first hop beyond it, either way.
fn gates(plan: &Plan, world: &BuiltNetwork, wanted: &plan::Capture, (flow, feed): (usize, u32)) -> Vec<Gate> {
    let of = &plan.flows[flow];
    let gate = |direction| {
        let beyond = |hop: &usize| match direction {
            Direction::Down => *hop >= wanted.after as usize,
            Direction::Up => *hop < wanted.after as usize,
        };
        let hop = of.path(&plan.hops, direction).into_iter().find(beyond)?;
        let directed_hop =
            world.directed_hops.iter().find(|directed_hop| directed_hop.hop == hop && directed_hop.direction == direction)?;
        let Route::Node(node, port) = directed_hop.chain(of.client).entry() else { return None };
        let from = if direction == Direction::Down { FlowEnd::Server } else { FlowEnd::Client };
        Some(Gate { at: (node, port), flow: flow as u32, from, feed })
    };
    Direction::BOTH.into_iter().filter_map(gate).collect()
}

impl Probe for Captures {
    const WATCHING: bool = false;

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.pass(now, by, packet, body, true);
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.pass(now, by, packet, body, false);
    }

    fn entered(&mut self, now: Time, at: NodeId, port: Port, packet: &Packet, arena: &Arena) {
        for gate in self.gates.iter().filter(|gate| gate.at == (at, port) && gate.flow == packet.flow) {
            let body = arena.get(packet.body);
            let number = self.numbers.received(packet, body);
            let sent = gate.from == FlowEnd::Server;
            self.open[gate.feed as usize].write(now, (gate.from, number, sent), packet, body);
        }
    }
}

fn create(path: &Path, format: CaptureFormat, name: &str) -> io::Result<CaptureWriter<File>> {
    let file = File::create(path)?;
    Ok(match format {
        CaptureFormat::Pcap => CaptureWriter::Pcap(PcapWriter::new(file, HEADERS_SNAP_LEN)?),
        CaptureFormat::Pcapng => CaptureWriter::Pcapng(PcapngWriter::new(file, HEADERS_SNAP_LEN, name)?),
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
