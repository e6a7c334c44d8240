//! The statistics kernel: one rule for each figure of a sample, for the engine, the analyzer, the
//! measurement, the emulator and Python.
//!
//! | figure | rule |
//! |---|---|
//! | quantile | nearest rank, Hyndman and Fan (1996), definition 1: [`nearest_rank`] |
//! | standard deviation | of a sample, over n - 1; 0 for one value: [`sample_sd`] |
//! | histogram | 64 bins an octave; a quantile is the middle of its bin: [`LogBins`] |
//! | summary | count, min, mean, sd, p50, p95, p99, max: [`SummaryStats`] |

mod histogram;
mod log_bins;
mod quantile;
mod summary_stats;

pub use histogram::Histogram;
pub use log_bins::{BinCounts, DenseCounts, LogBins};
pub use quantile::{bin_of_rank, nearest_rank, quantile_of_sorted};
pub use summary_stats::{SummaryStats, sample_sd};
