//! Closed-form throughput models of long transfers. Rates are in segments per second, times in
//! seconds, windows in segments.
//!
//! Assumptions: losses are independent, the path has no queue, and slow start is negligible.

/// A path with random loss, and the connection over it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossyPath {
    /// Loss event probability, p.
    pub loss: f64,
    pub rtt: f64,
    /// The first timeout, T0.
    pub rto: f64,
    /// Segments per ACK, b: 2 with delayed ACKs.
    pub per_ack: f64,
    /// Maximum window; infinity: none.
    pub max_window: f64,
}

/// 0.75*W/RTT: the mean of a sawtooth between W/2 and W, in the unit of the window.
pub fn window_over_rtt(window: f64, rtt: f64) -> f64 {
    0.75 * window / rtt
}

/// Mathis, Semke, Mahdavi and Ott 1997, equation (3): C/(RTT*sqrt(p)) with C = sqrt(3/(2*b)).
pub fn mathis(path: &LossyPath) -> f64 {
    libm::sqrt(1.5 / (path.per_ack * path.loss)) / path.rtt
}

/// Padhye, Firoiu, Towsley and Kurose 1998, full model, section 2.3: window limited by losses or by
/// the receiver, and timeouts.
pub fn padhye_full(path: &LossyPath) -> f64 {
    let LossyPath { loss: p, rtt, rto, per_ack: b, max_window } = *path;
    let unlimited = padhye_window(p, b);
    let window = unlimited.min(max_window);
    let timeouts = padhye_timeout_share(p, window);
    let sent = (1.0 - p) / p + window + timeouts / (1.0 - p);
    let rounds = if unlimited < max_window { b / 2.0 * window + 1.0 } else { b / 8.0 * window + (1.0 - p) / (p * window) + 2.0 };
    sent / (rtt * rounds + timeouts * rto * padhye_backoff(p) / (1.0 - p))
}

/// The approximate model; RFC 5348, section 3.1, is its second branch.
pub fn padhye_approx(path: &LossyPath) -> f64 {
    let LossyPath { loss: p, rtt, rto, per_ack: b, max_window } = *path;
    let timeouts = (3.0 * libm::sqrt(3.0 * b * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
    (1.0 / (rtt * libm::sqrt(2.0 * b * p / 3.0) + rto * timeouts)).min(max_window / rtt)
}

/// E[W]: the mean window at a loss.
fn padhye_window(p: f64, b: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    c + libm::sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + c * c)
}

/// Q(w): the probability that a loss in a window of w ends in an RTO.
fn padhye_timeout_share(p: f64, w: f64) -> f64 {
    let q = 1.0 - p;
    let (q3, qw) = (libm::pow(q, 3.0), libm::pow(q, w));
    ((1.0 - q3) * (1.0 + q3 * (1.0 - libm::pow(q, w - 3.0))) / (1.0 - qw)).min(1.0)
}

/// f(p): duration of a series of RTOs relative to T0, doubling up to 64*T0.
fn padhye_backoff(p: f64) -> f64 {
    1.0 + (0..6).map(|n| libm::exp2(f64::from(n)) * libm::pow(p, f64::from(n + 1))).sum::<f64>()
}

/// RFC 9438, section 5.1: the mean window of CUBIC outside its Reno-friendly region;
/// 1.054*(RTT/p)^0.75 with its constants.
pub fn cubic_response(c: f64, beta: f64, rtt: f64, loss: f64) -> f64 {
    libm::pow(c * (3.0 + beta) / (4.0 * (1.0 - beta)), 0.25) * libm::pow(rtt / loss, 0.75)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expected: f64, tolerance: f64) {
        assert!((got - expected).abs() <= tolerance, "{got}, not {expected}");
    }

    /// `wimax-measured`'s path: 134 ms, segments of 1448 bytes, 64 KiB, T0 = RTT + 200 ms; in Mb/s.
    #[test]
    fn padhye_models_match_a_measured_link() {
        for (loss, full, approx) in [(0.018, 0.495, 0.506), (0.026, 0.396, 0.404), (0.034, 0.335, 0.339), (0.042, 0.292, 0.293)] {
            let path = LossyPath { loss, rtt: 0.134, rto: 0.334, per_ack: 2.0, max_window: 65_536.0 / 1448.0 };
            near(padhye_full(&path) * 1448.0 * 8e-6, full, 5e-4);
            near(padhye_approx(&path) * 1448.0 * 8e-6, approx, 5e-4);
        }
    }

    #[test]
    fn padhye_models_agree_with_independent_values() {
        for (loss, rtt, rto, per_ack, max_window, full, approx) in [
            (0.01, 0.2, 2.0, 2.0, f64::INFINITY, 34.76, 35.33),
            (0.05, 0.1, 1.0, 1.0, f64::INFINITY, 26.05, 24.73),
            (0.001, 0.1, 0.5, 2.0, 20.0, 176.6, 200.0),
        ] {
            let path = LossyPath { loss, rtt, rto, per_ack, max_window };
            near(padhye_full(&path), full, full * 3e-4);
            near(padhye_approx(&path), approx, approx * 3e-4);
        }
    }

    /// 8, 16 and 32 KiB at 120 ms, in Mb/s.
    #[test]
    fn sawtooth_carries_three_quarters_of_its_window() {
        for (kib, rate) in [(8.0, 0.41), (16.0, 0.82), (32.0, 1.64)] {
            near(window_over_rtt(kib * 1024.0, 0.120) * 8e-6, rate, 5e-3);
        }
    }

    #[test]
    fn mathis_and_cubic_response_have_their_published_constants() {
        let path = LossyPath { loss: 0.01, rtt: 0.1, rto: 0.0, per_ack: 1.0, max_window: f64::INFINITY };
        near(mathis(&path), 122.5, 0.1);
        near(mathis(&LossyPath { per_ack: 2.0, ..path }), 86.6, 0.1);
        near(cubic_response(0.4, 0.7, 1.0, 1.0), 1.054, 5e-4);
        near(cubic_response(0.4, 0.7, 0.1, 1e-4) / cubic_response(0.4, 0.7, 0.1, 1e-3), 5.623, 1e-3);
    }
}
