//! What a queue must fulfil.

use super::super::{Mark, Queue};
use super::{Checked, span};

pub fn check(queue: &Queue) -> Checked {
    match *queue {
        Queue::Droptail { mark: Some(Mark::Time { ps }), .. } => span("queue.mark.ps", ps),
        Queue::Droptail { .. } => Ok(()),
    }
}
