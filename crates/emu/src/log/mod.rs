//! The link's own log, beside which captures and analyses can be judged: every packet's fate, every queue at the sampling step, and a
//! capture at every real host, all with the same packet numbers.

mod background;
mod captures;
mod fates;
mod headers;
mod rows;
mod samples;

use crate::EmuError;
use ackclock_core::Time;
use ackclock_core::element::Event;
use ackclock_core::network::{EndpointId, NodeId};
use ackclock_core::packet::{Body, Packet};
use ackclock_sim::Plan;
use ackclock_sim::build::BuiltNetwork;
use ackclock_sim::plan::Direction;
use background::{Background, Broken};
use captures::Captures;
use fates::Fates;
use samples::Samples;
use serde::Serialize;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The server's packets and the clients', in the log.
const SERVER: u8 = 0;
const CLIENT: u8 = 1;

pub struct Log {
    captures: Captures,
    fates: Fates,
    samples: Samples,
    /// By element: its hop, and the direction that it serves if it serves one.
    places: Vec<Option<Place>>,
    background: Background,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    hop: u32,
    from: Option<u8>,
}

impl Log {
    /// Makes the files. `gates` is how many real hosts there are, `epoch_ns` the Unix time of the emulation's beginning.
    pub fn create(folder: &Path, plan: &Plan, world: &BuiltNetwork, gates: usize, epoch_ns: u64) -> Result<Log, EmuError> {
        let refused = EmuError::refused("writing the log");
        let start = || -> io::Result<(Background, Captures, Fates, Samples)> {
            let captured = folder.join("captures");
            DirBuilder::new().recursive(true).mode(0o700).create(&captured)?;
            let tables = ["fates.csv", "hops.csv", "series.csv"].map(|table| folder.join(table));
            let captures = (0..gates).map(|gate| captured.join(captures::name(gate, gates)));
            let files: Vec<File> = tables.into_iter().chain(captures).map(private_file).collect::<io::Result<_>>()?;
            // Captures are written first and must not use the disk space of the tables.
            files[..3].iter().for_each(background::reserve);
            let (background, mut streams) = Background::start(files, report)?;
            let captures = Captures::new(streams.split_off(3), epoch_ns)?;
            let mut next = || streams.pop().ok_or_else(|| io::Error::other("a file is missing"));
            let (series, hops, fates) = (next()?, next()?, next()?);
            Ok((background, captures, Fates::new(fates), Samples::new(plan, hops, series)))
        };
        let (background, captures, fates, samples) = start().map_err(refused)?;
        Ok(Log { captures, fates, samples, places: places(world), background })
    }

    /// When a sample is due.
    pub fn due(&self) -> Time {
        self.samples.due()
    }

    pub fn sample(&mut self, now: Time, world: &mut BuiltNetwork) {
        self.samples.take(now, world);
    }

    /// An element did something to a packet.
    pub fn see(&mut self, now: Time, at: NodeId, event: &Event) {
        let Some(place) = self.places.get(at.0 as usize).copied().flatten() else { return };
        match event {
            Event::Dropped(packet, cause) => self.fates.dropped(now, packet, *cause, place.hop),
            Event::Marked(packet) => self.fates.marked(packet, place.hop),
            Event::Copied(packet) | Event::Created(packet) => self.fates.sent(now, packet, place.from.unwrap_or(SERVER)),
        }
    }

    /// Any end sent a packet.
    pub fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet) {
        // A flow's ends are added together, its server first.
        self.fates.sent(now, packet, if by.0.is_multiple_of(2) { SERVER } else { CLIENT });
    }

    /// Any end got one.
    pub fn received(&mut self, now: Time, packet: &Packet) {
        self.fates.delivered(now, packet);
    }

    /// A real host sent a packet, or gets one.
    pub fn passed(&mut self, now: Time, gate: u32, packet: &Packet, body: &Body, sent: bool) {
        self.captures.pass(now, gate, packet, body, sent);
    }

    /// Writes the buffered rest and returns whether everything was written.
    pub fn finish(self) -> LogReport {
        let Log { captures, fates, samples, background, .. } = self;
        fates.finish();
        drop(samples);
        // Streams do not fail: the background thread records write errors.
        let _ = captures.finish();
        let broken = background.finish();
        LogReport {
            complete: broken.is_none(),
            until_s: broken.as_ref().map(|b| b.after_s),
            why: broken.map(|b| b.error.to_string()),
        }
    }
}

/// A new file of mode 0600: it holds addresses and timestamps of real traffic.
fn private_file(path: PathBuf) -> io::Result<File> {
    // An existing file of that name may have another mode, or be a symbolic link.
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => OpenOptions::new().write(true).create_new(true).mode(0o600).open(path),
    }
}

/// Whether the log in the run folder covers the whole emulation; if not, the time at which it ends and the error.
#[derive(Debug, Clone, Serialize)]
pub struct LogReport {
    pub complete: bool,
    /// Seconds from the beginning.
    pub until_s: Option<f64>,
    pub why: Option<String>,
}

/// Reports a log error on standard error at once, not at the end of an emulation of hours.
fn report(broken: &Broken) {
    let Broken { after_s, error } = broken;
    eprintln!(
        "ackclock: the log is incomplete: {error} at t = {after_s:.1} s; what was logged is kept, and the emulation goes on"
    );
}

fn places(world: &BuiltNetwork) -> Vec<Option<Place>> {
    let mut places = vec![None; world.network.nodes().count()];
    for directed_hop in &world.directed_hops {
        let from = if directed_hop.direction == Direction::Down { SERVER } else { CLIENT };
        let place = Place { hop: directed_hop.hop as u32, from: Some(from) };
        for node in directed_hop.after.iter().chain(directed_hop.chains.iter().flat_map(|chain| &chain.after)) {
            places[node.0 as usize] = Some(place);
        }
        for chain in &directed_hop.chains {
            places[chain.link.0 as usize] = Some(Place { from: place.from.filter(|_| !directed_hop.medium), ..place });
        }
    }
    places
}
