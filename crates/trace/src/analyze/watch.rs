//! Who sees each packet with what it was to its flow: series, plots, joins.

use crate::decode::Segment;
use crate::flow::{Flow, Passed};

/// Sees each TCP packet after its flow has taken it. `()` compiles away.
pub trait Watch {
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed);
}

impl Watch for () {
    #[inline]
    fn passed(&mut self, _: i64, _: u32, _: &Flow, _: &Segment<'_>, _: &Passed) {}
}

/// One after the other.
impl<A: Watch, B: Watch> Watch for (A, B) {
    #[inline]
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        self.0.passed(at, number, flow, segment, passed);
        self.1.passed(at, number, flow, segment, passed);
    }
}

/// Where it is wanted.
impl<A: Watch> Watch for Option<A> {
    #[inline]
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        if let Some(watch) = self {
            watch.passed(at, number, flow, segment, passed);
        }
    }
}

impl<A: Watch + ?Sized> Watch for &mut A {
    #[inline]
    fn passed(&mut self, at: i64, number: u32, flow: &Flow, segment: &Segment<'_>, passed: &Passed) {
        (**self).passed(at, number, flow, segment, passed);
    }
}
