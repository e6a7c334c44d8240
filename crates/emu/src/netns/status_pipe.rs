//! Status messages from a namespace's process to the emulator: fixed-size records on a pipe, so
//! that each is written and read whole.

use super::mounts::NotMounted;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{read, write};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusMessage {
    /// A step of the set-up is complete.
    Ready,
    /// The command sees the machine's /proc.
    ProcNotMounted(NotMounted),
    /// The command sees the machine's /sys.
    SysfsNotMounted(NotMounted),
    /// The command sees the machine's /etc/hosts and /etc/resolv.conf.
    NamesNotMounted(NotMounted),
    /// The command could not be run.
    ExecFailed(Errno),
    /// The command has ended with this status; the namespace remains.
    Exited(i32),
}

const LEN: usize = 8;
/// The error number that encodes `NotMounted::NotPrivate`.
const NOT_PRIVATE: i32 = 0;

impl StatusMessage {
    fn encode(self) -> [u8; LEN] {
        let cause = |cause| match cause {
            NotMounted::NotPrivate => NOT_PRIVATE,
            NotMounted::Refused(errno) => errno as i32,
        };
        let (kind, value): (u32, i32) = match self {
            StatusMessage::Ready => (0, 0),
            StatusMessage::ProcNotMounted(why) => (1, cause(why)),
            StatusMessage::SysfsNotMounted(why) => (2, cause(why)),
            StatusMessage::ExecFailed(errno) => (3, errno as i32),
            StatusMessage::Exited(status) => (4, status),
            StatusMessage::NamesNotMounted(why) => (5, cause(why)),
        };
        let mut bytes = [0; LEN];
        bytes[..4].copy_from_slice(&kind.to_ne_bytes());
        bytes[4..].copy_from_slice(&value.to_ne_bytes());
        bytes
    }

    fn decode(bytes: [u8; LEN]) -> Option<StatusMessage> {
        let [a, b, c, d, w, x, y, z] = bytes;
        let value = i32::from_ne_bytes([w, x, y, z]);
        let cause = || if value == NOT_PRIVATE { NotMounted::NotPrivate } else { NotMounted::Refused(Errno::from_raw(value)) };
        match u32::from_ne_bytes([a, b, c, d]) {
            0 => Some(StatusMessage::Ready),
            1 => Some(StatusMessage::ProcNotMounted(cause())),
            2 => Some(StatusMessage::SysfsNotMounted(cause())),
            3 => Some(StatusMessage::ExecFailed(Errno::from_raw(value))),
            4 => Some(StatusMessage::Exited(value)),
            5 => Some(StatusMessage::NamesNotMounted(cause())),
            _ => None,
        }
    }

    /// Writes a record, which is shorter than PIPE_BUF and therefore written atomically.
    pub fn send(self, to: &OwnedFd) -> io::Result<()> {
        write(to, &self.encode())?;
        Ok(())
    }

    /// Blocks until the next message. None if every writer has closed the pipe.
    pub fn receive(from: &OwnedFd) -> Option<StatusMessage> {
        let mut bytes = [0; LEN];
        loop {
            match read(from, &mut bytes) {
                Err(Errno::EINTR) => {}
                Ok(LEN) => return StatusMessage::decode(bytes),
                _ => return None,
            }
        }
    }

    /// Returns a message that has already arrived; never blocks.
    pub fn poll(from: &OwnedFd) -> Option<StatusMessage> {
        let mut descriptors = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        let is_readable = poll(&mut descriptors, PollTimeout::ZERO).is_ok_and(|count| count > 0);
        if is_readable { StatusMessage::receive(from) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_message_is_decoded_as_it_was_sent() {
        let (from, to) = nix::unistd::pipe().unwrap();
        let refused = NotMounted::Refused(Errno::EPERM);
        let all = [
            StatusMessage::Ready,
            StatusMessage::ProcNotMounted(NotMounted::NotPrivate),
            StatusMessage::SysfsNotMounted(refused),
            StatusMessage::NamesNotMounted(NotMounted::NotPrivate),
            StatusMessage::ExecFailed(Errno::ENOENT),
            StatusMessage::Exited(143),
        ];
        all.iter().for_each(|message| message.send(&to).unwrap());
        assert!(all.iter().all(|&message| StatusMessage::poll(&from) == Some(message)));
        assert_eq!(StatusMessage::poll(&from), None);
        drop(to);
        assert_eq!(StatusMessage::receive(&from), None);
    }
}
