//! `warpsmith completions`.

use crate::commands::Cli;
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
pub(crate) fn completions(args: &CompletionsArgs) -> ExitCode {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut Cli::command(), "warpsmith", &mut script);
    print!("{}", String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
