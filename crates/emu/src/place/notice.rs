//! What a place's process reports to the emulator: fixed records on a pipe, so that each is written and read whole.

use super::mounts::NotMounted;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{read, write};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// One step of the set-up is done.
    Ready,
    /// The command sees the /proc that was there before.
    NoProc(NotMounted),
    /// The command sees the /sys that was there before.
    NoSysfs(NotMounted),
    /// The command could not be run.
    NotRun(Errno),
    /// The command has ended with this status, and the place stays.
    Ended(i32),
}

const LEN: usize = 8;
/// The error number that encodes `NotMounted::NotPrivate`.
const NOT_PRIVATE: i32 = 0;

impl Notice {
    fn encode(self) -> [u8; LEN] {
        let cause = |cause| match cause {
            NotMounted::NotPrivate => NOT_PRIVATE,
            NotMounted::Refused(errno) => errno as i32,
        };
        let (kind, value): (u32, i32) = match self {
            Notice::Ready => (0, 0),
            Notice::NoProc(why) => (1, cause(why)),
            Notice::NoSysfs(why) => (2, cause(why)),
            Notice::NotRun(errno) => (3, errno as i32),
            Notice::Ended(status) => (4, status),
        };
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    fn decode(bytes: [u8; LEN]) -> Option<Notice> {
        let [a, b, c, d, w, x, y, z] = bytes;
        let value = i32::from_ne_bytes([w, x, y, z]);
        let cause = || if value == NOT_PRIVATE { NotMounted::NotPrivate } else { NotMounted::Refused(Errno::from_raw(value)) };
        match u32::from_ne_bytes([a, b, c, d]) {
            0 => Some(Notice::Ready),
            1 => Some(Notice::NoProc(cause())),
            2 => Some(Notice::NoSysfs(cause())),
            3 => Some(Notice::NotRun(Errno::from_raw(value))),
            4 => Some(Notice::Ended(value)),
            _ => None,
        }
    }

    /// Less than PIPE_BUF, so it is written whole.
    pub fn send(self, to: &OwnedFd) -> io::Result<()> {
        write(to, &self.encode())?;
        Ok(())
    }

    /// Blocks until the next notice; none when every writer has closed the pipe.
    pub fn receive(from: &OwnedFd) -> Option<Notice> {
        let mut bytes = [0; LEN];
        loop {
            match read(from, &mut bytes) {
                Err(Errno::EINTR) => {}
                Ok(LEN) => return Notice::decode(bytes),
                _ => return None,
            }
        }
    }

    /// A notice that has already arrived; never blocks.
    pub fn poll(from: &OwnedFd) -> Option<Notice> {
        let mut waiting = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        let came = poll(&mut waiting, PollTimeout::ZERO).is_ok_and(|count| count > 0);
        if came { Notice::receive(from) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notice_is_read_as_it_was_sent() {
        let (from, to) = nix::unistd::pipe().unwrap();
        let refused = NotMounted::Refused(Errno::EPERM);
        let all = [
            Notice::Ready,
            Notice::NoProc(NotMounted::NotPrivate),
            Notice::NoSysfs(refused),
            Notice::NotRun(Errno::ENOENT),
            Notice::Ended(143),
        ];
        all.iter().for_each(|notice| notice.send(&to).unwrap());
        assert!(all.iter().all(|&notice| Notice::poll(&from) == Some(notice)));
        assert_eq!(Notice::poll(&from), None);
        drop(to);
        assert_eq!(Notice::receive(&from), None);
    }
}
