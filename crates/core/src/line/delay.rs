//! A fixed delay: what went in first comes out first.

use crate::element::{Element, Out, Port};
use crate::packet::Packet;
use crate::units::{Span, Time};
use std::collections::VecDeque;

pub struct Delay {
    delay: Span,
    flying: VecDeque<(Time, Packet)>,
}

impl Delay {
    pub fn new(delay: Span) -> Delay {
        Delay { delay, flying: VecDeque::new() }
    }
}

impl Element for Delay {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Out<'_>) {
        self.flying.push_back((now + self.delay, packet));
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while self.flying.front().is_some_and(|&(at, _)| at <= now) {
            if let Some((_, packet)) = self.flying.pop_front() {
                out.forward(Port(0), packet);
            }
        }
    }

    fn due(&self) -> Time {
        self.flying.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn held(&self) -> u64 {
        self.flying.len() as u64
    }
}
