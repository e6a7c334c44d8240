//! HARQ: a failed burst is retransmitted and combined with earlier attempts (IEEE 802.16e-2005,
//! 6.3.17).
//!
//! Every attempt fails with the same probability p, which includes the combining gain. The residual
//! loss is p^attempts, and attempt k ends (k - 1) feedback times after the first.

use super::config::check_frames;
use crate::config_check::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// HARQ configuration of a connection, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HarqConfig {
    /// Transmissions of a burst, the first included.
    pub attempts: u32,
    /// Frames from one transmission of a burst to the next.
    #[serde(rename = "feedback_frames")]
    pub feedback: u64,
}

impl HarqConfig {
    /// Returns the error in the configuration, if any.
    pub(super) fn check(&self) -> Checked {
        check_frames("harq.feedback_frames", self.feedback)?;
        ensure(self.attempts > 0 && self.feedback > 0, || "harq.attempts and harq.feedback_frames are 1 at least".into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::retransmission::{Released, RetransmissionMode, RetransmissionWindow};
    use super::*;
    use crate::packet::{Arena, Body, Datagram, Ecn, Kind, Packet};
    use crate::rng::Rng;

    fn packet(id: u64) -> Packet {
        let body = Arena::default().insert(Body::Datagram(Datagram { number: id, ..Datagram::default() }));
        let ecn = Ecn::NotEct;
        Packet { id, body, flow: 0, len: 100, wire_len: 100, ecn, class: 0, kind: Kind::DATA }
    }

    /// Sends bursts of one packet each. Returns the share of lost packets and the mean number of
    /// transmissions.
    fn residual(p: f64, attempts: u32) -> (f64, f64) {
        let mut rng = Rng::for_element(5, "harq");
        let (mut lost, mut sent) = (0, 0);
        for id in 0..100_000 {
            let mut window = RetransmissionWindow::new(RetransmissionMode::Harq(HarqConfig { attempts, feedback: 2 }));
            assert_eq!(window.add(110, Some(packet(id))), None, "a burst ends with the frame");
            let mut unit = window.end_of_frame();
            let mut frame = 0;
            while let Some(number) = unit {
                sent += 1;
                window.on_received(number, frame, p, &mut rng);
                assert!(window.retransmit(frame + 1, u32::MAX, u32::MAX).is_none(), "not before the feedback");
                frame += 2;
                unit = window.retransmit(frame, u32::MAX, u32::MAX).map(|(number, _)| number);
            }
            lost += u32::from(matches!(window.release(), Some(Released::Lost(_))));
        }
        (f64::from(lost) / 1e5, f64::from(sent) / 1e5)
    }

    #[test]
    fn residual_loss_is_p_to_the_power_of_attempts() {
        for (p, attempts) in [(0.1_f64, 1), (0.3, 2), (0.3, 4), (0.5, 3)] {
            let (lost, sent) = residual(p, attempts);
            let expected = p.powi(attempts as i32);
            let sd = (expected * (1.0 - expected) / 1e5).sqrt();
            assert!((lost - expected).abs() < 4.0 * sd, "{p}^{attempts}: {lost}");
            let mean = (1.0 - expected) / (1.0 - p);
            assert!((sent / mean - 1.0).abs() < 0.02, "(1 - p^n)/(1 - p) transmissions: {sent}");
        }
    }

    #[test]
    fn packet_is_lost_when_any_of_its_bursts_is_lost() {
        let mut rng = Rng::for_element(5, "harq");
        let mut window = RetransmissionWindow::new(RetransmissionMode::None);
        window.add(100, None);
        let first = window.end_of_frame().unwrap();
        window.add(100, None);
        let second = window.end_of_frame().unwrap();
        window.add(100, Some(packet(1)));
        window.add(100, Some(packet(2)));
        let third = window.end_of_frame().unwrap();
        for (number, p) in [(first, 1.0), (second, 0.0), (third, 0.0)] {
            window.on_received(number, 0, p, &mut rng);
        }
        assert!(matches!(window.release(), Some(Released::Lost(p)) if p.id == 1));
        assert!(matches!(window.release(), Some(Released::Complete(p)) if p.id == 2));
        assert_eq!((window.release(), window.is_idle()), (None, true));
    }
}
