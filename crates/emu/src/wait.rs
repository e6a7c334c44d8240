//! Sleeping until a packet arrives, a signal asks to stop, or time is up.

use crate::EmuError;
use crate::gate::Gate;
use ackclock_core::{Span, Time};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use std::cell::Cell;
use std::os::fd::AsFd;
use std::time::Duration;

/// Signals become something to wait for. While it lives they end nothing by themselves.
pub struct Wait {
    signals: SignalFd,
    /// All gates as one descriptor, which is ready when one of them is: a sleep costs the same with a hundred of them.
    gates: Epoll,
    mask: SigSet,
    /// Interrupts seen: the first leaves the command time to end.
    interrupts: Cell<u32>,
    first_at: Cell<Option<Time>>,
    /// Whether anybody else hears interrupts and may end the emulation by ending.
    others_hear: bool,
}

/// How long a command that shares the terminal may take to end after Ctrl-C.
const PATIENCE: Span = Span::from_secs(3);

impl Wait {
    pub fn new(others_hear: bool) -> Result<Wait, EmuError> {
        let refused = EmuError::refused("waiting for signals");
        let mut mask = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD] {
            mask.add(signal);
        }
        mask.thread_block().map_err(|e| refused(e.into()))?;
        let signals =
            SignalFd::with_flags(&mask, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC).map_err(|e| refused(e.into()))?;
        let gates = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(|e| refused(e.into()))?;
        Ok(Wait { signals, gates, mask, interrupts: Cell::new(0), first_at: Cell::new(None), others_hear })
    }

    /// From now on a packet at one of these ends a sleep.
    pub fn watch(&self, gates: &[Gate]) -> Result<(), EmuError> {
        (0..).zip(gates).try_for_each(|(number, gate)| {
            self.gates
                .add(gate.descriptor(), EpollEvent::new(EpollFlags::EPOLLIN, number))
                .map_err(|e| EmuError::refused("waiting for packets")(e.into()))
        })
    }

    /// Sleeps so long at most; says whether something came before.
    pub fn sleep(&self, gates: &[Gate], most: Duration) -> Result<bool, EmuError> {
        let mut descriptors =
            [self.signals.as_fd(), self.gates.0.as_fd()].map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN));
        match ppoll(&mut descriptors, Some(TimeSpec::from_duration(most)), None) {
            Ok(0) => Ok(false),
            Ok(_) => {
                // An interface that has gone leaves an error that would end every later sleep at once, and never to sleep is to be
                // stopped by the kernel.
                if descriptors[1].any().unwrap_or(false) {
                    self.forget_errors(gates);
                }
                Ok(true)
            }
            Err(nix::errno::Errno::EINTR) => Ok(true),
            Err(error) => Err(EmuError::refused("waiting for packets")(error.into())),
        }
    }

    fn forget_errors(&self, gates: &[Gate]) {
        let mut ready = [EpollEvent::empty(); 16];
        let count = self.gates.wait(&mut ready, EpollTimeout::ZERO).unwrap_or(0);
        let failed = ready[..count].iter().filter(|event| event.events().contains(EpollFlags::EPOLLERR));
        failed.filter_map(|event| gates.get(event.data() as usize)).for_each(Gate::forget_error);
    }

    /// Sleeps so long whatever comes, so that others can run.
    pub fn rest(&self, time: Duration) {
        // One that a signal cuts short is made up for by the next.
        let _ = nix::time::clock_nanosleep(
            nix::time::ClockId::CLOCK_MONOTONIC,
            nix::time::ClockNanosleepFlags::empty(),
            &TimeSpec::from_duration(time),
        );
    }

    /// A signal has come that ends an emulation whose command has not started.
    pub fn stop_signalled(&self) -> bool {
        let read = std::iter::from_fn(|| self.signals.read_signal().ok().flatten());
        read.filter(|signal| signal.ssi_signo as i32 != Signal::SIGCHLD as i32).count() > 0
    }

    /// Resets the count of interrupts after the command got SIGTERM; only later signals lead to SIGKILL.
    pub fn forget_interrupts(&self) {
        self.interrupts.set(0);
        self.first_at.set(None);
    }

    /// A signal said so: at once for SIGTERM and SIGHUP, and for SIGINT when the command, which hears it too, has had its time.
    pub fn asked_to_stop(&self, now: Time) -> bool {
        let mut at_once = false;
        while let Ok(Some(signal)) = self.signals.read_signal() {
            match Signal::try_from(signal.ssi_signo as i32) {
                Ok(Signal::SIGINT) => self.interrupts.set(self.interrupts.get() + 1),
                Ok(Signal::SIGTERM | Signal::SIGHUP) => at_once = true,
                _ => {}
            }
        }
        if self.interrupts.get() > 0 && self.first_at.get().is_none() {
            self.first_at.set(Some(now));
        }
        let interrupts = self.interrupts.get();
        at_once || interrupts > u32::from(self.others_hear) || self.first_at.get().is_some_and(|first| now - first > PATIENCE)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        while let Ok(Some(_)) = self.signals.read_signal() {}
        let _ = self.mask.thread_unblock();
    }
}
