//! Scheduling classes: who is served first, and who need not requests (IEEE 802.16-2004, 6.3.5.2; 802.16e-2005 for ertPS).

/// In the order in which they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QosClass {
    /// Unsolicited grant: a fixed grant each interval, used or not.
    Ugs,
    /// Extended real-time polling: a grant each interval as large as what waits, at most the fixed size.
    Ertps,
    /// Real-time polling: asked each interval, never contends.
    Rtps,
    /// Non-real-time polling: asked each interval, may contend as well.
    Nrtps,
    /// Best effort: contends, or rides on what it has.
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
    /// Whether its requests may ride on its data.
    pub fn piggybacks(self) -> bool {
        self != QosClass::Ugs
    }
}

/// What one station's connections are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceFlow {
    pub class: QosClass,
    /// Frames from one fixed grant or poll to the next; 0 is never.
    pub interval: u64,
    /// A fixed grant's payload in bytes, headers included.
    pub bytes: u32,
}

impl ServiceFlow {
    pub const BEST_EFFORT: ServiceFlow = ServiceFlow { class: QosClass::BestEffort, interval: 0, bytes: 0 };

    /// Stations take their turns in different frames.
    pub fn is_due(&self, frame: u64, station: u32) -> bool {
        self.interval > 0 && (frame + u64::from(station)).is_multiple_of(self.interval)
    }
}
