//! Socket filter of a capture: packets with one address as source or destination.

use nix::errno::Errno;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

/// Return value of the filter: accept the whole packet. A smaller value would truncate the reported
/// length.
const WHOLE_PACKET: u32 = 0x4_0000;

/// Offset and value of each word of an address in the network header.
type AddressWords = Vec<(u32, u32)>;

/// Attaches a classic BPF program over the network header. It accepts packets whose source or
/// destination is `peer`.
pub fn attach_address_filter(socket: &OwnedFd, peer: IpAddr) -> Result<(), Errno> {
    let (version, sides): (u32, [AddressWords; 2]) = match peer {
        IpAddr::V4(v4) => (4, [12, 16].map(|at| vec![(at, u32::from(v4))])),
        IpAddr::V6(v6) => {
            let words = v6.octets();
            let word = |i: usize| u32::from_be_bytes(std::array::from_fn(|j| words[4 * i + j]));
            (6, [8, 24].map(|at| (0..4).map(|i| (at + 4 * i as u32, word(i))).collect()))
        }
    };
    let program = address_filter(version, &sides);
    let length = u16::try_from(program.len()).map_err(|_| Errno::EINVAL)?;
    let program_header = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let size = size_of_val(&program_header) as libc::socklen_t;
    // SAFETY: the kernel copies the program, which outlives the call, and checks it.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, (&raw const program_header).cast(), size)
    };
    Errno::result(done).map(drop)
}

/// Checks the IP version, then all words of the source or all words of the destination.
fn address_filter(version: u32, sides: &[AddressWords; 2]) -> Vec<libc::sock_filter> {
    let instruction =
        |code: u32, k: u32, jt: usize, jf: usize| libc::sock_filter { code: code as u16, jt: jt as u8, jf: jf as u8, k };
    let (load_byte, load_word, shift, equal, ret) = (
        libc::BPF_LD | libc::BPF_B | libc::BPF_ABS,
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_ALU | libc::BPF_RSH | libc::BPF_K,
        libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let lengths = sides.each_ref().map(|side| 2 * side.len());
    let last = 3 + lengths[0] + 1 + lengths[1] + 1;
    let mut out = vec![instruction(load_byte, 0, 0, 0), instruction(shift, 4, 0, 0), instruction(equal, version, 0, last - 3)];
    for (side, length) in sides.iter().zip(lengths) {
        for (n, (at, value)) in side.iter().enumerate() {
            // A differing word jumps past this address's `ret`.
            out.extend([instruction(load_word, *at, 0, 0), instruction(equal, *value, 0, length - 2 * (n + 1) + 1)]);
        }
        out.push(instruction(ret, WHOLE_PACKET, 0, 0));
    }
    out.push(instruction(ret, 0, 0, 0));
    out
}

#[cfg(test)]
mod tests {
    use super::super::headers::tests::{PEER, packet};
    use super::*;

    /// Interpreter of the five instructions in use.
    fn run(program: &[libc::sock_filter], packet: &[u8]) -> u32 {
        let (mut at, mut a) = (0, 0u32);
        loop {
            let step = program[at];
            at += 1;
            match u32::from(step.code) {
                0x30 => a = u32::from(packet[step.k as usize]),
                0x20 => a = (0..4).fold(0, |w, i| w << 8 | u32::from(packet[step.k as usize + i])),
                0x74 => a >>= step.k,
                0x15 => at += usize::from(if a == step.k { step.jt } else { step.jf }),
                0x06 => return step.k,
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn filter_accepts_a_packet_only_when_either_address_is_the_clients() {
        let v4 = address_filter(4, &[12, 16].map(|at| vec![(at, u32::from_be_bytes(PEER))]));
        assert_eq!(run(&v4, &packet(PEER, [10, 0, 0, 1], [1, 2], 0)), WHOLE_PACKET);
        assert_eq!(run(&v4, &packet([10, 0, 0, 1], PEER, [1, 2], 0)), WHOLE_PACKET);
        assert_eq!(run(&v4, &packet([10, 0, 0, 1], [10, 0, 0, 2], [1, 2], 0)), 0);
        let address: [u32; 4] = [0x2001_0db8, 1, 2, 3];
        let v6 = address_filter(6, &[8, 24].map(|at| address.iter().enumerate().map(|(i, w)| (at + 4 * i as u32, *w)).collect()));
        let six = |side: usize, last: u32| {
            let mut out = [0; 60];
            out[0] = 0x60;
            for (i, word) in [address[0], 1, 2, last].into_iter().enumerate() {
                out[side + 4 * i..side + 4 * i + 4].copy_from_slice(&word.to_be_bytes());
            }
            out
        };
        assert_eq!([run(&v6, &six(8, 3)), run(&v6, &six(24, 3)), run(&v6, &six(8, 4))], [WHOLE_PACKET, WHOLE_PACKET, 0]);
        assert_eq!(run(&v6, &packet(PEER, PEER, [1, 2], 0)), 0);
    }
}
