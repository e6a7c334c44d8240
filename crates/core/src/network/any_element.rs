//! The closed set of element kinds, dispatched by an enum (ADR 3).

use crate::element::{Element, Output, PacketCounts, QueueId};
use crate::host::{Gro, HostArrival, Reassembly};
use crate::impairment::{Delay, Duplicate, Handover, Jitter, Loss, Outage, Reorder, SendDelay, VaryingDelay};
use crate::link::{FusedLink, MtuCheck, Policer, RateLink, Shaper, TraceLink, TunnelEntry, TunnelExit};
use crate::medium::{Grants, HalfDuplex, PacketRadio, Wimax, Wlan};
use crate::meter::{LinkMeter, QueueSample};
use crate::network::route::Port;
use crate::packet::Packet;
use crate::queue::ack::AckReconstructor;
use crate::time_account::TimeAccount;
use crate::units::Time;

macro_rules! any_element {
    (small: $($kind:ident),*; large: $($large:ident),* $(,)?) => {
        /// Every kind of element. An enum makes a hop a jump instead of an indirect call (ADR 3).
        /// Large kinds are boxed, so that many small ones stay close in memory.
        #[repr(u8)]
        pub enum AnyElement {
            $($kind($kind),)*
            $($large(Box<$large>),)*
            /// User-defined.
            User(Box<dyn Element + Send>),
        }

        /// A call and the due time after it in one dispatch.
        impl AnyElement {
            #[inline]
            pub(crate) fn push_then_due(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>) -> Time {
                match self {
                    $(AnyElement::$kind(e) => { e.push(now, port, packet, out); e.due() })*
                    $(AnyElement::$large(e) => { e.push(now, port, packet, out); e.due() })*
                    AnyElement::User(e) => { e.push(now, port, packet, out); e.due() }
                }
            }
            #[inline]
            pub(crate) fn wake_then_due(&mut self, now: Time, out: &mut Output<'_>) -> Time {
                match self {
                    $(AnyElement::$kind(e) => { e.wake(now, out); e.due() })*
                    $(AnyElement::$large(e) => { e.wake(now, out); e.due() })*
                    AnyElement::User(e) => { e.wake(now, out); e.due() }
                }
            }
        }

        impl Element for AnyElement {
            #[inline]
            fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>) {
                match self { $(AnyElement::$kind(e) => e.push(now, port, packet, out),)* $(AnyElement::$large(e) => e.push(now, port, packet, out),)* AnyElement::User(e) => e.push(now, port, packet, out) }
            }
            #[inline]
            fn wake(&mut self, now: Time, out: &mut Output<'_>) {
                match self { $(AnyElement::$kind(e) => e.wake(now, out),)* $(AnyElement::$large(e) => e.wake(now, out),)* AnyElement::User(e) => e.wake(now, out) }
            }
            #[inline]
            fn due(&self) -> Time {
                match self { $(AnyElement::$kind(e) => e.due(),)* $(AnyElement::$large(e) => e.due(),)* AnyElement::User(e) => e.due() }
            }
            fn occupancy(&self) -> u64 {
                match self { $(AnyElement::$kind(e) => e.occupancy(),)* $(AnyElement::$large(e) => e.occupancy(),)* AnyElement::User(e) => e.occupancy() }
            }
            fn meter(&mut self, now: Time, queue: QueueId) -> Option<&mut LinkMeter> {
                match self { $(AnyElement::$kind(e) => e.meter(now, queue),)* $(AnyElement::$large(e) => e.meter(now, queue),)* AnyElement::User(e) => e.meter(now, queue) }
            }
            fn time(&mut self, now: Time, queue: QueueId) -> Option<&mut TimeAccount> {
                match self { $(AnyElement::$kind(e) => e.time(now, queue),)* $(AnyElement::$large(e) => e.time(now, queue),)* AnyElement::User(e) => e.time(now, queue) }
            }
            fn sample(&mut self, now: Time, queue: QueueId) -> Option<QueueSample> {
                match self { $(AnyElement::$kind(e) => e.sample(now, queue),)* $(AnyElement::$large(e) => e.sample(now, queue),)* AnyElement::User(e) => e.sample(now, queue) }
            }
            fn counts(&self, queue: QueueId) -> Option<PacketCounts> {
                match self { $(AnyElement::$kind(e) => e.counts(queue),)* $(AnyElement::$large(e) => e.counts(queue),)* AnyElement::User(e) => e.counts(queue) }
            }
        }

        $(impl From<$kind> for AnyElement {
            fn from(e: $kind) -> AnyElement { AnyElement::$kind(e) }
        })*
        $(impl From<$large> for AnyElement {
            fn from(e: $large) -> AnyElement { AnyElement::$large(Box::new(e)) }
        })*
    };
}

any_element!(small: FusedLink, Delay, Duplicate, Outage, Reorder, Loss, Jitter, Handover, SendDelay; large: VaryingDelay, RateLink, TraceLink, MtuCheck, TunnelEntry, TunnelExit, Policer, Shaper, Grants, HalfDuplex, PacketRadio, Wimax, Wlan, AckReconstructor, HostArrival, Gro, Reassembly);
