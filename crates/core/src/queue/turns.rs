//! Deficit round robin with a list of new lines that go before the old ones (DRR++; RFC 8290, section 4.2).

use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// It stands on the list of new or old lines.
    listed: bool,
}

/// Whose turn it is among numbered lines.
#[derive(Debug)]
pub struct Turns {
    seats: Vec<Seat>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

impl Turns {
    pub fn new(lines: u32) -> Turns {
        Turns { seats: vec![Seat::default(); lines as usize], new: VecDeque::new(), old: VecDeque::new() }
    }

    pub fn is_listed(&self, number: u32) -> bool {
        self.seats[number as usize].listed
    }

    /// A line that was empty for a while has packets again.
    pub fn join(&mut self, number: u32, quantum: i64) {
        self.seats[number as usize] = Seat { credit: quantum, listed: true };
        self.new.push_back(number);
    }

    /// Whose turn it is, and whether it is new: new lines first; who has no credit left gets a quantum and goes to the end of the old ones.
    pub fn next(&mut self, quantum: impl Fn(u32) -> i64) -> Option<(u32, bool)> {
        loop {
            let (number, is_new) = match self.new.front() {
                Some(&number) => (number, true),
                None => (*self.old.front()?, false),
            };
            let seat = &mut self.seats[number as usize];
            if seat.credit > 0 {
                return Some((number, is_new));
            }
            seat.credit += quantum(number).max(1);
            if is_new {
                self.new.pop_front();
            } else {
                self.old.pop_front();
            }
            self.old.push_back(number);
        }
    }

    pub fn spend(&mut self, number: u32, bytes: u16) {
        self.seats[number as usize].credit -= i64::from(bytes);
    }

    /// An empty new line becomes an old one, so that it cannot come back as new at once; an empty old one leaves (RFC 8290, section 4.2).
    /// Says whether it has left.
    pub fn retire(&mut self, number: u32, was_new: bool) -> bool {
        if was_new {
            self.new.pop_front();
            self.old.push_back(number);
        } else {
            self.old.pop_front();
            self.seats[number as usize].listed = false;
        }
        !was_new
    }
}
