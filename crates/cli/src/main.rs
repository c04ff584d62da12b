//! The `warpsmith` command.
//!
//! | module | what |
//! |---|---|
//! | [`commands`] | what can be typed |
//! | [`run`], [`report`] | run an operator on data, check it, say how it went |
//! | [`inspect`] | look at the code of an operator |
//! | [`emulate`] | run and check a kernel of a PTX file |
//! | [`layout`] | layouts, their algebra and their pictures |
//! | [`doctor`] | what is found on this machine |
//! | [`operator`], [`problem`] | operators by name; one of them with its tensors |
//! | [`tensor_file`] | tensors in files |
//! | [`failure`] | what goes wrong, and the exit code |
//!
//! Exit codes: 0 right, 1 a wrong result or a sanitizer's finding of `run`, 2 bad input, 3 a device that failed or a
//! sanitizer's finding of `emulate`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a terminal program")]

mod commands;
mod doctor;
mod emulate;
mod failure;
mod inspect;
mod layout;
mod operator;
mod problem;
mod report;
mod run;
mod tensor_file;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = commands::Cli::parse();
    match commands::dispatch(command) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.code())
        }
    }
}
