//! An emulation from beginning to end: places, clock, the loop that waits, and what is said of it afterwards.

use crate::EmuError;
use crate::audit::Audits;
use crate::clock::{LONGEST_WATCH_IDLE, Lead, RealTime};
use crate::crossing::Crossing;
use crate::gate::Gate;
use crate::helper::Helper;
use crate::log::Log;
use crate::machine::{Load, ask_for_punctuality};
use crate::options::Options;
use crate::place::{MOST_CLIENTS, Places};
use crate::report::{self, CommandReport, Report};
use crate::server_ready::wait_for_server;
use crate::wait::Wait;
use crate::warm::Warm;
use ackclock_core::{Span, Time};
use ackclock_sim::Plan;
use ackclock_sim::build::{Metering, build, build_unfused};
use ackclock_sim::plan::{Flow, Workload};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::io::Write;
use std::sync::Arc;

/// How often to see whether the command has ended or somebody wants to stop, when nothing else leads there.
const LOOK_AROUND: Span = Span::from_ms(2);
/// How long a command may take to end after SIGTERM.
const GRACE: Span = Span::from_secs(2);

/// Runs the command behind the plan's link until it ends. This process moves into a network namespace and does not come back from it.
pub fn emulate(plan: &Plan, options: &Options) -> Result<Report, EmuError> {
    let live = live_flows(plan)?;
    // A log wants to know where and when each packet was dropped.
    let world = if options.log.is_some() { build_unfused(plan) } else { build(plan, Metering::On) };
    // With a command, Ctrl-C is the command's first.
    let wait = Wait::new(!options.command.is_empty())?;
    let (mut places, mut gates) = Places::make(options, live.len() as u32)?;
    wait.watch(&gates)?;
    let mut notes = Vec::new();
    places.begin_server()?;
    if !options.server.is_empty() {
        let warning = wait_for_server(options.server_ready, &mut places, &mut gates, &wait)?;
        if let Some(error) = places.server.not_run {
            return Err(EmuError::Failed(format!(
                "the server's command could not be run: {}: {}",
                options.server[0],
                error.desc()
            )));
        }
        notes.extend(warning);
    }
    warn(&notes);
    let punctual = ask_for_punctuality();
    let audits = Audits::new(live.len(), Span::from_secs_f64(options.deadline_us * 1e-6));
    let real = RealTime::start();
    let mut crossing = Crossing::new(world, gates, &live, places.addresses, audits);
    if punctual {
        crossing.help(Helper::start(crossing.doors.iter().map(|gate| Arc::clone(gate.way())).collect()));
    }
    if let Some(folder) = &options.log {
        let sampled = Plan { sample_ps: options.sample_ps, ..plan.clone() };
        crossing.keep(Log::create(folder, &sampled, &crossing.world, crossing.doors.len(), real.epoch_ns())?);
    }
    places.begin_clients()?;
    if let Some(name) = &options.pair {
        announce(&places.name(name)?, options.quiet_stdout);
    }
    let mut drive = Drive { crossing, places, real, warm: punctual.then(Warm::new).flatten(), load: Load::begin(), notes };
    let exit = drive.run(&wait, options)?;
    drive.report(plan, options, exit)
}

fn server_not_run(places: &Places, options: &Options) -> Option<String> {
    let error = places.server.not_run?;
    Some(format!("the server's command could not be run: {}: {}", options.server[0], error.desc()))
}

/// Prints warnings at once, so that the cause of a wait is visible during the wait.
fn warn(notes: &[String]) {
    for note in notes {
        eprintln!("ackclock: {note}");
    }
}

/// How the places are entered, for whoever reads our output; where that is for a document, beside it.
fn announce(text: &str, quiet_stdout: bool) {
    if quiet_stdout {
        eprint!("{text}");
    } else {
        print!("{text}");
        // Whoever waits for these lines waits now.
        let _ = std::io::stdout().flush();
    }
}

/// The flows that real hosts play: one for each of the first clients.
fn live_flows(plan: &Plan) -> Result<Vec<usize>, EmuError> {
    let is_live = |flow: &Flow| flow.workload == (Workload::Live {});
    let live: Vec<usize> = (0..plan.flows.len()).filter(|&i| is_live(&plan.flows[i])).collect();
    let in_order = live.iter().enumerate().all(|(number, &flow)| plan.flows[flow].client as usize == number);
    if live.is_empty() || !in_order || live.len() > MOST_CLIENTS as usize {
        return Err(EmuError::Failed("an emulation needs one live flow for each of its first clients, in their order".into()));
    }
    Ok(live)
}

struct Drive {
    crossing: Crossing<Gate>,
    places: Places,
    real: RealTime,
    /// None where this is not the first to run anyway.
    warm: Option<Warm>,
    load: Load,
    /// Warnings so far.
    notes: Vec<String>,
}

impl Drive {
    /// Runs until the command ends. At the time limit or on a signal the command gets SIGTERM, and SIGKILL after `GRACE` or at the next signal.
    /// Returns the command's exit status; none without a command.
    fn run(&mut self, wait: &Wait, options: &Options) -> Result<Option<i32>, EmuError> {
        let mut ending = false;
        let mut end = options.seconds.map_or(Time::NEVER, |s| Time::ZERO + Span::from_secs_f64(s));
        let mut lead = Lead::new();
        let mut looked = Time::ZERO;
        loop {
            let busy = self.crossing.turn(&self.real);
            let now = self.real.now();
            if now - looked >= LOOK_AROUND {
                looked = now;
                if let Some(exit) = self.places.clients[0].ended() {
                    return Ok(Some(exit));
                }
                let stop = wait.asked_to_stop(now);
                if now >= end || stop {
                    match (options.command.is_empty(), ending) {
                        (true, _) => return Ok(None),
                        (false, false) => {
                            self.places.clients[0].signal(Signal::SIGTERM);
                            (ending, end) = (true, now + GRACE);
                            wait.forget_interrupts();
                        }
                        (false, true) => return Ok(Some(self.places.clients[0].kill())),
                    }
                }
            }
            if let Some(rest) = lead.rest(now) {
                wait.rest(rest);
                lead.slept(now, None, self.real.now());
                continue;
            }
            if busy {
                lead.worked(now);
                continue;
            }
            let (due, look) = (self.crossing.poll_at().min(end), looked + LOOK_AROUND);
            // Looking around may be late, so nobody watches the clock for it, but not later than what is due.
            let sleep = if look + LONGEST_WATCH_IDLE < due { lead.doze(now, look) } else { lead.sleep(now, due) };
            if let Some(sleep) = sleep {
                let cut_short = wait.sleep(&self.crossing.doors, sleep)?;
                let planned = (!cut_short).then(|| now + Span(sleep.as_nanos() as u64 * 1000));
                lead.slept(now, planned, self.real.now());
            } else if let Some(warm) = self.warm.as_mut().filter(|_| lead.warms(now, due)) {
                warm.up();
            }
        }
    }

    fn report(self, plan: &Plan, options: &Options, exit: Option<i32>) -> Result<Report, EmuError> {
        let Drive { mut crossing, mut places, real, load, mut notes, .. } = self;
        let now = real.now();
        places.read_notices();
        let not_run = places.clients[0].not_run.map(Errno::desc);
        // With `--server-ready none` it may have failed later.
        let late: Vec<String> = places.foreign_mounts().into_iter().chain(server_not_run(&places, options)).collect();
        warn(&late);
        notes.extend(late);
        drop(places);
        let log = crossing.finish(now);
        for gate in &crossing.doors {
            crossing.audits.common().lost(gate.overflowed());
        }
        let busy = load.end();
        let whole = crossing.audits.whole();
        let command = CommandReport { argv: options.command.clone(), exit, not_run };
        let (valid, why) = report::verdict_of_run(&whole, &command);
        Ok(Report {
            valid,
            why,
            notes,
            release_error_us: whole.release_error(),
            input_lateness_us: whole.input_lateness(),
            deadline_misses: whole.misses(),
            unintended_drops: whole.unintended(),
            hops: report::hops(plan, &mut crossing.world, now),
            clients: report::clients(&crossing.audits),
            command,
            seconds: now.as_secs(),
            started: real.epoch_ns() as f64 * 1e-9,
            packets_in: crossing.packets_in,
            packets_out: crossing.packets_out,
            load: busy.load,
            steal_percent: busy.steal_percent,
            cpu_seconds: busy.cpu_seconds,
            log,
        })
    }
}
