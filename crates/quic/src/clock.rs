//! The engine's time as the stack's `Instant`, which has whole nanoseconds and no zero.

use ackclock_core::units::Time;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const PS: u64 = 1000;

/// The instant of the engine's zero; which one it is changes nothing.
#[expect(clippy::disallowed_methods, reason = "the stack knows no other way to an Instant")]
fn zero() -> Instant {
    static ZERO: OnceLock<Instant> = OnceLock::new();
    *ZERO.get_or_init(Instant::now)
}

/// Rounded up: a time that is due has come then, too.
pub fn instant(time: Time) -> Instant {
    zero() + Duration::from_nanos(time.0.div_ceil(PS))
}

pub fn time(instant: Instant) -> Time {
    let nanoseconds = instant.saturating_duration_since(zero()).as_nanos();
    Time(u64::try_from(nanoseconds).unwrap_or(u64::MAX).saturating_mul(PS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn due_time_has_come_when_the_engine_reaches_it() {
        for ps in [0, 1, 999, 1000, 1001, 123_456_789_012_345] {
            let at = instant(Time(ps));
            assert!(time(at).0 >= ps && time(at).0 - ps < PS, "{ps}");
            assert_eq!(instant(time(at)), at);
        }
    }
}
