//! Test datagrams: format (`packet`), sending and receiving of trains (`train`), and address
//! validation (`address_validation`).

pub mod address_validation;
pub mod packet;
pub mod train;
