//! `warpsmith completions`.

use crate::commands::Cli;
use crate::failure::Failure;
use crate::output;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::process::ExitCode;

/// `warpsmith completions`.
#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints a script that the shell reads.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "warpsmith", &mut script);
    output::print(String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
