//! A flow put by: everything that is kept of it in as few bytes as it takes, for as long as none of its packets come. What is zero takes a bit,
//! a number as many bytes as it needs, a time its distance to the time before.
//!
//! [`stored!`] lists a struct's fields; one that is left out does not compile.

mod stream;

pub use stream::{Reader, Writer};

use std::collections::VecDeque;

/// Written and read back without a change.
pub trait Stored: Sized {
    fn put(&self, to: &mut Writer);
    fn take(from: &mut Reader<'_>) -> Self;
}

/// Implements [`Stored`] for a struct by its fields in order.
macro_rules! stored {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::stored::Stored for $name {
            fn put(&self, to: &mut $crate::stored::Writer) {
                let $name { $($field),* } = self;
                $($crate::stored::Stored::put($field, to);)*
            }

            fn take(from: &mut $crate::stored::Reader<'_>) -> $name {
                $(let $field = $crate::stored::Stored::take(from);)*
                $name { $($field),* }
            }
        }
    };
}

pub(crate) use stored;

macro_rules! unsigned {
    ($($kind:ty),*) => {$(
        impl Stored for $kind {
            #[inline]
            fn put(&self, to: &mut Writer) {
                to.number(*self as u64);
            }

            #[inline]
            fn take(from: &mut Reader<'_>) -> $kind {
                from.number() as $kind
            }
        }
    )*};
}

unsigned!(u8, u16, u32, u64, usize);

macro_rules! signed {
    ($($kind:ty),*) => {$(
        impl Stored for $kind {
            fn put(&self, to: &mut Writer) {
                to.number(zigzag(i64::from(*self)));
            }

            fn take(from: &mut Reader<'_>) -> $kind {
                unzigzag(from.number()) as $kind
            }
        }
    )*};
}

signed!(i16, i32);

/// Small numbers of either sign become small numbers.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Larger ones are points in time, of which the distance to the last is stored: 26 days after 1970 in nanoseconds.
const SPAN: u64 = 1 << 51;

impl Stored for i64 {
    #[inline]
    fn put(&self, to: &mut Writer) {
        if self.unsigned_abs() < SPAN {
            to.bit(false);
            to.number(zigzag(*self));
        } else {
            to.bit(true);
            to.number(zigzag(self.wrapping_sub(to.instant)));
            to.instant = *self;
        }
    }

    #[inline]
    fn take(from: &mut Reader<'_>) -> i64 {
        if from.bit() {
            from.instant = from.instant.wrapping_add(unzigzag(from.number()));
            from.instant
        } else {
            unzigzag(from.number())
        }
    }
}

impl Stored for bool {
    fn put(&self, to: &mut Writer) {
        to.bit(*self);
    }

    fn take(from: &mut Reader<'_>) -> bool {
        from.bit()
    }
}

impl Stored for f32 {
    fn put(&self, to: &mut Writer) {
        to.bit(self.to_bits() != 0);
        if self.to_bits() != 0 {
            to.bytes(&self.to_le_bytes());
        }
    }

    fn take(from: &mut Reader<'_>) -> f32 {
        if from.bit() { f32::from_le_bytes(from.array()) } else { 0.0 }
    }
}

impl Stored for f64 {
    /// Most are sums of whole numbers that one integer holds.
    fn put(&self, to: &mut Writer) {
        let whole = *self as i64;
        let is_whole = (whole as f64).to_bits() == self.to_bits() && whole.unsigned_abs() < 1 << 42;
        to.bit(is_whole);
        if is_whole { to.number(zigzag(whole)) } else { to.bytes(&self.to_le_bytes()) }
    }

    fn take(from: &mut Reader<'_>) -> f64 {
        if from.bit() { unzigzag(from.number()) as f64 } else { f64::from_le_bytes(from.array()) }
    }
}

impl<T: Stored> Stored for Option<T> {
    fn put(&self, to: &mut Writer) {
        to.bit(self.is_some());
        if let Some(value) = self {
            value.put(to);
        }
    }

    fn take(from: &mut Reader<'_>) -> Option<T> {
        from.bit().then(|| T::take(from))
    }
}

impl<T: Stored> Stored for Box<T> {
    fn put(&self, to: &mut Writer) {
        (**self).put(to);
    }

    fn take(from: &mut Reader<'_>) -> Box<T> {
        Box::new(T::take(from))
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn put(&self, to: &mut Writer) {
        self.0.put(to);
        self.1.put(to);
    }

    fn take(from: &mut Reader<'_>) -> (A, B) {
        let first = A::take(from);
        (first, B::take(from))
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn put(&self, to: &mut Writer) {
        self.iter().for_each(|item| item.put(to));
    }

    fn take(from: &mut Reader<'_>) -> [T; N] {
        std::array::from_fn(|_| T::take(from))
    }
}

fn put_all<'a, T: Stored + 'a>(items: impl ExactSizeIterator<Item = &'a T>, to: &mut Writer) {
    items.len().put(to);
    items.for_each(|item| item.put(to));
}

macro_rules! lists {
    ($($list:ty),*) => {$(
        impl<T: Stored> Stored for $list {
            fn put(&self, to: &mut Writer) {
                put_all(self.iter(), to);
            }

            fn take(from: &mut Reader<'_>) -> $list {
                let n = usize::take(from);
                (0..n).map(|_| T::take(from)).collect()
            }
        }
    )*};
}

lists!(Vec<T>, VecDeque<T>, Box<[T]>);

#[cfg(test)]
mod tests {
    use super::{Reader, Stored, Writer};
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

    stored!(All { small, times, reals, single, maybe, yes });

    proptest! {
        #[test]
        fn what_is_put_by_comes_back(
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
            all.put(&mut writer);
            let bytes = writer.finish(&[]);
            let back = All::take(&mut Reader::new(&bytes));
            prop_assert_eq!(format!("{all:?}"), format!("{back:?}"));
        }
    }
}
