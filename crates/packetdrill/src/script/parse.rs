//! The statements of a script.

use super::cursor::Cursor;
use super::packet::packet;
use super::{Base, Event, MAX_SCRIPT_BYTES, Script, ScriptError, SocketCall, Statement, When};
use ackclock_core::units::{PS_PER_S, Span};

/// Maximum number of statements.
const MAX_STATEMENTS: usize = 100_000;
/// Maximum time in a script: a week.
const MAX_SECONDS: u64 = 7 * 86_400;

pub fn script(text: &str) -> Result<Script, ScriptError> {
    let mut cursor = Cursor::new(text);
    if text.len() > MAX_SCRIPT_BYTES {
        return Err(cursor.error("a script of at most 1 MiB"));
    }
    let mut script = Script { options: Vec::new(), statements: Vec::new() };
    loop {
        cursor.skip_blank()?;
        if cursor.is_at_end() {
            return Ok(script);
        }
        if script.statements.len() == MAX_STATEMENTS {
            return Err(cursor.error("at most 100,000 statements"));
        }
        if cursor.take("--") {
            script.options.push(option(&mut cursor)?);
        } else {
            let statement = statement(&mut cursor)?;
            script.statements.push(statement);
        }
    }
}

fn option(cursor: &mut Cursor<'_>) -> Result<(String, String), ScriptError> {
    let name = cursor.word()?.to_owned();
    let value = if cursor.take("=") { cursor.take_while(|c| !c.is_whitespace()) } else { "" };
    Ok((name, value.to_owned()))
}

fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, ScriptError> {
    let (line, start) = (cursor.line(), cursor.offset());
    let when = when(cursor)?;
    cursor.skip_blank()?;
    let event = match cursor.peek() {
        Some('<') => {
            cursor.bump();
            Event::Inbound(packet(cursor)?)
        }
        Some('>') => {
            cursor.bump();
            Event::Outbound(packet(cursor)?)
        }
        Some('`') => {
            cursor.bump();
            Event::Command(cursor.take_until("`")?.to_owned())
        }
        Some('%') => {
            cursor.expect("%{")?;
            Event::Assertions(cursor.take_until("}%")?.to_owned())
        }
        _ => Event::Call(call(cursor)?),
    };
    Ok(Statement { line, text: cursor.since(start), when, event })
}

/// The time before a statement. A command at the start has none.
fn when(cursor: &mut Cursor<'_>) -> Result<When, ScriptError> {
    if cursor.peek() == Some('`') {
        return Ok(When { base: Base::Previous, from: Span::ZERO, to: None, returns: None });
    }
    if cursor.take("*") {
        return Ok(When { base: Base::Any, from: Span::ZERO, to: None, returns: None });
    }
    let base = if cursor.take("+") { Base::Previous } else { Base::Start };
    let from = seconds(cursor)?;
    cursor.skip_blank()?;
    let mut when = When { base, from, to: None, returns: None };
    if cursor.take("~") {
        cursor.skip_blank()?;
        cursor.take("+");
        when.to = Some(seconds(cursor)?);
    } else if cursor.take("...") {
        cursor.skip_blank()?;
        cursor.take("+");
        when.returns = Some(seconds(cursor)?);
    }
    Ok(when)
}

/// A decimal number of seconds, exact to a picosecond.
fn seconds(cursor: &mut Cursor<'_>) -> Result<Span, ScriptError> {
    let before = cursor.clone();
    let whole = cursor.take_while(|c| c.is_ascii_digit());
    // `0...0.1` is a time, an ellipsis and another time.
    let fraction =
        if !cursor.rest().starts_with("...") && cursor.take(".") { cursor.take_while(|c| c.is_ascii_digit()) } else { "" };
    if whole.is_empty() && fraction.is_empty() {
        return Err(before.error("a time, such as 0.1, +.02, +0~+.1 or *"));
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u64::MAX) };
    if whole > MAX_SECONDS {
        return Err(before.error("a time of at most a week"));
    }
    let mut ps = whole * PS_PER_S;
    let mut unit = PS_PER_S / 10;
    for digit in fraction.bytes() {
        ps += u64::from(digit - b'0') * unit;
        unit /= 10;
    }
    Ok(Span(ps))
}

fn call(cursor: &mut Cursor<'_>) -> Result<SocketCall, ScriptError> {
    let before = cursor.clone();
    let name = cursor.word()?.to_owned();
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(before.error("a packet, a socket call, a command in backquotes or %{ assertions }%"));
    }
    cursor.expect("(")?;
    let args = arguments(cursor)?;
    cursor.expect("=")?;
    cursor.skip_blank()?;
    let result = if cursor.take("?") { None } else { Some(signed(cursor)?) };
    let errno = errno(cursor)?;
    let end = cursor.clone();
    cursor.skip_blank()?;
    if cursor.peek() == Some('(') {
        cursor.take_until(")")?;
    } else {
        *cursor = end;
    }
    Ok(SocketCall { name, args, result, errno })
}

fn signed(cursor: &mut Cursor<'_>) -> Result<i64, ScriptError> {
    let before = cursor.clone();
    let negative = cursor.take("-");
    let number = i64::try_from(cursor.number()?).map_err(|_| before.error("a result of at most 63 bits"))?;
    Ok(if negative { -number } else { number })
}

/// An error's name after a result.
fn errno(cursor: &mut Cursor<'_>) -> Result<Option<String>, ScriptError> {
    let before = cursor.clone();
    let word = cursor.word()?;
    if word.starts_with('E') && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()) {
        return Ok(Some(word.to_owned()));
    }
    *cursor = before;
    Ok(None)
}

/// Arguments up to the closing parenthesis, split at commas outside brackets and strings.
fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<String>, ScriptError> {
    let before = cursor.clone();
    let (mut args, mut current, mut depth) = (Vec::new(), String::new(), 0_usize);
    let mut in_string = false;
    loop {
        if !in_string {
            if cursor.rest().starts_with("//") {
                cursor.take_while(|c| c != '\n');
            } else if cursor.take("/*") {
                cursor.take_until("*/")?;
            }
        }
        let Some(letter) = cursor.bump() else { return Err(before.error("arguments and a closing parenthesis")) };
        match letter {
            '"' => in_string = !in_string,
            _ if in_string => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                args.push(std::mem::take(&mut current).trim().to_owned());
                continue;
            }
            _ => {}
        }
        current.push(letter);
    }
    if !current.trim().is_empty() || !args.is_empty() {
        args.push(current.trim().to_owned());
    }
    Ok(args)
}
