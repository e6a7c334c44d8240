//! The socket calls of a script.

use super::machine::Machine;
use super::{Due, Stop};
use crate::script::SocketCall;
use std::collections::BTreeMap;

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Descriptor {
    /// A socket without a connection.
    New,
    Listening,
    Connected,
}

/// The script's descriptors.
#[derive(Debug, Default)]
pub struct Sockets {
    open: BTreeMap<i64, Descriptor>,
    /// Bytes that the script has read.
    read: u64,
    /// Bytes that the script has written.
    written: u64,
    closed: bool,
}

pub fn play(machine: &mut Machine, call: &SocketCall, due: Due) -> Result<(), Stop> {
    machine.note(|| format!("{}({})", call.name, call.args.join(", ")));
    match call.name.as_str() {
        "socket" => socket(machine, call),
        "bind" | "setsockopt" | "getsockopt" | "fcntl" => succeeds(machine, call),
        "listen" => listen(machine, call),
        "accept" | "accept4" => accept(machine, call, due),
        "connect" => connect(machine, call, due),
        "write" | "send" | "sendto" => write(machine, call),
        "read" | "recv" | "recvfrom" => read(machine, call, due),
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
const PLAIN_FLAGS: [&str; 4] = ["0", "MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_WAITALL"];

fn refuse_flags(call: &SocketCall, at: usize) -> Result<(), Stop> {
    let Some(flags) = call.args.get(at) else { return Ok(()) };
    match flags.split('|').map(str::trim).find(|flag| !PLAIN_FLAGS.contains(flag)) {
        None => Ok(()),
        Some(flag) => Err(Stop::unsupported(format!("{} with {flag}", call.name))),
    }
}

fn write(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    connected(machine, call)?;
    refuse_flags(call, 3)?;
    if machine.is_reset() || machine.sockets.closed {
        return check(call, -1, Some("EPIPE"));
    }
    let Some(bytes) = number(call, 2).and_then(|bytes| u64::try_from(bytes).ok()) else {
        return Err(Stop::unsupported("a write of an unknown size"));
    };
    match call.result {
        Some(result) if result == bytes as i64 => {}
        None => {}
        _ => return Err(Stop::unsupported("a write that the send buffer cuts short or refuses")),
    }
    machine.sockets.written += bytes;
    let written = machine.sockets.written;
    machine.control_app(|app| app.written = written)
}

/// What a read of at most `wanted` bytes returns now.
fn available(machine: &Machine, wanted: u64) -> (i64, Option<&'static str>) {
    if machine.is_reset() {
        return (-1, Some("ECONNRESET"));
    }
    let Some(socket) = machine.socket() else { return (-1, Some("ENOTCONN")) };
    let bytes = socket.arrived.saturating_sub(machine.sockets.read).min(wanted);
    match bytes {
        0 if socket.peer_closed => (0, None),
        0 => (-1, Some("EAGAIN")),
        bytes => (bytes as i64, None),
    }
}

fn read(machine: &mut Machine, call: &SocketCall, due: Due) -> Result<(), Stop> {
    connected(machine, call)?;
    refuse_flags(call, 3)?;
    let Some(wanted) = number(call, 2).and_then(|bytes| u64::try_from(bytes).ok()) else {
        return Err(Stop::unsupported("a read of an unknown size"));
    };
    if due.returns.is_some_and(|returns| returns > due.from) {
        return Err(Stop::unsupported("a read that blocks while the script goes on"));
    }
    let (result, errno) = available(machine, wanted);
    check(call, result, errno)?;
    if result > 0 {
        machine.sockets.read += result as u64;
        let read = machine.sockets.read;
        machine.control_app(|app| app.read = read)?;
    }
    Ok(())
}

fn shutdown(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    connected(machine, call)?;
    check(call, 0, None)?;
    match call.args.get(1).map(String::as_str) {
        Some("SHUT_WR" | "SHUT_RDWR") => {
            machine.sockets.closed = true;
            machine.control_app(|app| app.closed = true)
        }
        Some("SHUT_RD") => Ok(()),
        _ => Err(Stop::unsupported("shutdown() of an unknown direction")),
    }
}

fn close(machine: &mut Machine, call: &SocketCall) -> Result<(), Stop> {
    let (fd, state) = descriptor(machine, call)?;
    check(call, 0, None)?;
    machine.sockets.open.remove(&fd);
    if state != Descriptor::Connected || machine.is_reset() {
        return Ok(());
    }
    if machine.socket().is_some_and(|socket| socket.arrived > machine.sockets.read) {
        return Err(Stop::unsupported("close() with unread data, which sends a reset: the engine has none"));
    }
    machine.sockets.closed = true;
    machine.control_app(|app| app.closed = true)
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
