//! The `warpsmith` command.
//!
//! | module | what |
//! |---|---|
//! | [`commands`] | what can be typed |
//! | [`run`], [`report`] | run an operator on data, check it, say how it went |
//! | [`mod@bench`] | time operators, or count what they do |
//! | [`explain`] | which implementation a call takes, and why |
//! | [`inspect`] | look at the code of an operator |
//! | [`compile`] | many operators into a bundle |
//! | [`emulate`] | run and check a kernel of a PTX file |
//! | [`layout`] | layouts, their algebra and their pictures |
//! | [`doctor`] | what is found on this machine |
//! | [`completions`], [`help`] | scripts for shells; examples and exit codes |
//! | [`operator`], [`case`], [`problem`] | operators by name; with shapes; with data |
//! | [`tensor_file`], [`output`] | tensors in files; files that are written at the end |
//! | [`table`], [`style`] | tables, colour |
//! | [`failure`] | what goes wrong, and the exit code |
//!
//! Exit codes: 0 right, 1 a wrong result or a sanitizer's finding of `run` or what `doctor` calls wrong, 2 bad input, 3 a
//! device that failed or a sanitizer's finding of `emulate` or `bench`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a terminal program")]

mod bench;
mod case;
mod commands;
mod compile;
mod completions;
mod doctor;
mod emulate;
mod explain;
mod failure;
mod help;
mod inspect;
mod layout;
mod operator;
mod output;
mod problem;
mod report;
mod run;
mod style;
mod table;
mod tensor_file;

use clap::{CommandFactory, FromArgMatches};
use commands::Cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    let color = style::asked(std::env::args().skip(1));
    let matches = Cli::command().color(color.of_help()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    style::choose(cli.color());
    match commands::dispatch(cli) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{}: {failure}", style::error_word());
            ExitCode::from(failure.code())
        }
    }
}
