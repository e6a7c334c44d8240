//! Congestion control. One algorithm per file; none accesses packets, timers or sockets. Windows
//! are in segments.

mod api;
mod app_limited_mask;
mod bbr;
mod bbr3;
mod biad;
mod bic;
mod cubic;
mod cubic2;
mod cwnd_count;
mod dctcp;
mod fast_min_max;
mod high_speed;
mod htcp;
mod hybla;
mod illinois;
mod ledbat_pp;
mod linux;
mod lp;
mod prague;
mod reno;
mod round_counter;
mod scalable;
pub mod slow_start;
#[cfg(test)]
mod testing;
mod user;
mod variant;
mod vegas;
mod veno;
mod westwood;
mod westwood_bandwidth;
mod windowed_max;
mod yeah;

use api::window_methods;
pub use api::{
    Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement, EcnResponse, LOSS_WINDOW, MIN_SSTHRESH,
    Phase,
};
pub use bbr::{Bbr, BbrConfig};
pub use bbr3::{Bbr3, Bbr3Config};
pub use biad::Biad;
pub use bic::{Bic, BicConfig};
pub use cubic::{Cubic, CubicConfig, cubic_k, cubic_window};
pub use cubic2::{Cubic2, Cubic2Config};
pub use cwnd_count::{CwndCount, DelayedAckRatio};
pub use dctcp::{Dctcp, DctcpConfig, dctcp_alpha, dctcp_window};
pub use high_speed::{HighSpeed, HighSpeedConfig};
pub use htcp::{Htcp, HtcpConfig};
pub use hybla::{Hybla, HyblaConfig};
pub use illinois::{Illinois, IllinoisConfig};
pub use ledbat_pp::{LedbatPp, LedbatPpConfig};
pub use linux::{
    LinuxBic, LinuxCubic, LinuxDctcp, LinuxHighSpeed, LinuxHtcp, LinuxHybla, LinuxIllinois, LinuxLp, LinuxReno, LinuxScalable,
    LinuxVegas, LinuxVeno, LinuxWestwood, LinuxYeah,
};
pub use lp::{Lp, LpConfig};
pub use prague::{Prague, PragueConfig, prague_increase};
pub use reno::{Reno, reno_ssthresh};
pub use round_counter::RoundCounter;
pub use scalable::{Scalable, ScalableConfig};
pub use user::{User, UserControl, UserVariant};
pub use variant::{AnyCc, Variant};
pub use vegas::{Vegas, VegasConfig};
pub use veno::{Veno, VenoConfig};
pub use westwood::Westwood;
pub use yeah::{Yeah, YeahConfig};
