//! Values of the crates as Python objects and back, by serde: what JSON would be, without its text.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString};
use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize};
use std::fmt::{self, Display};

/// A value as the objects that `json.loads` makes of its JSON.
pub fn to_object<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(ToObject(py)).map_err(|error| error.0)
}

/// A value of the dicts, lists, texts and numbers of a document; other keys are ignored.
pub fn from_object<T: DeserializeOwned>(object: &Bound<'_, PyAny>) -> PyResult<T> {
    T::deserialize(FromObject(object.clone())).map_err(|error| error.0)
}

/// An exception of Python as an error of serde.
#[derive(Debug)]
pub struct ObjectError(PyErr);

impl Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ObjectError {}

impl From<PyErr> for ObjectError {
    fn from(error: PyErr) -> ObjectError {
        ObjectError(error)
    }
}

impl ser::Error for ObjectError {
    fn custom<T: Display>(message: T) -> ObjectError {
        ObjectError(PyValueError::new_err(message.to_string()))
    }
}

impl de::Error for ObjectError {
    fn custom<T: Display>(message: T) -> ObjectError {
        ObjectError(PyValueError::new_err(message.to_string()))
    }
}

type Made<'py> = Result<Bound<'py, PyAny>, ObjectError>;

#[derive(Clone, Copy)]
struct ToObject<'py>(Python<'py>);

impl<'py> ToObject<'py> {
    fn int(
        self,
        value: impl IntoPyObject<'py, Target = PyInt, Output = Bound<'py, PyInt>, Error = std::convert::Infallible>,
    ) -> Made<'py> {
        match value.into_pyobject(self.0) {
            Ok(value) => Ok(value.into_any()),
        }
    }

    fn text(self, value: &str) -> Made<'py> {
        Ok(PyString::new(self.0, value).into_any())
    }

    fn none(self) -> Made<'py> {
        Ok(self.0.None().into_bound(self.0))
    }

    /// Of a few names many times over: the same object.
    fn key(self, name: &'static str) -> Bound<'py, PyString> {
        PyString::intern(self.0, name)
    }
}

/// A list in the making.
struct ListOf<'py>(Bound<'py, PyList>, ToObject<'py>);

/// The name of a variant, and the dict of its fields in the making.
struct VariantOf<'py>(&'static str, DictOf<'py>);

/// A dict in the making, and the key of its next value.
struct DictOf<'py>(Bound<'py, PyDict>, ToObject<'py>, Option<Bound<'py, PyAny>>);

impl<'py> ser::Serializer for ToObject<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    type SerializeSeq = ListOf<'py>;
    type SerializeTuple = ListOf<'py>;
    type SerializeTupleStruct = ListOf<'py>;
    type SerializeTupleVariant = ser::Impossible<Bound<'py, PyAny>, ObjectError>;
    type SerializeMap = DictOf<'py>;
    type SerializeStruct = DictOf<'py>;
    type SerializeStructVariant = VariantOf<'py>;

    fn serialize_bool(self, value: bool) -> Made<'py> {
        Ok(PyBool::new(self.0, value).to_owned().into_any())
    }
    fn serialize_i8(self, value: i8) -> Made<'py> {
        self.int(value)
    }
    fn serialize_i16(self, value: i16) -> Made<'py> {
        self.int(value)
    }
    fn serialize_i32(self, value: i32) -> Made<'py> {
        self.int(value)
    }
    fn serialize_i64(self, value: i64) -> Made<'py> {
        self.int(value)
    }
    fn serialize_u8(self, value: u8) -> Made<'py> {
        self.int(value)
    }
    fn serialize_u16(self, value: u16) -> Made<'py> {
        self.int(value)
    }
    fn serialize_u32(self, value: u32) -> Made<'py> {
        self.int(value)
    }
    fn serialize_u64(self, value: u64) -> Made<'py> {
        self.int(value)
    }
    fn serialize_f32(self, value: f32) -> Made<'py> {
        // As the digits of the text read: 0.9 and not 0.8999999761581421.
        self.serialize_f64(value.to_string().parse().unwrap_or(f64::from(value)))
    }
    fn serialize_f64(self, value: f64) -> Made<'py> {
        if value.is_finite() { Ok(PyFloat::new(self.0, value).into_any()) } else { self.none() }
    }
    fn serialize_char(self, value: char) -> Made<'py> {
        self.text(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Made<'py> {
        self.text(value)
    }
    fn serialize_bytes(self, _: &[u8]) -> Made<'py> {
        Err(ser::Error::custom("bytes in a document"))
    }
    fn serialize_none(self) -> Made<'py> {
        self.none()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'py> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Made<'py> {
        self.none()
    }
    fn serialize_unit_struct(self, _: &'static str) -> Made<'py> {
        self.none()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made<'py> {
        Ok(self.key(variant).into_any())
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made<'py> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Made<'py> {
        let dict = PyDict::new(self.0);
        dict.set_item(self.key(variant), value.serialize(self)?)?;
        Ok(dict.into_any())
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<ListOf<'py>, ObjectError> {
        Ok(ListOf(PyList::empty(self.0), self))
    }
    fn serialize_tuple(self, _: usize) -> Result<ListOf<'py>, ObjectError> {
        self.serialize_seq(None)
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ListOf<'py>, ObjectError> {
        self.serialize_seq(None)
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, ObjectError> {
        Err(ser::Error::custom("a variant with values in a document"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<DictOf<'py>, ObjectError> {
        Ok(DictOf(PyDict::new(self.0), self, None))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<DictOf<'py>, ObjectError> {
        self.serialize_map(None)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<VariantOf<'py>, ObjectError> {
        Ok(VariantOf(variant, self.serialize_map(None)?))
    }
}

impl<'py> ser::SerializeSeq for ListOf<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ObjectError> {
        Ok(self.0.append(value.serialize(self.1)?)?)
    }
    fn end(self) -> Made<'py> {
        Ok(self.0.into_any())
    }
}

impl<'py> ser::SerializeTuple for ListOf<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ObjectError> {
        ser::SerializeSeq::serialize_element(self, value)
    }
    fn end(self) -> Made<'py> {
        ser::SerializeSeq::end(self)
    }
}

impl<'py> ser::SerializeTupleStruct for ListOf<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ObjectError> {
        ser::SerializeSeq::serialize_element(self, value)
    }
    fn end(self) -> Made<'py> {
        ser::SerializeSeq::end(self)
    }
}

impl<'py> ser::SerializeMap for DictOf<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ObjectError> {
        let key = key.serialize(self.1)?;
        // The keys of JSON are texts.
        self.2 = Some(if key.is_instance_of::<PyString>() { key } else { key.str()?.into_any() });
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), ObjectError> {
        let key = self.2.take().ok_or_else(|| <ObjectError as ser::Error>::custom("a value without a key"))?;
        Ok(self.0.set_item(key, value.serialize(self.1)?)?)
    }
    fn end(self) -> Made<'py> {
        Ok(self.0.into_any())
    }
}

impl<'py> ser::SerializeStruct for DictOf<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), ObjectError> {
        Ok(self.0.set_item(self.1.key(key), value.serialize(self.1)?)?)
    }
    fn end(self) -> Made<'py> {
        Ok(self.0.into_any())
    }
}

impl<'py> ser::SerializeStructVariant for VariantOf<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = ObjectError;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), ObjectError> {
        ser::SerializeStruct::serialize_field(&mut self.1, key, value)
    }
    fn end(self) -> Made<'py> {
        let DictOf(fields, to, _) = self.1;
        let dict = PyDict::new(to.0);
        dict.set_item(to.key(self.0), fields)?;
        Ok(dict.into_any())
    }
}

struct FromObject<'py>(Bound<'py, PyAny>);

impl<'de> de::Deserializer<'de> for FromObject<'_> {
    type Error = ObjectError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ObjectError> {
        let object = &self.0;
        if object.is_none() {
            visitor.visit_unit()
        } else if let Ok(value) = object.cast::<PyBool>() {
            visitor.visit_bool(value.is_true())
        } else if let Ok(value) = object.cast::<PyFloat>() {
            visitor.visit_f64(value.value())
        } else if object.is_instance_of::<PyInt>() {
            match object.extract::<u64>() {
                Ok(value) => visitor.visit_u64(value),
                Err(_) => visitor.visit_i64(object.extract()?),
            }
        } else if let Ok(text) = object.cast::<PyString>() {
            visitor.visit_str(&text.to_cow()?)
        } else if object.hasattr("keys")? {
            let items: Vec<_> = object.call_method0("items")?.try_iter()?.collect::<PyResult<_>>()?;
            visitor.visit_map(Items(items.into_iter(), None))
        } else {
            let items: Vec<_> = object.try_iter()?.collect::<PyResult<_>>()?;
            visitor.visit_seq(Items(items.into_iter(), None))
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ObjectError> {
        if self.0.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ObjectError> {
        // Only the keys that are read, whatever else a document has.
        let Ok(dict) = self.0.cast::<PyDict>() else { return self.deserialize_any(visitor) };
        let known = |name: &&'static str| Ok(dict.get_item(name)?.map(|value| (*name, value)));
        let found: Vec<_> = fields.iter().filter_map(|name| known(name).transpose()).collect::<PyResult<_>>()?;
        visitor.visit_map(Fields(found.into_iter(), None))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ObjectError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ObjectError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map enum
        identifier
    }
}

/// The fields of a struct, and the value of the last one.
struct Fields<'py, I: Iterator<Item = (&'static str, Bound<'py, PyAny>)>>(I, Option<Bound<'py, PyAny>>);

impl<'de, 'py, I: Iterator<Item = (&'static str, Bound<'py, PyAny>)>> MapAccess<'de> for Fields<'py, I> {
    type Error = ObjectError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ObjectError> {
        let Some((name, value)) = self.0.next() else { return Ok(None) };
        self.1 = Some(value);
        seed.deserialize(name.into_deserializer()).map(Some)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ObjectError> {
        let value = self.1.take().ok_or_else(|| <ObjectError as de::Error>::custom("a value without a key"))?;
        seed.deserialize(FromObject(value))
    }
}

/// The items of a list, or of a mapping: pairs of key and value.
struct Items<'py, I: Iterator<Item = Bound<'py, PyAny>>>(I, Option<Bound<'py, PyAny>>);

impl<'de, 'py, I: Iterator<Item = Bound<'py, PyAny>>> SeqAccess<'de> for Items<'py, I> {
    type Error = ObjectError;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ObjectError> {
        self.0.next().map(|item| seed.deserialize(FromObject(item))).transpose()
    }
}

impl<'de, 'py, I: Iterator<Item = Bound<'py, PyAny>>> MapAccess<'de> for Items<'py, I> {
    type Error = ObjectError;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ObjectError> {
        let Some(pair) = self.0.next() else { return Ok(None) };
        self.1 = Some(pair.get_item(1)?);
        seed.deserialize(FromObject(pair.get_item(0)?)).map(Some)
    }
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ObjectError> {
        let value = self.1.take().ok_or_else(|| <ObjectError as de::Error>::custom("a value without a key"))?;
        seed.deserialize(FromObject(value))
    }
}
