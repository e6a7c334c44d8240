//! Reading and analyzing captures from Python.

use crate::capture_columns::{self, CaptureRows, on_first_clock, seconds_since};
use crate::capture_report::{CaptureReport, ReportSource};
use crate::errors::{failure, refusal};
use crate::nonblocking_reader::{NonblockingReader, pause};
use crate::objects::to_object;
use crate::table::Table;
use ackclock_core::Problem;
use ackclock_core::tcp::Variant;
use ackclock_diagnose::capture::of_qlog;
use ackclock_pcap::read::{Capture, PpsClock, ReadError, decompress};
use ackclock_pcap::siphash::SipKey;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::congestion_control::{Examined, Identifications, family_of};
use ackclock_trace::flow::KindRule;
use ackclock_trace::infer::ArrivalRecorder;
use ackclock_trace::join::{CaptureSide, Joined, join};
use ackclock_trace::qlog;
use ackclock_trace::report::{FlatTable, Report};
use ackclock_trace::series::{Packets, RowSelection};
use ackclock_trace::strip::{StripError, strip};
use pyo3::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A capture that is being read. InputError: the file is no capture, or not readable.
#[pyclass]
pub struct CaptureReader {
    path: PathBuf,
    pub capture: Capture,
    pub analysis: Analysis,
    /// A row for each packet, or for each event alone.
    pub packets: Packets,
    /// Arrival times of packets and ACKs.
    pub arrivals: ArrivalRecorder,
    /// For a followed pipe: true after the end of its writer.
    ended: Option<Arc<AtomicBool>>,
    /// The directions whose congestion control is looked for; none in what cannot be read again.
    examined: Option<Examined>,
}

/// Whether a file is a capture by its first bytes, as the reader sees them; also of a kind that it
/// cannot read.
#[pyfunction]
pub fn is_capture(path: PathBuf) -> bool {
    Capture::open(&path).map_or_else(|error| !error.is_other_file(), |_| true)
}

/// Writes a copy of a capture to share to a file that does not exist; returns the number of packets, and the
/// captured bytes of the original and of the copy. InputError: the capture cannot be read, or the copy not
/// written.
#[pyfunction]
pub fn strip_capture(py: Python<'_>, path: PathBuf, out: PathBuf) -> PyResult<(u64, u64, u64)> {
    let copied = py.detach(|| {
        let mut capture = Capture::open(&path).map_err(|error| error.problem(&path))?;
        let file = File::create_new(&out).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Problem::found("a file that exists", "the name of a new file").in_file(&out),
            _ => Problem::refused("writing the copy", &error).in_file(&out),
        })?;
        strip(&mut capture, file, SipKey::random()).map_err(|error| {
            // What is there of it is no copy.
            let _ = std::fs::remove_file(&out);
            match error {
                StripError::Read(error) => error.problem(&path),
                StripError::Write(error) => Problem::refused("writing the copy", &error).in_file(&out),
            }
        })
    });
    copied.map(|copy| (copy.packets, copy.original_bytes, copy.kept_bytes)).map_err(refusal)
}

/// Whether a file is a qlog by its first bytes, plain or compressed.
#[pyfunction]
pub fn is_qlog(path: PathBuf) -> bool {
    let front = || -> io::Result<Vec<u8>> {
        let mut front = Vec::new();
        decompress(Box::new(File::open(&path)?))?.take(QLOG_FRONT).read_to_end(&mut front)?;
        Ok(front)
    };
    path.is_file() && front().is_ok_and(|front| qlog::is_qlog(&front))
}

/// The document of a qlog, with its findings, and its flows as rows of a table. InputError: the file cannot be
/// read.
#[pyfunction]
pub fn read_qlog(py: Python<'_>, path: PathBuf) -> PyResult<(Bound<'_, PyAny>, Table)> {
    let report = py.detach(|| {
        let invalid = |why: String| Problem::found(why, "a qlog of version 0.3 or 0.4").in_file(&path);
        let mut text = Vec::new();
        File::open(&path)
            .and_then(|file| decompress(Box::new(file))?.read_to_end(&mut text))
            .map_err(|error| ReadError::Io(error).problem(&path))?;
        let connections = qlog::read(&text).map_err(|error| invalid(error.to_string()))?;
        let report = of_qlog(&connections);
        Ok::<_, Problem>(Report { capture: Some(path.display().to_string()), ..report })
    });
    let report = report.map_err(refusal)?;
    let mut table = FlatTable::default();
    report.flows.iter().try_for_each(|flow| table.add(flow)).map_err(failure)?;
    let rows = capture_columns::flow_columns(table).map(Table::new).map_err(failure)?;
    Ok((to_object(py, &report)?, rows))
}

/// The rules that give a segment its kind: name, source and text of each.
#[pyfunction]
pub fn kind_rules() -> Vec<(&'static str, &'static str, &'static str)> {
    KindRule::ALL.iter().map(|rule| (rule.name(), rule.source(), rule.text())).collect()
}

/// Bytes at the front of a qlog that name it.
const QLOG_FRONT: u64 = 4096;

/// Name and family of each congestion control.
#[pyfunction]
pub fn congestion_control_families() -> Vec<(&'static str, &'static str)> {
    Variant::ALL.iter().map(|&variant| (variant.name(), family_of(variant).name())).collect()
}

/// A PPS list: path and text.
type PulseFile = (PathBuf, String);

/// Interval at which a followed capture checks for signals and reports progress.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[pymethods]
impl CaptureReader {
    /// `only`: packet filter as JSON. `series`: keep a row for each packet. `pulses`: PPS list of a
    /// capture whose timestamps are a counter. `follow`: the capture is still being written; waits
    /// for the file header here, and for the packets of a pipe at most `POLL_INTERVAL` in each
    /// `advance`.
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
            if follow { open_followed(py, &path)? } else { (Capture::open(&path).map_err(|e| refusal(e.problem(&path)))?, None) };
        let capture = with_pps(capture, pulses.as_ref())?;
        let is_regular = !follow && pulses.is_none() && path.is_file();
        Ok(CaptureReader {
            examined: is_regular.then_some(Examined::Largest),
            path,
            capture,
            analysis: Analysis::new(only),
            packets: rows(series),
            arrivals: ArrivalRecorder::default(),
            ended,
        })
    }

    /// Looks for the congestion controls of small directions, too. A capture that is followed, or is
    /// no file, has none.
    fn examine_all_controls(&mut self) {
        self.examined = self.examined.take().map(|_| Examined::All);
    }

    /// Reads up to `max` of the packets that are available, without the GIL; returns their number.
    fn advance(&mut self, py: Python<'_>, max: u64) -> PyResult<u64> {
        let CaptureReader { path, capture, analysis, packets, arrivals, .. } = self;
        py.detach(|| analysis.read_observed(capture, &mut (packets, arrivals), max)).map_err(|e| refusal(e.problem(path)))
    }

    /// Marks the end of the input: an incomplete record is then an error.
    fn finish(&mut self) {
        self.capture.finish();
    }

    /// True after the end of the writer of a followed pipe.
    fn ended(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.load(Ordering::Relaxed))
    }

    /// The packets since the last call, and the number of packets beyond the maximum; none without
    /// `series`. Their rows are not kept: they take more memory than anything else.
    fn series(&mut self) -> PyResult<Option<(Table, u64)>> {
        if self.packets.selection != RowSelection::All {
            return Ok(None);
        }
        let packets = &self.packets.take_rows();
        let origin = self.analysis.totals.first_at.unwrap_or(0);
        let rows = CaptureRows {
            packets,
            capture: 1,
            flow: Box::new(|flow| Some(flow + 1)),
            time_s: Box::new(move |at| at.saturating_sub(origin) as f64 * 1e-9),
        };
        let batch = capture_columns::packets(&[rows]).map_err(failure)?;
        Ok(Some((Table::new(batch), packets.left_out)))
    }

    /// The report of the packets read so far, with the captures' names; reading on makes it invalid.
    fn report(slf: Py<Self>, py: Python<'_>, names: Vec<String>) -> PyResult<CaptureReport> {
        let identified = {
            let CaptureReader { path, analysis, examined, .. } = &*slf.borrow(py);
            examined
                .map_or_else(|| Ok(Identifications::default()), |examined| congestion_controls(py, path, analysis, examined))?
        };
        Ok(CaptureReport::new(py, ReportSource::One(slf), names, identified))
    }
}

/// Two captures of the same traffic that are read one after the other. InputError: as for
/// `CaptureReader`.
#[pyclass]
pub struct CapturePairReader {
    paths: [PathBuf; 2],
    pub sides: [CaptureSide; 2],
    /// Maximum error of both clocks, if known.
    clock_error_ns: Option<f64>,
    /// The directions of the first capture whose congestion control is looked for.
    examined: Examined,
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
        let (first_pulses, second_pulses) = pulses.unzip();
        let open = |path: &Path, pulses: Option<PulseFile>| -> PyResult<CaptureSide> {
            let capture = Capture::open(path).map_err(|e| refusal(e.problem(path)))?;
            let capture = with_pps(capture, pulses.as_ref())?;
            Ok(CaptureSide { packets: Some(rows(series)), ..CaptureSide::new(capture, only.clone()) })
        };
        let sides = [open(&first, first_pulses)?, open(&second, second_pulses)?];
        Ok(CapturePairReader {
            paths: [first, second],
            sides,
            clock_error_ns,
            examined: Examined::Largest,
            joined: OnceLock::new(),
        })
    }

    /// Looks for the congestion controls of small directions, too.
    fn examine_all_controls(&mut self) {
        self.examined = Examined::All;
    }

    /// Reads up to `max` packets, without the GIL; returns their number, which is less only at the
    /// end of both.
    fn advance(&mut self, py: Python<'_>, max: u64) -> PyResult<u64> {
        let (paths, [first, second]) = (&self.paths, &mut self.sides);
        py.detach(|| {
            let of_first = first.read(max).map_err(|e| e.problem(&paths[0]))?;
            let of_second = if of_first < max { second.read(max - of_first).map_err(|e| e.problem(&paths[1]))? } else { 0 };
            Ok::<u64, Problem>(of_first + of_second)
        })
        .map_err(refusal)
    }

    fn finish(&mut self) {
        for side in &mut self.sides {
            side.capture.finish();
        }
    }

    /// The report of the matched captures, with their names, after both have been read.
    fn report(slf: Py<Self>, py: Python<'_>, names: Vec<String>) -> PyResult<CaptureReport> {
        let identified = {
            let reader = &*slf.borrow(py);
            congestion_controls(py, &reader.paths[0], &reader.sides[0].analysis, reader.examined)?
        };
        Ok(CaptureReport::new(py, ReportSource::Two(slf), names, identified))
    }

    /// The packets of both on the clock of the first, and the number of packets beyond the maximum;
    /// none without `series`.
    fn series(&self) -> PyResult<Option<(Table, u64)>> {
        let ([first, second], joined) = (&self.sides, self.joined());
        let (Some(a), Some(b)) = (&first.packets, &second.packets) else { return Ok(None) };
        if a.selection != RowSelection::All {
            return Ok(None);
        }
        let origin = first.analysis.totals.first_at.unwrap_or(0);
        let numbers: HashMap<u32, u32> = joined.flows.iter().map(|f| (f.other_number as u32, f.number as u32 + 1)).collect();
        let captures = [
            CaptureRows {
                packets: a,
                capture: 1,
                flow: Box::new(|flow| Some(flow + 1)),
                time_s: Box::new(move |at| at.saturating_sub(origin) as f64 * 1e-9),
            },
            CaptureRows {
                packets: b,
                capture: 2,
                flow: Box::new(move |flow| numbers.get(&flow).copied()),
                time_s: Box::new(move |at| seconds_since(joined, origin, on_first_clock(joined, second, at))),
            },
        ];
        let batch = capture_columns::packets(&captures).map_err(failure)?;
        Ok(Some((Table::new(batch), a.left_out + b.left_out)))
    }

    /// The delay of each packet from one capture to the other.
    fn delays(&self) -> PyResult<Table> {
        let [first, second] = &self.sides;
        capture_columns::delays(first, second, self.joined()).map(Table::new).map_err(failure)
    }
}

impl CapturePairReader {
    /// The comparison, made when it is first asked for.
    pub fn joined(&self) -> &Joined {
        self.joined.get_or_init(|| join(&self.sides[0], &self.sides[1], self.clock_error_ns))
    }
}

/// The congestion controls of a capture's directions, by a second reading.
fn congestion_controls(py: Python<'_>, path: &Path, analysis: &Analysis, examined: Examined) -> PyResult<Identifications> {
    py.detach(|| Identifications::of(analysis, examined, || Capture::open(path))).map_err(|e| refusal(e.problem(path)))
}

/// Rows of all packets, or of events.
fn rows(series: bool) -> Packets {
    if series { Packets::default() } else { Packets::events() }
}

/// A capture that is being written: standard input, with a flag for its end, or a file, possibly
/// without a header yet.
fn open_followed(py: Python<'_>, path: &Path) -> PyResult<(Capture, Option<Arc<AtomicBool>>)> {
    let invalid = |error: ReadError| refusal(error.problem(path));
    if path.as_os_str() == "-" {
        let (reader, ended) = decompress(Box::new(std::io::stdin()))
            .and_then(|pipe| NonblockingReader::new(pipe, POLL_INTERVAL))
            .map_err(|e| invalid(e.into()))?;
        let capture = py.detach(|| Capture::from_reader(Box::new(reader))).map_err(invalid)?;
        return Ok((capture, Some(ended)));
    }
    loop {
        match Capture::open(path) {
            Err(ReadError::Empty | ReadError::CutOffHeader) => py.detach(|| pause(POLL_INTERVAL)),
            capture => return Ok((capture.map_err(invalid)?, None)),
        }
        py.check_signals()?;
    }
}

/// The capture with its counter timestamps converted to UTC, if a PPS list is given.
fn with_pps(capture: Capture, pulses: Option<&PulseFile>) -> PyResult<Capture> {
    Ok(match pulses {
        Some((path, text)) => {
            let invalid = |problem: Problem| refusal(problem.in_file(path).of_option("--pps"));
            capture.with_pps_clock(PpsClock::parse(text).map_err(invalid)?)
        }
        None => capture,
    })
}
