//! What an input is given to. A target panics when something is wrong with its result.

use crate::retransmission_bound::RetransmissionBound;
use ackclock_core::tcp::TcpConfig;
use ackclock_diagnose::capture::{CaptureDiagnosis, THRESHOLDS, of_qlog};
use ackclock_packetdrill::{RunOptions, Script, run};
use ackclock_pcap::read::{Capture, ReadError};
use ackclock_pcap::siphash::SipKey;
use ackclock_trace::analyze::{Analysis, CachePolicy, PacketFilter};
use ackclock_trace::infer::ArrivalRecorder;
use ackclock_trace::join::{CaptureSide, join};
use ackclock_trace::qlog;
use ackclock_trace::report::{CaptureIndex, FlowRows, PathEstimates, Report};
use ackclock_trace::series::Packets;
use ackclock_trace::strip::strip;
use std::io::Cursor;

/// Maximum memory of an analysis: inputs are below a MB.
const MAX_MEMORY: usize = 64 << 20;

/// An input, which determines the result.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// One capture file.
    Capture(Vec<u8>),
    /// Two capture files of one path.
    Pair(Vec<u8>, Vec<u8>),
    /// A packetdrill script.
    Script(String),
    /// A log of a QUIC endpoint.
    Log(Vec<u8>),
}

impl Input {
    /// The files of the input: name extension and content.
    pub fn files(&self) -> Vec<(&'static str, &[u8])> {
        match self {
            Input::Capture(file) => vec![("cap", file)],
            Input::Pair(first, second) => vec![("1.cap", first), ("2.cap", second)],
            Input::Script(text) => vec![("pkt", text.as_bytes())],
            Input::Log(text) => vec![("qlog", text)],
        }
    }

    pub fn play(&self) {
        match self {
            Input::Capture(file) => {
                analyze_alone(file);
                diagnose_alone(file);
                copy_alone(file);
                analyze_pair(file, file);
            }
            Input::Pair(first, second) => analyze_pair(first, second),
            Input::Script(text) => play_script(text),
            Input::Log(text) => read_log(text),
        }
    }
}

fn open(file: &[u8]) -> Result<Capture, ReadError> {
    Capture::from_reader(Box::new(Cursor::new(file.to_vec())))
}

fn read(file: &[u8]) -> Result<CaptureSide, ReadError> {
    let mut side = CaptureSide { packets: Some(Packets::default()), ..CaptureSide::new(open(file)?, PacketFilter::default()) };
    side.read(u64::MAX)?;
    side.capture.finish();
    let rows = side.packets.as_ref().map_or(0, |packets| packets.rows.len() as u64);
    assert_eq!(rows, side.analysis.counts().tcp, "a row for each segment");
    let memory = side.analysis.memory();
    assert!(memory < MAX_MEMORY, "{memory} bytes of memory");
    Ok(side)
}

/// The report does not depend on which flows are frozen, nor on the number of packets read at once.
fn analyze_alone(file: &[u8]) {
    let report = |policy: CachePolicy, step: u64| {
        let mut capture = open(file).ok()?;
        let mut analysis = Analysis::with_policy(PacketFilter::default(), policy);
        analysis.read(&mut capture, &mut (), step).ok()?;
        analysis.read(&mut capture, &mut (), u64::MAX).ok()?;
        capture.finish();
        Some(serde_json::to_string(&Report::of(&analysis, &capture)).expect("figures are numbers"))
    };
    let hot = report(CachePolicy::default(), u64::MAX);
    let frozen = report(CachePolicy { min_hot: 1, max_hot: 1, idle_ns: -i64::MAX }, 7);
    assert_eq!(hot, frozen, "the report depends on frozen flows");
}

fn analyze_pair(first: &[u8], second: &[u8]) {
    let (Ok(first), Ok(second)) = (read(first), read(second)) else { return };
    let joined = join(&first, &second, None);
    serde_json::to_string(&Report::joined(&first, &second, &joined)).expect("figures are numbers");
    let head = Report::joined_without_flows(&first, &second, &joined);
    let [here, there] = [&first, &second].map(|side| FlowRows::of(&side.analysis));
    let index = CaptureIndex::of(&here, THRESHOLDS, &head.concurrent, Some(&joined)).with_ends(&here);
    let index_there = CaptureIndex::default().with_ends(&there);
    diagnose_all(&CaptureDiagnosis::of_two(&head, [here.with_joined(&joined), there], &joined, [&index, &index_there]));
}

fn diagnose_alone(file: &[u8]) {
    let Ok(mut capture) = open(file) else { return };
    let mut analysis = Analysis::new(PacketFilter::default());
    let mut observers = (ArrivalRecorder::default(), RetransmissionBound::default());
    if analysis.read(&mut capture, &mut observers, u64::MAX).is_err() {
        return;
    }
    let (arrivals, bound) = observers;
    let (head, rows) = (Report::without_flows(&analysis, &capture), FlowRows::of(&analysis));
    bound.check(&rows);
    let estimates = PathEstimates::of(&rows, &arrivals);
    let index = CaptureIndex::of(&rows, THRESHOLDS, &head.concurrent, None);
    diagnose_all(&CaptureDiagnosis::of_one(&head, rows.with_estimates(&estimates), &index));
}

/// The copy to share has as many packets, none longer, and can be analyzed.
fn copy_alone(file: &[u8]) {
    let Ok(mut capture) = open(file) else { return };
    let mut copied = Vec::new();
    let Ok(copy) = strip(&mut capture, &mut copied, SipKey::from_bytes([1; 16])) else { return };
    let side = read(&copied).expect("a copy is a capture");
    assert_eq!(side.analysis.totals.packets, copy.packets);
    assert!(side.capture.damage().is_empty(), "{:?}", side.capture.damage());
}

/// The index leaves out no flow with a finding.
fn diagnose_all(diagnosis: &CaptureDiagnosis<'_>) {
    for number in 0..diagnosis.len() {
        let facts = diagnosis.flow(number);
        let claims = facts.claims(&facts.transfers());
        assert!(claims.is_empty() || diagnosis.may_have_findings(number), "{claims:?}");
    }
}

/// The document of a log is JSON whose figures are numbers.
fn read_log(text: &[u8]) {
    let Ok(connections) = qlog::read(text) else { return };
    serde_json::to_string(&of_qlog(&connections)).expect("figures are numbers");
}

fn play_script(text: &str) {
    let Ok(script) = Script::parse(text) else { return };
    let outcome = run(&script, &TcpConfig::default(), &RunOptions { trace: true, ..RunOptions::default() });
    serde_json::to_string(&outcome).expect("figures are numbers");
}
