//! Tables of a link file.

pub mod acks;
pub mod framing;
pub mod grants;
pub mod half_duplex;
pub mod handover;
pub mod hop;
pub mod jitter;
pub mod loss;
pub mod medium;
pub mod mtu;
pub mod packet_radio;
pub mod pep;
pub mod policer;
pub mod queue;
pub mod rate;
pub mod roaming;
pub mod schedule;
pub mod shaper;
pub mod sides;
pub mod signal;
pub mod slots;
pub mod threshold;
pub mod tunnel;
pub mod wimax;
pub mod wimax_station;
pub mod wlan;
