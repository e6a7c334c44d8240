//! The log of an emulation: the fate of each packet, samples of each queue, and a capture per real
//! host. All have the same packet numbers, so that an analysis of the captures can be compared with
//! the fates.

mod captures;
mod csv_rows;
mod fates;
mod headers;
mod samples;
mod writer_thread;

use crate::EmuError;
use ackclock_contract::Document;
use ackclock_core::Time;
use ackclock_core::element::Event;
use ackclock_core::network::{EndpointId, NodeId};
use ackclock_core::packet::{Body, Packet};
use ackclock_sim::Plan;
use ackclock_sim::build::BuiltNetwork;
use ackclock_sim::plan::Direction;
use captures::HostCaptures;
use fates::Fates;
use samples::Samples;
use serde::Serialize;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use writer_thread::{WriteError, WriterThread};

/// Values of the column `from`.
const SERVER: u8 = 0;
const CLIENT: u8 = 1;

pub struct Log {
    captures: HostCaptures,
    fates: Fates,
    samples: Samples,
    /// The plan's flows. Pings of rate controllers have higher numbers, and no fate here.
    flows: u32,
    /// By element; none for elements outside the hops.
    locations: Vec<Option<ElementLocation>>,
    writer: WriterThread,
}

/// An element's position in the link.
#[derive(Debug, Clone, Copy)]
struct ElementLocation {
    hop: u32,
    /// The sender of the element's direction; none if it serves both directions.
    from: Option<u8>,
}

impl Log {
    /// Creates the files. `ports`: number of real hosts; `epoch_ns`: Unix time of the emulation's
    /// start.
    pub fn create(folder: &Path, plan: &Plan, built: &BuiltNetwork, ports: usize, epoch_ns: u64) -> Result<Log, EmuError> {
        let refused = EmuError::refused("writing the log");
        let start = || -> io::Result<(WriterThread, HostCaptures, Fates, Samples)> {
            let captures = folder.join("captures");
            DirBuilder::new().recursive(true).mode(0o700).create(&captures)?;
            let tables = ["fates.csv", "hops.csv", "series.csv"].map(|table| folder.join(table));
            let captures = (0..ports).map(|port| captures.join(captures::name(port, ports)));
            let files: Vec<File> = tables.into_iter().chain(captures).map(private_file).collect::<io::Result<_>>()?;
            // The captures fill the disk first and must leave space for the tables.
            files[..3].iter().for_each(writer_thread::reserve);
            let (writer, mut streams) = WriterThread::start(files, report)?;
            let captures = HostCaptures::new(streams.split_off(3), epoch_ns)?;
            let mut next = || streams.pop().ok_or_else(|| io::Error::other("a file is missing"));
            let (series, hops, fates) = (next()?, next()?, next()?);
            Ok((writer, captures, Fates::new(fates), Samples::new(plan, hops, series)))
        };
        let (writer, captures, fates, samples) = start().map_err(refused)?;
        Ok(Log { flows: built.flows.len() as u32, captures, fates, samples, locations: locations(built), writer })
    }

    /// Time of the next sample.
    pub fn due(&self) -> Time {
        self.samples.due()
    }

    pub fn sample(&mut self, now: Time, built: &mut BuiltNetwork) {
        self.samples.take(now, built);
    }

    /// An element has dropped, marked, copied or created a packet.
    pub fn on_event(&mut self, now: Time, at: NodeId, event: &Event) {
        let Some(location) = self.locations.get(at.0 as usize).copied().flatten() else { return };
        match event {
            Event::Dropped(packet, cause) => self.fates.dropped(now, packet, *cause, location.hop),
            Event::Marked(packet) => self.fates.marked(packet, location.hop),
            Event::Copied(packet) | Event::Created(packet) => self.fates.sent(now, packet, location.from.unwrap_or(SERVER)),
        }
    }

    /// An endpoint, real or simulated, has sent a packet.
    pub fn on_sent(&mut self, now: Time, by: EndpointId, packet: &Packet) {
        if packet.flow >= self.flows {
            return;
        }
        // The endpoints of a flow have consecutive numbers, the server's first.
        self.fates.sent(now, packet, if by.0.is_multiple_of(2) { SERVER } else { CLIENT });
    }

    /// An endpoint, real or simulated, has received a packet.
    pub fn on_received(&mut self, now: Time, packet: &Packet) {
        self.fates.delivered(now, packet);
    }

    /// Captures a packet that the real host at `port` has sent or is to receive.
    pub fn capture(&mut self, now: Time, port: u32, packet: &Packet, body: &Body, sent: bool) {
        self.captures.capture(now, port, packet, body, sent);
    }

    /// Writes all buffered data. Returns whether everything was written.
    pub fn finish(self) -> LogReport {
        let Log { captures, fates, samples, writer, .. } = self;
        fates.finish();
        drop(samples);
        // A FileStream never fails: the writer thread records the errors.
        let _ = captures.finish();
        let error = writer.finish();
        LogReport {
            complete: error.is_none(),
            until_s: error.as_ref().map(|e| e.after_s),
            why: error.map(|e| e.error.to_string()),
        }
    }
}

/// Creates a file of mode 0600: it has addresses and timestamps of real traffic.
fn private_file(path: PathBuf) -> io::Result<File> {
    // An existing file may have another mode or be a symbolic link.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).mode(0o600).open(path),
    }
}

/// Whether the log covers the whole emulation; if not, the time at which it ends and the error.
#[derive(Debug, Clone, Serialize, Document)]
pub struct LogReport {
    pub complete: bool,
    /// Seconds from the start.
    pub until_s: Option<f64>,
    pub why: Option<String>,
}

/// Reports a write error on standard error at once: an emulation may run for hours.
fn report(failure: &WriteError) {
    let WriteError { after_s, error } = failure;
    eprintln!(
        "ackclock: the log is incomplete: {error} at t = {after_s:.1} s; what was logged is kept, and the emulation continues"
    );
}

fn locations(built: &BuiltNetwork) -> Vec<Option<ElementLocation>> {
    let mut locations = vec![None; built.network.nodes().count()];
    for directed_hop in &built.directed_hops {
        let from = if directed_hop.direction == Direction::Down { SERVER } else { CLIENT };
        let location = ElementLocation { hop: directed_hop.hop as u32, from: Some(from) };
        for node in directed_hop.downstream.iter().chain(directed_hop.chains.iter().flat_map(|chain| &chain.downstream)) {
            locations[node.0 as usize] = Some(location);
        }
        for node in directed_hop.chains.iter().flat_map(|chain| chain.upstream.nodes()) {
            locations[node.0 as usize] = Some(location);
        }
        for chain in &directed_hop.chains {
            let from = location.from.filter(|_| !directed_hop.medium);
            locations[chain.link.0 as usize] = Some(ElementLocation { from, ..location });
        }
    }
    locations
}
