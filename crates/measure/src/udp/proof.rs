//! Nothing is sent to an address that has not shown that it hears us. A client knocks, gets a cookie as long as its knock, and echoes it from
//! the address at which it got it. Knock and echo carry a MAC of the session, so strangers get nothing at all, and a client that forges
//! another's address makes us send no more than it sends itself.

use crate::control::keys::{Digest, Keys, mac, same};
use std::net::{IpAddr, SocketAddr};

/// Each of the three datagrams has this length: no answer is longer than what asks for it.
pub const PROOF_BYTES: usize = 64;
pub type Proof = [u8; PROOF_BYTES];
const COVERED: usize = 48;
/// Not a test's number, so that knocks have a tag of their own.
const NO_TEST: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    Knock = 1,
    Cookie = 2,
    Echo = 3,
}

/// The tag of a session's knocks and echoes.
pub fn knock_tag(keys: &Keys) -> u64 {
    keys.tag(NO_TEST, true)
}

fn write(keys: &Keys, kind: Kind, test: u32, cookie: [u8; 16]) -> Proof {
    let mut out = [0; PROOF_BYTES];
    out[..8].copy_from_slice(&knock_tag(keys).to_be_bytes());
    out[8] = kind as u8;
    out[12..16].copy_from_slice(&test.to_be_bytes());
    out[16..32].copy_from_slice(&cookie);
    let digest = mac(&keys.datagrams, "proof", &[&out[..COVERED]]);
    out[COVERED..].copy_from_slice(&digest[..PROOF_BYTES - COVERED]);
    out
}

/// Test and cookie of an authentic datagram of this kind.
fn read(keys: &Keys, kind: Kind, datagram: &[u8]) -> Option<(u32, [u8; 16])> {
    let whole: &Proof = datagram.try_into().ok()?;
    let digest = mac(&keys.datagrams, "proof", &[&whole[..COVERED]]);
    let authentic = same(&digest[..PROOF_BYTES - COVERED], &whole[COVERED..]);
    let cookie = whole[16..32].try_into().ok()?;
    (authentic && whole[8] == kind as u8).then(|| (u32::from_be_bytes([whole[12], whole[13], whole[14], whole[15]]), cookie))
}

/// The client's knock, and its echo of the cookie that came.
pub fn knock(keys: &Keys, test: u32) -> Proof {
    write(keys, Kind::Knock, test, [0; 16])
}

pub fn echo(keys: &Keys, test: u32, datagram: &[u8]) -> Option<Proof> {
    let (of, cookie) = read(keys, Kind::Cookie, datagram)?;
    (of == test).then(|| write(keys, Kind::Echo, test, cookie))
}

/// The server's part. It keeps nothing for those that knock: the cookie says all.
pub struct Doorkeeper {
    secret: Digest,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// To be sent back, exactly as long as what came.
    Cookie(Proof),
    /// Whoever is at this address asks for this test.
    Proven(u32),
    Nothing,
}

impl Doorkeeper {
    /// `secret` is random and never leaves the process.
    pub fn new(secret: Digest) -> Doorkeeper {
        Doorkeeper { secret }
    }

    fn cookie(&self, keys: &Keys, test: u32, from: SocketAddr) -> [u8; 16] {
        let address = match from.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let parts = [&address.octets()[..], &from.port().to_be_bytes(), &keys.name.to_be_bytes(), &test.to_be_bytes()];
        let digest = mac(&self.secret, "cookie", &parts);
        std::array::from_fn(|i| digest[i])
    }

    pub fn hear(&self, keys: &Keys, from: SocketAddr, datagram: &[u8]) -> Answer {
        if let Some((test, _)) = read(keys, Kind::Knock, datagram) {
            return Answer::Cookie(write(keys, Kind::Cookie, test, self.cookie(keys, test, from)));
        }
        match read(keys, Kind::Echo, datagram) {
            Some((test, cookie)) if same(&cookie, &self.cookie(keys, test, from)) => Answer::Proven(test),
            _ => Answer::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::keys::Nonces;
    use crate::token::Token;
    use proptest::prelude::*;

    fn keys(n: u8) -> Keys {
        Keys::derive(&Token::parse("kq7ZkX2mW9vB4nT8sL1rY6pD").unwrap(), &Nonces { client: [n; 32], server: [0; 32] })
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_proven_by_whoever_hears_at_it_and_by_nobody_else() {
        let (door, keys) = (Doorkeeper::new([5; 32]), keys(1));
        let (here, victim) = (at("192.0.2.1:5000"), at("198.51.100.9:53"));
        let Answer::Cookie(cookie) = door.hear(&keys, here, &knock(&keys, 4)) else { panic!() };
        assert_eq!(cookie.len(), knock(&keys, 4).len());
        let back = echo(&keys, 4, &cookie).unwrap();
        assert_eq!(door.hear(&keys, here, &back), Answer::Proven(4));
        // The same echo from a forged address, or another port of the same one.
        assert_eq!(door.hear(&keys, victim, &back), Answer::Nothing);
        assert_eq!(door.hear(&keys, at("192.0.2.1:5001"), &back), Answer::Nothing);
        // For another test, by another session, from a server that has been started anew.
        assert_eq!(echo(&keys, 5, &cookie), None);
        assert_eq!(door.hear(&self::keys(2), here, &back), Answer::Nothing);
        assert_eq!(Doorkeeper::new([6; 32]).hear(&keys, here, &back), Answer::Nothing);
    }

    proptest! {
        #[test]
        fn no_datagram_brings_more_bytes_than_it_has(mut datagram in proptest::collection::vec(any::<u8>(), 0..200), byte in 0usize..64, start in 0u8..4) {
            let (door, keys) = (Doorkeeper::new([5; 32]), keys(1));
            let from = at("192.0.2.1:5000");
            if start > 0 {
                // A real one with a byte changed, cut or made longer by what is drawn.
                let mut real = knock(&keys, u32::from(start)).to_vec();
                real[byte] = real[byte].wrapping_add(start - 1);
                real.extend_from_slice(&datagram);
                real.truncate(64 + usize::from(start) - 1);
                datagram = real;
            }
            if let Answer::Cookie(cookie) = door.hear(&keys, from, &datagram) {
                prop_assert!(cookie.len() <= datagram.len());
                prop_assert_eq!(datagram, knock(&keys, u32::from(start)).to_vec());
            }
        }
    }
}
