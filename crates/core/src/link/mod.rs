//! Links. A link is active: it owns a queue and decides when the next packet is transmitted.

mod fragments;
mod framing;
mod fused_link;
mod lindley;
mod mtu;
mod policer;
mod rate;
mod rate_schedule;
mod shaper;
mod slotted_rate;
mod token_bucket;
mod trace;
mod tunnel;

// The types of keys among them: a new one needs no line here.
pub use framing::*;
pub use fused_link::*;
pub use lindley::LinkConfig;
pub use mtu::*;
pub use policer::*;
pub use rate::*;
pub use rate_schedule::*;
pub use shaper::*;
pub use slotted_rate::*;
pub use token_bucket::*;
pub use trace::*;
pub use tunnel::*;
