//! Slow start up to the threshold and once more at it. RFC 5681, section 3.1, lets a sender do either when cwnd equals ssthresh; Linux
//! before 4.3 opens (`snd_cwnd <= snd_ssthresh`), so that after every cut its window stands one segment higher.

use super::{Ack, Opening, Window};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inclusive;

impl Opening for Inclusive {
    fn applies(&self, window: &Window) -> bool {
        window.cwnd <= window.ssthresh
    }

    fn open(&mut self, ack: &Ack, window: &mut Window) -> f64 {
        let opened = (window.cwnd + ack.credit).min((window.ssthresh + 1.0).max(window.cwnd));
        let used = opened - window.cwnd;
        window.cwnd = opened;
        ack.credit - used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_threshold_it_opens_once_more_and_no_further() {
        let mut window = Window { cwnd: 9.0, ssthresh: 10.0 };
        let ack = Ack { credit: 1.0, acked: 1, limited: true, ..Ack::default() };
        let mut opened = Vec::new();
        while Inclusive.applies(&window) {
            assert_eq!(Inclusive.open(&ack, &mut window), 0.0);
            opened.push(window.cwnd);
        }
        assert_eq!(opened, [10.0, 11.0]);
    }
}
