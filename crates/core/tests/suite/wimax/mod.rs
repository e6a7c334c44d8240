//! The 802.16 cell against the standard's numbers, and its invariants.

mod closed_form;
mod contract;
mod drive;
mod losses;
mod uplink;
