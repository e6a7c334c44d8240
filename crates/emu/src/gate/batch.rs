//! Packets on their way out, sent with one system call for many.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// As many as one call sends.
const MOST: usize = 64;
/// How often a full interface is asked again before its packets count as lost.
const RETRIES: u32 = 100;

#[derive(Default)]
pub struct Batch {
    /// One after the other.
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Batch {
    pub fn push(&mut self, packet: &[u8]) {
        self.bytes.extend_from_slice(packet);
        self.ends.push(self.bytes.len());
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// In order, for hosts that are scripts.
    #[cfg(test)]
    pub fn drain(&mut self, mut each: impl FnMut(&[u8])) {
        let mut start = 0;
        for end in self.ends.drain(..) {
            each(&self.bytes[start..end]);
            start = end;
        }
        self.bytes.clear();
    }

    /// Sends everything to `to`; says how many packets could not be sent.
    pub fn send(&mut self, socket: &OwnedFd, to: &libc::sockaddr_ll) -> u64 {
        let mut lost = 0;
        let mut start = 0;
        let (mut pieces, mut messages) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        for chunk in self.ends.chunks(MOST) {
            pieces.clear();
            messages.clear();
            let mut addresses = [*to; MOST];
            for &end in chunk {
                let packet = &self.bytes[start..end];
                addresses[pieces.len()].sll_protocol = protocol(packet).to_be();
                pieces.push(libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() });
                start = end;
            }
            for (piece, address) in pieces.iter_mut().zip(&mut addresses) {
                messages.push(message(piece, address));
            }
            lost += send_all(socket, &mut messages);
        }
        self.bytes.clear();
        self.ends.clear();
        lost
    }
}

/// What Ethernet calls the packet: by its version.
fn protocol(packet: &[u8]) -> u16 {
    if packet.first().is_some_and(|b| b >> 4 == 6) { libc::ETH_P_IPV6 as u16 } else { libc::ETH_P_IP as u16 }
}

fn message(piece: &mut libc::iovec, address: &mut libc::sockaddr_ll) -> libc::mmsghdr {
    // SAFETY: an all-zero header is a valid, empty one.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_name = std::ptr::from_mut(address).cast();
    header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    header.msg_hdr.msg_iov = piece;
    header.msg_hdr.msg_iovlen = 1;
    header
}

fn send_all(socket: &OwnedFd, messages: &mut [libc::mmsghdr]) -> u64 {
    let (mut sent, mut tries) = (0, 0);
    while sent < messages.len() && tries < RETRIES {
        let left = &mut messages[sent..];
        // SAFETY: the headers, and the pieces and addresses they name, outlive the call.
        let done = unsafe { libc::sendmmsg(socket.as_raw_fd(), left.as_mut_ptr(), left.len() as u32, libc::MSG_DONTWAIT) };
        if done > 0 {
            sent += done as usize;
            tries = 0;
        } else if matches!(io::Error::last_os_error().raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR)) {
            tries += 1;
        } else {
            // The place has gone, as its command has ended: nobody is left who could miss these.
            return 0;
        }
    }
    (messages.len() - sent) as u64
}
