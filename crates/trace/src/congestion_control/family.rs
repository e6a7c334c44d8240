//! The families of congestion controls: variants whose windows differ too little to be distinguished in a
//! capture share one.

use ackclock_core::tcp::cc::Variant;

macro_rules! families {
    ($($family:ident => $name:literal, $summary:literal;)*) => {
        /// A family of congestion controls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum CcFamily { $(#[doc = $summary] $family),* }

        impl CcFamily {
            pub const ALL: &'static [CcFamily] = &[$(CcFamily::$family),*];

            /// Name in the JSON document.
            pub fn name(self) -> &'static str { match self { $(CcFamily::$family => $name),* } }
            /// What its members have in common.
            pub fn summary(self) -> &'static str { match self { $(CcFamily::$family => $summary),* } }
        }
    };
}

families! {
    RenoLike => "reno-like", "the window grows by segments per RTT, and a loss takes a fixed share of it";
    CubicLike => "cubic-like", "the window of the last loss, or the time since it, sets the growth";
    DelayBased => "delay-based", "the window stops growing when a queue stands";
    AckRateBased => "ack-rate-based", "a loss leaves the window that the rate of ACKs and the minimum RTT give";
    BbrV1 => "bbr-v1", "the measured delivery rate sets the sending rate, whatever the losses";
    BbrV3 => "bbr-v3", "as BBR v1, with bounds on what is in flight that losses and marks reduce";
    DctcpLike => "dctcp-like", "the share of marked segments sets each reduction";
    LedbatLike => "ledbat-like", "a background transport that yields to other traffic";
    Unknown => "unknown", "the capture does not show it";
}

/// The family of each congestion control.
pub fn family_of(variant: Variant) -> CcFamily {
    use Variant::*;
    match variant {
        Reno | NewReno | Hybla | Scalable | HighSpeed | Veno | Illinois => CcFamily::RenoLike,
        // Reno unless another flow's delay shows; Scalable while the queue is short, and else Reno.
        Lp | Yeah => CcFamily::RenoLike,
        Cubic | Cubic2 | Bic | BicPaper | Bic268 | Htcp => CcFamily::CubicLike,
        Vegas | VegasOriginal => CcFamily::DelayBased,
        Westwood | WestwoodPlus | WestwoodNs2 | Biad => CcFamily::AckRateBased,
        Bbr => CcFamily::BbrV1,
        Bbr3 => CcFamily::BbrV3,
        Dctcp | Prague => CcFamily::DctcpLike,
        LedbatPp => CcFamily::LedbatLike,
    }
}
