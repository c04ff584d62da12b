//! What the README shows of the command is what it prints.

#![allow(clippy::print_stdout, reason = "a skip is printed")]

mod common;

use common::{command, said};
use warpsmith_runtime::report::Tool;

#[test]
fn the_readme_shows_what_is_printed() {
    let readme = include_str!("../../../README.md");
    let mut shown = 0;
    for block in readme.split("```\n$ warpsmith ").skip(1) {
        let (line, rest) = block.split_once('\n').unwrap();
        let expected = rest.split("```").next().unwrap();
        if expected.contains("registers  ") && Tool::Ptxas.find().is_err() {
            println!("skipped: `{line}` shows registers, and there is no ptxas");
            continue;
        }
        let (code, out, err) = said(command(&line.split(' ').collect::<Vec<_>>()));
        assert_eq!(code, if expected.starts_with("error: ") { 2 } else { 0 }, "{line}: {err}");
        // How many registers a thread has is the assembler's, and differs from release to release.
        let stable = |text: &str| -> Vec<String> {
            text.lines().filter(|l| !l.contains("registers  ") && !l.contains("resident  ")).map(String::from).collect()
        };
        assert_eq!(stable(&(out + &err)), stable(expected), "{line}");
        shown += 1;
    }
    assert!(shown >= 2, "{shown} commands of the README were run");
}
