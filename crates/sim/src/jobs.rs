//! Jobs: what a user waits for, made of several connections or of one exchange on an open one.

use crate::build::{Ends, Role, World};
use crate::measure::FlowFigures;
use crate::plan::{Flow, Plan, Workload};
use crate::tcp_of;
use ackclock_core::Time;
use ackclock_core::app::AnyApp;
use serde::Serialize;

/// All jobs of a run that began in it.
#[derive(Debug, Clone, Serialize)]
pub struct Jobs {
    pub count: u64,
    /// Those that came to their end; the figures below are theirs.
    pub completed: u64,
    pub mean_s: Option<f64>,
    /// Over n - 1; none for fewer than two.
    pub sd_s: Option<f64>,
    pub p50_s: Option<f64>,
    pub p95_s: Option<f64>,
    pub max_s: Option<f64>,
    pub list: Vec<JobRow>,
}

#[derive(Debug, Clone, Serialize)]
pub struct JobRow {
    pub job: String,
    /// From 0.
    pub number: u32,
    pub client: u32,
    pub start_s: f64,
    /// From its start to the last byte of its last connection; none where that has not come.
    pub completed_s: Option<f64>,
}

/// From when until when, as far as it has come.
struct Course {
    start: Option<Time>,
    end: Option<Time>,
}

impl Jobs {
    /// The jobs of a run; none where the plan has no flow with jobs.
    pub fn of(plan: &Plan, world: &World, figures: &[FlowFigures]) -> Option<Jobs> {
        let mut found: Vec<(&str, u32, u32, Course)> = Vec::new();
        for ((flow, ends), figures) in plan.flows.iter().zip(&world.flows).zip(figures) {
            let start = ends.started(&world.network).filter(|t| t.0 < plan.duration_ps);
            if let Some(job) = &flow.job {
                let end = figures.completed;
                match found.last_mut().filter(|last| (last.0, last.1) == (job.name.as_str(), job.number)) {
                    Some((.., course)) => course.end = course.end.zip(end).map(|(a, b)| a.max(b)),
                    None => found.push((&job.name, job.number, flow.client, Course { start, end })),
                }
            } else {
                let courses = exchanged(flow, ends, world, start);
                found.extend((0..).zip(courses).map(|(number, course)| (flow.name.as_str(), number, flow.client, course)));
            }
        }
        let any = plan.flows.iter().any(|f| f.job.is_some() || matches!(f.workload, Workload::Exchange { .. }));
        any.then(|| {
            Jobs::over(found.into_iter().filter_map(|(name, number, client, Course { start, end })| {
                let start = start?;
                let completed_s = end.map(|end| (end - start).as_secs());
                Some(JobRow { job: name.to_owned(), number, client, start_s: start.as_secs(), completed_s })
            }))
        })
    }

    fn over(rows: impl Iterator<Item = JobRow>) -> Jobs {
        let list: Vec<JobRow> = rows.collect();
        let mut times: Vec<f64> = list.iter().filter_map(|row| row.completed_s).collect();
        times.sort_by(f64::total_cmp);
        let n = times.len() as f64;
        let mean = (n > 0.0).then(|| times.iter().sum::<f64>() / n);
        let squares = mean.map(|mean| times.iter().map(|t| (t - mean) * (t - mean)).sum::<f64>());
        Jobs {
            count: list.len() as u64,
            completed: times.len() as u64,
            mean_s: mean,
            sd_s: squares.filter(|_| n > 1.0).map(|squares| (squares / (n - 1.0)).sqrt()),
            p50_s: quantile(&times, 0.50),
            p95_s: quantile(&times, 0.95),
            max_s: times.last().copied(),
            list,
        }
    }
}

/// The smallest of the sorted values that at least this share of them does not exceed.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The jobs of an exchange: the first begins with its connection.
fn exchanged(flow: &Flow, ends: &Ends, world: &World, start: Option<Time>) -> Vec<Course> {
    let asker = tcp_of(world.network.endpoint(ends.end(Role::Receiver))).map(|tcp| tcp.app());
    let (Workload::Exchange { .. }, Some(AnyApp::Requester(asker)), Some(start)) = (flow.workload, asker, start) else {
        return Vec::new();
    };
    let starts = std::iter::once(start).chain(asker.asked_again().iter().copied());
    let ends = asker.answered().iter().copied().map(Some).chain(std::iter::once(None));
    starts.zip(ends).map(|(start, end)| Course { start: Some(start), end }).collect()
}
