//! Observers of packets and their flows: series, plots, joins.

use crate::decode::Segment;
use crate::flow::{Flow, Passed};

/// Called for each TCP packet after its flow was updated. `()` is an observer that does nothing.
pub trait PacketObserver {
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed);
}

impl PacketObserver for () {
    #[inline]
    fn on_packet(&mut self, _: i64, _: u32, _: &Flow, _: &Segment<'_>, _: &Passed) {}
}

/// Calls both observers in order.
impl<A: PacketObserver, B: PacketObserver> PacketObserver for (A, B) {
    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        self.0.on_packet(at, number, flow, segment, passed);
        self.1.on_packet(at, number, flow, segment, passed);
    }
}

impl<A: PacketObserver> PacketObserver for Option<A> {
    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        if let Some(observer) = self {
            observer.on_packet(at, number, flow, segment, passed);
        }
    }
}

impl<A: PacketObserver + ?Sized> PacketObserver for &mut A {
    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        (**self).on_packet(at, number, flow, segment, passed);
    }
}
