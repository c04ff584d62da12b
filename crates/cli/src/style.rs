//! Colour, where a person looks.

use clap::ValueEnum;
use std::io::IsTerminal;
use std::sync::OnceLock;

/// When to print in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    /// As it should be, or better.
    Good,
    /// Not as it should be.
    Bad,
    /// To be looked at.
    Warn,
    /// Beside the point.
    Dim,
    /// A heading.
    Bold,
}

static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Takes what the command line says, once.
pub(crate) fn choose(choice: ColorChoice) {
    // A second choice in one process changes nothing.
    let _ = CHOICE.set(choice);
}

/// What the arguments say of colour, before they are read as a whole: help and errors have colours too.
pub(crate) fn asked(mut arguments: impl Iterator<Item = String>) -> ColorChoice {
    let mut asked = ColorChoice::Auto;
    while let Some(argument) = arguments.next() {
        let value = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(value) => value.strip_prefix('=').map(String::from),
            None => None,
        };
        asked = value.and_then(|v| ColorChoice::from_str(&v, false).ok()).unwrap_or(asked);
    }
    asked
}

impl ColorChoice {
    fn allows(self, terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
        let set = |name: &str| variable(name).is_some_and(|v| !v.is_empty());
        match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !set("NO_COLOR") && variable("TERM").as_deref() != Some("dumb"),
        }
    }

    /// The same for clap's help and errors.
    pub(crate) fn of_help(self) -> clap::ColorChoice {
        match self {
            ColorChoice::Auto => clap::ColorChoice::Auto,
            ColorChoice::Always => clap::ColorChoice::Always,
            ColorChoice::Never => clap::ColorChoice::Never,
        }
    }
}

fn allowed(terminal: bool) -> bool {
    let choice = CHOICE.get().copied().unwrap_or(ColorChoice::Auto);
    choice.allows(terminal, |name| std::env::var(name).ok())
}

/// Whether standard output is coloured.
pub(crate) fn on_output() -> bool {
    allowed(std::io::stdout().is_terminal())
}

/// Text for standard output, coloured where that is wanted.
pub(crate) fn paint(ink: Ink, text: &str) -> String {
    if on_output() { ink.around(text) } else { text.into() }
}

/// The word before a message on standard error.
pub(crate) fn error_word() -> String {
    if allowed(std::io::stderr().is_terminal()) { Ink::Bad.around("error") } else { "error".into() }
}

impl Ink {
    fn around(self, text: &str) -> String {
        let code = match self {
            Ink::Good => "32",
            Ink::Bad => "1;31",
            Ink::Warn => "33",
            Ink::Dim => "2",
            Ink::Bold => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals() {
        let with = |choice: ColorChoice, terminal, set: &[(&str, &str)]| {
            choice.allows(terminal, |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string()))
        };
        assert!(with(ColorChoice::Auto, true, &[("TERM", "xterm")]));
        assert!(!with(ColorChoice::Auto, false, &[]));
        assert!(!with(ColorChoice::Auto, true, &[("NO_COLOR", "1")]));
        assert!(with(ColorChoice::Auto, true, &[("NO_COLOR", "")]));
        assert!(!with(ColorChoice::Auto, true, &[("TERM", "dumb")]));
        assert!(with(ColorChoice::Always, false, &[("NO_COLOR", "1")]));
        assert!(!with(ColorChoice::Never, true, &[]));
    }

    #[test]
    fn the_arguments_are_looked_at_early() {
        let asked = |args: &[&str]| asked(args.iter().map(|a| a.to_string()));
        assert_eq!(asked(&["bench", "--color", "never"]), ColorChoice::Never);
        assert_eq!(asked(&["--color=always", "doctor"]), ColorChoice::Always);
        assert_eq!(asked(&["--color", "sometimes"]), ColorChoice::Auto);
        assert_eq!(asked(&["--colors=never"]), ColorChoice::Auto);
    }
}
