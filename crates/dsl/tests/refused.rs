//! Staging mistakes that rustc itself refuses: each file in `refused/` must fail with the code that its first line names,
//! and with no other. Codes are compared, not words: those change from one compiler to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

#[test]
fn rustc_refuses_what_mixes_the_stages() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused");
    std::fs::create_dir_all(folder.join("src/bin")).unwrap();
    let manifest = format!(
        "[package]\nname = \"refused\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         warpsmith-dsl = {{ path = {package:?} }}\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The same versions as the workspace's: nothing is downloaded.
    std::fs::copy(package.join("../../Cargo.lock"), folder.join("Cargo.lock")).unwrap();

    let mut expected = BTreeMap::new();
    for entry in std::fs::read_dir(package.join("tests/refused")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_string();
        let source = std::fs::read_to_string(&path).unwrap();
        let code = source.split("expect ").nth(1).unwrap()[..5].to_string();
        std::fs::write(folder.join(format!("src/bin/{name}.rs")), format!("{source}\nfn main() {{}}\n")).unwrap();
        expected.insert(name, BTreeSet::from([code]));
    }
    // One that is right, so that a broken set-up can not pass for thirty refusals.
    let fine = "use warpsmith_dsl::prelude::*;\npub fn body(n: U32) {\n    when(thread_idx().x.lt(n), sync_threads);\n}\nfn main() {}\n";
    std::fs::write(folder.join("src/bin/fine.rs"), fine).unwrap();

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused-target");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--bins", "--keep-going", "--message-format=json", "--quiet"])
        .arg("--target-dir")
        .arg(target)
        .current_dir(&folder)
        .output()
        .unwrap();
    let mut got: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut compiled = BTreeSet::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let name = message["target"]["name"].as_str().unwrap_or("").to_string();
        match message["reason"].as_str() {
            Some("compiler-artifact") => _ = compiled.insert(name),
            Some("compiler-message") if message["message"]["level"] == "error" => {
                if let Some(code) = message["message"]["code"]["code"].as_str() {
                    got.entry(name).or_default().insert(code.into());
                }
            }
            _ => {}
        }
    }
    assert!(compiled.contains("fine"), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(got, expected);
    assert!(expected.len() >= 25);
}
