//! A performance-enhancing proxy that splits connections (RFC 3135, section 2.4;
//! docs/models/pep.md).

use crate::invalid::Read;
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::Definitions;
use crate::tcp::keys::TcpKeys;
use crate::value::Value;
use crate::values::Bytes;
use crate::{Keys, word_enum};

word_enum! {
    /// When the proxy answers a caller.
    pub enum Handshake {
        Local = "local",
        Through = "through",
    }
}

/// It stands where the hop begins, seen from the server. TCP connections end there and go on as
/// others.
///
/// At most `buffer` bytes are stored in each direction. `handshake`: it answers a caller at once
/// (`local`), or when it has itself been answered (`through`). `tcp` are the proxy's own keys, over
/// those of the flow.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Pep {
    /// Bytes that the proxy stores in each direction.
    #[key(default = "4 MiB", example = "16 MB")]
    pub buffer: Bytes,
    /// `local`: the proxy answers a SYN at once. `through`: after the server has answered it.
    #[key(default = "local")]
    pub handshake: Handshake,
    /// Keys of [tcp] for the proxy's own ends, in place of the flow's.
    #[key(example = TcpTable::example(), absent = "the flow's")]
    pub tcp: TcpTable,
}

impl Pep {
    pub(super) fn example() -> Value {
        Value::table([("buffer", "16 MB".into())])
    }
}

/// The keys of [tcp] for a proxy's ends; without any those of the flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpTable(Option<TcpKeys>);

impl TcpTable {
    pub fn keys(&self) -> Option<&TcpKeys> {
        self.0.as_ref()
    }

    fn example() -> Value {
        Value::table([("variant", "cubic".into())])
    }
}

impl KeyValue for TcpTable {
    const OPTIONAL: bool = true;

    fn read(value: &Value, bounds: &Bounds) -> Read<TcpTable> {
        let keys = TcpKeys::read(value, bounds)?;
        Ok(TcpTable((keys != TcpKeys::default()).then_some(keys)))
    }

    fn write(&self, given: Option<&Value>) -> Value {
        self.0.write(given)
    }

    fn attribute(&self) -> Attribute {
        KeyValue::attribute(&self.0)
    }

    fn unit() -> &'static str {
        "table"
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        TcpKeys::schema(bounds, definitions)
    }

    fn absent() -> Option<TcpTable> {
        Some(TcpTable(None))
    }
}
