//! Active measurement: client sessions, the measurement server, path probes and STAMP.

use crate::errors::{failure, of_measurement};
use crate::objects::to_object;
use crate::run_columns::table;
use crate::table::Table;
use ackclock_contract::Document;
use ackclock_core::Problem;
use ackclock_measure::MeasureError;
use ackclock_measure::control::message::{ClockState, Welcome};
use ackclock_measure::estimate::responsiveness::{RttSamples, responsiveness as responsive};
use ackclock_measure::estimate::results::{DelayRow, SampleRow, SessionAnalysis};
use ackclock_measure::net::client::{ClientConfig, MeasurementClient, StepTest};
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
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// False after a signal; `raised` is then the exception of its handler.
fn no_signal(raised: &mut Option<PyErr>) -> bool {
    *raised = Python::attach(|py| py.check_signals()).err();
    raised.is_none()
}

/// The options of `serve`, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServeOptions {
    listen: IpAddr,
    port: u16,
    token_file: Option<PathBuf>,
    caps: Quotas,
    clock_shift: i64,
    stamp: Option<ReflectorOptions>,
    log: Option<LogOptions>,
    drop: Option<DropOptions>,
}

/// Log of sessions and refusals: a file, or standard error.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LogOptions {
    file: Option<PathBuf>,
}

/// Drop privileges after bind; root becomes this user (by default the account `nobody`).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DropOptions {
    user: Option<String>,
}

/// A STAMP reflector beside the server. Without a key file it answers every sender.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReflectorOptions {
    port: u16,
    key_file: Option<PathBuf>,
}

/// Serves until a signal. `announce` receives the address, and the token if it is valid for this
/// run only. InputError: bad input; FailedError: a system call failed.
#[pyfunction]
pub fn serve(py: Python<'_>, options: &str, announce: &Bound<'_, PyAny>) -> PyResult<()> {
    let options: ServeOptions = serde_json::from_str(options).map_err(failure)?;
    let (token, is_new) = Token::from_file_or_new(options.token_file.as_deref()).map_err(of_measurement)?;
    let announced = (is_new && options.token_file.is_none()).then(|| token.reveal().to_owned());
    let listen = SocketAddr::new(options.listen, options.port);
    let stamp =
        options.stamp.map(|s| Ok(ReflectorConfig { port: s.port, key: s.key_file.map(|path| read_key(&path)).transpose()? }));
    let stamp = stamp.transpose().map_err(of_measurement)?;
    let log = options.log.map(|l| l.file.as_deref().map_or(Ok(LogTarget::Stderr), LogTarget::file));
    let log = log.transpose().map_err(of_measurement)?.unwrap_or_default();
    raise_descriptors();
    let server_options = ServerConfig { listen, token, quotas: options.caps, clock_shift: options.clock_shift, stamp, log };
    let mut server = MeasurementServer::open(server_options).map_err(of_measurement)?;
    if let Some(DropOptions { user }) = options.drop {
        server.drop_privileges(user.as_deref()).map_err(of_measurement)?;
    }
    announce.call1((server.address().map_err(of_measurement)?.to_string(), announced))?;
    let mut signal = None;
    py.detach(|| server.run(|| no_signal(&mut signal))).map_err(of_measurement)?;
    signal.map_or(Ok(()), Err)
}

/// Runs `ackclockd` with these arguments (argv) until SIGINT or SIGTERM. Returns the exit status.
#[pyfunction]
pub fn ackclockd(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| ackclock_measure::daemon::run(arguments))
}

/// Sends `count` STAMP probes to `at` (host, port), one every `gap_ns`; `key_file` selects the
/// authenticated mode. InputError: no such host, or no reply.
#[pyfunction]
pub fn stamp(
    py: Python<'_>,
    at: (String, u16),
    key_file: Option<PathBuf>,
    gap_ns: i64,
    count: u32,
) -> PyResult<Bound<'_, PyAny>> {
    let key = key_file.map(|path| read_key(&path)).transpose().map_err(of_measurement)?;
    let options = StampProbeConfig { host: at.0, port: at.1, key, gap_ns, count };
    let (mut signal, mut next_check) = (None, 0i64);
    let outcome = py.detach(|| {
        probe(&options, &mut |ns| {
            if ns < next_check {
                return true;
            }
            next_check = ns + 100 * ackclock_measure::MS;
            no_signal(&mut signal)
        })
    });
    let results = outcome.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
    to_object(py, &results)
}

/// Writes a new token to a new file of mode 0600. InputError: the file exists or cannot be created.
#[pyfunction]
pub fn new_token(path: PathBuf) -> PyResult<()> {
    Token::write_new(&path).map(drop).map_err(of_measurement)
}

/// Reads the token from a file of mode 0600. InputError: the file belongs to another user, is
/// readable by others, or holds no token.
#[pyfunction]
pub fn read_token(path: PathBuf) -> PyResult<String> {
    Token::read(&path).map(|token| token.reveal().to_owned()).map_err(of_measurement)
}

/// The default quotas of a server.
#[pyfunction]
pub fn default_caps(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_object(py, &Quotas::default())
}

fn session_over() -> PyErr {
    of_measurement(MeasureError::Failed(Problem::new("the session is over", "begin another")))
}

struct SessionState {
    client: Option<MeasurementClient>,
    records: Vec<TestRecord>,
}

/// A session with a measurement server, and the records of its tests.
#[pyclass(frozen)]
pub struct LiveSession {
    state: Mutex<SessionState>,
}

impl LiveSession {
    fn lock(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[pymethods]
impl LiveSession {
    /// InputError: the server is unreachable or rejects the token; FailedError: a system call
    /// failed.
    #[new]
    fn connect(py: Python<'_>, host: &str, port: u16, token: &str) -> PyResult<LiveSession> {
        let options = ClientConfig { host: host.to_owned(), port, token: Token::parse(token).map_err(of_measurement)? };
        let mut signal = None;
        let client = py.detach(|| MeasurementClient::connect(&options, &mut || no_signal(&mut signal)));
        let client = client.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
        Ok(LiveSession { state: Mutex::new(SessionState { client: Some(client), records: Vec::new() }) })
    }

    /// The server's welcome, its address, and the state of this host's clock.
    fn welcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.lock();
        let Some(client) = &state.client else { return Err(session_over()) };
        let (address, clock) = (client.server.to_string(), client.clock.state());
        to_object(py, &SessionWelcome { far_end: &client.welcome, address, clock })
    }

    /// Runs tests (a JSON list) concurrently; `watch` receives the seconds since their start about
    /// ten times a second. Returns the results of each test, without a comparison of the clocks. If
    /// it fails, the records of earlier tests stay. Each test
    /// starts `start_after_ns` after the step.
    fn run<'py>(
        &self,
        py: Python<'py>,
        specs: &str,
        start_after_ns: Vec<i64>,
        watch: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let specs: Vec<TestSpec> = serde_json::from_str(specs).map_err(failure)?;
        let later = start_after_ns.into_iter().chain(std::iter::repeat(0));
        let tests: Vec<StepTest> =
            specs.into_iter().zip(later).map(|(spec, start_after)| StepTest { spec, start_after }).collect();
        let watch = watch.clone().unbind();
        let mut state = self.lock();
        let SessionState { client, records } = &mut *state;
        let Some(client) = client else { return Err(session_over()) };
        let (mut signal, mut next_check) = (None, 0i64);
        let outcome = py.detach(|| {
            client.run_step(tests, &mut |ns| {
                if ns < next_check {
                    return true;
                }
                next_check = ns + 100 * ackclock_measure::MS;
                let call = |py: Python<'_>| py.check_signals().and_then(|()| watch.call1(py, (ns as f64 * 1e-9,)).map(drop));
                signal = Python::attach(call).err();
                signal.is_none()
            })
        });
        let run = outcome.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
        let results = SessionAnalysis::without_clocks(&run).results();
        records.extend(run);
        to_object(py, &results.tests)
    }

    /// Bytes of IP that the control connection has moved in both directions, without ACKs.
    fn control_bytes(&self) -> PyResult<u64> {
        self.lock().client.as_ref().map(MeasurementClient::control_bytes).ok_or_else(session_over)
    }

    /// Keepalive of a session without a running test, required once a second or more often.
    /// FailedError: the server has ended the session.
    fn keep_alive(&self) -> PyResult<()> {
        let mut state = self.lock();
        let Some(client) = &mut state.client else { return Err(session_over()) };
        client.keep_alive().map_err(of_measurement)
    }

    /// Starts a capture of this session's packet headers at the server, of at most `bytes`.
    /// InputError: the server does not allow captures.
    fn capture(&self, py: Python<'_>, bytes: u64) -> PyResult<()> {
        let mut state = self.lock();
        let Some(client) = &mut state.client else { return Err(session_over()) };
        let mut signal = None;
        let outcome = py.detach(|| client.begin_capture(bytes, &mut || no_signal(&mut signal)));
        outcome.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))
    }

    /// Ends the capture. Returns the records of a pcap file (little-endian, nanoseconds, IP), and
    /// the number of packets that are missing.
    fn captured(&self, py: Python<'_>) -> PyResult<(Vec<u8>, u64)> {
        let mut state = self.lock();
        let Some(client) = &mut state.client else { return Err(session_over()) };
        let mut signal = None;
        let outcome = py.detach(|| client.end_capture(&mut || no_signal(&mut signal)));
        outcome.map(|c| (c.records, c.dropped)).map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))
    }

    /// The results so far, in the form of `finish`; the session continues.
    fn so_far<'py>(&self, py: Python<'py>) -> PyResult<SessionResults<'py>> {
        let state = self.lock();
        let Some(client) = &state.client else { return Err(session_over()) };
        results(py, &SessionAnalysis::new(&state.records, client.clock.state(), client.welcome.clock))
    }

    /// Ends the session. The document (JSON) and the tables of samples and of datagrams.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<SessionResults<'py>> {
        let mut state = self.lock();
        let Some(client) = state.client.take() else { return Err(session_over()) };
        let (near, far) = (client.clock.state(), client.welcome.clock);
        client.quit();
        results(py, &SessionAnalysis::new(&state.records, near, far))
    }
}

/// What a session begins with.
#[derive(Serialize, Document)]
pub struct SessionWelcome<'a> {
    far_end: &'a Welcome,
    address: String,
    /// Of this host.
    clock: ClockState,
}

/// The document of a session, its samples and its datagrams.
type SessionResults<'py> = (Bound<'py, PyAny>, Table, Table);

fn results<'py>(py: Python<'py>, session: &SessionAnalysis<'_>) -> PyResult<SessionResults<'py>> {
    let document = to_object(py, &session.results())?;
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
        // -1 stands for none.
        let values = rows.iter().map(|r| Some(r.rest[i]).filter(|v| *v >= 0));
        columns.push((name, Arc::new(values.collect::<Int64Array>())));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
}

fn delays(rows: &[DelayRow]) -> Result<RecordBatch, ArrowError> {
    let directions = rows.iter().map(|r| if r.direction == Direction::Down { "down" } else { "up" });
    table([
        ("test", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.test as u32))) as ArrayRef),
        ("direction", Arc::new(StringArray::from_iter_values(directions))),
        ("number", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.number)))),
        ("sent_s", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.sent_s)))),
        ("delay_ms", Arc::new(rows.iter().map(|r| r.delay_ms).collect::<Float64Array>())),
        ("difference_ms", Arc::new(rows.iter().map(|r| r.difference_ms).collect::<Float64Array>())),
    ])
}

/// Round trips per minute under load from RTTs in milliseconds: of handshakes and exchanges
/// beside the load, and of the load's connections.
#[pyfunction]
pub fn responsiveness(
    py: Python<'_>,
    handshakes: Vec<f64>,
    exchanges: Vec<f64>,
    on_load: Vec<f64>,
) -> PyResult<Bound<'_, PyAny>> {
    to_object(py, &responsive(&RttSamples { handshakes, exchanges, on_load }))
}

/// The grade of a delay that load adds at the 95th percentile, in milliseconds.
#[pyfunction]
pub fn added_delay_grade(added_ms: f64) -> &'static str {
    ackclock_core::score::responsiveness::added_delay_grade(added_ms)
}

/// Probes the hops of the path to a host with increasing TTL; the plan is JSON, `watch` receives
/// the completed share after each probe. Returns a row for each probe; `rtt_ms`, `address` and
/// `answer` are null without a reply.
#[pyfunction]
pub fn path_walk(py: Python<'_>, host: &str, plan: &str, watch: &Bound<'_, PyAny>) -> PyResult<Table> {
    let plan: PathConfig = serde_json::from_str(plan).map_err(failure)?;
    let watch = watch.clone().unbind();
    let mut signal = None;
    let outcome = py.detach(|| {
        probe_path(host, &plan, &mut |share| {
            let call = |py: Python<'_>| py.check_signals().and_then(|()| watch.call1(py, (share,)).map(drop));
            signal = Python::attach(call).err();
            signal.is_none()
        })
    });
    let path = outcome.map_err(|e| signal.take().unwrap_or_else(|| of_measurement(e)))?;
    probes(&path).map(Table::new).map_err(failure)
}

fn probes(path: &PathProbes) -> Result<RecordBatch, ArrowError> {
    let rows = &path.records;
    let origin = rows.first().map_or(0, |probe| probe.sent);
    let name = |kind| match kind {
        ReplyKind::Expired => "expired",
        ReplyKind::Reached => "reached",
        ReplyKind::TooBig => "too-big",
        ReplyKind::Refused => "refused",
    };
    let replies = || rows.iter().map(|probe| probe.reply.as_ref());
    let rtt = rows.iter().map(|probe| probe.reply.as_ref().map(|reply| (reply.at - probe.sent) as f64 * 1e-6));
    table([
        ("hop", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| u32::from(r.probe.hop)))) as ArrayRef),
        ("ip_bytes", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.probe.bytes)))),
        ("sent_s", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| (r.sent - origin) as f64 * 1e-9)))),
        ("rtt_ms", Arc::new(rtt.collect::<Float64Array>())),
        ("address", Arc::new(replies().map(|a| a.map(|a| a.from.to_string())).collect::<StringArray>())),
        ("answer", Arc::new(replies().map(|a| a.map(|a| name(a.kind))).collect::<StringArray>())),
        ("brisk", Arc::new(rows.iter().map(|r| Some(r.brisk)).collect::<BooleanArray>())),
    ])
}
