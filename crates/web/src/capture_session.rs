//! The analysis of a capture that the page has read.

use ackclock_diagnose::capture::{CaptureDiagnosis, Group, RULES, SummaryBuilder, THRESHOLDS};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::infer::ArrivalRecorder;
use ackclock_trace::report::{CaptureIndex, Finding, FlowReport, FlowRows, PathEstimates, Report};
use ackclock_trace::series::Packets;
use serde::Serialize;
use std::io::Cursor;

/// A capture that is being analyzed.
pub struct CaptureSession {
    capture: Capture,
    analysis: Analysis,
    packets: Packets,
    /// Arrival times of packets and ACKs, for the bottleneck's rate.
    arrivals: ArrivalRecorder,
}

/// What has been read: the head of `ackclock analyze --json`, and its largest flows.
#[derive(Debug, Serialize)]
pub struct CaptureDocument {
    #[serde(flatten)]
    head: Report,
    /// Number of all flows.
    flow_count: usize,
    /// The flows with most bytes, by decreasing bytes, with their findings; `flow` counts from 1.
    largest: Vec<FlowReport>,
    /// The connections that fail or wait, in the order of the capture, whatever their bytes.
    failures: Vec<Failure>,
    /// Number of all such findings.
    failure_count: usize,
}

/// A finding about a connection that fails or waits.
#[derive(Debug, Serialize)]
pub struct Failure {
    flow: usize,
    client: String,
    server: String,
    #[serde(flatten)]
    finding: Finding,
}

/// Maximum number of failures that are listed.
const MAX_FAILURES: usize = 100;

fn is_failure(finding: &Finding) -> bool {
    RULES.iter().any(|rule| rule.code == finding.finding && rule.group == Group::Connections)
}

/// The packets of one flow, in columns, for a time-sequence plot. Offsets are those of the stream of
/// the end that `from_client` names.
#[derive(Debug, Default, Serialize)]
pub struct SequenceColumns {
    /// Time after the capture's first packet.
    time_s: Vec<f64>,
    from_client: Vec<bool>,
    kind: Vec<&'static str>,
    seq: Vec<i64>,
    payload: Vec<u32>,
    /// In the other end's stream.
    ack: Vec<Option<i64>>,
    window: Vec<u32>,
    rtt_ms: Vec<Option<f64>>,
    in_flight: Vec<u32>,
    /// SACK blocks: index of the packet, left and right edge in the other end's stream.
    sacks: Vec<(u32, i64, i64)>,
    /// Packets of the capture without a row: there is a maximum number of rows.
    left_out: u64,
}

impl CaptureSession {
    /// Opens a capture file. Error: why it is none.
    pub fn open(file: Vec<u8>) -> Result<CaptureSession, String> {
        let capture = Capture::from_reader(Box::new(Cursor::new(file))).map_err(|error| error.to_string())?;
        Ok(CaptureSession {
            capture,
            analysis: Analysis::new(PacketFilter::default()),
            packets: Packets::default(),
            arrivals: ArrivalRecorder::default(),
        })
    }

    /// Analyzes up to `max` more packets and returns their number, less at the end of the capture.
    pub fn advance(&mut self, max: u32) -> Result<u64, String> {
        let max = u64::from(max);
        let CaptureSession { capture, analysis, packets, arrivals } = self;
        let read = analysis.read_observed(capture, &mut (packets, arrivals), max).map_err(|error| error.to_string())?;
        if read < max {
            self.capture.finish();
        }
        Ok(read)
    }

    /// The report of the packets read so far, with the findings and the verdict of `ackclock analyze`.
    pub fn report(&self, max: usize) -> CaptureDocument {
        let rows = FlowRows::of(&self.analysis);
        let estimates = PathEstimates::of(&rows, &self.arrivals);
        let head = Report::without_flows(&self.analysis, &self.capture);
        let index = CaptureIndex::of(&rows, THRESHOLDS, &head.concurrent, None);
        let head = Report { summary: Some(index.summary().clone()), ..head };
        let diagnosis = CaptureDiagnosis::of_one(&head, rows.with_estimates(&estimates), &index);
        let mut builder = SummaryBuilder::default();
        let (mut failures, mut failure_count) = (Vec::new(), 0);
        for number in (0..diagnosis.len()).filter(|&number| diagnosis.may_have_findings(number)) {
            let flow = diagnosis.flow(number).summed(&mut builder);
            for finding in flow.diagnosis.into_iter().flatten().filter(is_failure) {
                failure_count += 1;
                if failures.len() < MAX_FAILURES {
                    let (client, server) = (flow.client.clone(), flow.server.clone());
                    failures.push(Failure { flow: number + 1, client, server, finding });
                }
            }
        }
        let mut order: Vec<(u64, usize)> = (0..diagnosis.len()).map(|number| (diagnosis.row(number).bytes, number)).collect();
        order.sort_unstable_by_key(|&(bytes, number)| (std::cmp::Reverse(bytes), number));
        let largest = order.into_iter().take(max).map(|(_, number)| diagnosis.flow(number).diagnosed()).collect();
        let (flow_count, summary) = (diagnosis.len(), builder.summary(&head));
        CaptureDocument { head: Report { summary: Some(summary), ..head }, flow_count, largest, failures, failure_count }
    }

    /// The packets of a flow (its number from 0).
    pub fn packets(&self, flow: u32) -> SequenceColumns {
        let origin = self.analysis.totals.first_at.unwrap_or(0);
        let mut columns = SequenceColumns { left_out: self.packets.left_out, ..SequenceColumns::default() };
        let mut sacks = self.packets.sacks.iter().peekable();
        for (number, row) in self.packets.rows.iter().enumerate() {
            let is_of_flow = row.flow == flow;
            while let Some(&&(_, left, right)) = sacks.peek().filter(|(of, ..)| *of as usize <= number) {
                if is_of_flow {
                    columns.sacks.push((columns.time_s.len() as u32, left, right));
                }
                sacks.next();
            }
            if !is_of_flow {
                continue;
            }
            columns.time_s.push(row.at.saturating_sub(origin) as f64 * 1e-9);
            columns.from_client.push(row.from_client);
            columns.kind.push(row.kind.name());
            columns.seq.push(row.seq);
            columns.payload.push(row.payload);
            columns.ack.push(row.ack);
            columns.window.push(row.window);
            columns.rtt_ms.push(row.rtt.map(|ns| ns as f64 * 1e-6));
            columns.in_flight.push(row.in_flight);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::CaptureSession;

    /// A SYN from port 1024 + `number` at this second, and a reset after it.
    fn refused(number: u8, second: u32) -> Vec<u8> {
        let packet = |micros: u32, from: [u8; 4], to: [u8; 4], ports: [u16; 2], seq: u32, ack: u32, flags: u8| {
            let mut bytes = Vec::new();
            for value in [second, micros, 40, 40] {
                bytes.extend(value.to_le_bytes());
            }
            bytes.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]);
            bytes.extend(from);
            bytes.extend(to);
            ports.iter().for_each(|port| bytes.extend(port.to_be_bytes()));
            bytes.extend(seq.to_be_bytes());
            bytes.extend(ack.to_be_bytes());
            bytes.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
            bytes
        };
        let (client, server, port) = ([10, 0, 0, 1], [192, 0, 2, 1], 1024 + u16::from(number));
        let mut both = packet(0, client, server, [port, 80], 7, 0, 0x02);
        both.extend(packet(500, server, client, [80, port], 0, 8, 0x14));
        both
    }

    fn capture(connections: u8) -> CaptureSession {
        let mut file: Vec<u8> =
            [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101].iter().flat_map(|word| word.to_le_bytes()).collect();
        for number in 0..connections {
            file.extend(refused(number, u32::from(number)));
        }
        let mut session = CaptureSession::open(file).unwrap();
        while session.advance(3).unwrap() == 3 {}
        session
    }

    #[test]
    fn report_has_the_failures_of_flows_that_are_not_among_the_largest_and_the_verdict() {
        let report = capture(3).report(1);
        assert_eq!((report.flow_count, report.largest.len(), report.failure_count), (3, 1, 3));
        assert!(report.failures.iter().all(|failure| failure.finding.finding == "connection_refused"));
        assert_eq!(report.failures[2].client, "10.0.0.1:1026");
        let verdict = report.head.summary.unwrap().verdict.unwrap();
        assert_eq!((verdict.verdict, verdict.share), ("receiving_host", Some(1.0)));
        assert_eq!(report.largest[0].diagnosis.as_ref().unwrap().len(), 1);
    }

    #[test]
    fn list_of_failures_ends_and_their_number_does_not() {
        let report = capture(101).report(0);
        assert_eq!((report.failures.len(), report.failure_count), (100, 101));
    }
}
