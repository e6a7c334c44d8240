//! Active tests: a session with a far end, and being one.

use crate::columns::table;
use crate::errors::{failure, of_measurement};
use crate::table::Table;
use ackclock_core::Problem;
use ackclock_measure::MeasureError;
use ackclock_measure::estimate::direction::direction_stats;
use ackclock_measure::estimate::responsiveness::{RttSamples, responsiveness as responsive};
use ackclock_measure::estimate::results::{DelayRow, SampleRow, SessionAnalysis};
use ackclock_measure::estimate::train_times::TrainTimes;
use ackclock_measure::net::client::{ClientConfig, MeasurementClient};
use ackclock_measure::net::log::LogTarget;
use ackclock_measure::net::path::{PathProbes, probe_path};
use ackclock_measure::net::server::{MeasurementServer, ServerConfig, raise_descriptors};
use ackclock_measure::net::stamp::{ReflectorConfig, StampProbeConfig, probe};
use ackclock_measure::path::{PathConfig, ReplyKind};
use ackclock_measure::quotas::Quotas;
use ackclock_measure::record::{SAMPLE_COLUMNS, TestRecord};
use ackclock_measure::test_spec::{Direction, TestSpec};
use ackclock_measure::token::{Token, read_key};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use arrow_schema::ArrowError;
use pyo3::prelude::*;
use serde::Deserialize;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// Asks Python whether a signal has come; keeps what it raised.
fn no_signal(found: &mut Option<PyErr>) -> bool {
    *found = Python::attach(|py| py.check_signals()).err();
    found.is_none()
}

/// The options of `serve`, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Serving {
    listen: IpAddr,
    port: u16,
    token_file: Option<PathBuf>,
    caps: Quotas,
    clock_shift: i64,
    stamp: Option<Stamping>,
    log: Option<Logging>,
    drop: Option<Dropping>,
}

/// Log of sessions and refusals: a file, or standard error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Logging {
    file: Option<PathBuf>,
}

/// Drop privileges after bind; root becomes this user ("nobody" by default).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dropping {
    user: Option<String>,
}

/// A STAMP reflector beside: without a file with a key everybody is answered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stamping {
    port: u16,
    key_file: Option<PathBuf>,
}

/// Serves until a signal. `announce` gets the address, and the token if it was made for this run only. InputError: bad input;
/// FailedError: the machine refused.
#[pyfunction]
pub fn serve(py: Python<'_>, options: &str, announce: &Bound<'_, PyAny>) -> PyResult<()> {
    let options: Serving = serde_json::from_str(options).map_err(failure)?;
    let (token, made) = Token::from_file_or_new(options.token_file.as_deref()).map_err(of_measurement)?;
    let shown = (made && options.token_file.is_none()).then(|| token.reveal().to_owned());
    let listen = SocketAddr::new(options.listen, options.port);
    let stamp =
        options.stamp.map(|s| Ok(ReflectorConfig { port: s.port, key: s.key_file.map(|path| read_key(&path)).transpose()? }));
    let stamp = stamp.transpose().map_err(of_measurement)?;
    let log = options.log.map(|l| l.file.as_deref().map_or(Ok(LogTarget::Stderr), LogTarget::file));
    let log = log.transpose().map_err(of_measurement)?.unwrap_or_default();
    raise_descriptors();
    let server_options = ServerConfig { listen, token, quotas: options.caps, clock_shift: options.clock_shift, stamp, log };
    let mut server = MeasurementServer::open(server_options).map_err(of_measurement)?;
    if let Some(Dropping { user }) = options.drop {
        server.drop_privileges(user.as_deref()).map_err(of_measurement)?;
    }
    announce.call1((server.address().map_err(of_measurement)?.to_string(), shown))?;
    let mut signal = None;
    py.detach(|| server.run(|| no_signal(&mut signal))).map_err(of_measurement)?;
    signal.map_or(Ok(()), Err)
}

/// The program `ackclockd` with this command line, the program's name first, until SIGINT or SIGTERM. Its exit status.
#[pyfunction]
pub fn ackclockd(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| ackclock_measure::daemon::run(words))
}

/// Probes a STAMP reflector at `at` (host, port) every `gap_ns`, `count` times; `key_file` is for the authenticated mode. The figures as JSON.
/// InputError: no such host, or nothing answers.
#[pyfunction]
pub fn stamp(py: Python<'_>, at: (String, u16), key_file: Option<PathBuf>, gap_ns: i64, count: u32) -> PyResult<String> {
    let key = key_file.map(|path| read_key(&path)).transpose().map_err(of_measurement)?;
    let options = StampProbeConfig { host: at.0, port: at.1, key, gap_ns, count };
    let (mut signal, mut looked) = (None, 0i64);
    let done = py.detach(|| {
        probe(&options, &mut |ns| {
            if ns < looked {
                return true;
            }
            looked = ns + 100 * ackclock_measure::MS;
            no_signal(&mut signal)
        })
    });
    let found = done.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
    serde_json::to_string(&found).map_err(failure)
}

/// Makes a token and writes it to a new file of mode 0600. InputError: there is a file, or none can be made.
#[pyfunction]
pub fn new_token(path: PathBuf) -> PyResult<()> {
    Token::write_new(&path).map(drop).map_err(of_measurement)
}

/// The token in a file of mode 0600 of this process's user. InputError: it is another's, others can read it, or it is no token.
#[pyfunction]
pub fn read_token(path: PathBuf) -> PyResult<String> {
    Token::read(&path).map(|token| token.reveal().to_owned()).map_err(of_measurement)
}

/// The limits of a far end unless said otherwise, as JSON.
#[pyfunction]
pub fn default_caps() -> PyResult<String> {
    serde_json::to_string(&Quotas::default()).map_err(failure)
}

fn over() -> PyErr {
    of_measurement(MeasureError::Failed(Problem::new("the session is over", "begin another")))
}

struct Held {
    client: Option<MeasurementClient>,
    records: Vec<TestRecord>,
}

/// A session with a far end, and what its tests have left.
#[pyclass(frozen)]
pub struct LiveSession {
    held: Mutex<Held>,
}

impl LiveSession {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl LiveSession {
    /// InputError: it cannot be reached, or rejects the token; FailedError: it failed.
    #[new]
    fn connect(py: Python<'_>, host: &str, port: u16, token: &str) -> PyResult<LiveSession> {
        let options = ClientConfig { host: host.to_owned(), port, token: Token::parse(token).map_err(of_measurement)? };
        let mut signal = None;
        let client = py.detach(|| MeasurementClient::connect(&options, &mut || no_signal(&mut signal)));
        let client = client.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
        Ok(LiveSession { held: Mutex::new(Held { client: Some(client), records: Vec::new() }) })
    }

    /// What the far end says of itself, its address, and this end's clock, as JSON.
    fn welcome(&self) -> PyResult<String> {
        let held = self.held();
        let Some(client) = &held.client else { return Err(over()) };
        let document = serde_json::json!({
            "far_end": client.welcome, "address": client.server.to_string(), "clock": client.clock.state(),
        });
        serde_json::to_string(&document).map_err(failure)
    }

    /// Runs tests (a JSON list) side by side; `watch` gets the seconds since they began, some ten times a second. The figures of datagrams
    /// without a comparison of clocks, as JSON: a list of directions for each test. Nothing is lost of what ran before, if this fails.
    fn run(&self, py: Python<'_>, specs: &str, watch: &Bound<'_, PyAny>) -> PyResult<String> {
        let specs: Vec<TestSpec> = serde_json::from_str(specs).map_err(failure)?;
        let watch = watch.clone().unbind();
        let mut held = self.held();
        let Held { client, records } = &mut *held;
        let Some(client) = client else { return Err(over()) };
        let (mut signal, mut looked) = (None, 0i64);
        let done = py.detach(|| {
            client.run(specs, &mut |ns| {
                if ns < looked {
                    return true;
                }
                looked = ns + 100 * ackclock_measure::MS;
                let call = |py: Python<'_>| py.check_signals().and_then(|()| watch.call1(py, (ns as f64 * 1e-9,)).map(drop));
                signal = Python::attach(call).err();
                signal.is_none()
            })
        });
        let done = done.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
        let ways: Vec<Vec<_>> =
            done.iter().map(|r| TrainTimes::from_record(r).iter().map(|c| direction_stats(c, None)).collect()).collect();
        records.extend(done);
        serde_json::to_string(&ways).map_err(failure)
    }

    /// Keepalive of a session without a running test: call it once a second or more often.
    /// FailedError: the far end has ended it.
    fn keep_alive(&self) -> PyResult<()> {
        let mut held = self.held();
        let Some(client) = &mut held.client else { return Err(over()) };
        client.keep_alive().map_err(of_measurement)
    }

    /// Starts a capture of this session's packet headers at the far end, of at most so many bytes. InputError: it does not allow that.
    fn capture(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        let mut held = self.held();
        let Some(client) = &mut held.client else { return Err(over()) };
        let mut signal = None;
        let done = py.detach(|| client.begin_capture(bytes, &mut || no_signal(&mut signal)));
        done.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))
    }

    /// What it has kept: records of a pcap file (little-endian, nanoseconds, IP), and how many packets are missing.
    fn captured(&self, py: Python<'_>) -> PyResult<(Vec<u8>, u64)> {
        let mut held = self.held();
        let Some(client) = &mut held.client else { return Err(over()) };
        let mut signal = None;
        let done = py.detach(|| client.end_capture(&mut || no_signal(&mut signal)));
        done.map(|c| (c.records, c.dropped)).map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))
    }

    /// The results so far, in the form of `finish`; the session continues.
    fn so_far(&self) -> PyResult<(String, Table, Table)> {
        let held = self.held();
        let Some(client) = &held.client else { return Err(over()) };
        found(&SessionAnalysis::new(&held.records, client.clock.state(), client.welcome.clock))
    }

    /// Ends the session. The document (JSON) and the tables of samples and of datagrams.
    fn finish(&self) -> PyResult<(String, Table, Table)> {
        let mut held = self.held();
        let Some(client) = held.client.take() else { return Err(over()) };
        let (near, far) = (client.clock.state(), client.welcome.clock);
        client.quit();
        found(&SessionAnalysis::new(&held.records, near, far))
    }
}

fn found(session: &SessionAnalysis<'_>) -> PyResult<(String, Table, Table)> {
    let document = serde_json::to_string(&session.results()).map_err(failure)?;
    let series = samples(&session.samples()).map_err(failure)?;
    let delays = delays(&session.delays()).map_err(failure)?;
    Ok((document, Table::new(series), Table::new(delays)))
}

fn samples(rows: &[SampleRow]) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("test", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.test as u32)))),
        ("far", Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(r.far))))),
        ("time_s", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.time_s)))),
    ];
    for (i, name) in SAMPLE_COLUMNS[1..].iter().enumerate() {
        // -1 is none.
        let values = rows.iter().map(|r| Some(r.rest[i]).filter(|v| *v >= 0));
        columns.push((name, Arc::new(values.collect::<Int64Array>())));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
}

fn delays(rows: &[DelayRow]) -> Result<RecordBatch, ArrowError> {
    let ways = rows.iter().map(|r| if r.direction == Direction::Down { "down" } else { "up" });
    table([
        ("test", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.test as u32))) as ArrayRef),
        ("direction", Arc::new(StringArray::from_iter_values(ways))),
        ("number", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.number)))),
        ("sent_s", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.sent_s)))),
        ("delay_ms", Arc::new(rows.iter().map(|r| r.delay_ms).collect::<Float64Array>())),
        ("difference_ms", Arc::new(rows.iter().map(|r| r.difference_ms).collect::<Float64Array>())),
    ])
}

/// Round trips a minute under load from round trips in milliseconds, as JSON: of handshakes and exchanges beside the load, and on it.
#[pyfunction]
pub fn responsiveness(handshakes: Vec<f64>, exchanges: Vec<f64>, on_load: Vec<f64>) -> PyResult<String> {
    serde_json::to_string(&responsive(&RttSamples { handshakes, exchanges, on_load })).map_err(failure)
}

/// Walks the path to a host by probes whose hop limit ends on the way; the plan is JSON, `watch` gets the share that is done after each probe.
/// A row for each probe, without `rtt_ms`, `address` and `answer` if nobody answered.
#[pyfunction]
pub fn path_walk(py: Python<'_>, host: &str, plan: &str, watch: &Bound<'_, PyAny>) -> PyResult<Table> {
    let plan: PathConfig = serde_json::from_str(plan).map_err(failure)?;
    let watch = watch.clone().unbind();
    let mut signal = None;
    let done = py.detach(|| {
        probe_path(host, &plan, &mut |share| {
            let call = |py: Python<'_>| py.check_signals().and_then(|()| watch.call1(py, (share,)).map(drop));
            signal = Python::attach(call).err();
            signal.is_none()
        })
    });
    let path = done.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
    probes(&path).map(Table::new).map_err(failure)
}

fn probes(path: &PathProbes) -> Result<RecordBatch, ArrowError> {
    let rows = &path.records;
    let origin = rows.first().map_or(0, |asked| asked.sent);
    let word = |kind| match kind {
        ReplyKind::Expired => "expired",
        ReplyKind::Reached => "reached",
        ReplyKind::TooBig => "too-big",
        ReplyKind::Refused => "refused",
    };
    let answers = || rows.iter().map(|asked| asked.reply.as_ref());
    let rtt = rows.iter().map(|asked| asked.reply.as_ref().map(|answer| (answer.at - asked.sent) as f64 * 1e-6));
    table([
        ("hop", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| u32::from(r.probe.hop)))) as ArrayRef),
        ("ip_bytes", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.probe.bytes)))),
        ("sent_s", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| (r.sent - origin) as f64 * 1e-9)))),
        ("rtt_ms", Arc::new(rtt.collect::<Float64Array>())),
        ("address", Arc::new(answers().map(|a| a.map(|a| a.from.to_string())).collect::<StringArray>())),
        ("answer", Arc::new(answers().map(|a| a.map(|a| word(a.kind))).collect::<StringArray>())),
        ("brisk", Arc::new(rows.iter().map(|r| Some(r.brisk)).collect::<BooleanArray>())),
    ])
}
