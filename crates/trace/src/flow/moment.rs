//! An instant that may not have come yet, in eight bytes.

use crate::compact::{Compact, Reader, Writer};

/// Nanoseconds of Unix time, or never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(i64);

impl Compact for Moment {
    fn encode(&self, to: &mut Writer) {
        self.get().encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> Moment {
        <Option<i64> as Compact>::decode(from).map_or(Moment::default(), Moment)
    }
}

const NEVER: i64 = i64::MIN;

impl Default for Moment {
    fn default() -> Moment {
        Moment(NEVER)
    }
}

impl Moment {
    #[inline]
    pub fn get(self) -> Option<i64> {
        (self.0 != NEVER).then_some(self.0)
    }

    #[inline]
    pub fn has_come(self) -> bool {
        self.0 != NEVER
    }

    pub fn set(&mut self, at: i64) {
        self.0 = at;
    }

    /// The first time counts.
    #[inline]
    pub fn set_once(&mut self, at: i64) {
        if self.0 == NEVER {
            self.0 = at;
        }
    }

    pub fn clear(&mut self) {
        self.0 = NEVER;
    }
}
