//! Numbers in sentences: three significant digits with the unit that fits. `ackclock.format` in
//! Python has its numbers from here.

/// `digits` significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 12300 for three; `-` for
/// what is no number.
pub fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // By the exponent of the rounded value: 9.996 is 10.0, not 10.00.
    let decimals = (digits as i32 - 1 - exponent(value, digits)).clamp(0, 6);
    format!("{value:.*}", decimals as usize)
}

/// The decimal exponent of a value that is rounded to this number of significant digits.
fn exponent(value: f64, digits: usize) -> i32 {
    let text = format!("{value:.*e}", digits - 1);
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// At most this number of significant digits, without zeros at the end; with an exponent where it is
/// as large as the number of digits, or below -4: the form "g" of C and of Python.
pub fn general(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let exponent = exponent(value, digits);
    if (-4..digits as i32).contains(&exponent) {
        return without_zeros(&format!("{value:.*}", (digits as i32 - 1 - exponent).max(0) as usize)).into();
    }
    let text = format!("{value:.*e}", digits - 1);
    let mantissa = text.split_once('e').map_or(text.as_str(), |(mantissa, _)| mantissa);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Factor and unit of rates, the largest first.
const RATE_UNITS: [(f64, &str); 4] = [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")];

fn rate_unit(bps: f64) -> (f64, &'static str) {
    // By the rounded value: 999,900 b/s are 1.00 Mb/s, not 1000 kb/s.
    let shown: f64 = format!("{:.2e}", bps.abs()).parse().unwrap_or(0.0);
    RATE_UNITS.into_iter().find(|(factor, _)| shown >= *factor).unwrap_or((1.0, "b/s"))
}

/// Bit/s with the prefix for one to three digits before the point; `-` without a rate.
pub fn rate(bps: impl Into<Option<f64>>) -> String {
    let Some(bps) = bps.into().filter(|bps| bps.is_finite()) else { return "-".into() };
    let (factor, unit) = rate_unit(bps);
    format!("{} {unit}", significant(bps / factor, 3))
}

/// Two rates in bit/s with the prefix of the larger: `4.21 .. 9.94 Mb/s`.
pub fn rate_range(low: f64, high: f64) -> String {
    let (factor, unit) = rate_unit(high);
    format!("{} .. {} {unit}", significant(low / factor, 3), significant(high / factor, 3))
}

/// A share (0 to 1) in percent with three significant digits; `-` without one.
pub fn percent(share: impl Into<Option<f64>>) -> String {
    let share = share.into().filter(|share| share.is_finite());
    share.map_or_else(|| "-".into(), |share| format!("{} %", significant(100.0 * share, 3)))
}

/// Milliseconds, without decimals from ten on; below a tenth with one significant digit; less than
/// half a microsecond is zero.
pub fn milliseconds(value: impl Into<Option<f64>>) -> String {
    let Some(value) = value.into().filter(|value| value.is_finite()) else { return "-".into() };
    if value.abs() < 0.5e-3 {
        return "0 ms".into();
    }
    if value.abs() >= 10.0 {
        return format!("{value:.0} ms");
    }
    format!("{} ms", significant(value, if value.abs() >= 0.1 { 3 } else { 1 }))
}

/// A time in seconds: `3.1 ms`, `12 s`.
pub fn span(seconds: f64) -> String {
    if seconds < 1.0 { milliseconds(1e3 * seconds) } else { format!("{} s", general(seconds, 3)) }
}

/// Time in a queue; below half a millisecond `less than 1 ms`.
pub fn waiting(ms: f64) -> String {
    if ms >= 0.5 { milliseconds(ms) } else { "less than 1 ms".into() }
}

/// A share (0 to 1) in percent, without decimals from 10 % on.
pub fn share_text(share: f64) -> String {
    let percent = 100.0 * share;
    if share >= 0.1 || share == 0.0 { format!("{percent:.0} %") } else { format!("{} %", general(percent, 2)) }
}

/// A share (0 to 1) in percent without decimals, `<1 %` below one.
pub fn whole_percent(share: f64) -> String {
    if share >= 0.01 { format!("{:.0} %", 100.0 * share) } else { "<1 %".into() }
}

/// A mean number of things: "3.5 drops", "1 drop".
pub fn count(number: f64, noun: &str, nouns: &str) -> String {
    let is_whole = number >= 10.0 || number == number.round_ties_even();
    let shown = if is_whole { format!("{number:.0}") } else { format!("{number:.1}") };
    let noun = if shown == "1" { noun } else { nouns };
    format!("{shown} {noun}")
}

/// 1 timeout, 2 timeouts.
pub fn many(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Measured bytes with a decimal prefix: 850 B, 17 KB, 1.1 MB.
pub fn size(bytes: f64) -> String {
    for (factor, unit) in [(1e6, "MB"), (1e3, "KB")] {
        if bytes >= factor {
            let value = bytes / factor;
            return if value >= 10.0 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") };
        }
    }
    format!("{bytes:.0} B")
}

/// Bytes as configured in links and hosts: KiB and MiB where they are whole, else with commas.
pub fn configured_size(bytes: f64) -> String {
    let bytes = bytes.round_ties_even() as u64;
    for (factor, unit) in [(1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= factor && bytes.is_multiple_of(factor) {
            return format!("{} {unit}", bytes / factor);
        }
    }
    let digits = bytes.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{text} B")
}

/// A clause with a capital letter.
pub fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("U39")
    #[test]
    fn prefix_is_the_larger_one_when_the_rate_rounds_up_to_it() {
        let rates = [
            (999.6, "1.00 kb/s"),
            (999_600.0, "1.00 Mb/s"),
            (999_400.0, "999 kb/s"),
            (999.6e6, "1.00 Gb/s"),
            (9.996e6, "10.0 Mb/s"),
            (8_123_456.0, "8.12 Mb/s"),
            (1e9, "1.00 Gb/s"),
            (0.0, "0 b/s"),
            (12_340.0, "12.3 kb/s"),
        ];
        assert!(rates.into_iter().all(|(bps, text)| rate(bps) == text));
        assert_eq!(
            (rate(None), rate(f64::INFINITY), rate_range(4.21e6, 9.94e6)),
            ("-".into(), "-".into(), "4.21 .. 9.94 Mb/s".into())
        );
    }

    // finding("U39")
    #[test]
    fn time_is_zero_when_it_is_below_half_a_microsecond() {
        let times = [
            (0.0004, "0 ms"),
            (0.0006, "0.0006 ms"),
            (0.0297, "0.03 ms"),
            (0.034, "0.03 ms"),
            (0.25, "0.250 ms"),
            (0.779, "0.779 ms"),
            (9.996, "10.0 ms"),
            (12.5, "12 ms"),
        ];
        assert!(times.into_iter().all(|(ms, text)| milliseconds(ms) == text));
        assert_eq!([span(0.0031), span(12.0), span(1.234), waiting(0.2)], ["3.10 ms", "12 s", "1.23 s", "less than 1 ms"]);
    }

    #[test]
    fn shares_sizes_and_counts_have_the_digits_that_fit() {
        let shares = [(0.5, "50 %"), (0.0, "0 %"), (0.0123, "1.2 %"), (0.02, "2 %"), (0.0996, "10 %"), (1e-7, "1e-05 %")];
        assert!(shares.into_iter().all(|(share, text)| share_text(share) == text));
        assert_eq!([whole_percent(0.005), whole_percent(0.126), percent(0.01234)], ["<1 %", "13 %", "1.23 %"]);
        assert_eq!([count(3.5, "drop", "drops"), count(1.0, "drop", "drops")], ["3.5 drops", "1 drop"]);
        assert_eq!([many(1, "timeout"), many(0, "timeout")], ["1 timeout", "0 timeouts"]);
        assert_eq!(
            [configured_size(65536.0), configured_size(1234567.0), configured_size(0.0)],
            ["64 KiB", "1,234,567 B", "0 B"]
        );
        assert_eq!([size(850.0), size(17_400.0), size(1.14e6), size(9999.0)], ["850 B", "17 KB", "1.1 MB", "10.0 KB"]);
        assert_eq!([general(12345.0, 3), general(0.5, 2), general(100.0, 3)], ["1.23e+04", "0.5", "100"]);
    }
}
