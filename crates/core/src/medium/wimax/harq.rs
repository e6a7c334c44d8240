//! HARQ: a broken burst is sent again and combined with what came before (IEEE 802.16e-2005, 6.3.17).
//!
//! Every attempt breaks with the same probability p: what combining gains is left to p. So the residual loss is p^attempts, and attempt k
//! ends (k - 1) feedback times after the first.

/// What a connection under HARQ is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqConfig {
    /// Transmissions of one burst, the first included.
    pub attempts: u32,
    /// Frames from a transmission to the next of the same burst.
    pub feedback: u64,
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

    /// Sends bursts of one packet each until none is left: the share lost, and the transmissions that each took.
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
    fn residual_loss_is_p_to_the_attempts() {
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
    fn a_packet_that_spans_bursts_is_lost_with_any_of_them() {
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
        assert!(matches!(window.release(), Some(Released::Whole(p)) if p.id == 2));
        assert_eq!((window.release(), window.is_idle()), (None, true));
    }
}
