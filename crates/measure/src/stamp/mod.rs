//! Simple Two-Way Active Measurement Protocol (STAMP, RFC 8762): a sender for any reflector, and a
//! stateless reflector for any sender. RFC 8972's extensions and the stateful reflector are not
//! implemented.

pub mod packet;
pub mod reflector;
pub mod sender;
pub mod time;
