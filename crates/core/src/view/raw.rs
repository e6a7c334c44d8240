//! The headers of real IPv4 and IPv6 packets, byte by byte. Nothing here trusts a length: no bytes make it panic.

use crate::packet::Ecn;

/// Sets the ECN bits: of the type of service in IPv4 (RFC 3168, section 5), of the traffic class in IPv6 (section 5).
pub fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] = bytes[1] & !3 | ecn as u8;
            let sum = u16::from_be_bytes([bytes[10], bytes[11]]);
            let sum = checksum_after(sum, old, u16::from_be_bytes([bytes[0], bytes[1]]));
            bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        Some(6) if bytes.len() >= 40 => bytes[1] = bytes[1] & 0xCF | (ecn as u8) << 4,
        _ => {}
    }
}

/// The checksum after one of the words it covers has changed: HC' = ~(~HC + ~m + m') // RFC 1624 (Eq. 3)
pub fn checksum_after(sum: u16, old: u16, new: u16) -> u16 {
    let mut total = u32::from(!sum) + u32::from(!old) + u32::from(new);
    while total > 0xFFFF {
        total = (total & 0xFFFF) + (total >> 16);
    }
    !(total as u16)
}
