//! How the loop waits: the only thing in which the simulator and the emulator differ.

use crate::units::{Span, Time};

/// How the loop waits: the simulator's clock jumps, the emulator's sleeps until `t` or until a packet comes in.
pub trait Clock {
    fn wait_until(&mut self, t: Time) -> Waited;
}

/// What waiting ended with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    OnTime,
    /// Late by this much; the network still advances to the planned time, so lateness never leaks into the model.
    Late(Span),
    /// A packet from outside is waiting to be taken in first.
    Input,
}

/// Time that only exists in the run.
pub struct VirtualClock;

impl Clock for VirtualClock {
    #[inline]
    fn wait_until(&mut self, _t: Time) -> Waited {
        Waited::OnTime
    }
}
