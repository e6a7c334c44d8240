//! An optional time in eight bytes.

use crate::compact::{Compact, Reader, Writer};

/// Nanoseconds of Unix time, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptTime(i64);

impl Compact for OptTime {
    fn encode(&self, to: &mut Writer) {
        self.get().encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> OptTime {
        <Option<i64> as Compact>::decode(from).map_or(OptTime::default(), OptTime)
    }
}

const NONE: i64 = i64::MIN;

impl Default for OptTime {
    fn default() -> OptTime {
        OptTime(NONE)
    }
}

impl OptTime {
    #[inline]
    pub fn get(self) -> Option<i64> {
        (self.0 != NONE).then_some(self.0)
    }

    #[inline]
    pub fn is_some(self) -> bool {
        self.0 != NONE
    }

    pub fn set(&mut self, at: i64) {
        self.0 = at;
    }

    /// Sets the time unless there is one.
    #[inline]
    pub fn set_once(&mut self, at: i64) {
        if self.0 == NONE {
            self.0 = at;
        }
    }

    pub fn clear(&mut self) {
        self.0 = NONE;
    }
}
