//! A script as data.

mod commands;
mod cursor;
mod packet;
mod parse;

pub use commands::Sysctl;
pub use packet::{AccEcnFields, Packet, PacketOption, TcpPacket};

use ackclock_core::units::Span;
use serde::Serialize;

/// Maximum size of a script in bytes.
pub const MAX_SCRIPT_BYTES: usize = 1 << 20;

/// A script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Options in lines such as `--tolerance_usecs=10000`: name and value.
    pub options: Vec<(String, String)>,
    pub statements: Vec<Statement>,
}

/// A statement and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Line of its first character, from 1.
    pub line: usize,
    /// Its text, in one line.
    pub text: String,
    pub when: When,
    pub event: Event,
}

/// The time of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    pub base: Base,
    pub from: Span,
    /// End of a range of times (`+.1~+.2`).
    pub to: Option<Span>,
    /// When a blocking call returns (`0.1 ... 0.3 read(..)`), from the same base.
    pub returns: Option<Span>,
}

/// What a time counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The start of the script.
    Start,
    /// The statement before.
    Previous,
    /// `*`: any time.
    Any,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet for the endpoint.
    Inbound(Packet),
    /// A packet that the endpoint must send.
    Outbound(Packet),
    Call(SocketCall),
    /// A shell command in backquotes. It is read, never executed.
    Command(String),
    /// Assertions in `%{ }%`.
    Assertions(String),
}

/// A socket call with its expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketCall {
    pub name: String,
    /// Arguments as written.
    pub args: Vec<String>,
    /// The expected result; none for `?`.
    pub result: Option<i64>,
    /// The expected error, such as EAGAIN.
    pub errno: Option<String>,
}

/// A script that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScriptError {
    /// Line, from 1.
    pub line: usize,
    /// What was found there.
    pub found: String,
    /// What may be there.
    pub expected: String,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: found {}, expected {}", self.line, self.found, self.expected)
    }
}

impl std::error::Error for ScriptError {}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The first statement that is not of packetdrill's language, or a script above 1 MiB.
    ///
    /// # Examples
    /// ```
    /// use ackclock_packetdrill::Script;
    ///
    /// let script = Script::parse("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 > . 1:1(0) ack 1\n").unwrap();
    /// assert_eq!(script.statements.len(), 2);
    /// ```
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        parse::script(text)
    }

    /// The sysctls that the script's commands set, in order.
    pub fn sysctls(&self) -> Vec<Sysctl> {
        self.commands().flat_map(|(line, command)| commands::sysctls(line, command)).collect()
    }

    /// The commands that set no sysctl: line and text.
    pub fn other_commands(&self) -> Vec<(usize, String)> {
        self.commands().flat_map(|(line, command)| commands::others(line, command)).collect()
    }

    /// The commands before the first packet. Later ones restore the machine.
    fn commands(&self) -> impl Iterator<Item = (usize, &str)> {
        let last_packet = self.statements.iter().rposition(|s| matches!(s.event, Event::Inbound(_) | Event::Outbound(_)));
        self.statements.iter().enumerate().filter_map(move |(at, statement)| match &statement.event {
            Event::Command(command) if last_packet.is_none_or(|last| at < last) => Some((statement.line, command.as_str())),
            _ => None,
        })
    }

    /// The calls of this name with the statement's line.
    pub fn calls<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, &'a SocketCall)> {
        self.statements.iter().filter_map(move |statement| match &statement.event {
            Event::Call(call) if call.name == name => Some((statement.line, call)),
            _ => None,
        })
    }
}
