//! Help, completions and colour.

mod common;

use common::{command, said, shown};
use std::io::Read;
use std::process::Stdio;

const COMMANDS: [&str; 9] =
    ["run", "bench", "explain", "inspect", "compile", "emulate", "layout", "doctor", "completions"];

#[test]
fn every_command_teaches() {
    let all = shown(&["--help"]);
    for name in COMMANDS {
        assert!(all.contains(&format!("\n  {name} ")), "{name}: {all}");
        let help = shown(&[name, "--help"]);
        assert!(help.contains("Example") && help.contains(&format!("\n  warpsmith {name} ")), "{name}: {help}");
        assert!(help.contains("Exit code"), "{name}: {help}");
        assert!(help.contains("--color <WHEN>"), "{name}: {help}");
    }
    assert!(shown(&["bench", "--help"]).contains("cross_entropy_backward, gemm, rows, gradients, all]"));
    let (code, _, err) = said(command(&[]));
    assert!(code == 2 && err.contains("Usage: warpsmith"), "{err}");
}

/// What the help shows as examples, this runs: those that need no card, no file of ours that is missing, and little time.
#[test]
fn examples_of_help_run() {
    let mut ran = 0;
    for name in COMMANDS {
        let help = shown(&[name, "--help"]);
        for line in help.lines().filter(|l| l.starts_with(&format!("  warpsmith {name} "))) {
            let needs_more = [
                "--device cuda",
                "--svg",
                "--output",
                "--json today",
                "--compare",
                " > ",
                "\\",
                "--sass",
                "--resources",
            ];
            let takes_long = line.contains("bench") && !line.contains("--device emulated");
            if takes_long || needs_more.iter().any(|n| line.contains(n)) {
                continue;
            }
            let words: Vec<String> = line.split_whitespace().skip(1).map(|w| w.replace('\'', "")).collect();
            let (code, out, err) = said(command(&words.iter().map(String::as_str).collect::<Vec<_>>()));
            let refused = line.contains("--target sm_80");
            assert_eq!(code, if refused { 2 } else { 0 }, "{line}: {out}{err}");
            ran += 1;
        }
    }
    assert!(ran >= 10, "{ran} examples ran");
}

#[test]
fn shells_complete() {
    for (shell, part) in [
        ("bash", "complete -F _warpsmith"),
        ("zsh", "#compdef warpsmith"),
        ("fish", "complete -c warpsmith"),
        ("elvish", "edit:completion"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = shown(&["completions", shell]);
        assert!(script.contains(part), "{shell}: {script}");
        assert!(script.contains("bench") && script.contains("compare"), "{shell}");
    }
    assert!(shown(&["completions", "bash"]).contains("cross_entropy_backward gemm rows gradients all"));
    let (code, out, err) = said(command(&["completions", "tcsh"]));
    assert!(
        code == 2 && out.is_empty() && err.contains("possible values: bash, elvish, fish, powershell, zsh"),
        "{err}"
    );
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let commands: [&[&str]; 6] = [
        &["explain", "softmax", "--shape", "4x64", "--chip", "h200"],
        &["bench", "softmax", "--shape", "2x64", "--device", "emulated"],
        &["doctor"],
        &["layout", "--tv", "(4,8):(8,1)", "(2,2):(2,1)"],
        &["bench", "--help"],
        &["run", "softmax", "--random", "2x64", "--device", "emulated"],
    ];
    for args in commands {
        assert!(!shown(args).contains('\x1b'), "{args:?} is piped");
        assert!(!shown(&[args, &["--color", "never"]].concat()).contains('\x1b'), "{args:?}");
    }
    for args in &commands[..5] {
        assert!(shown(&[*args, &["--color=always"]].concat()).contains('\x1b'), "{args:?}");
    }
    // Who asks for it has it, whatever the environment says.
    let mut asked = command(&["explain", "softmax", "--shape", "4x64", "--color", "always"]);
    asked.env("NO_COLOR", "1");
    assert!(said(asked).1.contains('\x1b'));
    let (_, _, err) = said(command(&["explain", "nothing", "--shape", "4x64", "--color", "always"]));
    assert!(err.starts_with("\x1b[1;31merror\x1b[0m: there is no operator"), "{err:?}");
    let (code, _, err) = said(command(&["doctor", "--color", "sometimes"]));
    assert!(code == 2 && err.contains("auto, always, never") && !err.contains('\x1b'), "{err}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = command(&["inspect", "rms_norm", "--dim", "49152", "--ir", "--ptx"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
    // A full disk is one.
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let output = command(&["doctor"]).stdout(full).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.starts_with("error: standard output: can not be written: No space left on device"), "{err}");
    }
}
