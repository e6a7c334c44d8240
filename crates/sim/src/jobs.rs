//! Jobs: page loads of several connections, and request-response exchanges on one connection.

use crate::app_of;
use crate::build::{BuiltNetwork, FlowEndpoints, Role};
use crate::metrics::FlowMetrics;
use crate::plan::{Flow, Plan, WorkloadConfig};
use ackclock_contract::Document;
use ackclock_core::Time;
use ackclock_core::app::AnyApp;
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;

/// All jobs that started in the run.
#[derive(Debug, Clone, Serialize, Document)]
pub struct Jobs {
    pub count: u64,
    /// Jobs that completed, to which the statistics refer.
    pub completed: u64,
    pub mean_s: Option<f64>,
    /// Over n - 1; 0 for one.
    pub sd_s: Option<f64>,
    pub p50_s: Option<f64>,
    pub p95_s: Option<f64>,
    pub max_s: Option<f64>,
    pub list: Vec<JobRow>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct JobRow {
    pub job: String,
    /// From 0.
    pub number: u32,
    pub client: u32,
    pub start_s: f64,
    /// From the start to the last byte of the last connection; none if incomplete.
    pub completed_s: Option<f64>,
}

/// Start and end of a job, if it has started or ended.
struct JobTimes {
    start: Option<Time>,
    end: Option<Time>,
}

impl Jobs {
    /// The jobs of a run; none if no flow of the plan has jobs.
    pub fn of(plan: &Plan, world: &BuiltNetwork, figures: &[FlowMetrics]) -> Option<Jobs> {
        let mut jobs: Vec<(&str, u32, u32, JobTimes)> = Vec::new();
        for ((flow, endpoints), figures) in plan.flows.iter().zip(&world.flows).zip(figures) {
            let start = endpoints.started(&world.network).filter(|t| t.0 < plan.duration_ps);
            if let Some(job) = &flow.job {
                let end = figures.completed;
                match jobs.last_mut().filter(|last| (last.0, last.1) == (job.name.as_str(), job.number)) {
                    Some((.., times)) => times.end = times.end.zip(end).map(|(a, b)| a.max(b)),
                    None => jobs.push((&job.name, job.number, flow.client, JobTimes { start, end })),
                }
            } else {
                let exchanges = exchange_times(flow, endpoints, world, start);
                jobs.extend((0..).zip(exchanges).map(|(number, times)| (flow.name.as_str(), number, flow.client, times)));
            }
        }
        let any = plan.flows.iter().any(|f| f.job.is_some() || matches!(f.workload, WorkloadConfig::Exchange { .. }));
        any.then(|| {
            Jobs::of_rows(jobs.into_iter().filter_map(|(name, number, client, JobTimes { start, end })| {
                let start = start?;
                let completed_s = end.map(|end| (end - start).as_secs());
                Some(JobRow { job: name.to_owned(), number, client, start_s: start.as_secs(), completed_s })
            }))
        })
    }

    fn of_rows(rows: impl Iterator<Item = JobRow>) -> Jobs {
        let list: Vec<JobRow> = rows.collect();
        let times = SummaryStats::of(list.iter().filter_map(|row| row.completed_s));
        Jobs {
            count: list.len() as u64,
            completed: times.count,
            mean_s: times.mean,
            sd_s: times.sd,
            p50_s: times.p50,
            p95_s: times.p95,
            max_s: times.max,
            list,
        }
    }
}

/// The jobs of an exchange. The first job starts with the connection.
fn exchange_times(flow: &Flow, endpoints: &FlowEndpoints, world: &BuiltNetwork, start: Option<Time>) -> Vec<JobTimes> {
    let receiver = world.network.endpoint(endpoints.by_role(Role::Receiver));
    let requester = app_of(receiver);
    let (WorkloadConfig::Exchange { .. }, Some(AnyApp::Requester(requester)), Some(start)) = (flow.workload, requester, start)
    else {
        return Vec::new();
    };
    let starts = std::iter::once(start).chain(requester.later_request_times().iter().copied());
    let ends = requester.response_times().iter().copied().map(Some).chain(std::iter::once(None));
    starts.zip(ends).map(|(start, end)| JobTimes { start: Some(start), end }).collect()
}
