//! Observers of packets and their flows: series, plots, joins.

use crate::decode::{Datagram, Segment};
use crate::flow::{Flow, PacketEvent};

/// Called for each packet after its flow was updated. `()` is an observer that does nothing.
pub trait PacketObserver {
    /// The number in the capture of the packet that `on_packet` is called for next.
    #[inline]
    fn on_frame(&mut self, _frame: u64) {}

    fn on_packet(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, event: &PacketEvent);

    /// Called for each datagram of the UDP flow with this number, from 0.
    #[inline]
    fn on_datagram(&mut self, _at: i64, _number: u32, _datagram: &Datagram<'_>) {}
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

    #[inline]
    fn on_datagram(&mut self, at: i64, number: u32, datagram: &Datagram<'_>) {
        self.0.on_datagram(at, number, datagram);
        self.1.on_datagram(at, number, datagram);
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

    #[inline]
    fn on_datagram(&mut self, at: i64, number: u32, datagram: &Datagram<'_>) {
        if let Some(observer) = self {
            observer.on_datagram(at, number, datagram);
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

    #[inline]
    fn on_datagram(&mut self, at: i64, number: u32, datagram: &Datagram<'_>) {
        (**self).on_datagram(at, number, datagram);
    }
}
