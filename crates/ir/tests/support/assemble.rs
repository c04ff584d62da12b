//! `ptxas`, where there is one.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use warpsmith_ptx::Module;

/// Verifies PTX, and assembles it if it can.
pub struct Assembler {
    ptxas: Option<PathBuf>,
}

impl Assembler {
    /// By `WARPSMITH_PTXAS`, or on the path.
    pub fn find() -> Assembler {
        let ptxas = match std::env::var_os("WARPSMITH_PTXAS") {
            Some(path) => Some(PathBuf::from(path)),
            None => std::env::var_os("PATH")
                .and_then(|paths| std::env::split_paths(&paths).map(|p| p.join("ptxas")).find(|p| p.is_file())),
        };
        Assembler { ptxas }
    }

    /// Panics with the text unless the module is right.
    pub fn check(&self, module: &Module, name: &str) {
        let text = module.to_string();
        if let Err(errors) = module.verify() {
            let errors: Vec<_> = errors.iter().map(|e| format!("{e}\n")).collect();
            panic!("{name}: {}{text}", errors.concat());
        }
        let back = warpsmith_ptx::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        assert_eq!(back.to_string(), text, "{name}: printed and parsed, it prints differently");
        let Some(ptxas) = &self.ptxas else { return };
        let mut child = Command::new(ptxas)
            .arg(format!("-arch={}", module.target))
            .args(["-o", null(), "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", ptxas.display()));
        // When it stops reading early it has something to say.
        let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: ptxas\n{said}\n{text}");
    }
}

fn null() -> &'static str {
    if Path::new("/dev/null").exists() { "/dev/null" } else { "NUL" }
}
