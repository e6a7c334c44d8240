//! A TCP endpoint: handshake and teardown around a sending and a receiving half (RFC 9293).

pub mod ack_congestion_control;
pub mod autotune;
pub mod cc;
pub mod config;
pub mod delivery_rate;
pub mod ecn;
mod endpoint;
mod handshake;
mod info;
pub mod limiting_window;
pub mod linux_rules;
pub mod metrics_cache;
pub mod pacer;
mod proxy;
pub mod ranges;
pub mod receiver;
pub mod recovery;
pub mod rtt;
pub mod sack_compression;
pub mod scoreboard;
pub mod sender;
pub mod stats;
pub mod timer_wheel;
mod timestamps;
pub mod tso;

pub use ack_congestion_control::AckCongestionControlConfig;
pub use autotune::{ReceiveTuning, SendTuning, WindowGrowth};
pub use cc::slow_start::SlowStart;
pub use cc::{CongestionControl, Variant};
pub use config::{
    DelayedAck, FrtoKind, IdleRestart, MtuProbing, NewRenoExit, Push, RtoConfig, RtoFloor, RtoRestart, TcpConfig, WindowRule,
    WindowValidation,
};
pub use ecn::{AccEcnOption, EcnCounts, EcnMode, EcnPackets};
pub use endpoint::TcpEndpoint;
pub use info::{CaState, TcpInfo};
pub use limiting_window::LimitingWindow;
pub use linux_rules::{LinuxRule, LinuxRules};
pub use metrics_cache::{MetricsCache, SharedPathMetrics};
pub use proxy::{relay_bytes, relay_handshakes};
pub use recovery::RecoveryKind;
pub use sack_compression::SackCompression;
pub use stats::{ReceiverStats, SendLimit, SenderSample, SenderStats};
pub use tso::TsoAutosize;
