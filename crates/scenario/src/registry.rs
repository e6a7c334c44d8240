//! The tables by name: how Python asks for them.

use crate::flow::quic::Quic;
use crate::flow::workload::{
    Bulk, Call, Conference, ConstantRate, Game, Live, OnOff, Page, Probe, Transfer, Video, Web, Workload,
};
use crate::flow::{Flow, Repeat};
use crate::hunt::Hunt;
use crate::hunt::constraint::HuntConstraint;
use crate::hunt::objective::HuntObjective;
use crate::hunt::vary::{HuntLosses, HuntRange};
use crate::invalid::Read;
use crate::keys::{Attribute, Bounds, Checked, Key, KeySet, KeyValue};
use crate::link::acks::{Acks, Filter, Reconstruction};
use crate::link::file::{Assumption, Link};
use crate::link::framing::LinkLayer;
use crate::link::grants::{Contention, Grants, Repair};
use crate::link::half_duplex::HalfDuplex;
use crate::link::handover::Handover;
use crate::link::hop::{Direction, Hop};
use crate::link::jitter::{ExponentialJitter, Jitter, NormalJitter, ParetoJitter, Reorder, UniformJitter};
use crate::link::loss::{Bernoulli, Duplicate, GilbertElliott, Loss, LossList, Outage, SignalLoss};
use crate::link::medium::Medium;
use crate::link::mtu::Mtu;
use crate::link::packet_radio::PacketRadio;
use crate::link::pep::Pep;
use crate::link::policer::Policer;
use crate::link::queue::{Cake, CoDel, DropTail, DualPi2, FqCoDel, Pie, Queue, Red};
use crate::link::rate::TraceRate;
use crate::link::roaming::{Cell, Roaming};
use crate::link::schedule::{DelaySchedule, LossSchedule, RateSchedule};
use crate::link::shaper::Shaper;
use crate::link::sides::{Errors, FrameError, Rates, Sizes, SomeRates, Spans};
use crate::link::signal::{Ar1, Fading, Level, Markov};
use crate::link::slots::{GrantCycle, Slots};
use crate::link::tunnel::Tunnel;
use crate::link::wimax::{Arq, Harq, Wimax};
use crate::link::wimax_station::{Amc, Cap, Connection, Service, Station};
use crate::link::wlan::{Aggregate, Wlan};
use crate::measurement_plan::MeasurementPlan;
use crate::scenario::{Measure, Scenario};
use crate::schema::Definitions;
use crate::tcp::acks::{AckControl, DelayedAck, SackCompression};
use crate::tcp::bursts::{ProcessingJitter, Tso};
use crate::tcp::keys::{TcpEnds, TcpKeys};
use crate::value::Value;
use std::sync::Arc;

macro_rules! tables {
    (kinds: $($kinds:ident),* ; tables: $($table:ident),* $(,)?) => {
        /// Reads a table, or one of several kinds. None: no table has this name.
        pub fn read(name: &str, value: &Value) -> Option<Read<Arc<dyn Checked>>> {
            match name {
                $(stringify!($kinds) => Some(checked::<$kinds>(value)),)*
                $(stringify!($table) => Some(checked::<$table>(value)),)*
                _ => None,
            }
        }

        /// The JSON Schema of a table as the value of a key, and the definitions that it refers to.
        pub fn schema(name: &str) -> Option<(Value, Vec<(String, Value)>)> {
            let mut definitions = Definitions::default();
            let schema = match name {
                $(stringify!($kinds) => $kinds::schema(&Bounds::NONE, &mut definitions),)*
                $(stringify!($table) => $table::schema(&Bounds::NONE, &mut definitions),)*
                _ => return None,
            };
            Some((schema, definitions.into_entries()))
        }

        /// The keys of a table.
        pub fn keys(name: &str) -> Option<Vec<Key>> {
            match name {
                $(stringify!($table) => Some($table::keys()),)*
                _ => None,
            }
        }

        /// The kinds of a table that has several, with the tables' names.
        pub fn kinds(name: &str) -> Vec<(&'static str, &'static str)> {
            match name {
                $(stringify!($kinds) => $kinds::tables().into(),)*
                _ => Vec::new(),
            }
        }

        /// All tables with keys.
        pub const TABLES: &[&str] = &[$(stringify!($table)),*];
    };
}

tables! {
    kinds: Queue, Loss, Fading, Jitter, Medium, Workload;
    tables: DropTail, Red, CoDel, FqCoDel, Cake, Pie, DualPi2, Acks, Filter, Reconstruction,
        Bernoulli, GilbertElliott, LossList, SignalLoss, Duplicate, Outage, Ar1, Markov, Level,
        UniformJitter, NormalJitter, ExponentialJitter, ParetoJitter, Reorder, Handover,
        Grants, Contention, Repair, Rates, SomeRates, Spans, Sizes, Errors, HalfDuplex, PacketRadio, FrameError,
        Wimax, Station, Amc, Service, Connection, Cap, Arq, Harq, Wlan, Aggregate, Roaming, Cell, Link, Assumption, Hop, Direction, TraceRate, RateSchedule, DelaySchedule, LossSchedule, Slots, GrantCycle, LinkLayer, Mtu, Tunnel, Policer, Shaper, Pep,
        Bulk, Transfer, Web, Page, Video, Call, Conference, Game, ConstantRate, OnOff, Probe, Live,
        TcpKeys, TcpEnds, DelayedAck, AckControl, SackCompression, ProcessingJitter, Tso, Flow, Quic, Repeat, Scenario, Measure, Hunt, HuntObjective, HuntConstraint, HuntRange, HuntLosses, MeasurementPlan,
}

fn checked<T: KeyValue>(value: &Value) -> Read<Arc<dyn Checked>> {
    match T::read(value, &Bounds::NONE)?.attribute() {
        Attribute::Table(table) => Ok(table),
        Attribute::Value(_) | Attribute::Array(_) => unreachable!("a table is an attribute that is a table"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyDefault;

    #[test]
    fn every_key_has_a_text_a_unit_and_values_that_are_read() {
        for name in TABLES {
            for key in keys(name).expect("a table") {
                assert!(key.text.ends_with('.') && !key.unit.is_empty(), "[{name}] {}", key.name);
                // The file of an example does not exist.
                assert!(key.unit == "file" || key.check(&key.example) == Ok(()), "[{name}] {}", key.name);
                assert_ne!(key.example, Value::Absent, "[{name}] {} has no example", key.name);
                if let KeyDefault::Value(value) = &key.default {
                    assert_eq!(key.check(value), Ok(()), "[{name}] {}", key.name);
                }
            }
        }
    }

    #[test]
    fn table_is_unknown_when_no_struct_has_its_name() {
        assert!(read("Quueue", &Value::Absent).is_none() && schema("Quueue").is_none() && keys("Queue").is_none());
        assert_eq!(kinds("Queue")[2], ("codel", "CoDel"));
        // Each kind, and two tables of `ack`.
        assert_eq!(schema("Queue").map(|(_, definitions)| definitions.len()), Some(kinds("Queue").len() + 2));
    }
}
