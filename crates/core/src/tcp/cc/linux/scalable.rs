//! Scalable TCP: `tcp_scalable.c`. Without the paper's legacy window of 16 segments, as a segment per
//! 100 acknowledged is less than Reno's growth only above 100.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW};

/// `TCP_SCALABLE_AI_CNT`, and the shift of `TCP_SCALABLE_MD_SCALE`.
const COUNT: u32 = 100;
const CUT_SHIFT: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub struct ScalableControl;

impl LinuxControl for ScalableControl {
    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if let Some(credit) = window.avoidance_credit(event.ack) {
            window.cong_avoid_ai(window.cwnd.min(COUNT), credit);
        }
    }

    fn ssthresh(&mut self, window: &LinuxWindow, _cut: &Cut) -> u32 {
        (window.cwnd - (window.cwnd >> CUT_SHIFT)).max(MIN_WINDOW)
    }
}
