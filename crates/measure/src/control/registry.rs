//! The number of sessions, in all and for each address. Unauthenticated connections are counted in `unproven`.

use super::hello::Verdict;
use crate::caps::Caps;
use std::collections::BTreeMap;
use std::net::IpAddr;

#[derive(Debug, Default)]
pub struct Registry {
    sessions: u32,
    peers: BTreeMap<IpAddr, u32>,
}

/// An IPv6 host has a whole /64 to speak from; a mapped IPv4 address is that IPv4 address.
pub fn household(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & !0xffff_ffff_ffff_ffff).into()),
        v4 => v4,
    }
}

impl Registry {
    /// Admits a session of an authenticated client, or refuses it.
    pub fn admit(&mut self, peer: IpAddr, caps: &Caps) -> Verdict {
        let of_peer = self.peers.get(&household(peer)).copied().unwrap_or_default();
        if self.sessions >= caps.sessions {
            return Verdict::TooManySessions;
        }
        if of_peer >= caps.sessions_per_peer {
            return Verdict::TooManyOfThisPeer;
        }
        self.sessions += 1;
        *self.peers.entry(household(peer)).or_default() += 1;
        Verdict::Welcome
    }

    /// A session has ended.
    pub fn leave(&mut self, peer: IpAddr) {
        self.sessions -= 1;
        let key = household(peer);
        if let Some(count) = self.peers.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&key);
            }
        }
    }

    /// Addresses that are remembered: only of those who are there.
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
    fn caps_hold_in_all_and_for_each_address_and_nobody_who_has_gone_is_remembered() {
        let caps = Caps { sessions: 3, sessions_per_peer: 2, ..Caps::default() };
        let mut here = Registry::default();
        let (a, b): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        assert_eq!([here.admit(a, &caps), here.admit(a, &caps), here.admit(a, &caps)].map(|v| v as u8), [0, 0, 3]);
        assert_eq!([here.admit(b, &caps), here.admit(b, &caps)].map(|v| v as u8), [0, 2]);
        for peer in [a, a, b] {
            here.leave(peer);
        }
        assert_eq!((here.peers(), here.sessions()), (0, 0));
    }
}
