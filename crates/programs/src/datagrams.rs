//! Calls and games: the simulator's endpoints over a UDP socket.

use crate::clock::MAX_WAIT;
use crate::lateness::LatenessMeter;
use crate::report::FlowReport;
use crate::socket::{Reader, Received, wait};
use crate::{End, Program};
use ackclock_core::app::{CallEnd, GameClient, ProbeReflector, ReplyConfig, UDP_HEADER, UdpSource};
use ackclock_core::endpoint::{Endpoint, Outgoing};
use ackclock_core::packet::{Arena, Body, Datagram, Ecn};
use ackclock_core::{Span, Time};
use nix::poll::{PollFd, PollFlags};
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;

/// Number and send time.
pub const HEADER: usize = 16;

/// An end of a call: it sends, and plays what the other end sends.
pub fn call(program: &Program<'_>, socket: &UdpSocket, (gap_ps, packet): (u64, u16)) -> io::Result<FlowReport> {
    let source = || UdpSource::every(Span(gap_ps), packet, program.start(), program.end());
    let mut end = CallEnd::new(source());
    let lateness = drive(program, socket, &mut end, |_, _| {})?;
    // Both ends send at the same times.
    let windows = end.windows(&source(), program.measured());
    Ok(FlowReport { call: Some(windows), lateness, ..FlowReport::of(program) })
}

/// The client of a game, or the server, which answers.
pub fn game(program: &Program<'_>, socket: &UdpSocket, (gap_ps, packet, deadline_ps): (u64, u16, u64)) -> io::Result<FlowReport> {
    if program.config.end == End::Server {
        let mut server = ProbeReflector::new(vec![packet], ReplyConfig { min_bytes: packet, max_bytes: packet });
        let lateness = drive(program, socket, &mut server, |_, _| {})?;
        return Ok(FlowReport { lateness, ..FlowReport::of(program) });
    }
    let source = UdpSource::every(Span(gap_ps), packet, program.start(), program.end());
    let mut client = GameClient::new(source, Span(deadline_ps));
    let (from, to) = program.measured();
    let (mut has_begun, mut score) = (false, None);
    let lateness = drive(program, socket, &mut client, |client, now| {
        if !has_begun && now >= from {
            client.restart_meters();
            has_begun = true;
        }
        if score.is_none() && now >= to {
            score = Some(client.score(to));
        }
    })?;
    Ok(FlowReport { game: score.or_else(|| Some(client.score(to))), lateness, ..FlowReport::of(program) })
}

/// Sends what the endpoint has and gives it what arrives, until the program ends. `watch` is called with
/// the time after each wait, before anything of that time.
fn drive<E: Endpoint>(
    program: &Program<'_>,
    socket: &UdpSocket,
    endpoint: &mut E,
    mut watch: impl FnMut(&mut E, Time),
) -> io::Result<crate::Lateness> {
    let clock = program.clock;
    let (mut arena, mut reader, mut lateness) = (Arena::default(), Reader::new(), LatenessMeter::default());
    clock.sleep_until(Time::ZERO);
    loop {
        let now = clock.now();
        watch(endpoint, now);
        if now >= program.end() {
            return Ok(lateness.read());
        }
        while let Received::Bytes(count, at) = reader.read(socket, &clock)? {
            if let Some(datagram) = decode(&reader.buffer[..count]) {
                endpoint.receive(at, &Body::Datagram(datagram), Ecn::NotEct);
                send_due(socket, endpoint, &mut arena, || clock.now(), at, &mut lateness);
            }
        }
        send_due(socket, endpoint, &mut arena, || clock.now(), endpoint.due(), &mut lateness);
        let end = endpoint.due().min(program.end()).min(clock.now() + MAX_WAIT);
        wait(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], &clock, end)?;
    }
}

/// Sends all that is due, first since `due`.
fn send_due<E: Endpoint>(
    socket: &UdpSocket,
    endpoint: &mut E,
    arena: &mut Arena,
    now: impl Fn() -> Time,
    mut due: Time,
    lateness: &mut LatenessMeter,
) {
    loop {
        let at = now();
        let Some(Outgoing { body, len, .. }) = endpoint.poll(at, arena) else { return };
        if let Body::Datagram(datagram) = *arena.get(body) {
            // A packet that the socket refuses is lost.
            let _ = socket.send(&encode(datagram, usize::from(len - UDP_HEADER)));
            lateness.add(at - due.min(at));
        }
        arena.release(body);
        due = endpoint.due();
    }
}

fn encode(datagram: Datagram, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len.max(HEADER)];
    bytes[..8].copy_from_slice(&datagram.number.to_be_bytes());
    bytes[8..HEADER].copy_from_slice(&datagram.sent.0.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Datagram> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some(Datagram { number: u64::from_be_bytes(*number), sent: Time(u64::from_be_bytes(*rest.first_chunk()?)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagram_is_what_was_encoded_and_a_short_one_is_none() {
        let datagram = Datagram { number: 7, sent: Time(1 << 60) };
        let bytes = encode(datagram, 172);
        assert_eq!((bytes.len(), decode(&bytes)), (172, Some(datagram)));
        assert_eq!(decode(&bytes[..15]), None);
    }
}
