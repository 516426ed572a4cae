//! One printed number: its value, and how finely it is printed.

/// A number as it is printed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    /// Its value, with its sign.
    pub(crate) value: f64,
    /// Half of one unit of its last printed digit.
    pub(crate) half: f64,
    /// Digits behind the decimal point as printed.
    pub(crate) decimals: usize,
    /// Whether a sign is printed.
    pub(crate) signed: bool,
    /// Bytes that it takes.
    pub(crate) length: usize,
}

/// Most characters of a number.
const LENGTH_MAX: usize = 40;

impl Number {
    /// Multiplied by a unit's size or a metric prefix.
    pub(crate) fn scaled(&self, scale: f64) -> Self {
        Self { value: self.value * scale, half: self.half * scale, ..self.clone() }
    }
}

/// Whether `text` begins as a number does.
pub(crate) fn starts(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-', '−', '–']).unwrap_or(text);
    let digits = digits.strip_prefix('.').unwrap_or(digits);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Reads the number at the start of `text`; `None` for a version, a date and the like.
pub(crate) fn read(text: &str) -> Option<Number> {
    let sign = text.chars().next().filter(|c| matches!(c, '+' | '-' | '−' | '–'));
    let from = sign.map_or(0, char::len_utf8);
    let body = text.get(from..)?;
    let end = body
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '\'' | '_'))
        .unwrap_or(body.len());
    let body = body.get(..end)?.trim_end_matches(['.', ',', '\'', '_']);
    if body.is_empty() || body.len() > LENGTH_MAX {
        return None;
    }
    let (whole, fraction) = parts(body)?;
    let mut length = from + body.len();
    let exponent = match exponent(text.get(length..)?) {
        Some((value, bytes)) => {
            length += bytes;
            value
        }
        None => 0,
    };
    let value: f64 = format!("{whole}.{fraction}e{exponent}").parse().ok()?;
    let negative = matches!(sign, Some('-' | '−' | '–'));
    let half = 0.5 * 10_f64.powi(exponent - i32::try_from(fraction.len()).ok()?);
    value.is_finite().then_some(Number {
        value: if negative { -value } else { value },
        half,
        decimals: fraction.len(),
        signed: sign.is_some(),
        length,
    })
}

/// Digits before and behind the decimal point, without thousands separators.
fn parts(body: &str) -> Option<(String, String)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let separator = ['\'', '_', ','].into_iter().find(|s| body.contains(*s));
    if let Some(separator) = separator {
        let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
        let groups: Vec<&str> = whole.split(separator).collect();
        if grouped(&groups) && (fraction.is_empty() || digits(fraction)) {
            return Some((groups.concat(), fraction.to_owned()));
        }
        // "35,5": a decimal comma.
        return match groups.as_slice() {
            [whole, fraction]
                if separator == ',' && !body.contains('.') && digits(whole) && digits(fraction) =>
            {
                Some(((*whole).to_owned(), (*fraction).to_owned()))
            }
            _ => None,
        };
    }
    let groups: Vec<&str> = body.split('.').collect();
    match groups.as_slice() {
        [whole] if digits(whole) => Some(((*whole).to_owned(), String::new())),
        [whole, fraction] if digits(fraction) && (whole.is_empty() || digits(whole)) => {
            Some((format!("0{whole}"), (*fraction).to_owned()))
        }
        groups if groups.len() > 2 && grouped(groups) => Some((groups.concat(), String::new())),
        _ => None,
    }
}

/// 1–3 digits, then groups of exactly three.
fn grouped(groups: &[&str]) -> bool {
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    match groups {
        [first, rest @ ..] if !rest.is_empty() => {
            (1..=3).contains(&first.len())
                && digits(first)
                && rest.iter().all(|g| g.len() == 3 && digits(g))
        }
        _ => false,
    }
}

/// "e+08": its value and length.
fn exponent(text: &str) -> Option<(i32, usize)> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let digits = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let sign = rest.len() - digits.len();
    // A digit or letter behind it makes it a hash.
    if !(1..=3).contains(&count) || digits.get(count..)?.starts_with(char::is_alphanumeric) {
        return None;
    }
    let value: i32 = rest.get(..sign + count)?.trim_start_matches('+').parse().ok()?;
    Some((value, 1 + sign + count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_printed_precision_is_kept() {
        for (text, value, half) in [
            ("12", 12.0, 0.5),
            ("0.60", 0.6, 0.005),
            ("-7.8%", -7.8, 0.05),
            ("−3", -3.0, 0.5),
            (".5", 0.5, 0.05),
            ("1,234,567", 1_234_567.0, 0.5),
            ("1,234.5", 1234.5, 0.05),
            ("8.527.918", 8_527_918.0, 0.5),
            ("35,5", 35.5, 0.05),
            ("1_000", 1000.0, 0.5),
            ("1.792e+08", 1.792e8, 0.5e5),
            ("12.", 12.0, 0.5),
        ] {
            let number = read(text).unwrap_or_else(|| panic!("{text}"));
            assert!((number.value - value).abs() < 1e-9, "{text}: {number:?}");
            assert!((number.half - half).abs() < 1e-9 * half, "{text}: {number:?}");
        }
    }

    #[test]
    fn versions_are_no_numbers() {
        for text in ["2.50.0", "6.15.1", "1,2,3", "1.2,3", "4.8.5", "12,34,567"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-+0-9.,'_eE−]{0,60}") {
            if let Some(number) = read(&text) {
                prop_assert!(number.value.is_finite() && number.length <= text.len());
            }
        }

        #[test]
        fn a_printed_number_is_read_back(value in -1e9f64..1e9, decimals in 0_usize..6) {
            let text = format!("{value:.decimals$}");
            let number = read(&text).unwrap();
            prop_assert!((number.value - value).abs() <= number.half * 1.001 + value.abs() * 1e-15);
            prop_assert_eq!(number.length, text.len());
        }
    }
}
