//! Assertions over the sender's state: a part of Python's expressions, without calls, attributes
//! and names other than those of `struct tcp_info`.

use super::Stop;
use ackclock_core::tcp::{CaState, TcpInfo};
use ackclock_core::units::Span;

/// Maximum nesting of an expression.
const MAX_DEPTH: usize = 64;
/// The kernel's value before the first reduction (TCP_INFINITE_SSTHRESH).
const INFINITE_SSTHRESH: u32 = 0x7FFF_FFFF;

/// Evaluates the `assert` statements of a text. `print` and comments are ignored.
pub fn assertions(text: &str, info: Option<&TcpInfo>) -> Result<(), Stop> {
    for statement in statements(text) {
        let Some(expression) = statement.strip_prefix("assert") else {
            let names_constant = statement.split_once('=').is_some_and(|(name, _)| constant(name.trim()).is_some());
            if statement.starts_with("print") || names_constant {
                continue;
            }
            return Err(Stop::unsupported(format!("only assert is evaluated, not: {statement}")));
        };
        assertion(expression.trim(), info)?;
    }
    Ok(())
}

/// Statements end at a line's end or a semicolon outside parentheses and strings.
fn statements(text: &str) -> Vec<String> {
    let (mut all, mut current) = (Vec::new(), String::new());
    let (mut depth, mut quote, mut comment) = (0_i32, None, false);
    for letter in text.chars() {
        match letter {
            '\n' => comment = false,
            _ if comment => continue,
            _ => {}
        }
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None => match letter {
                '"' | '\'' => quote = Some(letter),
                '#' => {
                    comment = true;
                    continue;
                }
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                '\n' | ';' if depth <= 0 => {
                    all.push(std::mem::take(&mut current));
                    continue;
                }
                _ => {}
            },
        }
        current.push(letter);
    }
    all.push(current);
    all.into_iter().map(|statement| statement.trim().to_owned()).filter(|statement| !statement.is_empty()).collect()
}

fn assertion(text: &str, info: Option<&TcpInfo>) -> Result<(), Stop> {
    let tokens = tokens(text).ok_or_else(|| Stop::unsupported(format!("an expression that is not understood: {text}")))?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, info, used: Vec::new() };
    let value = parser.expression()?;
    if !matches!(parser.peek(), None | Some(Token::Sign(","))) {
        return Err(Stop::unsupported(format!("an expression that is not understood: {text}")));
    }
    if value.is_true() {
        return Ok(());
    }
    let condition = text.to_owned();
    let got: Vec<String> = parser.used.iter().map(|(name, value)| format!("{name} = {}", value.show())).collect();
    Err(Stop::differs(condition, if got.is_empty() { "false".to_owned() } else { got.join(", ") }))
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(i64),
    Real(f64),
    Text(String),
}

impl Value {
    fn is_true(&self) -> bool {
        match self {
            Value::Integer(number) => *number != 0,
            Value::Real(number) => *number != 0.0,
            Value::Text(text) => !text.is_empty(),
        }
    }
    fn real(&self) -> Option<f64> {
        match self {
            Value::Integer(number) => Some(*number as f64),
            Value::Real(number) => Some(*number),
            Value::Text(_) => None,
        }
    }
    fn show(&self) -> String {
        match self {
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => format!("{text:?}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token<'a> {
    Number(Value),
    Name(&'a str),
    Text(&'a str),
    Sign(&'a str),
}

/// Longer signs first.
const SIGNS: [&str; 22] =
    ["==", "!=", "<=", ">=", "<<", ">>", "//", "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", "(", ")", ",", "="];

fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
            all.push(Token::Number(number(&rest[..length])?));
        } else if first.is_ascii_alphabetic() || first == '_' {
            length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            all.push(Token::Name(&rest[..length]));
        } else if first == '"' || first == '\'' {
            length = rest[1..].find(first)? + 2;
            all.push(Token::Text(&rest[1..length - 1]));
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
            length = sign.len();
            all.push(Token::Sign(&rest[..length]));
        }
        rest = rest[length..].trim_start();
    }
    Some(all)
}

fn number(text: &str) -> Option<Value> {
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return i64::from_str_radix(hexadecimal, 16).ok().map(Value::Integer);
    }
    let integer = text.trim_end_matches(['L', 'l']).parse().ok().map(Value::Integer);
    integer.or_else(|| text.parse().ok().filter(|real: &f64| real.is_finite()).map(Value::Real))
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    info: Option<&'a TcpInfo>,
    /// Names that the expression reads, with their values.
    used: Vec<(String, Value)>,
}

/// Binary operators from the weakest to the strongest, below comparisons.
const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["*", "/", "//", "%"]];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.at)
    }

    fn take_sign(&mut self, signs: &[&str]) -> Option<&'a str> {
        let Some(&Token::Sign(sign)) = self.tokens.get(self.at) else { return None };
        signs.contains(&sign).then(|| {
            self.at += 1;
            sign
        })
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = self.peek() == Some(&Token::Name(name));
        self.at += usize::from(found);
        found
    }

    fn expression(&mut self) -> Result<Value, Stop> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Stop::unsupported("an expression nested more than 64 deep"));
        }
        let mut value = self.conjunction()?;
        while self.take_name("or") {
            let right = self.conjunction()?;
            value = if value.is_true() { value } else { right };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn conjunction(&mut self) -> Result<Value, Stop> {
        let mut value = self.negation()?;
        while self.take_name("and") {
            let right = self.negation()?;
            value = if value.is_true() { right } else { value };
        }
        Ok(value)
    }

    fn negation(&mut self) -> Result<Value, Stop> {
        let mut negated = false;
        let mut any = false;
        while self.take_name("not") {
            negated = !negated;
            any = true;
        }
        let value = self.comparison()?;
        Ok(if any { Value::Integer((value.is_true() != negated).into()) } else { value })
    }

    /// A chain: `a < b <= c`.
    fn comparison(&mut self) -> Result<Value, Stop> {
        let mut left = self.binary(0)?;
        let mut result = None;
        while let Some(sign) = self.take_sign(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.binary(0)?;
            let holds = compare(sign, &left, &right)?;
            result = Some(result.unwrap_or(true) && holds);
            left = right;
        }
        Ok(result.map_or(left, |holds| Value::Integer(holds.into())))
    }

    fn binary(&mut self, level: usize) -> Result<Value, Stop> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut value = self.binary(level + 1)?;
        while let Some(sign) = self.take_sign(signs) {
            let right = self.binary(level + 1)?;
            value = arithmetic(sign, &value, &right)?;
        }
        Ok(value)
    }

    fn unary(&mut self) -> Result<Value, Stop> {
        let mut signs = Vec::new();
        while let Some(sign) = self.take_sign(&["-", "+", "~"]) {
            signs.push(sign);
        }
        let mut value = self.atom()?;
        for sign in signs.into_iter().rev() {
            value = match (sign, value) {
                ("-", Value::Integer(number)) => Value::Integer(number.wrapping_neg()),
                ("-", Value::Real(number)) => Value::Real(-number),
                ("~", Value::Integer(number)) => Value::Integer(!number),
                ("+", value) => value,
                _ => return Err(Stop::unsupported("an operator on a text")),
            };
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<Value, Stop> {
        let token = self.peek().cloned();
        self.at += 1;
        match token {
            Some(Token::Number(value)) => Ok(value),
            Some(Token::Text(text)) => Ok(Value::Text(text.to_owned())),
            Some(Token::Sign("(")) => {
                let value = self.expression()?;
                match self.take_sign(&[")"]) {
                    Some(_) => Ok(value),
                    None => Err(Stop::unsupported("an expression without its closing parenthesis")),
                }
            }
            Some(Token::Name(name)) => self.name(name),
            _ => Err(Stop::unsupported("an expression that is not understood")),
        }
    }

    fn name(&mut self, name: &str) -> Result<Value, Stop> {
        if let Some(value) = constant(name) {
            return Ok(Value::Integer(value));
        }
        let Some(info) = self.info else { return Err(Stop::unsupported("an assertion before there is a connection")) };
        let value =
            field(info, name).map(Value::Integer).ok_or_else(|| Stop::unsupported(format!("the engine does not have {name}")))?;
        if self.used.iter().all(|(used, _)| used != name) {
            self.used.push((name.to_owned(), value.clone()));
        }
        Ok(value)
    }
}

fn compare(sign: &str, left: &Value, right: &Value) -> Result<bool, Stop> {
    let order = match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right)) => Some(left.cmp(right)),
        _ => left.real().zip(right.real()).and_then(|(left, right)| left.partial_cmp(&right)),
    };
    let Some(order) = order else { return Err(Stop::unsupported("a comparison of a number with a text")) };
    Ok(match sign {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_ge(),
    })
}

fn arithmetic(sign: &str, left: &Value, right: &Value) -> Result<Value, Stop> {
    if let (Value::Integer(left), Value::Integer(right)) = (left, right) {
        let result = match sign {
            "|" => Some(left | right),
            "^" => Some(left ^ right),
            "&" => Some(left & right),
            "<<" => u32::try_from(*right).ok().filter(|&bits| bits < 63).and_then(|bits| left.checked_shl(bits)),
            ">>" => u32::try_from(*right).ok().map(|bits| left >> bits.min(63)),
            "+" => left.checked_add(*right),
            "-" => left.checked_sub(*right),
            "*" => left.checked_mul(*right),
            "//" => left.checked_div_euclid(*right),
            "%" => left.checked_rem_euclid(*right),
            _ => None,
        };
        if let Some(result) = result {
            return Ok(Value::Integer(result));
        }
    }
    let numbers = left.real().zip(right.real());
    let real = numbers.and_then(|(left, right)| match sign {
        "+" => Some(left + right),
        "-" => Some(left - right),
        "*" => Some(left * right),
        "/" if right != 0.0 => Some(left / right),
        _ => None,
    });
    real.filter(|number| number.is_finite()).map(Value::Real).ok_or_else(|| Stop::unsupported("arithmetic without a result"))
}

/// Constants that the kernel's headers define.
fn constant(name: &str) -> Option<i64> {
    if let Some(state) = name.strip_prefix("TCP_CA_") {
        return CaState::ALL.into_iter().find(|known| known.name() == state).map(|known| known as i64);
    }
    Some(match name {
        "True" => 1,
        "False" => 0,
        "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        "TCP_INFINITE_SSTHRESH" => INFINITE_SSTHRESH.into(),
        _ => return None,
    })
}

fn microseconds(span: Span) -> i64 {
    (span.0 / Span::from_us(1).0) as i64
}

/// A field of `struct tcp_info`, in the kernel's units.
fn field(info: &TcpInfo, name: &str) -> Option<i64> {
    Some(match name {
        "tcpi_ca_state" => info.ca_state as i64,
        "tcpi_snd_cwnd" => info.snd_cwnd.into(),
        "tcpi_snd_ssthresh" => info.snd_ssthresh.min(INFINITE_SSTHRESH).into(),
        "tcpi_snd_mss" => info.snd_mss.into(),
        "tcpi_unacked" => info.unacked.into(),
        "tcpi_sacked" => info.sacked.into(),
        "tcpi_lost" => info.lost.into(),
        "tcpi_retrans" => info.retrans.into(),
        "tcpi_retransmits" => info.retransmits.into(),
        "tcpi_reordering" => info.reordering.into(),
        "tcpi_probes" => info.probes.into(),
        "tcpi_backoff" => info.backoff.into(),
        "tcpi_total_retrans" => info.total_retrans as i64,
        "tcpi_delivered" => info.delivered as i64,
        "tcpi_rtt" => microseconds(info.rtt?),
        "tcpi_rttvar" => microseconds(info.rttvar),
        "tcpi_min_rtt" => microseconds(info.min_rtt?),
        "tcpi_rto" => microseconds(info.rto),
        "tcpi_delivered_ce" => info.ecn_delivered.ce as i64,
        "tcpi_delivered_ce_bytes" => info.ecn_delivered.ce_bytes as i64,
        "tcpi_delivered_e0_bytes" => info.ecn_delivered.ect0_bytes as i64,
        "tcpi_delivered_e1_bytes" => info.ecn_delivered.ect1_bytes as i64,
        "tcpi_received_ce" => info.ecn_received.ce as i64,
        "tcpi_received_ce_bytes" => info.ecn_received.ce_bytes as i64,
        "tcpi_received_e0_bytes" => info.ecn_received.ect0_bytes as i64,
        "tcpi_received_e1_bytes" => info.ecn_received.ect1_bytes as i64,
        "tcpi_options" => {
            i64::from(info.timestamps)
                | i64::from(info.sack) << 1
                | i64::from(info.window_scaling) << 2
                | i64::from(info.ecn) << 3
        }
        _ => return None,
    })
}
