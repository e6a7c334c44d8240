//! Datagrams: what is in them (`packet`), when they leave and which have come (`train`), and how an address is proven before anything
//! is sent to it (`proof`).

pub mod address_validation;
pub mod packet;
pub mod train;
