//! Packets on their way, each until a time of its own; none leaves before the one that was put in ahead of it.

use crate::element::{Out, Port};
use crate::packet::Packet;
use crate::units::Time;
use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct Flying(VecDeque<(Time, Packet)>);

impl Flying {
    /// No earlier than what was put in last.
    pub fn push(&mut self, leaves: Time, packet: Packet) {
        self.0.push_back((leaves, packet));
    }

    /// Lets out, first in first out, what leaves until `now`.
    pub fn let_out(&mut self, now: Time, out: &mut Out<'_>) {
        while self.due() <= now {
            let Some((_, packet)) = self.0.pop_front() else { return };
            out.forward(Port(0), packet);
        }
    }

    /// When the first leaves.
    pub fn due(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |&(leaves, _)| leaves)
    }

    pub fn held(&self) -> u64 {
        self.0.len() as u64
    }
}
