//! The larger and the smaller of two numbers, for what each ACK computes many times. `f64::max` and `f64::min` also look for NaN, six
//! instructions more; no window and no rate is one.

/// `b` if either is NaN.
#[inline]
pub fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// `b` if either is NaN.
#[inline]
pub fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_agree_with_the_standard_library_on_numbers() {
        for (a, b) in [(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (-1.0, 0.0), (5.0, f64::INFINITY), (f64::NEG_INFINITY, 5.0)] {
            assert_eq!((larger(a, b), smaller(a, b)), (f64::max(a, b), f64::min(a, b)));
        }
    }
}
