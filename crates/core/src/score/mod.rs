//! What people feel of a network, as figures with a published formula.
//!
//! Throughput and RTT do not say whether a call holds. Each score here is one function of what
//! arrived and when, so that the simulator, the emulator's programs and the lab give one answer.
//! `docs/models/scores.md` has the formulas, their sources and the limits of their validity.
//!
//! | score | from |
//! |---|---|
//! | R and MOS of a call | [`e_model`], ITU-T G.107 (06/2015), over 10 s of [`CallRecord`] |
//! | which packets of a call are played | [`Playout`] |
//! | round trips of a game that are late | [`RoundTrips`] |
//! | load time and ByteIndex of a page | [`PageProgress`] |
//! | start, stalls and picture of a video | [`VideoRecord`] |
//! | frames, freezes and delay of a conference | [`FrameRecord`] |
//! | round trips per minute, grade of the added delay | [`responsiveness`] |

mod call;
mod conference;
pub mod e_model;
mod game;
mod page;
mod playout;
pub mod responsiveness;
mod video;

pub use call::{CALL_WINDOW, CallRecord, CallScore, CallWindow};
pub use conference::{ConferenceScore, FrameRecord, LATE_AFTER};
pub use e_model::Codec;
pub use game::{GameScore, RoundTrips};
pub use page::{PageProgress, PageScore};
pub use playout::{MAX_PLAYOUT_BUFFER, Playout};
pub use video::{LadderStep, PlaybackConfig, VideoRecord, VideoScore};

use crate::statistics::quantile_of_sorted;
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// Of the windows of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct MeanAndWorst {
    pub mean: Option<f64>,
    /// A tenth of the windows is at this or below, by nearest rank.
    pub p10: Option<f64>,
}

impl MeanAndWorst {
    /// Both are none without values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> MeanAndWorst {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let mean = (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64);
        MeanAndWorst { mean, p10: quantile_of_sorted(&sorted, 0.1) }
    }
}
