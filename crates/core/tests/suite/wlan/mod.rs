//! The wireless LAN against the standard's timing and Bianchi's model.

mod airtime;
mod bianchi;
mod drive;
mod shared_queue;
