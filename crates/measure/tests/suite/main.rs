//! The tests of this crate's public interface, in one executable: one link step instead of one for each file.

mod attack;
mod control;
mod far_end;
mod limits;
mod loopback;
mod safety;
