//! Deficit round robin with a list of new lines that go before the old ones (DRR++; RFC 8290, section 4.2).

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default)]
struct FlowState {
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// It stands on the list of new or old lines.
    listed: bool,
}

/// Whose turn it is among numbered lines.
#[derive(Debug)]
pub struct DrrScheduler {
    states: Vec<FlowState>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl DrrScheduler {
    pub fn new(lines: u32) -> DrrScheduler {
        DrrScheduler { states: vec![FlowState::default(); lines as usize], new: VecDeque::new(), old: VecDeque::new() }
    }

    pub fn is_listed(&self, number: u32) -> bool {
        self.states[number as usize].listed
    }

    /// A fifo that was empty for a while has packets again.
    pub fn join(&mut self, number: u32, quantum: i64) {
        self.states[number as usize] = FlowState { credit: quantum, listed: true };
        self.new.push_back(number);
    }

    /// Whose turn it is, and whether it is new: new lines first; who has no credit left gets a quantum and goes to the end of the old ones.
    pub fn next(&mut self, quantum: impl Fn(u32) -> i64) -> Option<(u32, bool)> {
        loop {
            let (number, is_new) = match self.new.front() {
                Some(&number) => (number, true),
                None => (*self.old.front()?, false),
            };
            let state = &mut self.states[number as usize];
            if state.credit > 0 {
                return Some((number, is_new));
            }
            state.credit += quantum(number).max(1);
            if is_new {
                self.new.pop_front();
            } else {
                self.old.pop_front();
            }
            self.old.push_back(number);
        }
    }

    pub fn spend(&mut self, number: u32, bytes: u16) {
        self.states[number as usize].credit -= i64::from(bytes);
    }

    /// An empty new fifo becomes an old one, so that it cannot come back as new at once; an empty old one leaves (RFC 8290, section 4.2).
    /// Says whether it has left.
    pub fn retire(&mut self, number: u32, was_new: bool) -> bool {
        if was_new {
            self.new.pop_front();
            self.old.push_back(number);
        } else {
            self.old.pop_front();
            self.states[number as usize].listed = false;
        }
        !was_new
    }
}
