//! A run of a plan in steps, and the packets of an interval.

use crate::packet_log::{PacketLog, PacketRows};
use ackclock_core::{Span, Time};
use ackclock_diagnose::felt::Felt;
use ackclock_diagnose::limit::{FlowExplanation, PlanFigures, RunFigures, explain};
use ackclock_sim::build::{build, build_unfused};
use ackclock_sim::plan::Plan;
use ackclock_sim::run::SteppedRun;
use serde::Serialize;

/// Picoseconds in a second.
const PS_PER_S: f64 = 1e12;

/// A time after the end of any run, to which a span can be added.
const LATEST: u64 = u64::MAX / 2;

/// A run in progress and its plan.
pub struct RunSession {
    plan: Plan,
    run: SteppedRun,
}

/// Samples of flows and of queues, in columns (`docs/inside/plan.md`).
#[derive(Debug, Serialize)]
pub struct SeriesRows<'a> {
    now_s: f64,
    flows: FlowColumns<'a>,
    hops: HopColumns<'a>,
}

#[derive(Debug, Serialize)]
struct FlowColumns<'a> {
    flow: &'a [u32],
    time_s: &'a [f64],
    cwnd_bytes: &'a [f64],
    ssthresh_bytes: &'a [Option<f64>],
    srtt_ms: &'a [Option<f64>],
    flight_bytes: &'a [u64],
    delivered_bytes: &'a [u64],
    retransmitted_segments: &'a [u64],
}

#[derive(Debug, Serialize)]
struct HopColumns<'a> {
    hop: &'a [u32],
    direction: &'a [&'static str],
    time_s: &'a [f64],
    queue_packets: &'a [u64],
    queue_bytes: &'a [u64],
    drops: &'a [u64],
    marks: &'a [u64],
    delivered_bytes: &'a [u64],
}

impl RunSession {
    /// Reads and checks a plan. Error: why it is rejected.
    pub fn open(plan: &str) -> Result<RunSession, String> {
        let plan = checked(plan)?;
        let run = SteppedRun::new(&plan, build).map_err(|error| error.to_string())?;
        Ok(RunSession { plan, run })
    }

    /// Advances to `until_s`; true at the end of the run.
    pub fn advance(&mut self, until_s: f64) -> bool {
        self.run.advance(&self.plan, time(until_s), &mut ());
        self.run.is_over()
    }

    /// The samples from these rows on.
    pub fn series(&self, flow_row: usize, hop_row: usize) -> SeriesRows<'_> {
        let (flows, hops) = (self.run.series(), self.run.hops());
        let (f, h) = (flow_row.min(flows.flow.len()), hop_row.min(hops.hop.len()));
        SeriesRows {
            now_s: self.run.now().as_secs(),
            flows: FlowColumns {
                flow: &flows.flow[f..],
                time_s: &flows.time_s[f..],
                cwnd_bytes: &flows.cwnd_bytes[f..],
                ssthresh_bytes: &flows.ssthresh_bytes[f..],
                srtt_ms: &flows.srtt_ms[f..],
                flight_bytes: &flows.flight_bytes[f..],
                delivered_bytes: &flows.delivered_bytes[f..],
                retransmitted_segments: &flows.retransmitted_segments[f..],
            },
            hops: HopColumns {
                hop: &hops.hop[h..],
                direction: &hops.direction[h..],
                time_s: &hops.time_s[h..],
                queue_packets: &hops.queue_packets[h..],
                queue_bytes: &hops.queue_bytes[h..],
                drops: &hops.drops[h..],
                marks: &hops.marks[h..],
                delivered_bytes: &hops.delivered_bytes[h..],
            },
        }
    }

    /// The summary of a run that has ended. Error: it has not, or packets are not conserved.
    pub fn summary(self) -> Result<Vec<u8>, String> {
        if !self.run.is_over() {
            return Err("the run has not ended".into());
        }
        let result = self.run.finish(&self.plan).map_err(|error| error.to_string())?;
        crate::json(&result.summary)
    }
}

/// What limits each flow, from the summary and the plan (JSON), in one array.
pub fn limits(both: &str) -> Result<Vec<FlowExplanation>, String> {
    let (run, plan): (RunFigures, PlanFigures) = serde_json::from_str(both).map_err(|error| error.to_string())?;
    Ok(explain(&run, &plan))
}

/// What people feel of the applications of a run, from its summary (JSON).
pub fn felt(summary: &str) -> Result<Felt, String> {
    serde_json::from_str(summary).map(|run| ackclock_diagnose::felt::felt(&run)).map_err(|error| error.to_string())
}

/// The packets that are sent from `from_s` to `to_s`, followed until `to_s`. Each hop is an element
/// of its own here, so that a packet's time in its queue is known; the events are those of the run.
pub fn packets(plan: &str, from_s: f64, to_s: f64) -> Result<PacketRows, String> {
    let plan = checked(plan)?;
    let mut run = SteppedRun::new(&plan, build_unfused).map_err(|error| error.to_string())?;
    // The run stops at each thousandth of its duration at least: from the last stop before the
    // interval to the first after it.
    let stop = Span(plan.duration_ps / 1000);
    let (from, to) = (time(from_s), time(to_s).max(time(from_s)));
    run.advance(&plan, from, &mut ());
    let mut log = PacketLog::new(&plan, run.world());
    run.advance(&plan, to + stop, &mut log);
    Ok(log.finish())
}

/// A plan without captures: there are no files here.
fn checked(text: &str) -> Result<Plan, String> {
    let plan = Plan::from_json(text).map_err(|error| error.to_string())?;
    if plan.captures.is_empty() { Ok(plan) } else { Err("captures: a page writes no files".into()) }
}

/// Seconds as the engine's time. The conversion saturates, so any number is a time.
fn time(seconds: f64) -> Time {
    Time(((seconds * PS_PER_S) as u64).min(LATEST))
}

#[cfg(test)]
mod tests {
    use super::{RunSession, packets};

    #[test]
    fn series_and_summary_are_those_of_one_step_when_the_run_advances_in_many() {
        let in_steps = |step: f64| {
            let mut run = RunSession::open(PLAN).unwrap();
            let mut until = step;
            while !run.advance(until) {
                until += step;
            }
            let series = serde_json::to_string(&run.series(0, 0)).unwrap();
            (series, String::from_utf8(run.summary().unwrap()).unwrap())
        };
        assert_eq!(in_steps(10.0), in_steps(0.013));
    }

    #[test]
    fn summary_is_refused_before_the_end_of_the_run() {
        let mut run = RunSession::open(PLAN).unwrap();
        run.advance(0.5);
        assert_eq!(run.summary(), Err("the run has not ended".into()));
    }

    #[test]
    fn plan_is_refused_with_its_key_when_a_value_is_invalid() {
        let plan = PLAN.replace("\"bps\":1000000}", "\"bps\":0}");
        assert!(RunSession::open(&plan).is_err_and(|message| message.contains("line")));
    }

    #[test]
    fn packets_wait_in_the_queue_then_leave_then_arrive() {
        let rows = packets(PLAN, 1.0, 1.5).unwrap();
        let text = serde_json::to_value(&rows).unwrap();
        let arrived = text["packets"].as_array().unwrap().iter().filter(|packet| !packet["received_s"].is_null());
        let mut count = 0;
        for packet in arrived {
            let times: Vec<f64> = packet["hops"]
                .as_array()
                .unwrap()
                .iter()
                .flat_map(|hop| [hop["entered_s"].as_f64().unwrap(), hop["left_s"].as_f64().unwrap()])
                .collect();
            assert!(times.is_sorted(), "{times:?}");
            assert!(times[0] >= packet["sent_s"].as_f64().unwrap());
            count += 1;
        }
        assert!(count > 30, "{count} packets arrived");
    }

    const PLAN: &str = r#"{"seed":1,"duration_ps":2000000000000,"sample_ps":100000000000,"clients":1,"measure":{"kind":"all"},
        "captures":[],"hops":[{"name":"line","per_client":false,"medium":null,
        "down":{"queue":{"kind":"droptail","packets":20,"bytes":null},"rate":{"kind":"fixed","bps":1000000},"framing":"none",
        "outage":[],"loss":null,"duplicate":null,"delay_ps":10000000000,"jitter":null,"reorder":null},
        "up":{"queue":null,"rate":{"kind":"fixed","bps":1000000},"framing":"none",
        "outage":[],"loss":null,"duplicate":null,"delay_ps":10000000000,"jitter":null,"reorder":null}}],
        "flows":[{"name":"a","client":0,"direction":"down","hops":[0],"start":{"low_ps":0,"high_ps":0},"stop_ps":null,
        "overhead_ps":0,"workload":{"kind":"bulk"},"tcp":{"variant":"reno","recovery":"sack","slow_start":"classic",
        "segment":1448,"header":40,"send_buffer":null,"receive_buffer":65535,"window_rule":"sequence","newreno_exit":"flight",
        "delayed_ack":{"segments":2,"timer_ps":40000000000},"initial_window":10,"initial_ssthresh":null,
        "rto_initial_ps":1000000000000,"rto_min_ps":200000000000,"rto_max_ps":60000000000000,"rto_tick_ps":1000000000,
        "rto_floor":"timeout","limited_transmit":true,"sack":true,"timestamps":true,"timestamp_bytes":12,"sack_base_bytes":4,
        "sack_block_bytes":8,"syn_option_bytes":20,"window_scaling":true,"ecn":false,"pacing":false,"byte_counting":2,
        "dupack_threshold":3,"immediate_ack_on_fill":true}}]}"#;
}
