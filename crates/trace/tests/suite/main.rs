//! Tests of the crate's public interface, in one executable: one link step instead of one per file.

mod capture_formats;
mod capture_order;
mod corpus;
mod datagram_flows;
mod delayed_acks;
mod encapsulation;
mod failures;
mod flow_imports;
mod full_analysis;
mod ip_fragments;
mod joined_datagrams;
mod kind_rules;
mod loss_recovery;
mod malformed_input;
mod many_flows;
mod mptcp;
mod opening;
mod packet_builder;
mod packet_script;
mod receiver_end;
mod reordering_timer;
mod revisions;
mod series;
mod super_segments;
mod tail_loss_probes;
mod zero_window;
