//! What the few elements that must read or change TCP may do with a packet's body, be it simulated or the bytes of a real one.

mod edit;
mod raw;

pub use edit::TcpEdit;
