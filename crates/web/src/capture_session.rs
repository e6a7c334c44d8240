//! The analysis of a capture that the page has read.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::{FlowReport, FlowRows, Report};
use ackclock_trace::series::Packets;
use serde::Serialize;
use std::io::Cursor;

/// A capture that is being analyzed.
pub struct CaptureSession {
    capture: Capture,
    analysis: Analysis,
    packets: Packets,
}

/// What has been read: the head of `ackclock analyze --json`, and its largest flows.
#[derive(Debug, Serialize)]
pub struct CaptureDocument {
    #[serde(flatten)]
    head: Report,
    /// Number of all flows.
    flow_count: usize,
    /// The flows with most bytes, by decreasing bytes; `flow` counts from 1.
    largest: Vec<FlowReport>,
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
        Ok(CaptureSession { capture, analysis: Analysis::new(PacketFilter::default()), packets: Packets::default() })
    }

    /// Analyzes up to `max` more packets and returns their number, less at the end of the capture.
    pub fn advance(&mut self, max: u32) -> Result<u64, String> {
        let max = u64::from(max);
        let read = self.analysis.read(&mut self.capture, &mut self.packets, max).map_err(|error| error.to_string())?;
        if read < max {
            self.capture.finish();
        }
        Ok(read)
    }

    /// The report of the packets read so far.
    pub fn report(&self, max: usize) -> CaptureDocument {
        let rows = FlowRows::of(&self.analysis);
        let mut order: Vec<(u64, usize)> = (0..rows.len()).map(|number| (rows.row(number).bytes, number)).collect();
        order.sort_unstable_by_key(|&(bytes, number)| (std::cmp::Reverse(bytes), number));
        let largest = order.into_iter().take(max).map(|(_, number)| FlowReport { flow: Some(number + 1), ..rows.row(number) });
        CaptureDocument {
            head: Report::without_flows(&self.analysis, &self.capture),
            flow_count: rows.len(),
            largest: largest.collect(),
        }
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
