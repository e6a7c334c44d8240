//! Capture files: [`read`] parses pcap and pcapng, [`write`] builds frames of simulated packets and
//! writes both formats, [`checksum`] is the Internet checksum that both need, [`digest`] stands for a
//! payload that is not kept. Protocol headers and flows are `ackclock-trace`'s.
#![forbid(unsafe_code)]

pub mod checksum;
pub mod digest;
pub mod read;
pub mod siphash;
pub mod write;
