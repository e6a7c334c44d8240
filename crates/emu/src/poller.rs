//! Sleeps until a packet arrives, a signal requests the end, or a timeout expires.

use crate::EmuError;
use crate::af_packet::PacketSocket;
use ackclock_core::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::time::Duration;

/// Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD while it exists, and reads them from a descriptor.
pub struct Poller {
    signals: SignalFd,
    /// One descriptor for all packet sockets: the cost of a sleep does not depend on their number.
    sockets: Epoll,
    mask: SigSet,
    /// Number of SIGINTs received.
    interrupts: Cell<u32>,
    first_interrupt: Cell<Option<Time>>,
    /// The command receives SIGINT from the terminal as well, and its end is the end of the
    /// emulation.
    command_gets_sigint: bool,
}

/// How long a command that shares the terminal may run after the first SIGINT.
const SIGINT_GRACE: Span = Span::from_secs(3);

impl Poller {
    pub fn new(command_gets_sigint: bool) -> Result<Poller, EmuError> {
        let refused = EmuError::refused("waiting for signals");
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD] {
            mask.add(signal);
        }
        mask.thread_block().map_err(|e| refused(e.into()))?;
        let signals =
            SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(|e| refused(e.into()))?;
        let sockets = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| refused(e.into()))?;
        let (interrupts, first_interrupt) = (Cell::new(0), Cell::new(None));
        Ok(Poller { signals, sockets, mask, interrupts, first_interrupt, command_gets_sigint })
    }

    /// Adds packet sockets: a packet at one of them ends a sleep.
    pub fn add(&self, sockets: &[PacketSocket]) -> Result<(), EmuError> {
        (0..).zip(sockets).try_for_each(|(number, socket)| {
            self.sockets
                .add(socket.descriptor(), EpollEvent::new(EpollFlags::EPOLLIN, number))
                .map_err(|e| EmuError::refused("waiting for packets")(e.into()))
        })
    }

    /// Sleeps for at most `timeout`. Returns whether a packet or a signal ended the sleep.
    pub fn sleep(&self, sockets: &[PacketSocket], timeout: Duration) -> Result<bool, EmuError> {
        let mut descriptors =
            [self.signals.as_fd(), self.sockets.0.as_fd()].map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
        match ppoll(&mut descriptors, Some(TimeSpec::from_duration(timeout)), None) {
            Ok(0) => Ok(false),
            Ok(_) => {
                // The pending error of a removed interface would end every later sleep at once, and
                // a thread that never sleeps is throttled.
                if descriptors[1].any().unwrap_or(false) {
                    self.clear_errors(sockets);
                }
                Ok(true)
            }
            Err(nix::errno::Errno::EINTR) => Ok(true),
            Err(error) => Err(EmuError::refused("waiting for packets")(error.into())),
        }
    }

    fn clear_errors(&self, sockets: &[PacketSocket]) {
        let mut ready = [EpollEvent::empty(); 16];
        let count = self.sockets.wait(&mut ready, EpollTimeout::ZERO).unwrap_or(0);
        let failed = ready[..count].iter().filter(|event| event.events().contains(EpollFlags::EPOLLERR));
        failed.filter_map(|event| sockets.get(event.data() as usize)).for_each(PacketSocket::clear_error);
    }

    /// Sleeps for at most `timeout`, or until a packet arrives at one socket.
    pub fn sleep_for_packet(&self, socket: &PacketSocket, timeout: Duration) -> Result<(), EmuError> {
        match ppoll(&mut [PollFd::new(socket.descriptor(), PollFlags::POLLIN)], Some(TimeSpec::from_duration(timeout)), None) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Ok(_) => {
                socket.clear_error();
                Ok(())
            }
            Err(error) => Err(EmuError::refused("waiting for packets")(error.into())),
        }
    }

    /// Sleeps for `time` even if packets or signals arrive.
    pub fn sleep_unconditionally(&self, time: Duration) {
        // An interrupted sleep is not continued: the next forced sleep makes up for it.
        let _ = nix::time::clock_nanosleep(
            nix::time::ClockId::CLOCK_MONOTONIC,
            nix::time::ClockNanosleepFlags::empty(),
            &TimeSpec::from_duration(time),
        );
    }

    /// Whether a signal has requested the end before the command has started.
    pub fn stop_signalled(&self) -> bool {
        let signals = std::iter::from_fn(|| self.signals.read_signal().ok().flatten());
        signals.filter(|signal| signal.ssi_signo as i32 != Signal::SIGCHLD as i32).count() > 0
    }

    /// Resets the count of SIGINTs after the command got SIGTERM: only later signals lead to
    /// SIGKILL.
    pub fn reset_interrupts(&self) {
        self.interrupts.set(0);
        self.first_interrupt.set(None);
    }

    /// Whether a signal requests the end: SIGTERM and SIGHUP at once; SIGINT at once without a
    /// command, else at the second one or `SIGINT_GRACE` after the first.
    pub fn stop_requested(&self, now: Time) -> bool {
        let mut terminate = false;
        while let Ok(Some(signal)) = self.signals.read_signal() {
            match Signal::try_from(signal.ssi_signo as i32) {
                Ok(Signal::SIGINT) => self.interrupts.set(self.interrupts.get() + 1),
                Ok(Signal::SIGTERM | Signal::SIGHUP) => terminate = true,
                _ => {}
            }
        }
        if self.interrupts.get() > 0 && self.first_interrupt.get().is_none() {
            self.first_interrupt.set(Some(now));
        }
        let interrupts = self.interrupts.get();
        terminate
            || interrupts > u32::from(self.command_gets_sigint)
            || self.first_interrupt.get().is_some_and(|first| now - first > SIGINT_GRACE)
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
        let _ = self.mask.thread_unblock();
    }
}
