//! From packets' times to figures: pure functions over what both ends have noted.
//!
//! A `Crossing` is one direction of a train with what became of each datagram (`crossing`). All trains of a session share one comparison of
//! the two ends' clocks (`clocks`), which is the analyzer's. `way` has the figures of a direction, `interval` those of a share,
//! `responsive` the round trips under load, `found` everything of a session.

pub mod clocks;
pub mod direction;
pub mod one_way;
pub mod responsiveness;
pub mod results;
pub mod wilson;
