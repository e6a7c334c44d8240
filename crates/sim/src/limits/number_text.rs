//! Numbers in the sentences about limits: as `ackclock.format` in Python has them.

/// `digits` significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 12300 for three.
fn significant(value: f64, digits: usize) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    // By the exponent of the rounded value: 9.996 is 10.0, not 10.00.
    let text = format!("{value:.*e}", digits - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let decimals = (digits as i32 - 1 - exponent).clamp(0, 6);
    format!("{value:.*}", decimals as usize)
}

/// Bit/s with the prefix for one to three digits before the point.
pub fn rate(bps: f64) -> String {
    const PREFIXES: [(f64, &str); 4] = [(1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s"), (1.0, "b/s")];
    let prefix = PREFIXES.into_iter().find(|(factor, _)| bps.abs() >= *factor);
    let (factor, unit) = prefix.unwrap_or((1.0, "b/s"));
    format!("{} {unit}", significant(bps / factor, 3))
}

/// Milliseconds, without decimals from ten on; below a tenth with one significant digit.
pub fn milliseconds(value: f64) -> String {
    if value.abs() >= 10.0 {
        return format!("{value:.0} ms");
    }
    format!("{} ms", significant(value, if value.abs() >= 0.1 { 3 } else { 1 }))
}

/// A share in percent, without decimals from 10 % on.
pub fn share_text(share: f64) -> String {
    let percent = 100.0 * share;
    if share >= 0.1 || share == 0.0 {
        return format!("{percent:.0} %");
    }
    // Two significant digits, without zeros at the end, as Python's "g" has them.
    let text = format!("{percent:.1e}");
    let exponent: i32 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if exponent < -4 {
        let (digits, _) = text.split_once('e').unwrap_or((&text, ""));
        return format!("{}e-{:02} %", without_zeros(digits), -exponent);
    }
    format!("{} %", without_zeros(&format!("{percent:.*}", (1 - exponent).max(0) as usize)))
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// A mean number of things: "3.5 drops", "1 drop".
pub fn count(number: f64, noun: &str, nouns: &str) -> String {
    let is_whole = number >= 10.0 || number == number.round_ties_even();
    let shown = if is_whole { format!("{number:.0}") } else { format!("{number:.1}") };
    let noun = if shown == "1" { noun } else { nouns };
    format!("{shown} {noun}")
}

/// Bytes as given in links and captures: KiB and MiB where they are whole, else with commas.
pub fn size(number: f64) -> String {
    let bytes = number.round_ties_even() as u64;
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

#[cfg(test)]
mod tests {
    use super::{count, milliseconds, rate, share_text, size};

    #[test]
    fn numbers_have_three_digits_and_the_unit_that_fits() {
        let rates =
            [(8_123_456.0, "8.12 Mb/s"), (999.6, "1000 b/s"), (1e9, "1.00 Gb/s"), (0.0, "0 b/s"), (12_340.0, "12.3 kb/s")];
        assert!(rates.into_iter().all(|(bps, text)| rate(bps) == text));
        let times = [(12.5, "12 ms"), (9.996, "10.0 ms"), (0.25, "0.250 ms"), (0.034, "0.03 ms"), (0.0, "0 ms")];
        assert!(times.into_iter().all(|(ms, text)| milliseconds(ms) == text));
        let shares = [(0.5, "50 %"), (0.0, "0 %"), (0.0123, "1.2 %"), (0.02, "2 %"), (0.0996, "10 %"), (1e-7, "1e-05 %")];
        for (share, text) in shares {
            assert_eq!(share_text(share), text);
        }
        assert_eq!(count(3.5, "drop", "drops"), "3.5 drops");
        assert_eq!(count(1.0, "drop", "drops"), "1 drop");
        assert_eq!((size(65536.0), size(1234567.0), size(0.0)), ("64 KiB".into(), "1,234,567 B".into(), "0 B".into()));
    }
}
