//! A fixed delay: what went in first comes out first.

use super::flying::Flying;
use crate::element::{Element, Out, Port};
use crate::packet::Packet;
use crate::units::{Span, Time};

pub struct Delay {
    delay: Span,
    flying: Flying,
}

impl Delay {
    pub fn new(delay: Span) -> Delay {
        Delay { delay, flying: Flying::default() }
    }
}

impl Element for Delay {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Out<'_>) {
        self.flying.push(now + self.delay, packet);
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        self.flying.let_out(now, out);
    }

    fn due(&self) -> Time {
        self.flying.due()
    }

    fn held(&self) -> u64 {
        self.flying.held()
    }
}
