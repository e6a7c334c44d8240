//! Disables offloads: packets that cross the link must have the size and the checksums that a
//! network card would send.

use std::io;
use std::os::fd::AsRawFd;

/// ethtool commands that set one feature each (linux/ethtool.h).
const FEATURES: [(u32, &str); 6] = [
    (0x15, "ETHTOOL_SRXCSUM"),
    (0x17, "ETHTOOL_STXCSUM"),
    (0x19, "ETHTOOL_SSG"),
    (0x1f, "ETHTOOL_STSO"),
    (0x24, "ETHTOOL_SGSO"),
    (0x2c, "ETHTOOL_SGRO"),
];
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Disables the offloads of an interface. An unsupported feature counts as disabled.
pub fn disable(socket: &impl AsRawFd, name: &str) -> io::Result<()> {
    for (command, _) in FEATURES {
        let mut value = EthtoolValue { command, data: 0 };
        // SAFETY: an all-zero ifreq is valid; the name is truncated to fit with its final zero.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: `request` and `value` outlive the call; the kernel accesses no more than the two
        // words of `value`.
        if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } < 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EOPNOTSUPP) && error.raw_os_error() != Some(libc::EINVAL) {
                return Err(error);
            }
        }
    }
    Ok(())
}
