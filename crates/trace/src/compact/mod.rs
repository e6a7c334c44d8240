//! Compact encoding of a frozen flow. Zero takes one bit, integers are varints, times are encoded
//! as the difference to the previous time.
//!
//! [`compact!`] lists the fields of a struct; a missing field is a compile error.

mod stream;

pub use stream::{Reader, Writer};

use std::collections::VecDeque;

/// A value with a lossless compact encoding.
pub trait Compact: Sized {
    fn encode(&self, to: &mut Writer);
    fn decode(from: &mut Reader<'_>) -> Self;
}

/// Implements [`Compact`] for a struct, field by field.
macro_rules! compact {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::compact::Compact for $name {
            fn encode(&self, to: &mut $crate::compact::Writer) {
                let $name { $($field),* } = self;
                $($crate::compact::Compact::encode($field, to);)*
            }

            fn decode(from: &mut $crate::compact::Reader<'_>) -> $name {
                $(let $field = $crate::compact::Compact::decode(from);)*
                $name { $($field),* }
            }
        }
    };
}

pub(crate) use compact;

macro_rules! unsigned {
    ($($kind:ty),*) => {$(
        impl Compact for $kind {
            #[inline]
            fn encode(&self, to: &mut Writer) {
                to.varint(*self as u64);
            }

            #[inline]
            fn decode(from: &mut Reader<'_>) -> $kind {
                from.varint() as $kind
            }
        }
    )*};
}

unsigned!(u8, u16, u32, u64, usize);

macro_rules! signed {
    ($($kind:ty),*) => {$(
        impl Compact for $kind {
            fn encode(&self, to: &mut Writer) {
                to.varint(zigzag(i64::from(*self)));
            }

            fn decode(from: &mut Reader<'_>) -> $kind {
                unzigzag(from.varint()) as $kind
            }
        }
    )*};
}

signed!(i16, i32);

/// Maps integers of small magnitude to small unsigned integers.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Values from this magnitude on (26 days in nanoseconds) are times and encoded as differences.
const MIN_TIME: u64 = 1 << 51;

impl Compact for i64 {
    #[inline]
    fn encode(&self, to: &mut Writer) {
        if self.unsigned_abs() < MIN_TIME {
            to.bit(false);
            to.varint(zigzag(*self));
        } else {
            to.bit(true);
            to.varint(zigzag(self.wrapping_sub(to.last_time)));
            to.last_time = *self;
        }
    }

    #[inline]
    fn decode(from: &mut Reader<'_>) -> i64 {
        if from.bit() {
            from.last_time = from.last_time.wrapping_add(unzigzag(from.varint()));
            from.last_time
        } else {
            unzigzag(from.varint())
        }
    }
}

impl Compact for bool {
    fn encode(&self, to: &mut Writer) {
        to.bit(*self);
    }

    fn decode(from: &mut Reader<'_>) -> bool {
        from.bit()
    }
}

impl Compact for f32 {
    fn encode(&self, to: &mut Writer) {
        to.bit(self.to_bits() != 0);
        if self.to_bits() != 0 {
            to.bytes(&self.to_le_bytes());
        }
    }

    fn decode(from: &mut Reader<'_>) -> f32 {
        if from.bit() { f32::from_le_bytes(from.array()) } else { 0.0 }
    }
}

impl Compact for f64 {
    /// Most values are sums of integers and are encoded as one.
    fn encode(&self, to: &mut Writer) {
        let integer = *self as i64;
        let is_integer = (integer as f64).to_bits() == self.to_bits() && integer.unsigned_abs() < 1 << 42;
        to.bit(is_integer);
        if is_integer { to.varint(zigzag(integer)) } else { to.bytes(&self.to_le_bytes()) }
    }

    fn decode(from: &mut Reader<'_>) -> f64 {
        if from.bit() { unzigzag(from.varint()) as f64 } else { f64::from_le_bytes(from.array()) }
    }
}

impl<T: Compact> Compact for Option<T> {
    fn encode(&self, to: &mut Writer) {
        to.bit(self.is_some());
        if let Some(value) = self {
            value.encode(to);
        }
    }

    fn decode(from: &mut Reader<'_>) -> Option<T> {
        from.bit().then(|| T::decode(from))
    }
}

impl<T: Compact> Compact for Box<T> {
    fn encode(&self, to: &mut Writer) {
        (**self).encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> Box<T> {
        Box::new(T::decode(from))
    }
}

impl<A: Compact, B: Compact> Compact for (A, B) {
    fn encode(&self, to: &mut Writer) {
        self.0.encode(to);
        self.1.encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> (A, B) {
        let first = A::decode(from);
        (first, B::decode(from))
    }
}

impl<T: Compact, const N: usize> Compact for [T; N] {
    fn encode(&self, to: &mut Writer) {
        self.iter().for_each(|item| item.encode(to));
    }

    fn decode(from: &mut Reader<'_>) -> [T; N] {
        std::array::from_fn(|_| T::decode(from))
    }
}

fn encode_all<'a, T: Compact + 'a>(items: impl ExactSizeIterator<Item = &'a T>, to: &mut Writer) {
    items.len().encode(to);
    items.for_each(|item| item.encode(to));
}

macro_rules! lists {
    ($($list:ty),*) => {$(
        impl<T: Compact> Compact for $list {
            fn encode(&self, to: &mut Writer) {
                encode_all(self.iter(), to);
            }

            fn decode(from: &mut Reader<'_>) -> $list {
                let n = usize::decode(from);
                (0..n).map(|_| T::decode(from)).collect()
            }
        }
    )*};
}

lists!(Vec<T>, VecDeque<T>, Box<[T]>);

#[cfg(test)]
mod tests {
    use super::{Compact, Reader, Writer};
    use proptest::prelude::*;

    #[derive(Debug, PartialEq)]
    struct All {
        small: u8,
        times: Vec<i64>,
        reals: [f64; 2],
        single: f32,
        maybe: Option<(u32, i32)>,
        yes: bool,
    }

    compact!(All { small, times, reals, single, maybe, yes });

    proptest! {
        #[test]
        fn decode_returns_the_encoded_values(
            small in any::<u8>(),
            times in prop::collection::vec(any::<i64>(), 0..20),
            near in prop::collection::vec(1_700_000_000_000_000_000i64..1_700_000_009_000_000_000, 0..20),
            reals in any::<[f64; 2]>(),
            single in any::<f32>(),
            maybe in any::<Option<(u32, i32)>>(),
            yes in any::<bool>(),
        ) {
            let times = times.into_iter().chain(near).chain([i64::MIN, i64::MAX, 0]).collect();
            let all = All { small, times, reals, single, maybe, yes };
            let mut writer = Writer::default();
            all.encode(&mut writer);
            let bytes = writer.finish(&[]);
            let back = All::decode(&mut Reader::new(&bytes));
            prop_assert_eq!(format!("{all:?}"), format!("{back:?}"));
        }
    }
}
