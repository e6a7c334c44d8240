//! Observers of packets and their flows: series, plots, joins.

use crate::decode::Segment;
use crate::flow::{Flow, PacketEvent};

/// Called for each TCP packet after its flow was updated. `()` is an observer that does nothing.
pub trait PacketObserver {
    /// The number in the capture of the packet that `on_packet` is called for next.
    #[inline]
    fn on_frame(&mut self, _frame: u64) {}

    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, event: &PacketEvent);
}

impl PacketObserver for () {
    #[inline]
    fn on_packet(&mut self, _: i64, _: u32, _: &Flow, _: &Segment<'_>, _: &PacketEvent) {}
}

/// Calls both observers in order.
impl<A: PacketObserver, B: PacketObserver> PacketObserver for (A, B) {
    #[inline]
    fn on_frame(&mut self, frame: u64) {
        self.0.on_frame(frame);
        self.1.on_frame(frame);
    }

    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, event: &PacketEvent) {
        self.0.on_packet(at, number, flow, segment, event);
        self.1.on_packet(at, number, flow, segment, event);
    }
}

impl<A: PacketObserver> PacketObserver for Option<A> {
    #[inline]
    fn on_frame(&mut self, frame: u64) {
        if let Some(observer) = self {
            observer.on_frame(frame);
        }
    }

    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, event: &PacketEvent) {
        if let Some(observer) = self {
            observer.on_packet(at, number, flow, segment, event);
        }
    }
}

impl<A: PacketObserver + ?Sized> PacketObserver for &mut A {
    #[inline]
    fn on_frame(&mut self, frame: u64) {
        (**self).on_frame(frame);
    }

    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, event: &PacketEvent) {
        (**self).on_packet(at, number, flow, segment, event);
    }
}
