//! The common representation of metadata, from MessagePack (version 3 and later) or YAML (version 2).

/// A metadata value. Maps keep the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nothing,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}

impl Value {
    /// The value of a key in a map; `None` if this is not a map.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Map(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Value]> {
        match self {
            Value::List(values) => Some(values),
            _ => None,
        }
    }

    /// A non-negative number that fits 32 bits.
    pub fn number(&self) -> Option<u32> {
        match self {
            Value::Int(number) => u32::try_from(*number).ok(),
            _ => None,
        }
    }

    pub fn flag(&self) -> bool {
        matches!(self, Value::Bool(true)) || matches!(self, Value::Int(number) if *number != 0)
    }
}
