//! A script played against an endpoint.

mod calls;
mod evaluate;
mod machine;
mod outbound;
mod show;

use crate::script::{Base, Event, Packet, Script, Statement};
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::{Span, Time};
use machine::Machine;
use serde::Serialize;

/// How a script is judged.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// A segment may leave this much earlier or later than the script says. A script's own
    /// `--tolerance_usecs` replaces it.
    pub tolerance: Span,
    /// What is not compared.
    pub ignored: Ignored,
    /// Record every packet and call.
    pub trace: bool,
}

impl Default for RunOptions {
    /// A tolerance of 4 ms, packetdrill's own; everything is compared.
    fn default() -> RunOptions {
        RunOptions { tolerance: Span::from_ms(4), ignored: Ignored::default(), trace: false }
    }
}

/// Differences that do not end a run. With all four, a script is compared by what its segments carry
/// and in which order, between two statements that are not expected segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// The flag PSH.
    pub psh: bool,
    /// The window field.
    pub window: bool,
    /// Assertions over `struct tcp_info`.
    pub info: bool,
    /// When a segment leaves: at any time before the next statement that is no expected segment.
    pub time: bool,
}

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    Passes,
    Fails(Failure),
    Unsupported(Unsupported),
}

/// A statement that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Line of the statement, from 1.
    pub line: usize,
    pub statement: String,
    pub expected: String,
    pub got: String,
    /// What differs, one entry each.
    pub differs: Vec<String>,
    /// The sender's state then, in the terms of `struct tcp_info`.
    pub state: Option<String>,
}

/// A statement that cannot be played here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsupported {
    pub line: usize,
    pub statement: String,
    pub why: String,
}

/// A packet or a call as it happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceLine {
    /// Virtual time in seconds.
    pub time_s: f64,
    /// Line of the statement; none for a segment that no statement has met.
    pub line: Option<usize>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Statements that hold.
    pub statements: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<TraceLine>,
}

/// Why a statement ends the run.
pub(crate) enum Stop {
    /// It does not hold: expected, got, and what differs.
    Fails { expected: String, got: String, differs: Vec<String> },
    /// It cannot be played.
    Unsupported(String),
}

impl Stop {
    fn differs(expected: impl Into<String>, got: impl Into<String>) -> Stop {
        Stop::Fails { expected: expected.into(), got: got.into(), differs: Vec::new() }
    }
    fn unsupported(why: impl Into<String>) -> Stop {
        Stop::Unsupported(why.into())
    }
}

/// Plays a script against an endpoint of this configuration, in virtual time.
///
/// The sysctls and socket options of the script must be in `config` already ([`Script::sysctls`],
/// [`Script::calls`]).
///
/// # Examples
/// ```
/// use ackclock_core::tcp::TcpConfig;
/// use ackclock_packetdrill::{RunOptions, Script, Verdict, run};
///
/// let script = Script::parse(
///     "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
///      +0 bind(3, ..., ...) = 0
///      +0 listen(3, 1) = 0
///      +0 < S 0:0(0) win 65535 <mss 1000>
///      +0 > S. 0:0(0) ack 1 <...>
///      +.1 < . 1:1(0) ack 1 win 65535
///      +0 accept(3, ..., ...) = 4
///      +0 write(4, ..., 1000) = 1000
///      +0 > P. 1:1001(1000) ack 1 <...>",
/// )
/// .unwrap();
/// let outcome = run(&script, &TcpConfig::default(), &RunOptions::default());
/// assert_eq!(outcome.verdict, Verdict::Passes);
/// ```
pub fn run(script: &Script, config: &TcpConfig, options: &RunOptions) -> Outcome {
    let tolerance = script_tolerance(script).unwrap_or(options.tolerance);
    let mut machine = Machine::new(config.clone(), tolerance, options);
    if script.options.iter().any(|(name, ticks)| name == "tcp_ts_tick_usecs" && ticks == "1000") {
        machine.check_timestamps();
    }
    let mut clock = ScriptClock::default();
    for (played, statement) in script.statements.iter().enumerate() {
        machine.at_statement(played, statement.line);
        let due = clock.due(statement, machine.now());
        let result = calls::expire(&mut machine, due.from)
            .map_err(|stop| (stop, machine.sockets.blocked_statement()))
            .and_then(|()| {
                let rest = script.statements.get(played + 1..).unwrap_or(&[]);
                play(&mut machine, &mut clock, statement, rest).map_err(|stop| (stop, None))
            })
            .and_then(|()| calls::wake(&mut machine).map_err(|stop| (stop, machine.sockets.blocked_statement())));
        if let Err((stop, other)) = result {
            let failed = other.and_then(|at| script.statements.get(at)).unwrap_or(statement);
            let verdict = verdict(stop, failed, &machine);
            return Outcome { verdict, statements: played, trace: machine.into_trace() };
        }
    }
    let verdict = match (calls::expire(&mut machine, Time::NEVER), script.statements.last()) {
        (Err(stop), Some(last)) => {
            let at = machine.sockets.blocked_statement();
            verdict(stop, at.and_then(|at| script.statements.get(at)).unwrap_or(last), &machine)
        }
        _ => Verdict::Passes,
    };
    Outcome { verdict, statements: script.statements.len(), trace: machine.into_trace() }
}

fn script_tolerance(script: &Script) -> Option<Span> {
    let (_, microseconds) = script.options.iter().find(|(name, _)| name == "tolerance_usecs")?;
    Some(Span::from_us(microseconds.parse::<u32>().ok()?.into()))
}

fn verdict(stop: Stop, statement: &Statement, machine: &Machine) -> Verdict {
    let (line, text) = (statement.line, statement.text.clone());
    match stop {
        Stop::Unsupported(why) => Verdict::Unsupported(Unsupported { line, statement: text, why }),
        Stop::Fails { expected, got, differs } => {
            let state = machine.info().map(|info| show::state(&info));
            Verdict::Fails(Failure { line, statement: text, expected, got, differs, state })
        }
    }
}

/// The times of statements. A relative time counts from when the statement before happened, as in
/// packetdrill: for an expected packet, that is when the host sent it, within the tolerance.
#[derive(Debug, Default)]
struct ScriptClock {
    previous: Time,
}

/// When a statement is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub from: Time,
    /// The latest time without the tolerance; `Time::NEVER` for `*`.
    pub to: Time,
    /// When a blocking call returns.
    pub returns: Option<Time>,
}

impl ScriptClock {
    fn due(&self, statement: &Statement, now: Time) -> Due {
        let when = statement.when;
        let base = match when.base {
            Base::Start => Time::ZERO,
            Base::Previous => self.previous,
            Base::Any => return Due { from: now, to: Time::NEVER, returns: None },
        };
        let from = base + when.from;
        Due { from, to: when.to.map_or(from, |to| base + to), returns: when.returns.map(|returns| base + returns) }
    }

    /// The start of the first of these statements that is no expected segment; none where that counts
    /// from a segment that has not been sent yet.
    fn next_step(rest: &[Statement]) -> Option<Time> {
        let step = rest.iter().find(|statement| !matches!(statement.event, Event::Outbound(_)))?;
        (step.when.base == Base::Start).then(|| Time::ZERO + step.when.from)
    }
}

/// Plays a statement; `rest` are those after it.
fn play(machine: &mut Machine, clock: &mut ScriptClock, statement: &Statement, rest: &[Statement]) -> Result<(), Stop> {
    let mut due = clock.due(statement, machine.now());
    match &statement.event {
        Event::Outbound(Packet::Tcp(packet)) => {
            if machine.ignored().time {
                due.to = due.to.max(ScriptClock::next_step(rest).unwrap_or(due.to));
            }
            outbound::expect(machine, packet, due)?;
        }
        Event::Inbound(Packet::Tcp(packet)) => {
            machine.run_before(due.from)?;
            machine.receive(packet)?;
        }
        Event::Inbound(Packet::Other(text)) | Event::Outbound(Packet::Other(text)) => {
            return Err(Stop::unsupported(format!("the engine has no such packet: {text}")));
        }
        Event::Call(call) => {
            machine.run_to(due.from)?;
            calls::play(machine, call, due)?;
        }
        Event::Command(_) => machine.run_to(due.from)?,
        Event::Assertions(text) => {
            machine.run_to(due.from)?;
            if !machine.ignored().info {
                evaluate::assertions(text, machine.info().as_ref())?;
            }
        }
    }
    clock.previous = machine.now();
    Ok(())
}
