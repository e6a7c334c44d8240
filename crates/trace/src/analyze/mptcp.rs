//! Multipath TCP (RFC 8684): which flows are subflows, and of which connection. The first subflow's SYN has
//! MP_CAPABLE, a further one's MP_JOIN with a token of the key that the server gave in the first handshake.

use crate::decode::{Flags, Mptcp, Segment};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// Maximum number of subflows of one capture.
const MAX_SUBFLOWS: usize = 1 << 16;

/// The subflows of a capture, by the number of their flow.
#[derive(Debug, Default)]
pub struct MptcpFlows {
    subflows: BTreeMap<u32, Subflow>,
    /// The first subflow of each connection, by its token.
    tokens: BTreeMap<u32, u32>,
}

/// A flow whose SYN offers MPTCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subflow {
    /// The token that the SYN names; none of a first subflow.
    token: Option<u32>,
    /// The SYN-ACK has the option, too.
    pub accepted: bool,
}

/// What a flow is to its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubflowOf {
    pub is_first: bool,
    pub accepted: bool,
    /// Number from 0 of the connection's first subflow; none if its handshake was not captured.
    pub first: Option<u32>,
}

impl MptcpFlows {
    /// Processes a SYN or a SYN-ACK of the flow with this number.
    pub fn on_syn(&mut self, number: u32, s: &Segment<'_>) {
        let Some(option) = s.options.mptcp() else { return };
        if s.flags.has(Flags::ACK) {
            if let Some(subflow) = self.subflows.get_mut(&number) {
                subflow.accepted = true;
            }
            if let Mptcp::Capable { version, key: Some(key) } = option
                && self.tokens.len() < MAX_SUBFLOWS
                && version > 0
            {
                self.tokens.insert(token(key), number);
            }
        } else if self.subflows.len() < MAX_SUBFLOWS {
            let token = match option {
                Mptcp::Capable { .. } => None,
                Mptcp::Join { token } => Some(token),
            };
            self.subflows.insert(number, Subflow { token, accepted: false });
        }
    }

    /// None for a flow without MPTCP.
    pub fn of_flow(&self, number: u32) -> Option<SubflowOf> {
        let subflow = self.subflows.get(&number)?;
        let first = match subflow.token {
            None => Some(number),
            Some(token) => self.tokens.get(&token).copied(),
        };
        Some(SubflowOf { is_first: subflow.token.is_none(), accepted: subflow.accepted, first })
    }

    /// Heap memory in bytes, roughly.
    pub fn memory(&self) -> usize {
        2 * (self.subflows.len() * size_of::<(u32, Subflow)>() + self.tokens.len() * size_of::<(u32, u32)>())
    }
}

/// The first 32 bits of the key's SHA-256 (RFC 8684, section 3.2).
fn token(key: [u8; 8]) -> u32 {
    let hash = Sha256::digest(key);
    u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])
}
