//! Endpoint of a flow whose host is outside this process.

use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn};
use crate::units::Time;

/// Placeholder for a real host: the emulator's probe takes delivered packets, and packets that the
/// host sends enter through [`crate::Network::send_from`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ExternalHost;

impl Endpoint for ExternalHost {
    fn receive(&mut self, _now: Time, _body: &Body, _ecn: Ecn) {}

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, _now: Time, _arena: &mut Arena) -> Option<Outgoing> {
        None
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}
