//! Tests of the crate's public interface, in one executable: one link step for all files.

mod ack_runs;
mod analysis;
mod apps;
mod autorate;
mod batch;
mod captures;
mod common;
mod contract;
mod figures;
mod hosts;
mod media;
mod packet_radio;
mod path_mtu;
mod paths;
mod plan_keys;
mod proxies;
mod queues;
mod random_streams;
mod rate_limits;
mod recordings;
mod small_queues;
mod time_account;
mod variants;
mod web;
mod wlan;
