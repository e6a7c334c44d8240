//! Number of sessions, in all and for each address. `connection_slots` counts unauthenticated
//! connections.

use super::hello::HandshakeVerdict;
use crate::quotas::Quotas;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Default)]
pub struct SessionRegistry {
    sessions: u32,
    peers: BTreeMap<IpAddr, u32>,
}

/// Key of an address: the /64 of an IPv6 address, as a host may use all of it; the IPv4 address of
/// a mapped one.
pub fn source_prefix(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & !0xffff_ffff_ffff_ffff).into()),
        v4 => v4,
    }
}

impl SessionRegistry {
    /// Admits a session of an authenticated client, or refuses it.
    pub fn admit(&mut self, peer: IpAddr, quotas: &Quotas) -> HandshakeVerdict {
        let of_peer = self.peers.get(&source_prefix(peer)).copied().unwrap_or_default();
        if self.sessions >= quotas.sessions {
            return HandshakeVerdict::TooManySessions;
        }
        if of_peer >= quotas.sessions_per_peer {
            return HandshakeVerdict::TooManyOfThisPeer;
        }
        self.sessions += 1;
        *self.peers.entry(source_prefix(peer)).or_default() += 1;
        HandshakeVerdict::Welcome
    }

    /// A session has ended.
    pub fn release(&mut self, peer: IpAddr) {
        self.sessions -= 1;
        let key = source_prefix(peer);
        if let Some(count) = self.peers.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&key);
            }
        }
    }

    /// Number of stored addresses: those of open sessions.
    pub fn peers(&self) -> usize {
        self.peers.len()
    }

    pub fn sessions(&self) -> u32 {
        self.sessions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_refused_when_a_quota_is_reached_and_addresses_are_removed_at_the_end() {
        let quotas = Quotas { sessions: 3, sessions_per_peer: 2, ..Quotas::default() };
        let mut here = SessionRegistry::default();
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        assert_eq!([here.admit(a, &quotas), here.admit(a, &quotas), here.admit(a, &quotas)].map(|v| v as u8), [0, 0, 3]);
        assert_eq!([here.admit(b, &quotas), here.admit(b, &quotas)].map(|v| v as u8), [0, 2]);
        for peer in [a, a, b] {
            here.release(peer);
        }
        assert_eq!((here.peers(), here.sessions()), (0, 0));
    }
}
