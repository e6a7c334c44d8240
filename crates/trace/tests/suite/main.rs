//! The tests of this crate's public interface, in one executable: one link step instead of one for each file.

mod by_hand;
mod closed_window;
mod corpus;
mod damage;
mod feed;
mod fragments;
mod many_flows;
mod reading;
mod repairs;
mod wrapped;
