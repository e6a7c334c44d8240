//! Maximum and minimum for computations per ACK. `f64::max` and `f64::min` also check for NaN,
//! which takes six more instructions; no window or rate is NaN.

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
    fn larger_and_smaller_agree_with_the_standard_library() {
        for (a, b) in [(1.0, 2.0), (2.0, 1.0), (3.0, 3.0), (-1.0, 0.0), (5.0, f64::INFINITY), (f64::NEG_INFINITY, 5.0)] {
            assert_eq!((larger(a, b), smaller(a, b)), (f64::max(a, b), f64::min(a, b)));
        }
    }
}
