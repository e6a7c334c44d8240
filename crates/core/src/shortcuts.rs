//! A switch of the engine's shortcuts, which must not change a result: the sender's fast path for ACKs and, with the
//! feature `slow-path`, the event loop's hand-over of a link's only packet. It exists in tests and with that feature
//! alone: any other engine takes every shortcut.

use std::cell::Cell;

thread_local! {
    static ALLOWED: Cell<bool> = const { Cell::new(true) };
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Lets this thread's networks take shortcuts, or not. The count begins again.
pub fn allow(allowed: bool) {
    ALLOWED.set(allowed);
    TAKEN.set(0);
}

/// Shortcuts that could be taken, and were, since the last `allow`.
pub fn taken() -> u64 {
    TAKEN.get()
}

/// Whether a shortcut that is possible is taken; counts it.
pub(crate) fn take() -> bool {
    TAKEN.set(TAKEN.get() + u64::from(ALLOWED.get()));
    ALLOWED.get()
}
