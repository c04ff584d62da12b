//! Every instruction that orders something, left out or weakened, in all the twins: what a kernel does not need is marked
//! `// idle`, and of everything else the sanitizer tells.

use crate::script::Script;
use crate::{cases, schedules};

/// What an instruction that orders may be weakened to.
fn weaker(line: &str) -> Vec<String> {
    let mut all = vec![];
    let code = line.split("//").next().unwrap_or_default();
    if ["bar.sync", "bar.warp.sync", "fence", "griddepcontrol.wait", "wait_group"].iter().any(|i| code.contains(i)) {
        all.push(String::new());
    }
    let mut replace = |old: &str, new: &str| {
        if code.contains(old) {
            all.push(code.replace(old, new));
        }
    };
    replace(".release.", ".relaxed.");
    replace(".acquire.", ".relaxed.");
    if !code.contains("fence") {
        replace(".acq_rel.", ".release.");
        replace(".acq_rel.", ".acquire.");
    }
    replace(".sys.", ".gpu.");
    replace(".gpu.", ".cta.");
    all
}

#[test]
fn every_order_is_needed() {
    let mut wrong = vec![];
    let mut mutants = 0;
    for case in &cases() {
        let (fixed, idle) = (case.fixed(), case.marked("idle"));
        let lines: Vec<&str> = fixed.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.starts_with("//")) {
            let mut unseen = vec![];
            for weak in weaker(line) {
                mutants += 1;
                let text = [&lines[..at], &[weak.as_str()], &lines[at + 1..]].concat().join("\n");
                let script = Script::read(&case.name, &text);
                if schedules().iter().all(|options| script.run(options).is_clean()) {
                    unseen.push(weak);
                }
            }
            let number = at as u32 + 1;
            match (unseen.is_empty(), idle.contains(&number)) {
                (false, false) => wrong.push(format!("{}, line {number}: `{line}` as {unseen:?} is clean", case.name)),
                (true, true) => wrong.push(format!("{}, line {number}: `{line}` is needed", case.name)),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mutants >= 400, "{mutants}");
}
