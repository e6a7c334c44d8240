//! Captures: a probe at endpoints and between hops that writes each packet to a file.

use crate::build::BuiltNetwork;
use crate::ip_id::IpIds;
use crate::plan::{self, CaptureFormat, Direction, End, Plan};
use crate::run::RunError;
use ackclock_core::Time;
use ackclock_core::element::Port;
use ackclock_core::network::{EndpointId, NodeId, Route};
use ackclock_core::packet::{Arena, Body, Packet, RetransmitReason};
use ackclock_core::probe::Probe;
use ackclock_pcap::write::{
    CaptureRecord, CaptureWriter, FlowEnd, FlowFrames, HEADERS_SNAP_LEN, PcapWriter, PcapngWriter, SuperSegments,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Snapshot length of a flow over QUIC, whose null cryptography leaves frames readable: an ACK frame with the 64 ranges
/// that noq keeps.
const QUIC_SNAP_LEN: u32 = 320;

/// All captures of a run.
pub struct Captures {
    files: Vec<CaptureFile>,
    /// By endpoint: the captures of its packets, and the end of the flow that it is.
    by_endpoint: Vec<Vec<(u32, FlowEnd)>>,
    /// By element and flow: the captured endpoint whose host packets arrive at there, before it
    /// processes them.
    arrivals: BTreeMap<(NodeId, u32), EndpointId>,
    /// By endpoint: it is one of those in `arrivals`.
    arrives_early: Vec<bool>,
    /// Capture points between hops.
    points: Vec<CapturePoint>,
    ip_ids: IpIds,
}

/// A capture point between hops: packets of one flow that enter an element by a port.
struct CapturePoint {
    port: (NodeId, Port),
    flow: u32,
    from: FlowEnd,
    file: u32,
}

/// The capture file of one flow at one capture point.
struct CaptureFile {
    path: PathBuf,
    frames: FlowFrames,
    writer: CaptureWriter<File>,
    offloads: Option<SuperSegments>,
    truth: Option<BufWriter<File>>,
    /// Number of packets written.
    packets: u64,
    failed: Option<io::Error>,
}

impl Captures {
    /// Opens all files.
    pub fn create(plan: &Plan, world: &BuiltNetwork) -> Result<Captures, RunError> {
        let by_endpoint = vec![Vec::new(); 2 * plan.flows.len()];
        let mut captures = Captures {
            files: Vec::new(),
            arrives_early: vec![false; by_endpoint.len()],
            by_endpoint,
            arrivals: BTreeMap::new(),
            points: Vec::new(),
            ip_ids: IpIds::default(),
        };
        for capture in &plan.captures {
            let Some(number) = plan.flows.iter().position(|flow| flow.name == capture.flow) else { continue };
            let file = captures.files.len() as u32;
            let location = match capture.end {
                End::Server => "its server".to_owned(),
                End::Client => "its client".to_owned(),
                End::Middle => format!("after {} hops", capture.after),
            };
            match capture.end {
                End::Server => captures.add_endpoint(world, world.flows[number].server, (number, file), FlowEnd::Server),
                End::Client => captures.add_endpoint(world, world.flows[number].client, (number, file), FlowEnd::Client),
                End::Middle => captures.points.extend(points_between(plan, world, capture, (number, file))),
            }
            let snap_len = if plan.flows[number].quic.is_some() { QUIC_SNAP_LEN } else { HEADERS_SNAP_LEN };
            let writer = create(&capture.path, (capture.format, snap_len), &format!("{} at {location}", capture.flow))
                .map_err(|error| failure(&capture.path, error))?;
            let frames = FlowFrames::new(number as u32, plan.flows[number].client, snap_len);
            let truth =
                capture.truth.as_ref().map(|path| create_truth(path).map_err(|error| failure(path, error))).transpose()?;
            let offloads = capture.offloads.map(SuperSegments::new);
            let path = capture.path.clone();
            captures.files.push(CaptureFile { path, frames, writer, offloads, truth, packets: 0, failed: None });
        }
        Ok(captures)
    }

    fn add_endpoint(&mut self, world: &BuiltNetwork, id: EndpointId, (flow, file): (usize, u32), end: FlowEnd) {
        self.by_endpoint[id.0 as usize].push((file, end));
        if let Some(node) = world.network.host_arrival(id) {
            self.arrivals.insert((node, flow as u32), id);
            self.arrives_early[id.0 as usize] = true;
        }
    }

    /// Closes all files. Error: the first file that could not be written.
    pub fn finish(self) -> Result<(), RunError> {
        for mut file in self.files {
            while let Some(record) = file.offloads.as_mut().and_then(SuperSegments::pop) {
                file.put(&record);
            }
            let CaptureFile { path, writer, truth, failed, .. } = file;
            failed.map_or_else(|| writer.finish(), Err).map_err(|error| failure(&path, error))?;
            truth.map_or(Ok(()), |mut truth| truth.flush()).map_err(|error| failure(&path, error))?;
        }
        Ok(())
    }

    fn capture(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body, sent: bool) {
        let id = if sent { self.ip_ids.sent(by, packet, body) } else { self.ip_ids.received(packet, body) };
        let Some(captures) = self.by_endpoint.get(by.0 as usize) else { return };
        for &(file, end) in captures {
            let from = if sent { end } else { end.other() };
            self.files[file as usize].write(now, (from, id, sent), packet, body);
        }
    }
}

impl CaptureFile {
    fn write(&mut self, now: Time, (from, ip_id, sent): (FlowEnd, u16, bool), packet: &Packet, body: &Body) {
        let Some(offloads) = &mut self.offloads else {
            let reason = if let Body::Segment(segment) = body { segment.reason } else { RetransmitReason::No };
            return self.put_frame(now, (from, ip_id, sent), packet, body, &[(packet.id, reason)]);
        };
        offloads.add(CaptureRecord::new(now, from, sent, ip_id, packet, body));
        while let Some(record) = self.offloads.as_mut().and_then(SuperSegments::pop_complete) {
            self.put(&record);
        }
    }

    fn put(&mut self, record: &CaptureRecord) {
        let CaptureRecord { at, from, sent, ip_id, packet, body, parts } = record;
        self.put_frame(*at, (*from, *ip_id, *sent), packet, body, parts);
    }

    fn put_frame(
        &mut self,
        at: Time,
        (from, ip_id, sent): (FlowEnd, u16, bool),
        packet: &Packet,
        body: &Body,
        parts: &[(u64, RetransmitReason)],
    ) {
        if self.failed.is_some() {
            return;
        }
        let frame = self.frames.frame(from, ip_id, packet, body);
        self.failed = self.writer.write(at, &frame).err();
        if let Some(truth) = &mut self.truth {
            for (id, reason) in parts {
                let line = writeln!(truth, "{},{id},{},{}", self.packets, u8::from(sent), reason.name());
                self.failed = self.failed.take().or(line.err());
            }
        }
        self.packets += 1;
    }
}

/// The capture points of a capture between hops: the entry of the first hop beyond it, in each
/// direction.
fn points_between(plan: &Plan, world: &BuiltNetwork, capture: &plan::Capture, (number, file): (usize, u32)) -> Vec<CapturePoint> {
    let flow = &plan.flows[number];
    let point = |direction| {
        let beyond = |hop: &usize| match direction {
            Direction::Down => *hop >= capture.after as usize,
            Direction::Up => *hop < capture.after as usize,
        };
        let hop = flow.path(&plan.hops, direction).into_iter().find(beyond)?;
        let directed_hop =
            world.directed_hops.iter().find(|directed_hop| directed_hop.hop == hop && directed_hop.direction == direction)?;
        let Route::Node(node, port) = directed_hop.chain(flow.client).entry() else { return None };
        let from = if direction == Direction::Down { FlowEnd::Server } else { FlowEnd::Client };
        Some(CapturePoint { port: (node, port), flow: number as u32, from, file })
    };
    Direction::BOTH.into_iter().filter_map(point).collect()
}

impl Probe for Captures {
    const WATCHING: bool = false;

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.capture(now, by, packet, body, true);
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        // Captured on arrival, where that is earlier. The ends of pings are none of the plan's.
        if self.arrives_early.get(by.0 as usize) == Some(&false) {
            self.capture(now, by, packet, body, false);
        }
    }

    fn entered(&mut self, now: Time, at: NodeId, port: Port, packet: &Packet, arena: &Arena) {
        if let Some(&by) = self.arrivals.get(&(at, packet.flow)) {
            self.capture(now, by, packet, arena.get(packet.body), false);
        }
        for point in self.points.iter().filter(|point| point.port == (at, port) && point.flow == packet.flow) {
            let body = arena.get(packet.body);
            let id = self.ip_ids.received(packet, body);
            let sent = point.from == FlowEnd::Server;
            self.files[point.file as usize].write(now, (point.from, id, sent), packet, body);
        }
    }
}

fn create(path: &Path, (format, snap_len): (CaptureFormat, u32), name: &str) -> io::Result<CaptureWriter<File>> {
    let file = File::create(path)?;
    Ok(match format {
        CaptureFormat::Pcap => CaptureWriter::Pcap(PcapWriter::new(file, snap_len)?),
        CaptureFormat::Pcapng => CaptureWriter::Pcapng(PcapngWriter::new(file, snap_len, name)?),
    })
}

fn create_truth(path: &Path) -> io::Result<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(path)?);
    writeln!(file, "record,packet,sent,why")?;
    Ok(file)
}

fn failure(path: &Path, error: io::Error) -> RunError {
    RunError::Capture { path: path.display().to_string(), error }
}
