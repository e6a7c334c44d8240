//! What an end sent several times without any answer: the peer, or the path to it, is gone.

/// The oldest outstanding segment, if nothing answered its copies.
#[derive(Debug, Clone)]
pub struct Unanswered {
    pub what: UnansweredKind,
    /// Payload in bytes: of a FIN the data in its segment.
    pub bytes: u32,
    /// Times of its copies, nanoseconds; at most [`MAX_COPIES`], the first ones.
    pub sent_at: Vec<i64>,
    /// Number of its copies.
    pub copies: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnansweredKind {
    Syn,
    Data,
    Fin,
}

/// Maximum number of times that are listed.
pub const MAX_COPIES: usize = 16;

impl UnansweredKind {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            UnansweredKind::Syn => "syn",
            UnansweredKind::Data => "data",
            UnansweredKind::Fin => "fin",
        }
    }
}
