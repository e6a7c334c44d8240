//! Random choices of mutations.

use ackclock_core::rng::Rng;
use std::ops::Range;

/// Values at which lengths and offsets overflow, wrap or are off by one.
const EDGES: [u64; 12] = [0, 1, 2, 3, 4, 7, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff];

pub fn below(rng: &mut Rng, end: usize) -> usize {
    (rng.salt() % end.max(1) as u64) as usize
}

pub fn one_of<'a, T>(rng: &mut Rng, all: &'a [T]) -> &'a T {
    &all[below(rng, all.len())]
}

/// An edge, a number near `near`, or any number.
pub fn number(rng: &mut Rng, near: u64) -> u64 {
    match below(rng, 4) {
        0 => rng.salt(),
        1 => near.wrapping_add(rng.salt() % 5).wrapping_sub(2),
        _ => *one_of(rng, &EDGES),
    }
}

/// A range within `0..len`, mostly a short one.
pub fn range(rng: &mut Rng, len: usize) -> Range<usize> {
    let start = below(rng, len + 1);
    let max = if rng.chance(0.8) { 64 } else { len };
    start..start + below(rng, max.min(len - start) + 1)
}
