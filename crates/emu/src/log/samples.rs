//! Samples of queues and simulated flows, written row by row: memory use does not grow with the
//! emulation's length.

use super::csv_rows::CsvRow;
use super::writer_thread::FileStream;
use ackclock_core::Time;
use ackclock_sim::Plan;
use ackclock_sim::build::BuiltNetwork;
use ackclock_sim::recorder::{HopSeries, Recorder, Series};

const HOPS: &str = "hop,direction,station,time_s,queue_packets,queue_bytes,drops,marks,delivered_bytes";
const SERIES: &str = "flow,time_s,cwnd_bytes,ssthresh_bytes,srtt_ms,flight_bytes,delivered_bytes,retransmitted_segments";

pub struct Samples {
    recorder: Recorder,
    hops: FileStream,
    series: FileStream,
    /// Rates of shapers are controlled, and have a column.
    with_rates: bool,
}

impl Samples {
    pub fn new(plan: &Plan, mut hops: FileStream, mut series: FileStream) -> Samples {
        let with_rates = plan.controls_rates();
        let more = if with_rates { ",shaper_rate_bps" } else { "" };
        for (stream, columns, more) in [(&mut hops, HOPS, more), (&mut series, SERIES, "")] {
            stream.bytes().extend_from_slice(columns.as_bytes());
            stream.bytes().extend_from_slice(more.as_bytes());
            stream.bytes().push(b'\n');
        }
        Samples { recorder: Recorder::new(plan), hops, series, with_rates }
    }

    pub fn due(&self) -> Time {
        self.recorder.due()
    }

    pub fn take(&mut self, now: Time, built: &mut BuiltNetwork) {
        self.recorder.take(now, built);
        let (hops, series) = (std::mem::take(&mut self.recorder.hops), std::mem::take(&mut self.recorder.series));
        for i in 0..hops.hop.len() {
            write_hop(&mut self.hops, &hops, i, self.with_rates);
        }
        for i in 0..series.flow.len() {
            write_flow(&mut self.series, &series, i);
        }
    }
}

fn write_hop(out: &mut FileStream, hops: &HopSeries, i: usize, with_rates: bool) {
    let row = CsvRow::new(out)
        .number(hops.hop[i].into())
        .word(hops.direction[i])
        .optional(hops.station[i].map(u64::from))
        .real(Some(hops.time_s[i]))
        .number(hops.queue_packets[i])
        .number(hops.queue_bytes[i])
        .number(hops.drops[i])
        .number(hops.marks[i])
        .number(hops.delivered_bytes[i]);
    if with_rates {
        row.optional(hops.shaper_rate_bps[i]);
    }
}

fn write_flow(out: &mut FileStream, series: &Series, i: usize) {
    CsvRow::new(out)
        .number(series.flow[i].into())
        .real(Some(series.time_s[i]))
        .real(Some(series.cwnd_bytes[i]))
        .real(series.ssthresh_bytes[i])
        .real(series.srtt_ms[i])
        .number(series.flight_bytes[i])
        .number(series.delivered_bytes[i])
        .number(series.retransmitted_segments[i]);
}
