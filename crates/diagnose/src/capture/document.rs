//! The text of a document around its lists of flows, which are written a part at a time: of 100,000
//! flows the text is a gigabyte.

use ackclock_trace::report::{Report, json_text};

/// The text of a document before, between and after its lists of flows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    /// Up to the list of the flows.
    pub before: String,
    /// From there to the list of the UDP flows.
    pub to_udp: String,
    /// From there to the list of the second capture's flows; none with one capture.
    pub to_second: Option<String>,
    pub after: String,
}

impl Outline {
    /// `head` is a report without flows.
    pub fn of(head: &Report) -> serde_json::Result<Outline> {
        let text = json_text::indented(head)?;
        let (before, rest) = split_at_list(&text, 1, "flows");
        let (to_udp, rest) = split_at_list(rest, 1, "udp_flows");
        let (to_second, after) = match head.joined {
            Some(_) => {
                let (to_second, after) = split_at_list(rest, 2, "flows");
                (Some(to_second), after)
            }
            None => (None, rest),
        };
        Ok(Outline { before, to_udp, to_second, after: after.to_owned() })
    }
}

/// The text up to the empty list of this name at this depth, and the text after it.
fn split_at_list<'t>(text: &'t str, level: usize, name: &str) -> (String, &'t str) {
    let key = format!("\n{}\"{name}\": ", "  ".repeat(level));
    let (before, after) = text.split_once(&format!("{key}[]")).unwrap_or((text, ""));
    (format!("{before}{key}"), after)
}
