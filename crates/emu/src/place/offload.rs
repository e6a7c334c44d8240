//! Offloads off: what crosses the link must be packets as a network card would send them, with their checksums in them.

use std::io;
use std::os::fd::AsRawFd;

/// ethtool's commands that switch one feature each (linux/ethtool.h).
const SWITCHES: [(u32, &str); 6] = [
    (0x15, "receive checksums"),
    (0x17, "transmit checksums"),
    (0x19, "scatter and gather"),
    (0x1f, "TCP segmentation"),
    (0x24, "generic segmentation"),
    (0x2c, "generic receive"),
];
const SIOCETHTOOL: libc::c_ulong = 0x8946;

#[repr(C)]
struct Switch {
    command: u32,
    on: u32,
}

/// Switches off what this interface has; what it has not is off.
pub fn switch_off(socket: &impl AsRawFd, name: &str) -> io::Result<()> {
    for (command, _) in SWITCHES {
        let mut switch = Switch { command, on: 0 };
        // SAFETY: an all-zero ifreq is a valid one; the name is cut to fit with its final zero.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = (&raw mut switch).cast();
        // SAFETY: request and switch outlive the call; the kernel reads and writes no more than the two words.
        if unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) } < 0 {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(libc::EOPNOTSUPP) && error.raw_os_error() != Some(libc::EINVAL) {
                return Err(error);
            }
        }
    }
    Ok(())
}
