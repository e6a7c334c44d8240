//! Deficit round robin with a list of new flows served before old ones (DRR++; RFC 8290, section
//! 4.2).

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default)]
struct FlowState {
    /// Bytes that the flow may still send in this round.
    deficit: i64,
    /// The flow is in the list of new or old flows.
    active: bool,
}

/// Schedules numbered flows.
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

    pub fn is_active(&self, number: u32) -> bool {
        self.states[number as usize].active
    }

    /// A flow without packets has a packet again.
    pub fn activate(&mut self, number: u32, quantum: i64) {
        self.states[number as usize] = FlowState { deficit: quantum, active: true };
        self.new.push_back(number);
    }

    /// The next flow, and whether it is new: new flows first. A flow without deficit gets a quantum
    /// and moves to the end of the old list.
    pub fn next(&mut self, quantum: impl Fn(u32) -> i64) -> Option<(u32, bool)> {
        loop {
            let (number, is_new) = match self.new.front() {
                Some(&number) => (number, true),
                None => (*self.old.front()?, false),
            };
            let state = &mut self.states[number as usize];
            if state.deficit > 0 {
                return Some((number, is_new));
            }
            state.deficit += quantum(number).max(1);
            if is_new {
                self.new.pop_front();
            } else {
                self.old.pop_front();
            }
            self.old.push_back(number);
        }
    }

    pub fn charge(&mut self, number: u32, bytes: u16) {
        self.states[number as usize].deficit -= i64::from(bytes);
    }

    /// An empty new flow becomes an old one, so that it cannot be new again at once; an empty old
    /// flow is removed (RFC 8290, section 4.2). Returns true if it was removed.
    pub fn retire(&mut self, number: u32, was_new: bool) -> bool {
        if was_new {
            self.new.pop_front();
            self.old.push_back(number);
        } else {
            self.old.pop_front();
            self.states[number as usize].active = false;
        }
        !was_new
    }
}
