//! Where a real host's traffic enters and leaves the network: an end of a flow that this process does not play.

use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn};
use crate::units::Time;

/// Sends nothing by itself and keeps nothing: what reaches it is for the driver's probe to take, and what a real host sends is handed to
/// [`crate::Network::send_from`].
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
