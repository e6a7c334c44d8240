//! Random numbers: one stream per element, fixed by the run's seed and the element's name, and the
//! distributions of the models.

use crate::units::Span;
use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// PCG XSL 128/64 MCG. The algorithm is fixed, so that the values of a seed never change.
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The stream of the element `name` in the run with this `seed`. Streams of adjacent seeds are
    /// independent.
    pub fn for_element(seed: u64, name: &str) -> Rng {
        let hash = fnv1a(name.as_bytes());
        let low = splitmix(seed ^ hash);
        let high = splitmix(low ^ seed.rotate_left(32));
        let mut state = [0u8; 16];
        state[..8].copy_from_slice(&low.to_le_bytes());
        state[8..].copy_from_slice(&high.to_le_bytes());
        Rng(Pcg64Mcg::from_seed(state))
    }

    /// A second, independent stream for the same element.
    pub fn fork(&mut self) -> Rng {
        Rng::for_element(self.0.next_u64(), "fork")
    }

    /// 64 random bits, as the secret salt of a hash.
    pub fn salt(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    pub fn uniform_span(&mut self, low: Span, high: Span) -> Span {
        low + Span::from_secs_f64(self.uniform() * (high - low).as_secs())
    }

    /// Exponential with this mean, by inversion.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log1p(-self.uniform())
    }

    pub fn exponential_span(&mut self, mean: Span) -> Span {
        Span::from_secs_f64(self.exponential(mean.as_secs()))
    }

    /// Pareto with this mean and shape > 1, by inversion: x_m = mean*(shape-1)/shape.
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        let scale = mean * (shape - 1.0) / shape;
        scale / libm::pow(1.0 - self.uniform(), 1.0 / shape)
    }

    /// Normal, by Box and Muller (1958). The second value is discarded, so that each draw uses the
    /// same number of values.
    pub fn normal(&mut self, mean: f64, sd: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log1p(-self.uniform()));
        mean + sd * radius * libm::cos(2.0 * std::f64::consts::PI * self.uniform())
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The mixing function of Steele, Lea and Flood (2014): decorrelates adjacent seeds.
fn splitmix(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(n: u32, mut draw: impl FnMut() -> f64) -> f64 {
        (0..n).map(|_| draw()).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn stream_differs_when_seed_or_name_differs() {
        let first = |seed, name| Rng::for_element(seed, name).uniform();
        let draws = [first(1, "a"), first(2, "a"), first(1, "b"), first(3, "a")];
        for (i, x) in draws.iter().enumerate() {
            for y in &draws[i + 1..] {
                assert!((x - y).abs() > 1e-3, "{draws:?}");
            }
        }
        assert_eq!(first(1, "a"), first(1, "a"));
    }

    #[test]
    fn fork_is_independent_and_reproducible() {
        let draws = |mut rng: Rng| [rng.uniform(), rng.uniform(), rng.uniform()];
        let fork = |seed| Rng::for_element(seed, "a").fork();
        assert_eq!(draws(fork(1)), draws(fork(1)));
        assert_ne!(draws(fork(1)), draws(fork(2)));
        let mut parent = Rng::for_element(1, "a");
        let child = parent.fork();
        assert_ne!(draws(parent), draws(child));
    }

    #[test]
    fn distributions_have_the_configured_means() {
        let mut rng = Rng::for_element(7, "test");
        assert!((mean(200_000, || rng.uniform()) - 0.5).abs() < 0.003);
        assert!((mean(200_000, || rng.exponential(2.0)) - 2.0).abs() < 0.03);
        assert!((mean(200_000, || rng.normal(3.0, 0.5)) - 3.0).abs() < 0.01);
        assert!((mean(400_000, || rng.pareto(1.0, 2.5)) - 1.0).abs() < 0.02);
    }

    #[test]
    fn generator_matches_golden_values() {
        let mut rng = Rng::for_element(1, "golden");
        let drawn: Vec<String> = (0..3).map(|_| format!("{:.12}", rng.uniform())).collect();
        assert_eq!(drawn, GOLDEN, "a seed's values changed: every published run would change with them");
    }

    #[test]
    fn distributions_match_golden_values() {
        let mut rng = Rng::for_element(1, "golden");
        (0..3).for_each(|_| assert!(rng.uniform() < 1.0));
        let drawn = [rng.exponential(1.0), rng.pareto(1.0, 2.5), rng.normal(0.0, 1.0)].map(|x| format!("{x:.12}"));
        assert_eq!(drawn, ["0.949251523395", "0.643261616926", "0.786074991197"]);
    }

    /// Calculated from the definitions of the generator and the distributions, independently of
    /// this code.
    const GOLDEN: [&str; 3] = ["0.083850025582", "0.068712983823", "0.844368806445"];
}
