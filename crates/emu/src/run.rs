//! Runs an emulation: sets up the namespaces, drives the network by the real clock until the
//! command ends, and writes the report.

use crate::EmuError;
use crate::af_packet::PacketSocket;
use crate::audit::{Audits, LateAfter};
use crate::bridge::Bridge;
use crate::busy_wait::{MAX_SPIN_IDLE, SleepPolicy};
use crate::cache_warmup::CacheWarmup;
use crate::clock::MonotonicClock;
use crate::config::EmulationConfig;
use crate::cpu_wait::{CpuWait, CpuWaitSampler};
use crate::grade::Grade;
use crate::link_delay::LinkDelay;
use crate::log::Log;
use crate::machine_load::LoadMeter;
use crate::netns::{MAX_CLIENTS, Namespaces};
use crate::poller::Poller;
use crate::report::{self, CommandReport, EmulationReport};
use crate::scheduling::{request_realtime, timer_p99};
use crate::server_ready::wait_for_server;
use crate::tx_thread::TxThread;
use ackclock_core::{Span, Time};
use ackclock_sim::Plan;
use ackclock_sim::build::{build, build_unfused};
use ackclock_sim::plan::{Direction, Flow, WorkloadConfig};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::io::Write;
use std::sync::Arc;

/// Interval of the checks for the command's end and for signals.
const CHECK_INTERVAL: Span = Span::from_ms(2);
/// Time from SIGTERM to SIGKILL.
const TERM_GRACE: Span = Span::from_secs(2);

/// Runs the command behind the plan's link until it ends. Moves this process into a network
/// namespace for good.
pub fn emulate(plan: &Plan, config: &EmulationConfig) -> Result<EmulationReport, EmuError> {
    let live = live_flows(plan)?;
    plan.check_user_code()?;
    // A log records where and when each packet was dropped, which fused elements do not report.
    let built = if config.log.is_some() { build_unfused(plan) } else { build(plan) };
    let poller = Poller::new(!config.command.is_empty())?;
    let (mut namespaces, mut sockets) = Namespaces::create(config, live.len() as u32)?;
    poller.add(&sockets)?;
    let mut notes = Vec::new();
    let is_realtime = request_realtime();
    let timer_p99 = timer_p99();
    namespaces.start_server()?;
    if !config.server.is_empty() {
        let warning = wait_for_server(config.server_ready, &mut namespaces, &mut sockets, &poller)?;
        if let Some(why) = server_not_run(&namespaces, config) {
            return Err(EmuError::Failed(why));
        }
        notes.extend(warning);
    }
    warn(&notes);
    let late_after = match config.deadline_us {
        Some(us) => LateAfter::Deadline(Span::from_secs_f64(us * 1e-6)),
        None => LateAfter::Link { timer_p99 },
    };
    let path = |&flow: &usize| [Direction::Down, Direction::Up].map(|direction| LinkDelay::of(plan, flow, direction));
    let audits = Audits::new(live.iter().map(path).collect(), late_after);
    let clock = MonotonicClock::start();
    let mut bridge = Bridge::new(built, sockets, &live, namespaces.addresses, audits);
    if is_realtime {
        bridge.set_tx_thread(TxThread::start(bridge.ports.iter().map(|socket| Arc::clone(socket.tx())).collect()));
    }
    if let Some(folder) = &config.log {
        let sampled = Plan { sample_ps: config.sample_ps, ..plan.clone() };
        bridge.set_log(Log::create(folder, &sampled, &bridge.built, bridge.ports.len(), clock.epoch_ns())?);
    }
    let cpu_wait = CpuWaitSampler::start(namespaces.server.pid(), namespaces.clients[0].pid());
    namespaces.start_clients()?;
    if let Some(name) = &config.pair {
        announce(&namespaces.publish_names(name)?, config.quiet_stdout);
    }
    let warmup = is_realtime.then(CacheWarmup::new).flatten();
    let mut run = EmulationRun { bridge, namespaces, clock, warmup, load: LoadMeter::start(), cpu_wait, notes, timer_p99 };
    let exit = run.drive(&poller, config)?;
    run.report(plan, config, exit)
}

fn server_not_run(namespaces: &Namespaces, config: &EmulationConfig) -> Option<String> {
    let error = namespaces.server.exec_error?;
    Some(format!("the server's command could not be run: {}: {}", config.server[0], error.desc()))
}

/// Prints warnings at once, so that the cause of a wait is visible during the wait.
fn warn(notes: &[String]) {
    for note in notes {
        eprintln!("ackclock: {note}");
    }
}

/// Prints how to enter the namespaces: on standard output, or on standard error if standard output
/// is reserved for a document.
fn announce(text: &str, quiet_stdout: bool) {
    if quiet_stdout {
        eprint!("{text}");
    } else {
        print!("{text}");
        // A script reads these lines before it starts.
        let _ = std::io::stdout().flush();
    }
}

/// The flows whose endpoints are real hosts: one for each of the first clients.
fn live_flows(plan: &Plan) -> Result<Vec<usize>, EmuError> {
    let is_live = |flow: &Flow| flow.workload == (WorkloadConfig::Live {});
    let live: Vec<usize> = (0..plan.flows.len()).filter(|&i| is_live(&plan.flows[i])).collect();
    let in_order = live.iter().enumerate().all(|(number, &flow)| plan.flows[flow].client as usize == number);
    if live.is_empty() || !in_order || live.len() > MAX_CLIENTS as usize {
        return Err(EmuError::Failed("an emulation needs one live flow for each of its first clients, in their order".into()));
    }
    Ok(live)
}

struct EmulationRun {
    bridge: Bridge<PacketSocket>,
    namespaces: Namespaces,
    clock: MonotonicClock,
    /// None without real-time priority, whose latency is larger than a cold cache's.
    warmup: Option<CacheWarmup>,
    load: LoadMeter,
    cpu_wait: Option<CpuWaitSampler>,
    /// Warnings so far.
    notes: Vec<String>,
    timer_p99: Span,
}

impl EmulationRun {
    /// Drives the network until the command ends. At the time limit or on a signal the command gets
    /// SIGTERM, and SIGKILL after `TERM_GRACE` or at the next signal. Returns the command's exit
    /// status; none without a command.
    fn drive(&mut self, poller: &Poller, config: &EmulationConfig) -> Result<Option<i32>, EmuError> {
        let mut is_ending = false;
        let mut end = config.seconds.map_or(Time::NEVER, |s| Time::ZERO + Span::from_secs_f64(s));
        let mut policy = SleepPolicy::new();
        let mut last_check = Time::ZERO;
        loop {
            let had_work = self.bridge.poll(&self.clock);
            let now = self.clock.now();
            if now - last_check >= CHECK_INTERVAL {
                last_check = now;
                if let Some(exit) = self.namespaces.clients[0].exit_status() {
                    return Ok(Some(exit));
                }
                let stop = poller.stop_requested(now);
                if now >= end || stop {
                    match (config.command.is_empty(), is_ending) {
                        (true, _) => return Ok(None),
                        (false, false) => {
                            self.namespaces.clients[0].signal(Signal::SIGTERM);
                            (is_ending, end) = (true, now + TERM_GRACE);
                            poller.reset_interrupts();
                        }
                        (false, true) => return Ok(Some(self.namespaces.clients[0].kill())),
                    }
                }
            }
            if let Some(sleep) = policy.forced_sleep(now) {
                poller.sleep_unconditionally(sleep);
                policy.on_wakeup(now, None, self.clock.now());
                continue;
            }
            if had_work {
                policy.on_work(now);
                continue;
            }
            let (due, next_check) = (self.bridge.poll_at().min(end), last_check + CHECK_INTERVAL);
            // A check may be late, so the thread does not spin for it, but must not delay the next
            // event.
            let sleep =
                if next_check + MAX_SPIN_IDLE < due { policy.sleep_coarse(now, next_check) } else { policy.sleep(now, due) };
            if let Some(sleep) = sleep {
                let was_interrupted = poller.sleep(&self.bridge.ports, sleep)?;
                let planned = (!was_interrupted).then(|| now + Span(sleep.as_nanos() as u64 * 1000));
                policy.on_wakeup(now, planned, self.clock.now());
            } else if let Some(warmup) = self.warmup.as_mut().filter(|_| policy.should_warm(now, due)) {
                warmup.run();
            }
        }
    }

    fn report(self, plan: &Plan, config: &EmulationConfig, exit: Option<i32>) -> Result<EmulationReport, EmuError> {
        let EmulationRun { mut bridge, mut namespaces, clock, load, cpu_wait, mut notes, timer_p99, .. } = self;
        let now = clock.now();
        let cpu_wait = cpu_wait.map_or_else(CpuWait::default, |sampler| sampler.finish(now.as_secs()));
        namespaces.read_status();
        let not_run = namespaces.clients[0].exec_error.map(Errno::desc);
        // With `--server-ready none` the server's command may have failed after the wait.
        let warnings: Vec<String> = namespaces.mount_warnings().into_iter().chain(server_not_run(&namespaces, config)).collect();
        warn(&warnings);
        notes.extend(warnings);
        drop(namespaces);
        let log = bridge.finish(now);
        for socket in &bridge.ports {
            bridge.audits.common().lost(socket.overflowed());
        }
        let load = load.read();
        let (total, bound) = bridge.audits.total();
        let command = CommandReport { argv: config.command.clone(), exit, not_run };
        let (grade, why) = report::grade_of_run(&total, bound, &command);
        Ok(EmulationReport {
            valid: grade != Grade::Invalid,
            why,
            grade,
            bound,
            notes,
            release_error_us: total.release_error(),
            input_lateness_us: total.input_lateness(),
            deadline_misses: total.late(),
            unintended_drops: total.unintended(),
            timer_p99_us: timer_p99.as_millis() * 1e3,
            hops: report::hops(plan, &mut bridge.built, now),
            clients: report::clients(&bridge.audits),
            command,
            seconds: now.as_secs(),
            started: clock.epoch_ns() as f64 * 1e-9,
            packets_in: bridge.packets_in,
            packets_out: bridge.packets_out,
            load: load.load,
            steal_percent: load.steal_percent,
            cpu_seconds: load.cpu_seconds,
            cpu_wait,
            log,
        })
    }
}
