//! Capture files: [`read`] parses pcap and pcapng, [`write`] builds frames of simulated packets and
//! writes both formats, [`checksum`] is the Internet checksum that both need. Protocol headers and
//! flows are `ackclock-trace`'s.
#![forbid(unsafe_code)]

pub mod checksum;
pub mod read;
pub mod write;
