//! A place in the text of a script.

use super::ScriptError;

/// Reads a script's characters from the front.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0, line: 1 }
    }

    /// The line of the next character, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    pub fn offset(&self) -> usize {
        self.at
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The text from an earlier offset up to here, in one line.
    pub fn since(&self, offset: usize) -> String {
        self.text[offset..self.at].split_whitespace().collect::<Vec<_>>().join(" ")
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.text.len()
    }

    /// Consumes a character.
    pub fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    fn skip(&mut self, bytes: usize) {
        let end = self.at + bytes;
        while self.at < end && self.bump().is_some() {}
    }

    /// Consumes `prefix` if it is next.
    pub fn take(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.skip(prefix.len());
        }
        found
    }

    /// Consumes characters while they satisfy `accepted`.
    pub fn take_while(&mut self, accepted: impl Fn(char) -> bool) -> &'a str {
        let from = self.at;
        while self.peek().is_some_and(&accepted) {
            self.bump();
        }
        &self.text[from..self.at]
    }

    /// Consumes the text before `end`, and `end`.
    pub fn take_until(&mut self, end: &str) -> Result<&'a str, ScriptError> {
        let Some(length) = self.rest().find(end) else {
            return Err(self.error(&format!("a text that ends with {end}")));
        };
        let found = &self.rest()[..length];
        self.skip(length + end.len());
        Ok(found)
    }

    /// Consumes blanks, line ends and comments.
    pub fn skip_blank(&mut self) -> Result<(), ScriptError> {
        loop {
            self.take_while(char::is_whitespace);
            if self.take("//") || self.rest().starts_with('#') {
                self.take_while(|c| c != '\n');
            } else if self.take("/*") {
                self.take_until("*/")?;
            } else {
                return Ok(());
            }
        }
    }

    /// Consumes blanks and `expected`.
    pub fn expect(&mut self, expected: &str) -> Result<(), ScriptError> {
        self.skip_blank()?;
        if self.take(expected) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// Consumes blanks and a word of letters, digits and underscores.
    pub fn word(&mut self) -> Result<&'a str, ScriptError> {
        self.skip_blank()?;
        Ok(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
    }

    /// Consumes blanks and an unsigned number.
    pub fn number(&mut self) -> Result<u64, ScriptError> {
        self.skip_blank()?;
        let before = self.clone();
        let digits = self.take_while(|c| c.is_ascii_hexdigit() || c == 'x');
        let parsed = match digits.strip_prefix("0x") {
            Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
            None => digits.parse(),
        };
        parsed.map_err(|_| before.error("a number"))
    }

    /// An error at this place.
    pub fn error(&self, expected: &str) -> ScriptError {
        let found: String = self.rest().chars().take_while(|&c| c != '\n').take(40).collect();
        let found = if self.is_at_end() { "the end".to_owned() } else { found };
        ScriptError { line: self.line, found, expected: expected.to_owned() }
    }
}
