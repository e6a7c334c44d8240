//! Captures for Python: opened, read piece by piece, reported.

use crate::capture_columns::{self, Placing, across, second_of};
use crate::errors::{failure, refusal};
use crate::patient::{Patient, pause};
use crate::table::Table;
use ackclock_core::Problem;
use ackclock_pcap::read::{Capture, PpsClock, ReadError, decompress};
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::infer::ArrivalRecorder;
use ackclock_trace::join::{CaptureSide, Joined, join};
use ackclock_trace::report::Report;
use ackclock_trace::series::Packets;
use pyo3::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A capture being read. InputError: not a capture, or not readable.
#[pyclass]
pub struct CaptureReader {
    path: PathBuf,
    capture: Capture,
    analysis: Analysis,
    packets: Option<Packets>,
    /// How packets and ACKs are spaced, of a capture that is not known to be large.
    spacing: Option<ArrivalRecorder>,
    /// Of a pipe that is followed: its writer has ended.
    ended: Option<Arc<AtomicBool>>,
}

/// A list of pulses: its file and its text.
type PulseFile = (PathBuf, String);

/// Spacing needs all packets in order, by one worker: not worth it for larger files than this.
const SPACING_UP_TO: u64 = 256 << 20;
/// How long a followed capture is waited for at a time: signals are heard, and what has come is shown, that often.
const PAUSE: Duration = Duration::from_millis(250);

#[pymethods]
impl CaptureReader {
    /// `only` is JSON: which packets count. With `series`, each packet is kept as a row. `pulses` is the text of a list of pulses, where time
    /// stamps are a counter's. With `follow`, what is not there yet is waited for: the file's header now, a pipe's packets a while each time.
    #[new]
    #[pyo3(signature = (path, only, series = false, pulses = None, follow = false))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        only: &str,
        series: bool,
        pulses: Option<PulseFile>,
        follow: bool,
    ) -> PyResult<CaptureReader> {
        let only: PacketFilter = serde_json::from_str(only).map_err(failure)?;
        let (capture, ended) =
            if follow { followed(py, &path)? } else { (Capture::open(&path).map_err(|e| refusal(e.problem(&path)))?, None) };
        let capture = timed(capture, pulses.as_ref())?;
        // What is no file, such as a pipe, is of no known size: its spacing is noted, too, so that it says what the file would.
        let moderate = std::fs::metadata(&path).map_or(true, |file| !file.is_file() || file.len() <= SPACING_UP_TO);
        let spacing = (series || moderate).then(ArrivalRecorder::default);
        // A row for each packet needs all of them in order.
        let workers = if spacing.is_some() { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
        Ok(CaptureReader {
            path,
            capture,
            analysis: Analysis::with_workers(only, workers),
            packets: series.then(Packets::default),
            spacing,
            ended,
        })
    }

    /// Takes up to `most` packets of what there is now; the number taken. Other threads run meanwhile.
    fn advance(&mut self, py: Python<'_>, most: u64) -> PyResult<u64> {
        let CaptureReader { path, capture, analysis, packets, spacing, .. } = self;
        py.detach(|| match spacing {
            Some(spacing) => analysis.read(capture, &mut (packets.as_mut(), spacing), most),
            None => analysis.read_all(capture, most),
        })
        .map_err(|e| refusal(e.problem(path)))
    }

    /// Nothing more will come: a record that is not whole is damage.
    fn finish(&mut self) {
        self.capture.finish();
    }

    /// True once the writer of a followed pipe has ended.
    fn ended(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed))
    }

    /// The packets so far, and how many more there were than are kept; none unless they were asked for.
    fn series(&self) -> PyResult<Option<(Table, u64)>> {
        let Some(packets) = &self.packets else { return Ok(None) };
        let origin = self.analysis.totals.first_at.unwrap_or(0);
        let placing = Placing {
            packets,
            capture: 1,
            flow: Box::new(|flow| Some(flow + 1)),
            time_s: Box::new(move |at| at.saturating_sub(origin) as f64 * 1e-9),
        };
        let batch = capture_columns::packets(&[placing]).map_err(failure)?;
        Ok(Some((Table::new(batch), packets.left_out)))
    }

    /// The figures so far, as JSON.
    fn report(&self) -> PyResult<String> {
        let mut report = Report::of(&self.analysis, &self.capture);
        if let Some(spacing) = &self.spacing {
            report.infer(&self.analysis, spacing);
        }
        serde_json::to_string(&report).map_err(failure)
    }
}

/// Two captures of the same traffic being read, one after the other. InputError as above.
#[pyclass]
pub struct CapturePairReader {
    paths: [PathBuf; 2],
    taken: [CaptureSide; 2],
    /// Where both clocks are known to be right.
    clock_error_ns: Option<f64>,
    joined: OnceLock<Joined>,
}

#[pymethods]
impl CapturePairReader {
    #[new]
    #[pyo3(signature = (first, second, only, series = false, pulses = None, clock_error_ns = None))]
    fn new(
        first: PathBuf,
        second: PathBuf,
        only: &str,
        series: bool,
        pulses: Option<(PulseFile, PulseFile)>,
        clock_error_ns: Option<f64>,
    ) -> PyResult<CapturePairReader> {
        let only: PacketFilter = serde_json::from_str(only).map_err(failure)?;
        let (one, other) = pulses.unzip();
        let open = |path: &Path, pulses: Option<PulseFile>| -> PyResult<CaptureSide> {
            let capture = Capture::open(path).map_err(|e| refusal(e.problem(path)))?;
            let capture = timed(capture, pulses.as_ref())?;
            Ok(CaptureSide { packets: series.then(Packets::default), ..CaptureSide::new(capture, only.clone()) })
        };
        let taken = [open(&first, one)?, open(&second, other)?];
        Ok(CapturePairReader { paths: [first, second], taken, clock_error_ns, joined: OnceLock::new() })
    }

    /// Takes up to `most` packets; the number taken, less than that only at the end of both.
    fn advance(&mut self, py: Python<'_>, most: u64) -> PyResult<u64> {
        let (paths, [first, second]) = (&self.paths, &mut self.taken);
        py.detach(|| {
            let taken = first.read(most).map_err(|e| e.problem(&paths[0]))?;
            let more = if taken < most { second.read(most - taken).map_err(|e| e.problem(&paths[1]))? } else { 0 };
            Ok::<u64, Problem>(taken + more)
        })
        .map_err(refusal)
    }

    fn finish(&mut self) {
        for taken in &mut self.taken {
            taken.capture.finish();
        }
    }

    /// Matches them, as JSON; once both have been read to their ends.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let [first, second] = &self.taken;
        py.detach(|| serde_json::to_string(&Report::joined(first, second, self.joined()))).map_err(failure)
    }

    /// The packets of both, with times by the first one's clock, and how many more there were than are kept; none unless asked for.
    fn series(&self) -> PyResult<Option<(Table, u64)>> {
        let ([first, second], joined) = (&self.taken, self.joined());
        let (Some(a), Some(b)) = (&first.packets, &second.packets) else { return Ok(None) };
        let origin = first.analysis.totals.first_at.unwrap_or(0);
        let numbers: HashMap<u32, u32> = joined.flows.iter().map(|f| (f.other_number as u32, f.number as u32 + 1)).collect();
        let placings = [
            Placing {
                packets: a,
                capture: 1,
                flow: Box::new(|flow| Some(flow + 1)),
                time_s: Box::new(move |at| at.saturating_sub(origin) as f64 * 1e-9),
            },
            Placing {
                packets: b,
                capture: 2,
                flow: Box::new(move |flow| numbers.get(&flow).copied()),
                time_s: Box::new(move |at| second_of(joined, origin, across(joined, second, at))),
            },
        ];
        let batch = capture_columns::packets(&placings).map_err(failure)?;
        Ok(Some((Table::new(batch), a.left_out + b.left_out)))
    }

    /// Each packet's delay from one capture to the other.
    fn delays(&self) -> PyResult<Table> {
        let [first, second] = &self.taken;
        capture_columns::delays(first, second, self.joined()).map(Table::new).map_err(failure)
    }
}

impl CapturePairReader {
    fn joined(&self) -> &Joined {
        self.joined.get_or_init(|| join(&self.taken[0], &self.taken[1], self.clock_error_ns))
    }
}

/// A capture that is being written: a pipe, with what tells its end, or a file whose writer may not have come to its header yet.
fn followed(py: Python<'_>, path: &Path) -> PyResult<(Capture, Option<Arc<AtomicBool>>)> {
    let refused = |error: ReadError| refusal(error.problem(path));
    if path.as_os_str() == "-" {
        let (reader, ended) =
            decompress(Box::new(std::io::stdin())).and_then(|pipe| Patient::new(pipe, PAUSE)).map_err(|e| refused(e.into()))?;
        let capture = py.detach(|| Capture::from_reader(Box::new(reader))).map_err(refused)?;
        return Ok((capture, Some(ended)));
    }
    loop {
        match Capture::open(path) {
            Err(ReadError::Empty | ReadError::CutOffHeader) => py.detach(|| pause(PAUSE)),
            opened => return Ok((opened.map_err(refused)?, None)),
        }
        py.check_signals()?;
    }
}

/// With UTC in the place of a counter, where pulses are given.
fn timed(capture: Capture, pulses: Option<&PulseFile>) -> PyResult<Capture> {
    Ok(match pulses {
        Some((path, text)) => {
            let refused = |problem: Problem| refusal(problem.in_file(path).of_option("--pps"));
            capture.with_pps_clock(PpsClock::parse(text).map_err(refused)?)
        }
        None => capture,
    })
}
