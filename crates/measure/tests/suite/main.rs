//! The tests of this crate's public interface, in one executable: one link step instead of one for each file.

mod control;
mod far_end;
mod loopback;
mod safety;
