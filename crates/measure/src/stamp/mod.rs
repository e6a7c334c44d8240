//! Simple Two-Way Active Measurement Protocol (STAMP, RFC 8762): probes that other makers' reflectors answer, and a reflector for others' probes.
//! Left out: RFC 8972's extensions and sequence numbers of a stateful reflector.

pub mod packet;
pub mod reflector;
pub mod sender;
pub mod time;
