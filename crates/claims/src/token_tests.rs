use super::*;
use proptest::prelude::*;

/// Numbers with their units, as `value unit`.
fn figures(text: &str) -> Vec<String> {
    let shown = |token: &Token| {
        let value = match &token.kind {
            Kind::Number(number) => number.value.to_string(),
            Kind::Range(low, high) => format!("{}…{}", low.value, high.value),
            Kind::Factor(number) => format!("{}x", number.value),
            _ => return None,
        };
        let percent = if token.percent { "%" } else { "" };
        let unit = token.unit.as_ref().map(|unit| format!(" {}", unit.name));
        Some(format!("{value}{percent}{}", unit.unwrap_or_default()))
    };
    tokens(text).iter().filter_map(shown).collect()
}

#[test]
fn numbers_take_the_unit_that_follows_them() {
    for (text, expected) in [
        ("from 10.2Mpps to 11 Mpps.", &["10.2 Mpps", "11 Mpps"][..]),
        ("12 %, 13% and 14 percent", &["12%", "13%", "14%"]),
        ("250 jobs per minute", &["250 jobs per minute"]),
        ("a 2.3x, 2.4 x or 3 times faster one", &["2.3x", "2.4x", "3x"]),
        ("100 x 1 minute", &["100", "1 minute"]),
        ("4.5M and 3 million", &["4500000", "3000000"]),
        ("10-15% and 2-3 ms", &["10…15%", "2…3 ms"]),
        ("(1.31us->1.15us)", &["1.31 us", "1.15 us"]),
        ("Before=50348, After=50275", &["50348", "50275"]),
        ("**12.5 s**", &["12.5 s"]),
    ] {
        assert_eq!(figures(text), expected, "{text}");
    }
}

#[test]
fn what_only_looks_like_a_number_is_none() {
    let text = "v6.15-rc1 4.8.5-11 2.50.0 24-core 2019/6/19 14:23:40 2025-04-09 5730609ffd7e \
                0xff gcc-12 #123 a@10.2 https://x/5%20 fs/10/a 1/2 32bit 7da531b1cf6b..0eaf3522";
    assert_eq!(figures(text), [""; 0]);
}

#[test]
fn a_number_knows_how_it_is_qualified() {
    for (text, about) in [
        ("12%", About::Plain),
        ("~12%", About::Near),
        ("about 12%", About::Near),
        ("up to 12%", About::AtMost),
        ("nearly 12%", About::AtMost),
        ("more than 12%", About::AtLeast),
        ("> 12%", About::AtLeast),
    ] {
        let tokens = tokens(text);
        assert_eq!(tokens.last().unwrap().about, about, "{text}");
    }
}

#[test]
fn sentences_end_at_full_stops_and_list_items() {
    let stops = |text: &str| tokens(text).iter().filter(|t| t.kind == Kind::Stop).count();
    assert_eq!(stops("It is 5% e.g. here. That is 3.5 ms."), 2);
    assert_eq!(stops("one\n- two\n- three"), 2);
    assert_eq!(stops("approx. 5 ms vs. 6 ms"), 0);
}

proptest! {
    #[test]
    fn tokens_lie_in_their_text_and_in_order(text in "[-+ 0-9a-z.,%~/:()→±µx\n]{0,80}") {
        let mut last = 0;
        for token in tokens(&text) {
            prop_assert!(token.start >= last && token.start <= token.end);
            prop_assert!(text.get(token.start..token.end).is_some());
            last = token.start;
        }
    }
}
