//! Datagrams: what is in them (`packet`), when they leave and which have come (`train`), and how an address is proven before anything
//! is sent to it (`proof`).

pub mod packet;
pub mod proof;
pub mod train;
