//! Numbers in messages and in TOML, in the forms that Python's `repr` and `g` give them.

/// The shortest text that reads back as the same number: 1.0, 0.0001, 1e-05, 1e+16, inf.
pub fn shortest(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let text = format!("{value:e}");
    let (digits, exponent) = parts(&text);
    if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        return if plain.contains('.') { plain } else { format!("{plain}.0") };
    }
    with_exponent(digits, exponent)
}

/// At most six significant digits, without zeros at the end: 1, 0.125, 1e-05, 1e+06.
pub fn general(value: f64) -> String {
    if !value.is_finite() {
        return shortest(value);
    }
    let text = format!("{value:.5e}");
    let (digits, exponent) = parts(&text);
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    with_exponent(without_zeros(digits), exponent)
}

fn parts(scientific: &str) -> (&str, i32) {
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_has_the_form_of_pythons_repr_when_it_is_shortest() {
        let expected = [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1e300, "1e+300"),
            (-2.5, "-2.5"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in expected {
            assert_eq!(shortest(value), text);
        }
    }

    #[test]
    fn number_has_the_form_of_pythons_g_when_it_is_general() {
        let expected =
            [(1.0, "1"), (0.125, "0.125"), (1e6, "1e+06"), (123_456.7, "123457"), (1e-5, "1e-05"), (0.0, "0"), (100.0, "100")];
        for (value, text) in expected {
            assert_eq!(general(value), text);
        }
    }
}
