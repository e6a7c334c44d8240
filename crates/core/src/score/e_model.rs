//! The E-model of ITU-T G.107 (06/2015): the transmission rating R of a narrowband call, and the
//! mean opinion score that it stands for.
//!
//! All parameters but the delay, the codec and the losses have their default values (Table 2 of the
//! Recommendation), and echo is cancelled (T = Tr = 0), so that of the delay impairment only Idd is
//! left: R = 93.2 - Idd - Ie-eff.

/// R with the default value of every parameter (G.107, 7.7).
pub const DEFAULT_R: f64 = 93.2;

/// Delay below which users do not notice it (mT) and sensitivity to it (sT), for conversations in general.
const MIN_PERCEIVABLE_MS: f64 = 100.0;
const SENSITIVITY: f64 = 1.0;

/// A codec in the E-model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codec {
    /// Equipment impairment factor without losses, Ie.
    pub impairment: f64,
    /// Packet-loss robustness factor, Bpl.
    pub loss_robustness: f64,
}

impl Codec {
    /// G.711 without concealment of losses (ITU-T G.113, Appendix I).
    pub const G711: Codec = Codec { impairment: 0.0, loss_robustness: 4.3 };
    /// G.711 with the concealment of its Appendix I, in packets of 10 ms (ITU-T G.113, Appendix I).
    pub const G711_CONCEALED: Codec = Codec { impairment: 0.0, loss_robustness: 25.1 };
}

/// Packet losses as the E-model has them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Losses {
    /// Share of the packets, 0 to 1 (Ppl is in percent).
    pub share: f64,
    /// BurstR: the mean length of a burst of losses over the mean length for independent ones. 1 if
    /// losses are independent, above where they come in bursts.
    pub burst_ratio: f64,
}

/// Idd of a delay from mouth to ear, Ta, in milliseconds (G.107, equations 7-27 and 7-28).
pub fn delay_impairment(mouth_to_ear_ms: f64) -> f64 {
    if mouth_to_ear_ms <= MIN_PERCEIVABLE_MS {
        return 0.0;
    }
    let x = libm::log2(mouth_to_ear_ms / MIN_PERCEIVABLE_MS);
    let power = 6.0 * SENSITIVITY;
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, power), 1.0 / power);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Ie-eff of a codec with losses (G.107, equation 7-29).
pub fn equipment_impairment(codec: Codec, losses: Losses) -> f64 {
    let percent = 100.0 * losses.share;
    if percent <= 0.0 {
        return codec.impairment;
    }
    codec.impairment + (95.0 - codec.impairment) * percent / (percent / losses.burst_ratio + codec.loss_robustness)
}

/// R of a call, 0 to 93.2: below 0 it is 0.
pub fn rating(codec: Codec, losses: Losses, mouth_to_ear_ms: f64) -> f64 {
    (DEFAULT_R - delay_impairment(mouth_to_ear_ms) - equipment_impairment(codec, losses)).max(0.0)
}

/// The mean opinion score of a rating, 1 to 4.5 (G.107, Annex B). Its cubic falls to 0.99 between an R
/// of 0 and 6.5, which is 1 here: no opinion is below the scale.
pub fn mean_opinion_score(rating: f64) -> f64 {
    match rating {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

/// How users take a rating (ITU-T G.109, Table 1; below 50 it recommends no connection).
pub fn satisfaction(rating: f64) -> &'static str {
    match rating {
        r if r >= 90.0 => "very satisfied",
        r if r >= 80.0 => "satisfied",
        r if r >= 70.0 => "some dissatisfied",
        r if r >= 60.0 => "many dissatisfied",
        r if r >= 50.0 => "nearly all dissatisfied",
        _ => "not recommended",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 0.005, "got {got}, want {want}");
    }

    const NONE: Losses = Losses { share: 0.0, burst_ratio: 1.0 };

    fn independent(share: f64) -> Losses {
        Losses { share, burst_ratio: 1.0 }
    }

    /// The Recommendation's path to 93.2: Ro - Is - Id of the default values of Table 2.
    #[test]
    fn default_rating_follows_from_the_default_parameters() {
        let (slr, rlr, stmr, lstr, ds, telr, wepl) = (8.0, 2.0, 15.0, 18.0, 3.0, 65.0, 110.0);
        let (circuit_noise, noise_floor, room_send, room_receive) = (-70.0_f64, -64.0, 35.0, 35.0_f64);
        let db = |power: f64| 10.0 * power.log10();
        let power = |db: f64| 10.0_f64.powf(db / 10.0);
        // Noise: circuit, room at the sender, room at the receiver, subscriber line.
        let olr = slr + rlr;
        let nos = room_send - slr - ds - 100.0 + 0.004 * (room_send - olr - ds - 14.0_f64).powi(2);
        let pre = room_receive + db(1.0 + power(10.0 - lstr));
        let nor = rlr - 121.0 + pre + 0.008 * (pre - 35.0_f64).powi(2);
        let no = db(power(circuit_noise) + power(nos) + power(nor) + power(noise_floor + rlr));
        let ro = 15.0 - 1.5 * (slr + no);
        // Too loud, side tone, quantisation.
        let xolr = olr + 0.2 * (64.0 + no - rlr);
        let iolr = 20.0 * ((1.0 + (xolr / 8.0).powi(8)).powf(1.0 / 8.0) - xolr / 8.0);
        let stmro = -db(power(-stmr) + power(-telr));
        let ist = 12.0 * (1.0 + ((stmro - 13.0) / 6.0).powi(8)).powf(1.0 / 8.0)
            - 28.0 * (1.0 + ((stmro + 1.0) / 19.4).powi(35)).powf(1.0 / 35.0)
            - 13.0 * (1.0 + ((stmro - 3.0) / 33.0).powi(13)).powf(1.0 / 13.0)
            + 29.0;
        let q = 37.0_f64;
        let g = 1.07 + 0.258 * q + 0.0602 * q * q;
        let iq = 15.0
            * (1.0 + 10.0_f64.powf((ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0) + 10.0_f64.powf(46.0 / 30.0 - g / 40.0)).log10();
        // The listener's echo at no delay; Idte and Idd are 0 there.
        let half = (ro - 10.5 * (wepl + 7.0)) / 2.0;
        let idle = half + (half * half + 169.0).sqrt();
        close(ro, 94.77);
        let r = ro - (iolr + ist + iq) - idle;
        assert!((r - DEFAULT_R).abs() < 0.05, "the Recommendation rounds {r} to {DEFAULT_R}");
    }

    /// X = log2(Ta / 100): 0.58496, 1.58496, 2. Idd = 25 ((1 + X^6)^(1/6) - 3 (1 + (X/3)^6)^(1/6) + 2).
    #[test]
    fn delay_impairment_is_that_of_the_formula_by_hand() {
        close(delay_impairment(0.0), 0.0);
        close(delay_impairment(100.0), 0.0);
        // 1.04007^(1/6) = 1.006569; 3 (1.0000550)^(1/6) = 3.000027; 25 (1.006569 - 3.000027 + 2)
        close(delay_impairment(150.0), 0.16);
        // 16.853^(1/6) = 1.601204; 3 (1.021747)^(1/6) = 3.010776; 25 (1.601204 - 3.010776 + 2)
        close(delay_impairment(300.0), 14.76);
        // 65^(1/6) = 2.005175; 3 (1 + 64/729)^(1/6) = 3.042371; 25 (2.005175 - 3.042371 + 2)
        close(delay_impairment(400.0), 24.07);
    }

    /// (95 - Ie) Ppl / (Ppl / BurstR + Bpl) + Ie.
    #[test]
    fn equipment_impairment_is_that_of_the_formula_by_hand() {
        for codec in [Codec::G711, Codec::G711_CONCEALED] {
            close(equipment_impairment(codec, NONE), 0.0);
        }
        close(equipment_impairment(Codec::G711_CONCEALED, independent(0.01)), 95.0 / 26.1);
        close(equipment_impairment(Codec::G711_CONCEALED, independent(0.01)), 3.64);
        close(equipment_impairment(Codec::G711_CONCEALED, independent(0.05)), 15.78);
        close(equipment_impairment(Codec::G711, independent(0.01)), 17.92);
        close(equipment_impairment(Codec::G711, independent(0.05)), 51.08);
        // In bursts of twice the length: 95 * 5 / (2.5 + 25.1).
        close(equipment_impairment(Codec::G711_CONCEALED, Losses { share: 0.05, burst_ratio: 2.0 }), 17.21);
    }

    #[test]
    fn rating_is_the_default_without_losses_within_100_ms_and_never_below_0() {
        assert_eq!(rating(Codec::G711_CONCEALED, NONE, 100.0), DEFAULT_R);
        close(rating(Codec::G711_CONCEALED, NONE, 150.0), DEFAULT_R - 0.16);
        assert_eq!(rating(Codec::G711, independent(0.5), 400.0), 0.0);
    }

    /// G.109's table of R and MOS: 90 is 4.34, 80 is 4.03 (4.02), 70 is 3.60, 60 is 3.10, 50 is 2.58.
    #[test]
    fn mean_opinion_scores_are_those_of_annex_b() {
        for (r, mos) in [(90.0, 4.34), (80.0, 4.024), (70.0, 3.597), (60.0, 3.1), (50.0, 2.575), (DEFAULT_R, 4.409)] {
            close(mean_opinion_score(r), mos);
        }
        assert_eq!([-5.0, 0.0, 3.0, 6.5].map(mean_opinion_score), [1.0; 4], "the cubic is below 1 up to 6.5");
        assert_eq!([100.0, 120.0].map(mean_opinion_score), [4.5; 2]);
        let grid = (65..=1000).map(|r| mean_opinion_score(f64::from(r) / 10.0));
        assert!(grid.clone().zip(grid.skip(1)).all(|(one, next)| one <= next));
    }

    #[test]
    fn satisfaction_changes_at_the_bounds_of_g109() {
        assert_eq!(
            [90.0, 89.9, 80.0, 70.0, 60.0, 50.0, 49.9].map(satisfaction),
            [
                "very satisfied",
                "satisfied",
                "satisfied",
                "some dissatisfied",
                "many dissatisfied",
                "nearly all dissatisfied",
                "not recommended"
            ]
        );
    }
}
