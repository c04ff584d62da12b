//! Tokens.

use super::error::{ParseError, ParseErrorKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, with its percent sign or dollar.
    Name(&'a str),
    /// `.word`, without the dot; the word may contain `::`.
    Dot(&'a str),
    /// A number as written.
    Number(&'a str),
    /// What stands between quotes.
    Text(&'a str),
    /// Any other character.
    Mark(char),
    /// After the last.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: u32,
    pub(super) column: u32,
}

pub(super) fn lex(text: &str) -> Result<Vec<Spanned<'_>>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut tokens = vec![];
    loop {
        lexer.skip_blanks()?;
        let (line, column) = (lexer.line, lexer.column);
        let token = lexer.next()?;
        tokens.push(Spanned { token, line, column });
        if token == Token::End {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Lexer<'a> {
    fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { line: self.line, column: self.column, kind }
    }

    /// Takes so many bytes, which end at a character.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        taken
    }

    fn skip_blanks(&mut self) -> Result<(), ParseError> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.take(blanks);
            if self.rest.starts_with("//") {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.take(end);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let end = comment.find("*/").ok_or_else(|| self.error(ParseErrorKind::Unterminated("comment")))?;
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Token<'a>, ParseError> {
        let Some(first) = self.rest.chars().next() else { return Ok(Token::End) };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let length_of_word = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
        match first {
            'a'..='z' | 'A'..='Z' | '_' | '$' | '%' => Ok(Token::Name(self.take(1 + length_of_word(&self.rest[1..])))),
            '0'..='9' => Ok(Token::Number(self.take(length_of_number(self.rest)))),
            '.' => {
                let word = &self.rest[1..];
                let mut end = length_of_word(word);
                while let Some(after) = word[end..].strip_prefix("::")
                    && after.starts_with(is_word)
                {
                    end += 2 + length_of_word(after);
                }
                if end == 0 {
                    return Err(self.error(ParseErrorKind::Character('.')));
                }
                Ok(Token::Dot(&self.take(1 + end)[1..]))
            }
            '"' => {
                let end = self.rest[1..].find(['"', '\n']).filter(|end| self.rest[1 + end..].starts_with('"'));
                let end = end.ok_or_else(|| self.error(ParseErrorKind::Unterminated("string")))?;
                Ok(Token::Text(&self.take(end + 2)[1..=end]))
            }
            ',' | ';' | ':' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '@' | '!' | '+' | '-' | '=' | '|' => {
                self.take(1);
                Ok(Token::Mark(first))
            }
            _ => Err(self.error(ParseErrorKind::Character(first))),
        }
    }
}

/// A number goes on as long as letters and digits do, with a fraction and a signed exponent where they can stand.
fn length_of_number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
    let prefixed = bytes.get(1).is_some_and(|b| b"xXfFdDbB".contains(b)) && bytes.first() == Some(&b'0');
    let mut end = 0;
    while let Some(&b) = bytes.get(end) {
        let exponent = !prefixed && matches!(b, b'e' | b'E');
        if exponent && matches!(bytes.get(end + 1), Some(b'+' | b'-')) && digit(end + 2) {
            end += 2;
        } else if b.is_ascii_alphanumeric() || b == b'_' || (b == b'.' && !prefixed && digit(end + 1)) {
            end += 1;
        } else {
            break;
        }
    }
    end
}
