//! Address validation (anti-amplification): the client must echo a stateless cookie before test
//! traffic is sent to its address. The client sends an address hello, receives a cookie of the same
//! length, and echoes the cookie. Hello and echo carry a MAC of the session: datagrams without it
//! are not answered, and a client with a forged source address causes no more bytes than it sends.

use crate::control::keys::{Digest, SessionKeys, constant_time_eq, mac};
use std::net::{IpAddr, SocketAddr};

/// Length of each of the three datagrams: no reply is longer than its request.
pub const VALIDATION_BYTES: usize = 64;
pub type ValidationPacket = [u8; VALIDATION_BYTES];
const COVERED: usize = 48;
/// Test number in the tag of hello and echo; no test has it.
const VALIDATION_TAG_TEST: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum ValidationKind {
    Hello = 1,
    Cookie = 2,
    Echo = 3,
}

/// Tag of a session's address hellos and echoes.
pub fn validation_tag(keys: &SessionKeys) -> u64 {
    keys.tag(VALIDATION_TAG_TEST, true)
}

fn write(keys: &SessionKeys, kind: ValidationKind, test: u32, cookie: [u8; 16]) -> ValidationPacket {
    let mut out = [0; VALIDATION_BYTES];
    out[..8].copy_from_slice(&validation_tag(keys).to_be_bytes());
    out[8] = kind as u8;
    out[12..16].copy_from_slice(&test.to_be_bytes());
    out[16..32].copy_from_slice(&cookie);
    let digest = mac(&keys.datagrams, "proof", &[&out[..COVERED]]);
    out[COVERED..].copy_from_slice(&digest[..VALIDATION_BYTES - COVERED]);
    out
}

/// Test and cookie of an authentic datagram of this kind.
fn read(keys: &SessionKeys, kind: ValidationKind, datagram: &[u8]) -> Option<(u32, [u8; 16])> {
    let packet: &ValidationPacket = datagram.try_into().ok()?;
    let digest = mac(&keys.datagrams, "proof", &[&packet[..COVERED]]);
    let authentic = constant_time_eq(&digest[..VALIDATION_BYTES - COVERED], &packet[COVERED..]);
    let cookie = packet[16..32].try_into().ok()?;
    (authentic && packet[8] == kind as u8).then(|| (u32::from_be_bytes([packet[12], packet[13], packet[14], packet[15]]), cookie))
}

/// The client's address hello.
pub fn address_hello(keys: &SessionKeys, test: u32) -> ValidationPacket {
    write(keys, ValidationKind::Hello, test, [0; 16])
}

pub fn echo(keys: &SessionKeys, test: u32, datagram: &[u8]) -> Option<ValidationPacket> {
    let (of, cookie) = read(keys, ValidationKind::Cookie, datagram)?;
    (of == test).then(|| write(keys, ValidationKind::Echo, test, cookie))
}

/// The server's side. It stores nothing for an address: the cookie is a MAC of it.
pub struct AddressValidator {
    secret: Digest,
}

#[derive(Debug, PartialEq, Eq)]
pub enum ValidationAction {
    /// Reply with this cookie.
    SendCookie(ValidationPacket),
    /// The address is valid for this test.
    Validated(u32),
    Ignore,
}

impl AddressValidator {
    /// `secret` is random and never leaves the process.
    pub fn new(secret: Digest) -> AddressValidator {
        AddressValidator { secret }
    }

    fn cookie(&self, keys: &SessionKeys, test: u32, from: SocketAddr) -> [u8; 16] {
        let address = match from.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let parts = [&address.octets()[..], &from.port().to_be_bytes(), &keys.session_id.to_be_bytes(), &test.to_be_bytes()];
        let digest = mac(&self.secret, "cookie", &parts);
        std::array::from_fn(|i| digest[i])
    }

    pub fn on_datagram(&self, keys: &SessionKeys, from: SocketAddr, datagram: &[u8]) -> ValidationAction {
        if let Some((test, _)) = read(keys, ValidationKind::Hello, datagram) {
            return ValidationAction::SendCookie(write(keys, ValidationKind::Cookie, test, self.cookie(keys, test, from)));
        }
        match read(keys, ValidationKind::Echo, datagram) {
            Some((test, cookie)) if constant_time_eq(&cookie, &self.cookie(keys, test, from)) => {
                ValidationAction::Validated(test)
            }
            _ => ValidationAction::Ignore,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(n: u8) -> SessionKeys {
        SessionKeys::derive(&[n; 32])
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn address_is_validated_only_when_the_echo_comes_from_the_cookies_address() {
        let (validator, keys) = (AddressValidator::new([5; 32]), keys(1));
        let (here, victim) = (at("192.0.2.1:5000"), at("198.51.100.9:53"));
        let ValidationAction::SendCookie(cookie) = validator.on_datagram(&keys, here, &address_hello(&keys, 4)) else { panic!() };
        assert_eq!(cookie.len(), address_hello(&keys, 4).len());
        let back = echo(&keys, 4, &cookie).unwrap();
        assert_eq!(validator.on_datagram(&keys, here, &back), ValidationAction::Validated(4));
        // The same echo from a forged address, and from another port.
        assert_eq!(validator.on_datagram(&keys, victim, &back), ValidationAction::Ignore);
        assert_eq!(validator.on_datagram(&keys, at("192.0.2.1:5001"), &back), ValidationAction::Ignore);
        // For another test, by another session, and after a restart of the server.
        assert_eq!(echo(&keys, 5, &cookie), None);
        assert_eq!(validator.on_datagram(&self::keys(2), here, &back), ValidationAction::Ignore);
        assert_eq!(AddressValidator::new([6; 32]).on_datagram(&keys, here, &back), ValidationAction::Ignore);
    }

    proptest! {
        #[test]
        fn reply_is_no_longer_than_its_datagram_when_any_bytes_arrive(mut datagram in proptest::collection::vec(any::<u8>(), 0..200), byte in 0usize..64, start in 0u8..4) {
            let (validator, keys) = (AddressValidator::new([5; 32]), keys(1));
            let from = at("192.0.2.1:5000");
            if start > 0 {
                // An authentic hello with a byte changed, truncated or extended.
                let mut real = address_hello(&keys, u32::from(start)).to_vec();
                real[byte] = real[byte].wrapping_add(start - 1);
                real.extend_from_slice(&datagram);
                real.truncate(64 + usize::from(start) - 1);
                datagram = real;
            }
            if let ValidationAction::SendCookie(cookie) = validator.on_datagram(&keys, from, &datagram) {
                prop_assert!(cookie.len() <= datagram.len());
                prop_assert_eq!(datagram, address_hello(&keys, u32::from(start)).to_vec());
            }
        }
    }
}
