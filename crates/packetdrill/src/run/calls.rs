//! The socket calls of a script.

use super::machine::Machine;
use super::{Due, Stop};
use crate::script::SocketCall;
use ackclock_core::app::{ControlledApp, SmallSegments};
use ackclock_core::units::Time;
use std::collections::BTreeMap;

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {
    /// A socket without a connection.
    New,
    Listening,
    Connected,
}

/// A read that waits for data.
#[derive(Clone, Debug)]
struct BlockedRead {
    /// Place of its statement in the script.
    statement: usize,
    call: SocketCall,
    wanted: u64,
    returns: Time,
}

/// The script's descriptors, and the options of its sockets.
#[derive(Debug, Default)]
pub struct Sockets {
    open: BTreeMap<i64, Descriptor>,
    /// Bytes that the script has read.
    read: u64,
    /// Bytes that the script has written.
    written: u64,
    closed: bool,
    /// The peer had closed before.
    closed_last: bool,
    /// close() was called, so nothing more is read.
    orphaned: bool,
    no_delay: bool,
    corked: bool,
    /// shutdown() of the reading direction, or close(): nothing more is read.
    read_shut: bool,
    /// The error of a reset has been returned: an error is returned once.
    error_taken: bool,
    /// SO_LINGER with a time of 0: close() resets.
    resets_on_close: bool,
    blocked: Option<BlockedRead>,
}

impl Sockets {
    /// An application with the options of the socket.
    pub fn new_app(&self) -> ControlledApp {
        ControlledApp { small_segments: self.small_segments(), ..ControlledApp::default() }
    }

    fn small_segments(&self) -> SmallSegments {
        match (self.corked, self.no_delay) {
            (true, _) => SmallSegments::Never,
            (_, true) => SmallSegments::AtOnce,
            _ => SmallSegments::OneAtATime,
        }
    }

    /// Streams start again at their first byte; options stay.
    pub fn begin_connection(&mut self) {
        (self.read, self.written) = (0, 0);
        (self.closed, self.closed_last, self.orphaned) = (false, false, false);
        (self.read_shut, self.error_taken) = (false, false);
        self.blocked = None;
    }

    /// Data that arrives has no reader, and the connection is closed for writing: it is answered with a
    /// reset (RFC 1122, section 4.2.2.13; Linux, `tcp_rcv_state_process()`).
    pub fn refuses_data(&self) -> bool {
        self.orphaned || (self.read_shut && self.closed)
    }

    /// The peer closed its direction first.
    pub fn closed_last(&self) -> bool {
        self.closed_last
    }

    /// The place of the statement with a read that waits.
    pub fn blocked_statement(&self) -> Option<usize> {
        self.blocked.as_ref().map(|blocked| blocked.statement)
    }
}

pub fn play(machine: &mut Machine, call: &SocketCall, due: Due) -> Result<(), Stop> {
    machine.note(|| format!("{}({})", call.name, call.args.join(", ")));
    match call.name.as_str() {
        "socket" => socket(machine, call),
        "setsockopt" => set_option(machine, call),
        "bind" | "getsockopt" | "fcntl" => succeeds(machine, call),
        "listen" => listen(machine, call),
        "accept" | "accept4" => accept(machine, call, due),
        "connect" => connect(machine, call, due),
        "write" | "send" | "sendto" | "writev" | "sendmsg" => write(machine, call),
        "read" | "recv" | "recvfrom" | "readv" | "recvmsg" => read(machine, call, due),
        "shutdown" => shutdown(machine, call),
        "close" => close(machine, call),
        "ioctl" => ioctl(machine, call),
        name => Err(Stop::unsupported(format!("the engine has no {name}()"))),
    }
}

/// An argument as a number.
fn number(call: &SocketCall, at: usize) -> Option<i64> {
    let text = call.args.get(at)?;
    match text.strip_prefix("0x") {
        Some(hexadecimal) => i64::from_str_radix(hexadecimal, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The descriptor that a call names first.
fn descriptor(machine: &Machine, call: &SocketCall) -> Result<(i64, Descriptor), Stop> {
    let fd = number(call, 0).ok_or_else(|| Stop::unsupported("a descriptor that is not a number"))?;
    match machine.sockets.open.get(&fd) {
        Some(&descriptor) => Ok((fd, descriptor)),
        None => Err(Stop::unsupported(format!("descriptor {fd}, which the script has not opened"))),
    }
}

/// Compares a call's result with the script's.
fn check(call: &SocketCall, result: i64, errno: Option<&str>) -> Result<(), Stop> {
    let show = |result: i64, errno: Option<&str>| errno.map_or(result.to_string(), |errno| format!("{result} {errno}"));
    let Some(expected) = call.result else { return Ok(()) };
    if expected == result && call.errno.as_deref() == errno {
        return Ok(());
    }
    Err(Stop::differs(show(expected, call.errno.as_deref()), show(result, errno)))
}

fn socket(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    let stream = call.args.get(1).is_some_and(|kind| kind.contains("SOCK_STREAM"));
    if !stream {
        return Err(Stop::unsupported("a socket other than SOCK_STREAM"));
    }
    match call.result {
        Some(fd) if fd >= 0 => {
            machine.sockets.open.insert(fd, Descriptor::New);
            Ok(())
        }
        _ => Err(Stop::unsupported("a socket() that fails")),
    }
}

/// Calls whose effect is in the configuration already.
fn succeeds(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    descriptor(machine, call)?;
    match (&call.errno, call.result) {
        (None, Some(result)) if result >= 0 => Ok(()),
        (None, None) => Ok(()),
        _ => Err(Stop::unsupported(format!("a {}() that fails", call.name))),
    }
}

/// Options with an effect while the connection lasts. The others are in the configuration.
fn set_option(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    succeeds(machine, call)?;
    let on = || call.args.get(3).is_some_and(|value| value.trim_matches(['[', ']', ' ']) != "0");
    match call.args.get(2).map(String::as_str) {
        Some("TCP_NODELAY") => {
            machine.sockets.no_delay = on();
            // Linux sends what waits, also with TCP_CORK.
            if on() {
                machine.set_small_segments(SmallSegments::AtOnce)?;
            }
        }
        Some("TCP_CORK") => machine.sockets.corked = on(),
        Some("SO_LINGER") => {
            let value: String = call.args.get(3).map_or("", String::as_str).chars().filter(|c| !c.is_whitespace()).collect();
            machine.sockets.resets_on_close = value.contains("onoff=1") && value.contains("linger=0");
            return Ok(());
        }
        _ => return Ok(()),
    }
    let small_segments = machine.sockets.small_segments();
    machine.set_small_segments(small_segments)
}

fn listen(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    let (fd, _) = descriptor(machine, call)?;
    check(call, 0, None)?;
    machine.listen()?;
    machine.sockets.open.insert(fd, Descriptor::Listening);
    Ok(())
}

fn connect(machine: &mut Machine, call: &SocketCall, due: Due) -> Result<(), Stop> {
    let (fd, state) = descriptor(machine, call)?;
    if state == Descriptor::Connected {
        // A second connect() of a non-blocking socket asks for the result.
        return match machine.is_established() {
            true => check(call, 0, None),
            false => check(call, -1, Some("EALREADY")),
        };
    }
    machine.sockets.open.insert(fd, Descriptor::Connected);
    machine.connect()?;
    match (call.result, due.returns) {
        (Some(-1), _) => check(call, -1, Some("EINPROGRESS")),
        // The packets of the handshake follow in the script; data can be written once it is over.
        (_, Some(_)) => Ok(()),
        _ => Err(Stop::unsupported("a connect() that blocks without a time of return")),
    }
}

fn accept(machine: &mut Machine, call: &SocketCall, due: Due) -> Result<(), Stop> {
    let (_, state) = descriptor(machine, call)?;
    if state != Descriptor::Listening {
        return Err(Stop::unsupported("accept() on a socket that does not listen"));
    }
    match call.result {
        Some(fd) if fd >= 0 => {
            if !machine.is_established() && due.returns.is_none() {
                return Err(Stop::differs(format!("{fd}"), "no connection is established"));
            }
            machine.sockets.open.insert(fd, Descriptor::Connected);
            Ok(())
        }
        _ => match machine.is_established() {
            true => Err(Stop::differs("an error", "a connection")),
            false => check(call, -1, Some("EAGAIN")),
        },
    }
}

fn connected(machine: &Machine, call: &SocketCall) -> Result<(), Stop> {
    match descriptor(machine, call)? {
        (_, Descriptor::Connected) => Ok(()),
        _ => Err(Stop::unsupported(format!("{}() on a socket without a connection", call.name))),
    }
}

/// Flags of send() and recv() that change nothing here.
const PLAIN_FLAGS: [&str; 5] = ["0", "...", "MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_WAITALL"];
/// Holds back a segment that is not full until the next write.
const MORE: &str = "MSG_MORE";

/// The flags of a call that transfers data, as far as they are supported.
fn flags<'a>(call: &'a SocketCall, supported: &[&str]) -> Result<Vec<&'a str>, Stop> {
    let at = match call.name.as_str() {
        "sendmsg" | "recvmsg" => 2,
        "send" | "sendto" | "recv" | "recvfrom" => 3,
        _ => return Ok(Vec::new()),
    };
    let flags: Vec<&str> =
        call.args.get(at).map_or("", String::as_str).split('|').map(str::trim).filter(|f| !f.is_empty()).collect();
    match flags.iter().find(|flag| !PLAIN_FLAGS.contains(flag) && !supported.contains(flag)) {
        None => Ok(flags),
        Some(flag) => Err(Stop::unsupported(format!("{} with {flag}", call.name))),
    }
}

/// The bytes that a call names. Those of a vector are not read: the result has their sum.
fn size(call: &SocketCall) -> Option<u64> {
    match call.name.as_str() {
        "writev" | "sendmsg" | "readv" | "recvmsg" => call.result.and_then(|bytes| u64::try_from(bytes).ok()),
        _ => number(call, 2).and_then(|bytes| u64::try_from(bytes).ok()),
    }
}

fn write(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    connected(machine, call)?;
    let more = flags(call, &[MORE])?.contains(&MORE);
    if machine.is_reset() || machine.sockets.closed {
        let errno = take_error(machine).unwrap_or("EPIPE");
        return check(call, -1, Some(errno));
    }
    let Some(bytes) = size(call) else {
        return Err(Stop::unsupported("a write of an unknown size"));
    };
    match call.result {
        Some(result) if result == bytes as i64 => {}
        None => {}
        _ => return Err(Stop::unsupported("a write that the send buffer cuts short or refuses")),
    }
    machine.sockets.written += bytes;
    let (written, small_segments) = (machine.sockets.written, machine.sockets.small_segments());
    machine.control_app(|app| (app.written, app.small_segments, app.more) = (written, small_segments, more))
}

/// The error that a reset leaves, once (`sock_error()`): after the peer's FIN a broken pipe
/// (`tcp_reset()`), before the handshake's end a refusal.
fn take_error(machine: &mut Machine) -> Option<&'static str> {
    let error = pending_error(machine)?;
    machine.sockets.error_taken = true;
    Some(error)
}

fn pending_error(machine: &Machine) -> Option<&'static str> {
    if !machine.is_reset() || machine.sockets.error_taken {
        return None;
    }
    let socket = machine.socket()?;
    Some(match socket.established {
        false => "ECONNREFUSED",
        true if socket.peer_closed && !machine.sockets.closed => "EPIPE",
        true => "ECONNRESET",
    })
}

/// What a read of at most `wanted` bytes returns now: first what has arrived, then the peer's FIN, then
/// an error, then the end (`tcp_recvmsg_locked()`).
fn available(machine: &Machine, wanted: u64) -> (i64, Option<&'static str>) {
    let Some(socket) = machine.socket() else { return (-1, Some("ENOTCONN")) };
    let bytes = socket.arrived.saturating_sub(machine.sockets.read).min(wanted);
    match bytes {
        0 if socket.peer_closed => (0, None),
        0 if machine.is_reset() => pending_error(machine).map_or((0, None), |error| (-1, Some(error))),
        0 if machine.sockets.read_shut => (0, None),
        0 => (-1, Some("EAGAIN")),
        bytes => (bytes as i64, None),
    }
}

fn read(machine: &mut Machine, call: &SocketCall, due: Due) -> Result<(), Stop> {
    connected(machine, call)?;
    flags(call, &[])?;
    let Some(wanted) = size(call) else {
        return Err(Stop::unsupported("a read of an unknown size"));
    };
    if machine.sockets.blocked.is_some() {
        return Err(Stop::unsupported("two reads that block at once"));
    }
    let blocks = due.returns.is_some() && available(machine, wanted).1 == Some("EAGAIN");
    if let (true, Some(returns)) = (blocks, due.returns) {
        let statement = machine.statement();
        machine.sockets.blocked = Some(BlockedRead { statement, call: call.clone(), wanted, returns });
        return Ok(());
    }
    finish_read(machine, call, wanted)
}

fn finish_read(machine: &mut Machine, call: &SocketCall, wanted: u64) -> Result<(), Stop> {
    let (result, errno) = available(machine, wanted);
    check(call, result, errno)?;
    machine.sockets.error_taken |= result < 0 && machine.is_reset();
    if result > 0 {
        machine.sockets.read += result as u64;
        let read = machine.sockets.read;
        machine.control_app(|app| app.read = read)?;
    }
    Ok(())
}

/// A read that waits returns if there is something to return.
pub fn wake(machine: &mut Machine) -> Result<(), Stop> {
    let Some(blocked) = machine.sockets.blocked.clone() else { return Ok(()) };
    if available(machine, blocked.wanted).1 == Some("EAGAIN") {
        return Ok(());
    }
    if machine.now() + machine.tolerance() < blocked.returns {
        let at = |time: Time| format!("{} returns at {:.6} s", blocked.call.name, time.as_secs());
        return Err(Stop::differs(at(blocked.returns), at(machine.now())));
    }
    finish_read(machine, &blocked.call, blocked.wanted)?;
    machine.sockets.blocked = None;
    Ok(())
}

/// Before a statement at `now`, or at the end: a read whose time has passed must have returned.
pub fn expire(machine: &mut Machine, now: Time) -> Result<(), Stop> {
    let Some(blocked) = machine.sockets.blocked.clone() else { return Ok(()) };
    if now <= blocked.returns + machine.tolerance() {
        return Ok(());
    }
    machine.run_to(blocked.returns)?;
    finish_read(machine, &blocked.call, blocked.wanted)?;
    machine.sockets.blocked = None;
    Ok(())
}

fn shutdown(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    connected(machine, call)?;
    check(call, 0, None)?;
    let how = call.args.get(1).map(String::as_str);
    machine.sockets.read_shut |= matches!(how, Some("SHUT_RD" | "SHUT_RDWR"));
    match how {
        Some("SHUT_WR" | "SHUT_RDWR") => finish(machine),
        Some("SHUT_RD") => Ok(()),
        _ => Err(Stop::unsupported("shutdown() of an unknown direction")),
    }
}

fn close(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    let (fd, state) = descriptor(machine, call)?;
    check(call, 0, None)?;
    machine.sockets.open.remove(&fd);
    if state == Descriptor::Listening {
        machine.stop_listening();
    }
    if state != Descriptor::Connected || machine.is_reset() {
        return Ok(());
    }
    machine.sockets.orphaned = true;
    // RFC 9293, section 3.6.1, and RFC 2525, section 2.17: data that no process reads is answered with a
    // reset.
    let unread = machine.socket().is_some_and(|socket| socket.arrived > machine.sockets.read);
    if unread || machine.sockets.resets_on_close || !machine.is_established() {
        machine.abort();
        return Ok(());
    }
    finish(machine)
}

/// The script writes nothing more.
fn finish(machine: &mut Machine) -> Result<(), Stop> {
    if !machine.sockets.closed {
        machine.sockets.closed = true;
        machine.sockets.closed_last = machine.socket().is_some_and(|socket| socket.peer_closed);
    }
    machine.control_app(|app| (app.closed, app.small_segments) = (true, SmallSegments::AtOnce))
}

fn ioctl(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    connected(machine, call)?;
    let expected = call.args.get(2).and_then(|text| text.trim_matches(['[', ']']).trim().parse::<u64>().ok());
    let (Some(expected), Some(socket)) = (expected, machine.socket()) else {
        return Err(Stop::unsupported("ioctl() without an expected value"));
    };
    let got = match call.args.get(1).map(String::as_str) {
        Some("SIOCINQ" | "FIONREAD") => socket.arrived.saturating_sub(machine.sockets.read),
        _ => return Err(Stop::unsupported("an ioctl() other than SIOCINQ")),
    };
    if got == expected { Ok(()) } else { Err(Stop::differs(expected.to_string(), got.to_string())) }
}
