//! A place among the tokens.

use super::error::{ParseError, ParseErrorKind};
use super::lexer::{Spanned, Token, lex};
use super::number;
use crate::instruction::Immediate;
use crate::syntax::Type;

pub(super) struct Cursor<'a> {
    tokens: Vec<Spanned<'a>>,
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Result<Cursor<'a>, ParseError> {
        Ok(Cursor { tokens: lex(text)?, at: 0 })
    }

    fn spanned(&self, at: usize) -> Spanned<'a> {
        // The last token is the end, which is never passed.
        self.tokens.get(at).copied().unwrap_or(Spanned { token: Token::End, line: 0, column: 0 })
    }

    pub(super) fn peek(&self) -> Token<'a> {
        self.spanned(self.at).token
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Token<'a> {
        self.spanned(self.at + ahead).token
    }

    pub(super) fn line(&self) -> u32 {
        self.spanned(self.at).line
    }

    pub(super) fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        if token != Token::End {
            self.at += 1;
        }
        token
    }

    /// An error at a token.
    pub(super) fn error_at(&self, at: usize, kind: impl Into<ParseErrorKind>) -> ParseError {
        let Spanned { line, column, .. } = self.spanned(at);
        ParseError { line, column, kind: kind.into() }
    }

    /// An error at the next token.
    pub(super) fn error(&self, kind: impl Into<ParseErrorKind>) -> ParseError {
        self.error_at(self.at, kind)
    }

    pub(super) fn expected(&self, expected: &str) -> ParseError {
        let found = match self.peek() {
            Token::Name(t) | Token::Number(t) => format!("`{t}`"),
            Token::Dot(t) => format!("`.{t}`"),
            Token::Text(t) => format!("`\"{t}\"`"),
            Token::Mark(c) => format!("`{c}`"),
            Token::End => "the end of the text".into(),
        };
        self.error(ParseErrorKind::Expected { expected: expected.into(), found })
    }

    /// Takes the mark if it comes.
    pub(super) fn eat(&mut self, mark: char) -> bool {
        let comes = self.peek() == Token::Mark(mark);
        self.at += usize::from(comes);
        comes
    }

    /// Takes the word with a dot if it comes.
    pub(super) fn eat_dot(&mut self, word: &str) -> bool {
        let comes = self.peek() == Token::Dot(word);
        self.at += usize::from(comes);
        comes
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<(), ParseError> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    pub(super) fn name(&mut self) -> Result<&'a str, ParseError> {
        match self.peek() {
            Token::Name(name) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.expected("a name")),
        }
    }

    pub(super) fn dot(&mut self, expected: &str) -> Result<&'a str, ParseError> {
        match self.peek() {
            Token::Dot(word) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.expected(expected)),
        }
    }

    pub(super) fn text(&mut self) -> Result<&'a str, ParseError> {
        match self.peek() {
            Token::Text(text) => {
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.expected("a string")),
        }
    }

    pub(super) fn ty(&mut self) -> Result<Type, ParseError> {
        match self.peek() {
            Token::Dot(word) if let Some(ty) = Type::from_name(word) => {
                self.at += 1;
                Ok(ty)
            }
            _ => Err(self.expected("a type")),
        }
    }

    /// A number without sign, as written.
    pub(super) fn digits(&mut self) -> Result<&'a str, ParseError> {
        match self.peek() {
            Token::Number(text) => {
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// A literal, with its sign.
    pub(super) fn literal(&mut self) -> Result<Immediate, ParseError> {
        let negative = self.eat('-');
        if !negative && self.peek() == Token::Name("WARP_SZ") {
            self.at += 1;
            return Ok(Immediate::Integer(32));
        }
        let text = self.digits()?;
        let value = number::parse(text).and_then(|v| if negative { number::negate(v) } else { Some(v) });
        value.ok_or_else(|| self.error_at(self.at - 1, ParseErrorKind::Number(text.into())))
    }

    /// An integer that fits.
    pub(super) fn integer<N: TryFrom<i128>>(&mut self) -> Result<N, ParseError> {
        let at = self.at;
        let value = match self.literal()? {
            Immediate::Integer(n) => N::try_from(n.into()).ok(),
            Immediate::Unsigned(n) => N::try_from(n.into()).ok(),
            Immediate::F32(_) | Immediate::F64(_) => None,
        };
        value.ok_or_else(|| self.error_at(at, ParseErrorKind::Number(self.written(at))))
    }

    /// The tokens from there up to here.
    fn written(&self, from: usize) -> String {
        let text = |s: &Spanned<'a>| match s.token {
            Token::Name(t) | Token::Number(t) | Token::Dot(t) | Token::Text(t) => t.to_string(),
            Token::Mark(c) => c.to_string(),
            Token::End => String::new(),
        };
        self.tokens.get(from..self.at).unwrap_or(&[]).iter().map(text).collect()
    }

    /// For each brace that opens, the labels that stand directly inside; by its place among the tokens.
    pub(super) fn labels_by_brace(&self) -> Vec<(usize, Vec<(usize, &'a str)>)> {
        let mut found: Vec<(usize, Vec<(usize, &'a str)>)> = vec![];
        let mut open: Vec<usize> = vec![];
        for (at, spanned) in self.tokens.iter().enumerate() {
            match spanned.token {
                Token::Mark('{') => {
                    open.push(found.len());
                    found.push((at, vec![]));
                }
                Token::Mark('}') => {
                    open.pop();
                }
                // The name of a table of labels is none itself.
                Token::Name(name)
                    if self.spanned(at + 1).token == Token::Mark(':')
                        && self.spanned(at + 2).token != Token::Dot("branchtargets") =>
                {
                    if let Some(labels) = open.last().and_then(|i| found.get_mut(*i)) {
                        labels.1.push((at, name));
                    }
                }
                _ => {}
            }
        }
        found.retain(|(_, labels)| !labels.is_empty());
        found
    }
}
