//! Words of the text form.

use super::TextError;

/// A word and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: u32,
    pub(super) column: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `%3`
    Value(u32),
    /// `$3`
    Register(u32),
    /// A bare word, dots included.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A number, its sign not included.
    Number(String),
    /// `@ file:line:column`
    Place { file: String, line: u32, column: u32 },
    /// Any other single character.
    Punctuation(char),
    /// Nothing is left.
    End,
}

impl Kind {
    /// For messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Kind::Value(n) => format!("`%{n}`"),
            Kind::Register(n) => format!("`${n}`"),
            Kind::Word(w) | Kind::Number(w) => format!("`{w}`"),
            Kind::Quoted(w) => format!("\"{w}\""),
            Kind::Place { .. } => "a place in source".into(),
            Kind::Punctuation(c) => format!("`{c}`"),
            Kind::End => "the end".into(),
        }
    }
}

/// Cuts a text into words; the last is [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, TextError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut tokens = vec![];
    loop {
        lexer.skip_space();
        let (line, column) = (lexer.line, lexer.column);
        let kind = lexer.kind()?;
        let end = kind == Kind::End;
        tokens.push(Token { kind, line, column });
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    rest: &'t str,
    line: u32,
    column: u32,
}

impl<'t> Lexer<'t> {
    fn error(&self, message: impl Into<String>) -> TextError {
        TextError { line: self.line, column: self.column, message: message.into() }
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            (self.line, self.column) = (self.line + 1, 1);
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let start = self.rest;
        while self.rest.starts_with(&keep) {
            self.bump();
        }
        &start[..start.len() - self.rest.len()]
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with(';') {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn kind(&mut self) -> Result<Kind, TextError> {
        let Some(c) = self.rest.chars().next() else { return Ok(Kind::End) };
        match c {
            '%' => self.index("a value's number").map(Kind::Value),
            '$' => self.index("a register's number").map(Kind::Register),
            '"' => self.quoted().map(Kind::Quoted),
            '@' => self.place(),
            c if c.is_ascii_digit() => Ok(Kind::Number(self.number().into())),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let start = self.rest;
                self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                // `shared::cta`, in names of instructions.
                while self.rest.strip_prefix("::").is_some_and(|r| r.starts_with(|c: char| c.is_ascii_alphanumeric())) {
                    self.take_while(|c| c == ':');
                    self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                }
                Ok(Kind::Word(start[..start.len() - self.rest.len()].into()))
            }
            '(' | ')' | '{' | '}' | '[' | ']' | ',' | ':' | '=' | '+' | '-' | '|' => {
                self.bump();
                Ok(Kind::Punctuation(c))
            }
            c => Err(self.error(format!("`{c}` has no meaning here"))),
        }
    }

    /// A number after a sigil.
    fn index(&mut self, what: &str) -> Result<u32, TextError> {
        self.bump();
        self.integer(what)
    }

    fn integer(&mut self, what: &str) -> Result<u32, TextError> {
        let at = self.error("");
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| TextError { message: format!("expected {what}"), ..at })
    }

    /// Digits, hexadecimal ones too, with a point and an exponent.
    fn number(&mut self) -> &'t str {
        let start = self.rest;
        self.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
        let so_far = &start[..start.len() - self.rest.len()];
        if !so_far.starts_with("0x") && so_far.ends_with(['e', 'E']) && self.rest.starts_with(['-', '+']) {
            self.bump();
            self.take_while(|c| c.is_ascii_digit());
        }
        &start[..start.len() - self.rest.len()]
    }

    fn quoted(&mut self) -> Result<String, TextError> {
        let open = self.error("this quote is not closed");
        self.bump();
        let mut text = String::new();
        loop {
            match self.bump() {
                Some('"') => return Ok(text),
                Some('\\') => match self.bump() {
                    Some('n') => text.push('\n'),
                    Some('r') => text.push('\r'),
                    Some(c @ ('"' | '\\')) => text.push(c),
                    _ => return Err(self.error("unknown escape")),
                },
                Some(c) => text.push(c),
                None => return Err(open),
            }
        }
    }

    fn place(&mut self) -> Result<Kind, TextError> {
        self.bump();
        self.take_while(|c| c == ' ' || c == '\t');
        let file = if self.rest.starts_with('"') {
            self.quoted()?
        } else {
            self.take_while(|c| !c.is_whitespace() && c != ':').to_string()
        };
        self.colon()?;
        let line = self.integer("a line")?;
        let mut column = 0;
        if self.rest.starts_with(':') {
            self.colon()?;
            column = self.integer("a column")?;
        }
        Ok(Kind::Place { file, line, column })
    }

    fn colon(&mut self) -> Result<(), TextError> {
        if self.rest.starts_with(':') {
            self.bump();
            return Ok(());
        }
        Err(self.error("expected `:` and a line"))
    }
}
