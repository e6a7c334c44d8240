//! Parameters of a link from captures of both of its ends.

use crate::errors::{failure, refusal};
use crate::objects::to_object;
use ackclock_contract::Document;
use ackclock_core::Problem;
use ackclock_fit::{DirectionFacts, LinkFit, LinkPacket, LinkShape, Outcome, RunFacts, carried, max_carried};
use ackclock_pcap::read::Capture;
use ackclock_pcap::write::EPOCH_S;
use ackclock_trace::analyze::PacketFilter;
use ackclock_trace::join::{
    AckRecorder, CaptureSide, NoPath, PathFacts, SenderEndPath, path_facts, sender_end_path, shared_path_facts,
};
use pyo3::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

/// A capture of one end that is being read. InputError: the file is no capture, or not readable.
#[pyclass]
pub struct EndCapture {
    path: PathBuf,
    side: CaptureSide,
}

#[pymethods]
impl EndCapture {
    /// `only`: packet filter as JSON. `is_alone`: no capture of the other end is given.
    #[new]
    #[pyo3(signature = (path, only, is_alone=false))]
    fn new(path: PathBuf, only: &str, is_alone: bool) -> PyResult<EndCapture> {
        let only: PacketFilter = serde_json::from_str(only).map_err(failure)?;
        let capture = Capture::open(&path).map_err(|error| refusal(error.problem(&path)))?;
        let acks = is_alone.then(AckRecorder::default);
        Ok(EndCapture { path, side: CaptureSide { acks, ..CaptureSide::new(capture, only) } })
    }

    /// Reads up to `max` packets, without the GIL; returns their number.
    fn advance(&mut self, py: Python<'_>, max: u64) -> PyResult<u64> {
        let EndCapture { path, side } = self;
        py.detach(|| side.read(max)).map_err(|error| refusal(error.problem(path)))
    }

    /// Marks the end of the input: an incomplete record is then an error.
    fn finish(&mut self) {
        self.side.capture.finish();
    }
}

/// A fit with the runs that it is from.
#[derive(Serialize, Document)]
pub struct FitReport {
    runs: Vec<RunReport>,
    fit: LinkFit,
}

/// The captures of both ends over one time.
#[derive(Serialize, Document)]
pub struct RunReport {
    /// Indexes of the server's capture and of the client's, of each pair with flows of their own.
    captures: Vec<[usize; 2]>,
    /// First departure of each pair after the run's first, seconds.
    starts_s: Vec<f64>,
    flows: usize,
    /// From the first to the last departure, seconds.
    duration_s: f64,
    /// Of the client's clock, with its bounds, milliseconds.
    offset_ms: f64,
    offset_interval_ms: [f64; 2],
    skew_ppm: f64,
}

/// The parameters of the link between both ends of these captures. Each pair of captures with
/// packets in common is a run over the same path; pairs that overlap in time are one run; runs are
/// pooled. `clock_error_ns`: maximum error of all clocks, if known. InputError: a capture has no partner, or a pair shows no path.
#[pyfunction]
#[pyo3(signature = (captures, clock_error_ns, draws, seed))]
pub fn fit_link<'py>(
    py: Python<'py>,
    captures: Vec<Py<EndCapture>>,
    clock_error_ns: Option<f64>,
    draws: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let runs = runs_of(py, &captures, clock_error_ns)?;
    let report = py.detach(|| {
        let facts: Vec<RunFacts> = runs.iter().map(|(_, path)| run_facts(path)).collect();
        let fit = ackclock_fit::fit_link(&facts, draws, seed);
        FitReport { runs: runs.iter().map(|(pairs, path)| RunReport::of(pairs, path)).collect(), fit }
    });
    to_object(py, &report)
}

/// How packets arrive by these captures, as `fit_link` would say; its errors.
#[pyfunction]
#[pyo3(signature = (captures))]
pub fn link_shape<'py>(py: Python<'py>, captures: Vec<Py<EndCapture>>) -> PyResult<Bound<'py, PyAny>> {
    let runs = runs_of(py, &captures, None)?;
    let shape = py.detach(|| LinkShape::of(&runs.iter().map(|(_, path)| run_facts(path)).collect::<Vec<_>>()));
    to_object(py, &shape)
}

/// The runs of these captures: pairs that overlap in time are one.
fn runs_of(py: Python<'_>, captures: &[Py<EndCapture>], clock_error_ns: Option<f64>) -> PyResult<Vec<(Vec<Run>, PathFacts)>> {
    let ends: Vec<PyRef<'_, EndCapture>> = captures.iter().map(|capture| capture.borrow(py)).collect();
    let mut paths = Vec::new();
    for pair @ [first, second] in pairs(&ends)? {
        let path = path_facts(&ends[first].side, &ends[second].side, clock_error_ns);
        let path = path.map_err(|reason| no_path(reason, [&ends[first], &ends[second]]))?;
        let captures = if path.server_is_first { pair } else { [second, first] };
        paths.push(Run { start: path.span().map_or(0, |span| span.0), captures, path });
    }
    Ok(together(&ends, paths, clock_error_ns))
}

/// A pair of captures, the server's first, with what it shows.
struct Run {
    captures: [usize; 2],
    /// First departure by the server's clock, nanoseconds.
    start: i64,
    path: PathFacts,
}

/// The pairs and the path of each run: pairs over the same time are one.
fn together(ends: &[PyRef<'_, EndCapture>], pairs: Vec<Run>, clock_error_ns: Option<f64>) -> Vec<(Vec<Run>, PathFacts)> {
    let mut groups: Vec<Vec<Run>> = Vec::new();
    for run in pairs {
        let is_beside = |other: &Run| run.path.is_beside(&other.path) && may_be_one_run(ends, &run, other);
        match groups.iter_mut().find(|group| group.iter().any(is_beside)) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    let shared = |group: &[Run]| {
        let sides: Vec<[&CaptureSide; 2]> = group.iter().map(|run| run.captures.map(|index| &ends[index].side)).collect();
        shared_path_facts(&sides, clock_error_ns).ok()
    };
    let of_group = |group: Vec<Run>| match if group.len() > 1 { shared(&group) } else { None } {
        Some(path) => vec![(group, path)],
        // A pair alone; or clocks that no relation describes: the clients are several hosts.
        None => group.into_iter().map(|run| (vec![Run { path: run.path.clone(), ..run }], run.path)).collect(),
    };
    groups.into_iter().flat_map(of_group).collect()
}

/// Simulations all begin at one time: their folders distinguish their runs.
fn may_be_one_run(ends: &[PyRef<'_, EndCapture>], run: &Run, other: &Run) -> bool {
    /// Nanoseconds after `EPOCH_S` up to which a capture is a simulation's: a year.
    const SIMULATED: i64 = 31_536_000_000_000_000;
    let is_simulated = (0..SIMULATED).contains(&(run.start - EPOCH_S as i64 * 1_000_000_000));
    let folder = |run: &Run| ends[run.captures[0]].path.parent().map(PathBuf::from);
    !is_simulated || folder(run) == folder(other)
}

/// What the capture at the sender of the data shows of the link: of the direction of the data,
/// of which delays and jitter include those of the ACKs. None if no ACK shows an RTT. `server_sends`:
/// the data goes from the server to the clients. The capture was opened with `is_alone`. `queue_drops`:
/// losses may be a queue's; else all of them are the channel's.
#[pyfunction]
pub fn fit_sender_end<'py>(
    py: Python<'py>,
    capture: Py<EndCapture>,
    server_sends: bool,
    queue_drops: bool,
    draws: usize,
    seed: u64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let end = capture.borrow(py);
    let run = |path: &SenderEndPath| {
        let mut data = DirectionFacts { by_acks: true, ..DirectionFacts::from(&path.data) };
        let acks = DirectionFacts::from(&path.acks);
        for packet in data.packets.iter_mut().filter(|packet| packet.is_lost() && !queue_drops) {
            packet.outcome = Outcome::Lost { channel: 1.0 };
        }
        let (down, up) = if server_sends { (data, acks) } else { (acks, data) };
        RunFacts { down, up, known_clocks: false }
    };
    let Some(path) = sender_end_path(&end.side, server_sends, None) else { return Ok(None) };
    let mut fit = ackclock_fit::fit_link(&[run(&path)], draws, seed);
    // A known rate shows when the other segments of an ACK arrived.
    let rate = if server_sends { &fit.down.rate } else { &fit.up.rate }.clone();
    if let Some(value) = rate.value.filter(|_| rate.evidence.gaps > 0) {
        let path = sender_end_path(&end.side, server_sends, Some(8e9 / value)).unwrap_or(path);
        fit = ackclock_fit::fit_link(&[run(&path)], draws, seed);
        *if server_sends { &mut fit.down.rate } else { &mut fit.up.rate } = rate;
    }
    to_object(py, &fit).map(Some)
}

/// A lower bound of the link's rate in the direction of the data by the capture of one end, bit/s: what was carried
/// in a time. At the sender by the ACKs; at the receiver over a second of arrivals, of which what was held back
/// before does not show. None without two arrivals. `server_sends`: the data goes from the server to the clients.
/// The capture was opened with `is_alone`.
#[pyfunction]
pub fn carried_at_end(py: Python<'_>, capture: Py<EndCapture>, server_sends: bool, is_sender: bool) -> Option<f64> {
    const SECOND: i64 = 1_000_000_000;
    let side = &capture.borrow(py).side;
    if is_sender {
        return max_carried(&[DirectionFacts::from(&sender_end_path(side, server_sends, None)?.data)]);
    }
    let flows = side.fingerprints.flows.iter().enumerate().flat_map(|(number, lists)| {
        let client = side.analysis.flows().get(number).client() as usize;
        &lists[if server_sends { 1 - client } else { client }]
    });
    let arrived = |at: i64, len: u32| LinkPacket { sent: at, len, outcome: Outcome::Arrived(at) };
    let mut packets: Vec<LinkPacket> = flows.map(|packet| arrived(packet.at, packet.ip_len)).collect();
    packets.sort_by_key(|packet| packet.sent);
    carried(&DirectionFacts { packets, ..DirectionFacts::default() }, 0, SECOND)
}

/// Minimum number of packets, of a sample, that the captures of both ends of a path have in common: hosts
/// may use the same sequence numbers in two handshakes.
const MIN_COMMON_PACKETS: u64 = 8;

/// The pairs of captures with the most packets in common, by index. Error: a capture without a partner.
fn pairs(ends: &[PyRef<'_, EndCapture>]) -> PyResult<Vec<[usize; 2]>> {
    let mut common: Vec<(u64, [usize; 2])> = (0..ends.len())
        .flat_map(|first| (first + 1..ends.len()).map(move |second| [first, second]))
        .map(|[first, second]| (ends[first].side.common_packets(&ends[second].side), [first, second]))
        .filter(|(count, _)| *count >= MIN_COMMON_PACKETS)
        .collect();
    common.sort_by_key(|&(count, pair)| (std::cmp::Reverse(count), pair));
    let mut taken = vec![false; ends.len()];
    let mut pairs = Vec::new();
    for (_, [first, second]) in common {
        if !taken[first] && !taken[second] {
            (taken[first], taken[second]) = (true, true);
            pairs.push([first, second]);
        }
    }
    pairs.sort_unstable();
    match taken.iter().position(|taken| !taken) {
        Some(alone) => {
            let path = &ends[alone].path;
            let statement = "no other capture has packets in common with it";
            let hint = "give a capture of the same connections from each end, taken at the same time";
            Err(refusal(Problem::new(statement, hint).in_file(path)))
        }
        None => Ok(pairs),
    }
}

fn run_facts(path: &PathFacts) -> RunFacts {
    RunFacts { down: DirectionFacts::from(&path.down), up: DirectionFacts::from(&path.up), known_clocks: path.clock.known }
}

impl RunReport {
    fn of(pairs: &[Run], path: &PathFacts) -> RunReport {
        let start = pairs.iter().map(|pair| pair.start).min().unwrap_or(0);
        let sign = if path.server_is_first { 1.0 } else { -1.0 };
        let times = || [&path.down, &path.up].into_iter().flat_map(|direction| &direction.packets).map(|packet| packet.at);
        let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        RunReport {
            captures: pairs.iter().map(|pair| pair.captures).collect(),
            starts_s: pairs.iter().map(|pair| (pair.start - start) as f64 * 1e-9).collect(),
            flows: path.flows,
            duration_s: last.saturating_sub(first) as f64 * 1e-9,
            offset_ms: sign * path.clock.offset() * 1e-6,
            offset_interval_ms: path.client_offset().map(|ns| ns * 1e-6),
            skew_ppm: sign * path.clock.skew * 1e6,
        }
    }
}

fn no_path(reason: NoPath, ends: [&EndCapture; 2]) -> PyErr {
    let [first, second] = ends.map(|end| end.path.display().to_string());
    refusal(match reason {
        NoPath::NoCommonPackets => Problem::new(
            format!("{first} and {second} have no packets in common"),
            "give a capture of the same connections from each end, taken at the same time",
        ),
        NoPath::NoClock => Problem::new(
            format!("the clocks of {first} and {second} cannot be related"),
            "give captures with packets in both directions, and with clocks that were not set meanwhile",
        ),
    })
}
