//! The headers of one packet in the copy: other addresses, no values that the analysis does not need,
//! and checksums that are valid where they were.

use super::AddressMap;
use crate::decode::{Layer, Layers, Tunnel};
use ackclock_pcap::checksum::{Checksum, is_valid};
use ackclock_pcap::read::LinkType;

pub struct Headers<'a> {
    /// The captured bytes of the original.
    pub original: &'a [u8],
    /// Those of the copy: headers alone.
    pub bytes: &'a mut [u8],
    pub addresses: &'a mut AddressMap,
    /// The original's segment has a wrong checksum.
    pub was_bad: bool,
    /// The segment has no payload, so that its checksum is that of the copy.
    pub is_whole: bool,
}

const NOP: u8 = 1;
const AUTHENTICATION: u8 = 51;
/// TCP options whose values stay: MSS, window scale, SACK permitted, SACK, timestamps.
const TCP_OPTIONS_KEPT: [u8; 5] = [2, 3, 4, 5, 8];
const MPTCP: u8 = 30;
/// Subtypes of MPTCP whose values stay: they show which subflows belong together.
const MPTCP_KEPT: [u8; 2] = [0, 1];

impl Headers<'_> {
    /// Cleans all headers, from the outermost on.
    pub fn clean(&mut self, link: LinkType, layers: &Layers) {
        self.clean_link(link, layers);
        let innermost = layers.list().iter().rfind(|(layer, _)| matches!(layer, Layer::Ipv4 | Layer::Ipv6)).map(|ip| ip.1);
        for &(layer, at) in layers.list() {
            let start = at as usize;
            match layer {
                Layer::Ethernet => self.macs(start, 2),
                Layer::Wifi(addresses) => {
                    self.macs(start + 4, 3);
                    if addresses > 3 {
                        self.macs(start + 24, 1);
                    }
                }
                Layer::Ipv4 => self.ipv4(start, self.was_bad && innermost == Some(at)),
                Layer::Ipv6 => self.ipv6(start),
                // Without a checksum (RFC 768).
                Layer::Udp => self.zero(start + 6, 2),
                Layer::Tcp => self.tcp(start, innermost.unwrap_or(0) as usize),
                Layer::Tunnel(Tunnel::Gre | Tunnel::GreInUdp | Tunnel::Erspan(_)) => {
                    if self.bytes.get(start).is_some_and(|flags| flags & 0x80 != 0) {
                        self.zero(start + 4, 2);
                    }
                }
                Layer::Tunnel(_) => {}
            }
        }
    }

    /// Fields of the link header that name hosts, places or programs.
    fn clean_link(&mut self, link: LinkType, layers: &Layers) {
        match link {
            LinkType(113) => self.zero(6, 8),
            LinkType(276) => self.zero(12, 8),
            LinkType(192) => {
                let len = self.bytes.get(2..4).map_or(0, |len| usize::from(u16::from_le_bytes([len[0], len[1]])));
                self.zero(8, len.saturating_sub(8));
            }
            // All fields before the packet are names, numbers and addresses of the host; their lengths stay.
            LinkType(239) => {
                let end = layers.list().first().map_or(self.bytes.len(), |&(_, at)| at as usize);
                let is_big = self.bytes.get(4..6).is_some_and(|len| len[0] < len[1]);
                let half = |pair: &[u8]| {
                    if is_big { u16::from_be_bytes([pair[0], pair[1]]) } else { u16::from_le_bytes([pair[0], pair[1]]) }
                };
                let mut at = 4;
                while at + 8 <= end.min(self.bytes.len()) {
                    let len = usize::from(half(&self.bytes[at..at + 2]));
                    if len < 4 || at + len >= end {
                        break;
                    }
                    self.zero(at + 4, len - 4);
                    at += len.next_multiple_of(4);
                }
            }
            _ => {}
        }
    }

    fn macs(&mut self, at: usize, count: usize) {
        for at in (at..at + 6 * count).step_by(6) {
            if let Some(address) = self.bytes.get_mut(at..at + 6).and_then(|bytes| bytes.first_chunk_mut::<6>()) {
                *address = self.addresses.mac(*address);
            } else if at < self.bytes.len() {
                self.bytes[at..].fill(0);
            }
        }
    }

    fn zero(&mut self, at: usize, len: usize) {
        let end = (at + len).min(self.bytes.len());
        if at < end {
            self.bytes[at..end].fill(0);
        }
    }

    /// Addresses, options (their routes name hosts), an authentication header's check value, and the header's
    /// checksum: it is valid if it was, and if the segment's was.
    fn ipv4(&mut self, at: usize, is_bad: bool) {
        let len = usize::from(self.bytes.get(at).map_or(0, |first| first & 15)) * 4;
        let Some(header) = self.bytes.get_mut(at..at + len).filter(|header| header.len() >= 20) else {
            // A malformed header: its addresses are somewhere in it.
            return self.zero(at + 12, 8);
        };
        let was_valid = self.original.get(at..at + len).is_some_and(|header| is_valid(0, header));
        for i in [12, 16] {
            let address = [header[i], header[i + 1], header[i + 2], header[i + 3]];
            header[i..i + 4].copy_from_slice(&self.addresses.v4(address));
        }
        header[20..].fill(NOP);
        header[10..12].fill(0);
        let mut sum = Checksum::default().with(header).finish();
        if !was_valid || is_bad {
            sum[1] ^= 0x55;
        }
        header[10..12].copy_from_slice(&sum);
        if header[9] == AUTHENTICATION {
            self.authentication(at + len);
        }
    }

    /// The check value after the first 12 bytes of an authentication header (RFC 4302).
    fn authentication(&mut self, at: usize) {
        let len = self.bytes.get(at + 1).map_or(0, |&words| (usize::from(words) + 2) * 4);
        self.zero(at + 12, len.saturating_sub(12));
    }

    /// Addresses, those of routing headers too, and options.
    fn ipv6(&mut self, at: usize) {
        let Some(header) = self.bytes.get_mut(at..at + 40) else { return };
        for i in [8, 24] {
            let mut address = [0; 16];
            address.copy_from_slice(&header[i..i + 16]);
            header[i..i + 16].copy_from_slice(&self.addresses.v6(address));
        }
        let (mut next, mut at) = (header[6], at + 40);
        while let Some(&[following, words]) = self.bytes.get(at..at + 2).and_then(|b| b.first_chunk()) {
            let len = match next {
                // Hop-by-hop options have the length of a jumbogram.
                0 => (usize::from(words) + 1) * 8,
                43 | 60 | 135 | 139 | 140 => {
                    let len = (usize::from(words) + 1) * 8;
                    self.zero(at + 2, len - 2);
                    len
                }
                44 => 8,
                AUTHENTICATION => {
                    self.authentication(at);
                    (usize::from(words) + 2) * 4
                }
                _ => return,
            };
            (next, at) = (following, at + len);
        }
    }

    /// Options, and the checksum: of a segment without payload a valid one, else zero.
    fn tcp(&mut self, at: usize, ip: usize) {
        let end = self.bytes.len();
        if let Some(options) = self.bytes.get_mut(at + 20..end) {
            clean_options(options);
        }
        self.zero(at + 16, 2);
        let len = end.saturating_sub(at);
        if !self.is_whole || len < 20 {
            return;
        }
        let is_v4 = self.bytes[ip] >> 4 == 4;
        let addresses = if is_v4 { ip + 12..ip + 20 } else { ip + 8..ip + 40 };
        let mut sum = Checksum::default()
            .with(&self.bytes[addresses])
            .with(&[0, 6])
            .with(&(len as u16).to_be_bytes())
            .with(&self.bytes[at..])
            .finish();
        // The IPv4 header's is wrong in its place.
        if self.was_bad && !is_v4 {
            sum[1] ^= 0x55;
        }
        self.bytes[at + 16..at + 18].copy_from_slice(&sum);
    }
}

/// Zeros the values of options that the analysis does not read: cookies, signatures, addresses, experiments.
fn clean_options(options: &mut [u8]) {
    let mut at = 0;
    while let Some(&kind) = options.get(at) {
        match kind {
            0 => return options[at..].fill(0),
            NOP => at += 1,
            _ => {
                let len = options.get(at + 1).map_or(0, |&len| usize::from(len));
                let end = (at + len).min(options.len());
                if len < 2 {
                    return;
                }
                let is_mptcp = kind == MPTCP && options.get(at + 2).is_some_and(|first| MPTCP_KEPT.contains(&(first >> 4)));
                if !TCP_OPTIONS_KEPT.contains(&kind) && !is_mptcp {
                    let from = at + if kind == MPTCP { 3 } else { 2 };
                    if from < end {
                        options[from..end].fill(0);
                    }
                }
                at = end.max(at + 2);
            }
        }
    }
}
