//! The 802.16 cell against the standard's numbers and against its own contract.

mod closed_form;
mod contract;
mod drive;
mod losses;
mod uplink;
