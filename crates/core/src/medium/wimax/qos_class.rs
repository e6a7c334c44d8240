//! Scheduling services (QoS classes): service order and request policy (IEEE 802.16-2004, 6.3.5.2;
//! 802.16e-2005 for ertPS).

use super::config::{MAX_COUNT, check_count, check_frames};
use crate::config_check::Checked;
use serde::{Deserialize, Serialize};

/// In service order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QosClass {
    /// Unsolicited grant service: a fixed grant per interval, used or not.
    Ugs,
    /// Extended real-time polling: a grant per interval of the size of the backlog, up to the fixed
    /// size.
    Ertps,
    /// Real-time polling: polled each interval, never contends.
    Rtps,
    /// Non-real-time polling: polled each interval, may also contend.
    Nrtps,
    /// Best effort: contends, or piggybacks requests.
    #[serde(rename = "be")]
    BestEffort,
}

impl QosClass {
    pub const COUNT: usize = 5;

    pub fn priority(self) -> usize {
        self as usize
    }
    pub fn contends(self) -> bool {
        matches!(self, QosClass::Nrtps | QosClass::BestEffort)
    }
    /// True if requests may be piggybacked on data.
    pub fn piggybacks(self) -> bool {
        self != QosClass::Ugs
    }
}

/// Service flow: what the base station grants a connection, with the keys of a plan
/// (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceFlow {
    pub class: QosClass,
    /// Frames between fixed grants or polls; 0 is never.
    #[serde(rename = "interval_frames")]
    pub interval: u64,
    /// Payload of a fixed grant in bytes, headers included.
    pub bytes: u32,
}

impl ServiceFlow {
    pub const BEST_EFFORT: ServiceFlow = ServiceFlow { class: QosClass::BestEffort, interval: 0, bytes: 0 };

    /// Returns the error in the configuration, if any.
    pub(super) fn check(&self) -> Checked {
        check_frames("service.interval_frames", self.interval)?;
        check_count("service.bytes", self.bytes, MAX_COUNT)
    }

    /// Stations are served in different frames.
    pub fn is_due(&self, frame: u64, station: u32) -> bool {
        self.interval > 0 && (frame + u64::from(station)).is_multiple_of(self.interval)
    }
}
