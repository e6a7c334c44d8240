//! Tests of the crate's public interface in one executable: one link step instead of one per file.

mod ack_path;
mod cc_properties;
mod cc_table;
mod closed_forms;
mod common;
mod dialogue;
mod elements;
mod grants;
mod impairments;
mod link_dialogues;
mod links;
mod marking;
mod path;
mod proxy;
mod queue_bench;
mod queues;
mod roaming;
mod tcp_properties;
mod token_buckets;
mod wimax;
mod wlan;
