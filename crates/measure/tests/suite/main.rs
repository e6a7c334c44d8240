//! Tests of the crate's public interface, in one executable: one link step.

mod attack;
mod control;
mod far_end;
mod layers;
mod limits;
mod loopback;
mod safety;
mod wire_format;
