//! Tokens of a line of assembly.
//!
//! A [`Lexer`] is a position in the text and the token there; it is copied to look ahead and stepped to go on. `;` and `//`
//! start a comment that ends the line, `/* */` is white space. Each byte is looked at a constant number of times.

/// A token. Operators are their bytes, two for `<<`, `==` and the like.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Token<'a> {
    /// A name: letters, digits, `_`, `.`, `$` and, inside, `@`.
    Name(&'a str),
    /// An integer; those above 2^63 wrap.
    Int(i64),
    /// A floating-point number without sign, with its text.
    Float(f64),
    /// What stands between double quotes, escapes as they are.
    Str(&'a str),
    /// An operator or a bracket of one byte.
    Op(u8),
    /// An operator of two bytes.
    Op2([u8; 2]),
    /// The end of the statement.
    End,
    /// Not a token; says why.
    Bad(&'static str),
}

/// A place in a line.
#[derive(Clone, Copy, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    /// The token here.
    pub token: Token<'a>,
    /// Its first byte.
    pub start: usize,
    end: usize,
}

fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'$')
}

fn continues_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'@')
}

impl<'a> Lexer<'a> {
    /// The first token of `text`.
    pub fn new(text: &'a str) -> Self {
        Self::at(text, 0)
    }

    /// The first token from byte `from` of `text` on.
    pub fn at(text: &'a str, from: usize) -> Self {
        let end = if text.is_char_boundary(from) { from } else { text.len() };
        let mut lexer = Self { text, token: Token::End, start: end, end };
        lexer.step();
        lexer
    }

    /// Goes to the next token.
    pub fn step(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = self.end;
        loop {
            match bytes.get(at) {
                Some(byte) if byte.is_ascii_whitespace() => at += 1,
                Some(b'/') if bytes.get(at + 1) == Some(&b'*') => {
                    at = match self.text[at + 2..].find("*/") {
                        Some(length) => at + length + 4,
                        None => bytes.len(),
                    }
                }
                _ => break,
            }
        }
        self.start = at;
        let (token, length) = scan(self.text, at);
        self.token = token;
        self.end = at + length;
    }

    /// The token after this one.
    pub fn peek(&self) -> Token<'a> {
        self.after().token
    }

    /// The place after this token.
    pub fn after(mut self) -> Self {
        self.step();
        self
    }

    /// Steps over `op` if it is here.
    pub fn skip(&mut self, op: u8) -> bool {
        let here = self.token == Token::Op(op);
        if here {
            self.step();
        }
        here
    }

    /// Whether the statement ends here.
    pub fn at_end(&self) -> bool {
        self.token == Token::End
    }

    /// The text of this token.
    pub fn text(&self) -> &'a str {
        self.text.get(self.start..self.end).unwrap_or_default()
    }

    /// What follows this token, unlexed.
    pub fn rest(&self) -> &'a str {
        self.text.get(self.end..).unwrap_or_default()
    }
}

/// The token at byte `at` and its length.
fn scan(text: &str, at: usize) -> (Token<'_>, usize) {
    let bytes = &text.as_bytes()[at.min(text.len())..];
    let Some(&first) = bytes.first() else { return (Token::End, 0) };
    let next = bytes.get(1).copied().unwrap_or(0);
    match first {
        b'0'..=b'9' => number(&text[at..]),
        b'.' if next.is_ascii_digit() => number(&text[at..]),
        _ if starts_name(first) => {
            let length = bytes.iter().position(|&b| !continues_name(b)).unwrap_or(bytes.len());
            (Token::Name(&text[at..at + length]), length)
        }
        b';' => (Token::End, 0),
        b'/' if next == b'/' => (Token::End, 0),
        b'"' => {
            let mut i = 1;
            while i < bytes.len() && bytes[i] != b'"' {
                i += if bytes[i] == b'\\' { 2 } else { 1 };
            }
            if i >= bytes.len() {
                return (Token::Bad("unterminated string"), bytes.len());
            }
            (Token::Str(&text[at + 1..at + i]), i + 1)
        }
        b'<' | b'>' if next == first => (Token::Op2([first, first]), 2),
        b'<' | b'>' | b'=' | b'!' if next == b'=' => (Token::Op2([first, next]), 2),
        b'&' | b'|' if next == first => (Token::Op2([first, first]), 2),
        b'!'..=b'~' => (Token::Op(first), 1),
        _ => {
            let length = text[at..].chars().next().map_or(1, char::len_utf8);
            (Token::Bad("character that has no meaning here"), length)
        }
    }
}

/// A number at the start of `text`, which begins with a digit or a point before a digit.
fn number(text: &str) -> (Token<'_>, usize) {
    let bytes = text.as_bytes();
    let run = |from: usize, of: fn(&u8) -> bool| {
        bytes[from..].iter().position(|b| !of(b)).map_or(bytes.len(), |n| from + n)
    };
    let radix = match (bytes[0], bytes.get(1)) {
        (b'0', Some(b'x' | b'X')) => 16,
        (b'0', Some(b'b' | b'B')) => 2,
        _ => 10,
    };
    if radix != 10 {
        let end = run(2, u8::is_ascii_alphanumeric);
        return match u64::from_str_radix(&text[2..end], radix) {
            Ok(value) => (Token::Int(value as i64), end),
            Err(_) => (Token::Bad("invalid number"), end),
        };
    }
    let mut end = run(0, u8::is_ascii_digit);
    let mut is_float = false;
    if bytes.get(end) == Some(&b'.') {
        is_float = true;
        end = run(end + 1, u8::is_ascii_digit);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let digits = end + 1 + sign;
        if bytes.get(digits).is_some_and(u8::is_ascii_digit) {
            is_float = true;
            end = run(digits, u8::is_ascii_digit);
        }
    }
    let tail = run(end, u8::is_ascii_alphanumeric);
    if tail != end {
        return (Token::Bad("invalid number"), tail);
    }
    let digits = &text[..end];
    let token = if is_float {
        digits.parse().map_or(Token::Bad("invalid number"), Token::Float)
    } else {
        // A leading zero means octal.
        let (digits, radix) = match digits.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (rest, 8),
            _ => (digits, 10),
        };
        u64::from_str_radix(digits, radix)
            .map_or(Token::Bad("invalid number"), |value| Token::Int(value as i64))
    };
    (token, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut all = Vec::new();
        while !lexer.at_end() {
            all.push(lexer.token);
            lexer.step();
        }
        all
    }

    #[test]
    fn names_numbers_and_operators() {
        use Token::*;
        assert_eq!(
            tokens("v_mov_b32 v[0:0x1F],\t-1.5e3 /* c */ << a.b$c@rel32@lo ; rest"),
            [
                Name("v_mov_b32"),
                Name("v"),
                Op(b'['),
                Int(0),
                Op(b':'),
                Int(31),
                Op(b']'),
                Op(b','),
                Op(b'-'),
                Float(1500.0),
                Op2(*b"<<"),
                Name("a.b$c@rel32@lo"),
            ]
        );
        assert_eq!(tokens("017 0b11 .5 1. 0 // x"), [Int(15), Int(3), Float(0.5), Float(1.0), Int(0)]);
        assert_eq!(tokens(r#""a\"b" |"#), [Str(r#"a\"b"#), Op(b'|')]);
    }

    #[test]
    fn nonsense_is_a_token() {
        for text in ["0x", "12ab", "\"open", "ä", "99999999999999999999999"] {
            assert!(matches!(tokens(text)[..], [Token::Bad(_), ..]), "{text}");
        }
        assert_eq!(tokens("/* open"), []);
    }
}
