//! Packets to be sent with one `sendmmsg` call per 64 packets.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Maximum number of packets per system call.
const MAX_MESSAGES: usize = 64;
/// How often `sendmmsg` is retried on a full interface before its packets count as lost.
const MAX_RETRIES: u32 = 100;

#[derive(Default)]
pub struct TxBatch {
    /// The packets, concatenated.
    bytes: Vec<u8>,
    /// The end of each packet in `bytes`.
    ends: Vec<usize>,
}

impl TxBatch {
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.ends.push(self.bytes.len());
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Passes each packet to `each` in order and empties the batch: for scripted hosts.
    #[cfg(test)]
    pub fn drain(&mut self, mut each: impl FnMut(&[u8])) {
        let mut start = 0;
        for end in self.ends.drain(..) {
            each(&self.bytes[start..end]);
            start = end;
        }
        self.bytes.clear();
    }

    /// Sends all packets to `peer` and empties the batch. Returns the number of packets that could
    /// not be sent.
    pub fn send(&mut self, socket: &OwnedFd, peer: &libc::sockaddr_ll) -> u64 {
        let mut lost = 0;
        let mut start = 0;
        let (mut iovecs, mut messages) = (Vec::with_capacity(MAX_MESSAGES), Vec::with_capacity(MAX_MESSAGES));
        for chunk in self.ends.chunks(MAX_MESSAGES) {
            iovecs.clear();
            messages.clear();
            let mut addresses = [*peer; MAX_MESSAGES];
            for &end in chunk {
                let packet = &self.bytes[start..end];
                addresses[iovecs.len()].sll_protocol = ethertype(packet).to_be();
                iovecs.push(libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() });
                start = end;
            }
            for (iovec, address) in iovecs.iter_mut().zip(&mut addresses) {
                messages.push(message(iovec, address));
            }
            lost += send_all(socket, &mut messages);
        }
        self.bytes.clear();
        self.ends.clear();
        lost
    }
}

/// The EtherType of an IP packet, by its version.
fn ethertype(packet: &[u8]) -> u16 {
    if packet.first().is_some_and(|b| b >> 4 == 6) { libc::ETH_P_IPV6 as u16 } else { libc::ETH_P_IP as u16 }
}

fn message(iovec: &mut libc::iovec, address: &mut libc::sockaddr_ll) -> libc::mmsghdr {
    // SAFETY: an all-zero header is valid and empty.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_name = std::ptr::from_mut(address).cast();
    header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    header.msg_hdr.msg_iov = iovec;
    header.msg_hdr.msg_iovlen = 1;
    header
}

fn send_all(socket: &OwnedFd, messages: &mut [libc::mmsghdr]) -> u64 {
    let (mut sent, mut retries) = (0, 0);
    while sent < messages.len() && retries < MAX_RETRIES {
        let unsent = &mut messages[sent..];
        // SAFETY: the headers, and the iovecs and addresses to which they point, outlive the call.
        let count = unsafe { libc::sendmmsg(socket.as_raw_fd(), unsent.as_mut_ptr(), unsent.len() as u32, libc::MSG_DONTWAIT) };
        if count > 0 {
            sent += count as usize;
            retries = 0;
        } else if matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) {
            retries += 1;
        } else {
            // The interface is gone because the command has ended, and with it the receiver of
            // these packets: they are not lost.
            return 0;
        }
    }
    (messages.len() - sent) as u64
}
