//! The command as people type it, from the workspace's folder.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::path::PathBuf;
use std::process::Command;

/// With nothing of this project in its environment but where tools are.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    for (name, _) in std::env::vars_os() {
        let kept = ["WARPSMITH_PTXAS", "WARPSMITH_NVDISASM"];
        if name.to_str().is_some_and(|n| n.starts_with("WARPSMITH_") && !kept.contains(&n)) {
            command.env_remove(name);
        }
    }
    command.env_remove("NO_COLOR").env("WARPSMITH_CACHE", "off");
    command.args(args).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command
}

/// Its exit code, output and errors.
pub fn said(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What it prints when all is right.
pub fn shown(args: &[&str]) -> String {
    let (code, out, err) = said(command(args));
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    out
}

/// Asserts a one-line error with exit code 2, and nothing printed.
pub fn refused(args: &[&str], expected: &str) {
    let (code, out, err) = said(command(args));
    assert_eq!((code, out.as_str(), err.trim_end()), (2, "", format!("error: {expected}").as_str()), "{args:?}");
}

/// A file of its own for each test.
pub fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A line of a table by how it begins, blanks counted once.
pub fn line(text: &str, start: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.into_iter().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"))
}
