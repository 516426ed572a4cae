//! What `unlikely audit` prints for people: each claim of a text, and what became of it.

use unlikely_claims::{Audit, Claim, Finding};

use crate::figures::{count, counted};
use crate::screen::{Screen, Tone};
use crate::text::{clip, columns, left, prose};

/// Columns of the longest word for a finding, with a gap.
const WORD: usize = 18;

/// The claims in the order of the text on a page of at most `width` columns (at least 40): finding,
/// line, printed and recomputed figure, reason, excerpt. Below them what the runs can show.
pub fn audit_terminal(audit: &Audit, width: usize, color: bool) -> String {
    let mut screen = Screen::new(width, color);
    screen.heading("Claims", &totals(audit));
    if audit.claims.is_empty() {
        let none = "no figure of the text claims a change that could be recomputed";
        screen.paragraph(Tone::Plain, none, "  ", "  ");
    }
    for claim in &audit.claims {
        row(&mut screen, claim);
    }
    if !audit.precision.is_empty() {
        screen.heading("What the runs can show", "");
    }
    for precision in &audit.precision {
        let text = format!("line {}: {}", precision.line, prose(&precision.reason));
        screen.paragraph(Tone::Plain, &text, "  ", "    ");
    }
    if !audit.notes.is_empty() {
        screen.heading("Notes", "");
    }
    for note in &audit.notes {
        let text = format!("line {}: {}", note.line, prose(&note.text));
        screen.paragraph(Tone::Plain, &text, "  ", "    ");
    }
    screen.finish()
}

fn totals(audit: &Audit) -> String {
    let each =
        [Finding::Inconsistent, Finding::Rounded, Finding::Consistent, Finding::NotRecomputable]
            .map(|finding| (audit.count(finding), word(finding)))
            .into_iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, word)| format!("{} {word}", count(n as u64)))
            .collect::<Vec<_>>();
    let total = counted(audit.claims.len() as u64, "claim");
    if each.is_empty() { total } else { format!("{total}: {}", each.join(", ")) }
}

fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::Consistent => "consistent",
        Finding::Rounded => "rounded",
        Finding::Inconsistent => "inconsistent",
        Finding::NotRecomputable => "not recomputable",
    }
}

fn tone(finding: Finding) -> Tone {
    match finding {
        Finding::Consistent => Tone::Good,
        Finding::Rounded => Tone::Warn,
        Finding::Inconsistent => Tone::Bad,
        Finding::NotRecomputable => Tone::Faint,
    }
}

fn row(screen: &mut Screen, claim: &Claim) {
    let indent = " ".repeat(4);
    let name = screen.paint(tone(claim.finding), &left(word(claim.finding), WORD));
    let lines: Vec<String> = claim.repeated_on.iter().take(4).map(u32::to_string).collect();
    let again =
        if lines.is_empty() { String::new() } else { format!(" (and {})", lines.join(", ")) };
    let mut figures = format!("line {}{again}  printed {}", claim.line, prose(&claim.printed));
    if let Some(value) = &claim.recomputed {
        figures.push_str(&format!("  recomputed {}", prose(value)));
    }
    if columns(&figures) + WORD + 2 <= screen.width {
        screen.line(&format!("  {name}{figures}"));
    } else {
        screen.line(&format!("  {name}"));
        screen.paragraph(Tone::Plain, &figures, &indent, &indent);
    }
    screen.paragraph(Tone::Plain, &prose(&claim.reason), &indent, &indent);
    let room = screen.width.saturating_sub(8);
    let excerpt = format!("“{}”", clip(&prose(&claim.excerpt), room));
    screen.paragraph(Tone::Faint, &excerpt, &indent, &indent);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MAIL: &str = "The size increased from 200 bytes to 190 bytes (5%).\n\
                        It is 3% faster.\n";

    #[test]
    fn each_claim_shows_both_figures_and_why() {
        let page = audit_terminal(&unlikely_claims::audit(MAIL.as_bytes()), 80, false);
        assert!(page.contains("2 claims: 1 inconsistent, 1 not recomputable"), "{page}");
        assert!(page.contains("line 1  printed 5%"), "{page}");
        assert!(page.contains("recomputed -5.000 %"), "{page}");
        assert!(page.contains("it is a decrease"), "{page}");
        assert!(page.contains("“The size increased from 200 bytes"), "{page}");
    }

    #[test]
    fn a_text_without_claims_says_so() {
        let page = audit_terminal(&unlikely_claims::audit(b"Fix a typo.\n"), 80, false);
        assert!(page.contains("0 claims") && page.contains("no figure"), "{page}");
    }

    #[test]
    fn control_characters_of_the_text_are_spelled_out() {
        let text = b"It drops\x1b[2J from 10 ms to 9 ms (10%).";
        let page = audit_terminal(&unlikely_claims::audit(text), 120, false);
        assert!(page.contains("\\u{1b}[2J") && !page.contains('\u{1b}'), "{page}");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_page(text in "[ -~\n]{0,200}", width in 40_usize..120) {
            let text = format!("{text} from 10.0 ms to 9.0 ms, a 10% improvement");
            let page = audit_terminal(&unlikely_claims::audit(text.as_bytes()), width, false);
            for line in page.lines() {
                prop_assert!(columns(line) <= width, "{line:?}");
            }
        }
    }
}
